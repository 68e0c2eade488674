#include "core/findings/findings_text.h"

#include "core/files/hdf5.h"
#include "core/session/session_file.h"
#include "core/session/views.h"
#include "tests/core/findings/planted_results.h"
#include "tests/support/planted_induction.h"
#include "tests/support/planted_tokens.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>

#include <set>

using namespace headwise;

namespace {

/// A session of every analysis that a rule reads.
Session analysedSession(const Circuits& circuits)
{
    std::vector<std::string> names;
    for (const std::string_view id : findingAnalyses())
        names.emplace_back(id);
    Session session;
    session.model = modelCard(circuits.weights().original());
    session.results = test::analysed(circuits, names);
    return session;
}

Findings findingsIn(const Session& session)
{
    return findingsOf({session.model, session.results, session.tokens});
}

Findings computedFindings(const Circuits& circuits)
{
    return findingsIn(analysedSession(circuits));
}

/// Returns the finding of this kind that is about `head` first; null if there is none.
const Finding* findingOf(const Findings& findings, std::string_view kind, HeadId head)
{
    const auto found = std::ranges::find_if(findings.found, [&](const Finding& finding) {
        return finding.kind == kind && finding.heads.front() == head;
    });
    return found == findings.found.end() ? nullptr : &*found;
}

} // namespace

/// Findings of whole models, and how they are written.
class FindingsTest : public QObject {
    Q_OBJECT

private slots:
    void theDemoIsWhatItsTruthSays()
    {
        const Session session = analysedSession(test::circuitsOf(HEADWISE_DEMO_MODEL));
        const Findings findings = findingsIn(session);
        const std::string text = findingsText(findings);
        const Finding* previous = findingOf(findings, "previous_token", {0, 1});
        QVERIFY2(previous, text.c_str());
        QVERIFY(previous->value > 0.9 && previous->z > 100);
        QCOMPARE(QString::fromStdString(previous->text).section(u'(', 0, 0),
                 QStringLiteral("L0H1 attends to the previous token "));
        const Finding* induction = findingOf(findings, "induction", {1, 5});
        QVERIFY2(induction, text.c_str());
        QCOMPARE(induction->heads.size(), std::size_t(4));
        QCOMPARE(induction->heads.back(), (HeadId{0, 1}));
        QVERIFY((std::set<HeadId>(induction->heads.begin(), induction->heads.begin() + 3)
                 == std::set<HeadId>{{1, 0}, {1, 5}, {1, 7}}));
        QVERIFY2(induction->text.ends_with("read what L0H1 writes through their keys and copy what they "
                                           "attend to: induction candidates."),
                 induction->text.c_str());
        QVERIFY2(findingOf(findings, "induction_attention", {1, 5}), text.c_str());
        for (const Finding& finding : findings.found)
            QVERIFY2(viewOf(session, finding.view, {}).has_value(), finding.view.c_str());
    }

    void aPlantedInductionCircuitIsFound()
    {
        using Planted = test::PlantedInduction;
        const Planted planted(0.1, 1);
        const Findings findings = computedFindings(planted.model.circuits());
        const std::string text = findingsText(findings);
        QVERIFY2(findingOf(findings, "previous_token", Planted::previous), text.c_str());
        QVERIFY2(!findingOf(findings, "previous_token", Planted::notPrevious), text.c_str());
        const Finding* induction = findingOf(findings, "induction", Planted::induction);
        QVERIFY2(induction, text.c_str());
        QCOMPARE(induction->heads.back(), Planted::previous);
        QVERIFY(!std::ranges::count(induction->heads, Planted::noMatching));
    }

    // W_U W_E = 1, so that W_V W_O is full OV's whole spectrum: U Uᵀ and −U Uᵀ.
    void aPlantedCopierAndASuppressorAreFound()
    {
        constexpr int d = 48, r = 16, V = 53;
        test::PlantedModel model(test::plantedSizes(d, r, V));
        const Matrix<double> E = test::orthonormalColumns(V, d, 5);
        model.set("embed.W_E", E);
        model.set("unembed.W_U", E.transpose());
        const Matrix<double> U = test::orthonormalColumns(d, r, 1);
        model.set("W_V", {0, 0}, U);
        model.set("W_O", {0, 0}, U.transpose());
        model.set("W_V", {0, 1}, U);
        model.set("W_O", {0, 1}, -U.transpose());
        const Findings findings = computedFindings(model.circuits());
        const std::string text = findingsText(findings);
        QVERIFY2(findingOf(findings, "copying", {0, 0}), text.c_str());
        QVERIFY2(findingOf(findings, "suppression", {0, 1}), text.c_str());
        QVERIFY2(!findingOf(findings, "copying", {1, 0}) && !findingOf(findings, "suppression", {1, 1}),
                 text.c_str());
    }

    /// A head that looks for its own token attends to it, whatever its slope; the other heads follow theirs.
    void aPlantedHeadNearerThanItsAlibiSlopeIsFound()
    {
        constexpr int d = 64, V = 61;
        test::ToyOptions toy = test::plantedSizes(d, d, V);
        toy.positional = "alibi";
        toy.nHeads = 4; // slopes 1/4, 1/16, 1/64 and 1/256
        toy.nCtx = 128;
        test::PlantedModel model(toy);
        model.set("embed.W_E", 10 * test::orthonormalColumns(d, V, 5).transpose());
        for (int head = 0; head < toy.nHeads; ++head)
            for (const char* name : {"W_Q", "W_K"})
                model.set(name, {0, head}, Matrix<double>::Identity(d, d) * (head == 1 ? 1 : 0));
        const Findings findings = computedFindings(model.circuits());
        const std::string text = findingsText(findings);
        const Finding* found = findingOf(findings, "nearer_than_slope", {0, 1});
        QVERIFY2(found, text.c_str());
        QVERIFY(found->nullMean > 10 && found->value < found->nullMean / 2);
        for (const int head : {0, 2, 3})
            QVERIFY2(!findingOf(findings, "nearer_than_slope", {0, head}), text.c_str());
    }

    void randomWeightsGiveNothing_data()
    {
        QTest::addColumn<unsigned>("seed");
        QTest::addColumn<QString>("positional");
        for (const char* positional : {"standard", "rotary", "alibi", "none"})
            for (unsigned seed = 1; seed <= 3; ++seed)
                QTest::addRow("%s %u", positional, seed) << seed << QString::fromLatin1(positional);
    }
    void randomWeightsGiveNothing()
    {
        QFETCH(unsigned, seed);
        QFETCH(QString, positional);
        test::ToyOptions toy;
        toy.seed = seed;
        toy.positional = positional.toStdString();
        toy.dModel = 32;
        toy.nHeads = 4;
        toy.dHead = 8;
        toy.dVocab = 101;
        toy.nCtx = 48;
        const std::string text = findingsText(computedFindings(test::toyCircuits(toy)));
        QVERIFY2(text == "Nothing here stands out from random weights.\n", text.c_str());
    }

    void jsonIsAListWithoutNaN()
    {
        const Findings findings{.found = {{.kind = "copying",
                                           .heads = {{0, 4}, {1, 5}},
                                           .value = 0.5,
                                           .nullMean = 0,
                                           .text = "“\xff” is no UTF-8.",
                                           .view = "copying",
                                           .strength = 1}},
                                .missing = {}};
        const auto list = nlohmann::json::parse(findingsJson(findings));
        QCOMPARE(list.size(), std::size_t(1));
        QVERIFY(list[0]["heads"] == (std::vector<std::string>{"0.4", "1.5"}));
        QVERIFY(list[0]["z"].is_null());
        QCOMPARE(list[0]["value"].get<double>(), 0.5);
        QCOMPARE(list[0]["null"].get<double>(), 0.0);
        for (const char* key : {"kind", "text", "view"})
            QVERIFY(list[0][key].is_string());
        QCOMPARE(findingsJson({}), std::string("[]"));
    }

    void markdownNamesTheModelAndWhatIsMissing()
    {
        test::PlantedResults made;
        ResultArray& scores = made.perHead("scores/copying", 0);
        scores.nullMean = 0;
        scores.nullDeviation = 0.1;
        made.setHead(scores, {0, 3}, 0.9);
        const Findings findings = made.findings();
        const QString text = QString::fromStdString(findingsMarkdown(findings, "a_model"));
        QVERIFY(text.startsWith("# Findings about a\\_model\n\n- L0H3 raises the token"));
        QVERIFY(text.contains("\n\nNot looked for: previous-token heads, "));
        QVERIFY(!text.contains("copying heads"));
        const std::string missing = missingAnalyses(findings);
        QVERIFY2(missing.starts_with("spectra,previous_token,composition"), missing.c_str());
        QVERIFY(missing.find("copying,previous") == std::string::npos);
        QVERIFY(missingAnalyses({}).empty() && missingSentence({}).empty());
        made.results = {};
        QCOMPARE(findingsText(made.findings()),
                 std::string("Nothing computed so far stands out from random weights.\n"));
    }

    /// A session holds its findings for other readers, where there are any results to find something in.
    void theSessionHoldsThem()
    {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("findings.h5").toStdString();
        test::PlantedResults made;
        Session session;
        session.model = made.card;
        QVERIFY(test::isOk(writeSession(path, session, Task{})));
        QVERIFY(!Hdf5Reader::open(path)->has("findings"));
        ResultArray& scores = made.perHead("scores/copying", 0);
        scores.axes = {Axis::Layer, Axis::Head};
        scores.definition = "a score";
        scores.nullMean = 0;
        scores.nullDeviation = 0.1;
        made.setHead(scores, {0, 3}, 0.9);
        session.results = made.results;
        QVERIFY(test::isOk(writeSession(path, session, Task{})));
        const auto written = Hdf5Reader::open(path)->readTexts("findings");
        QVERIFY(test::isOk(written));
        QCOMPARE(written->size(), std::size_t(1));
        const auto list = nlohmann::json::parse(written->front());
        QCOMPARE(list.size(), std::size_t(1));
        QCOMPARE(list[0]["kind"].get<std::string>(), std::string("copying"));
        const auto read = readSession(path, Task{});
        QVERIFY(test::isOk(read));
        QVERIFY(read->results == session.results);
        QVERIFY(test::isOk(writeSession(path, session, Task{}, SessionParts::WithoutFindings)));
        QVERIFY(!Hdf5Reader::open(path)->has("findings"));
    }
};

HEADWISE_TEST(FindingsTest)
#include "findings_test.moc"
