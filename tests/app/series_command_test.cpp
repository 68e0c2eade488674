#include "core/series/series_request.h"

#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/planted_series.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

using namespace headwise;
using namespace headwise::test;

/// `series` as a user runs it.
class SeriesCommandTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_temporary.isValid());
        PlantedSeries planted(m_temporary.filePath("training").toStdString());
    }

    void changesArePrintedInTheOrderOfSteps()
    {
        const QString file = m_temporary.filePath("whole.h5");
        const CommandRun done = series(file, {"--analyses", "previous_token,copying", "--no-center-unembed"});
        QVERIFY2(done.exitCode == 0, done.err);
        QStringList lines = QString::fromUtf8(done.out).split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 5);
        QVERIFY2(lines[0].startsWith("between steps 256 and 512 L0H3 became a previous-token head (0."),
                 done.out);
        QVERIFY2(lines[1].startsWith("between steps 512 and 1000 L1H1 became a copying head ("), done.out);
        QVERIFY2(lines[4].startsWith("Wrote ") && lines[4].endsWith("at 6 steps of training."), done.out);
        const auto read = readSeries(file.toStdString());
        QVERIFY(isOk(read));
        QCOMPARE(read->changes.size(), std::size_t(4));
        QCOMPARE(lines[0], QString::fromStdString(read->changes[0].text));
        const CommandRun findings = run({"findings", file, "--json"});
        QVERIFY2(findings.exitCode == 0, findings.err);
        const auto first = nlohmann::json::parse(findings.out.toStdString()).at(0);
        QCOMPARE(first.at("heads").at(0).get<std::string>(), "0.3");
        QCOMPARE(first.at("view").get<std::string>(), "scores/previous_token");
        QVERIFY(first.at("null").get<double>() < first.at("value").get<double>());
        QVERIFY(QByteArray::fromStdString(first.at("text").get<std::string>())
                    .startsWith("Between steps 256 and 512 L0H3 became a previous-token head (0."));
        // Once more: nothing is left to compute, and the answer is the same.
        const CommandRun again =
            series(file, {"--analyses", "previous_token,copying", "--no-center-unembed"});
        QVERIFY2(again.exitCode == 0 && again.err.contains("0 left to compute"), again.err);
        QVERIFY2(again.out.contains("6 of them kept"), again.out);
        QVERIFY(*readSeries(file.toStdString()) == *read);
        const CommandRun other = series(file, {"--analyses", "previous_token"});
        QCOMPARE(other.exitCode, 2);
        QVERIFY2(other.err.contains("other analyses or options") && other.err.contains("--replace"),
                 other.err);
    }

    /// The window continues what the command began.
    void theDefaultRequestTakesUpTheCommandsNumbers()
    {
        const QString file = m_temporary.filePath("default.h5");
        const CommandRun done = series(file, {});
        QVERIFY2(done.exitCode == 0, done.err);
        auto members = seriesMembers(m_temporary.filePath("training").toStdString());
        QVERIFY(isOk(members));
        const auto again =
            computeSeries(defaultSeriesRequest(std::move(members).value(), file.toStdString()), Task{});
        QVERIFY(isOk(again));
        QCOMPARE(again->kept, 6);
        SeriesRequest anew =
            defaultSeriesRequest(*seriesMembers(m_temporary.filePath("training").toStdString()),
                                 m_temporary.filePath("anew.h5").toStdString());
        const auto computed = computeSeries(anew, Task{});
        QVERIFY(isOk(computed));
        QVERIFY(computed->series.changes == again->series.changes);
        QVERIFY(computed->series.scores.size() == again->series.scores.size());
    }

    void jsonHasTheSame()
    {
        const CommandRun done =
            series(m_temporary.filePath("json.h5"), {"--analyses", "previous_token", "--json"});
        QVERIFY2(done.exitCode == 0, done.err);
        const auto answer = nlohmann::json::parse(done.out.toStdString());
        QCOMPARE(answer.at("steps").get<std::vector<int>>(), (std::vector<int>{0, 64, 256, 512, 1000, 2000}));
        QCOMPARE(answer.at("changes").size(), std::size_t(1));
        const auto& change = answer.at("changes")[0];
        QCOMPARE(change.at("head").get<std::string>(), "0.3");
        QCOMPARE(change.at("before_step").get<int>(), 256);
        QCOMPARE(change.at("after_step").get<int>(), 512);
        QVERIFY(answer.at("skipped").empty());
    }

    void shardsAreJoinedByMerge()
    {
        QStringList merge{"merge", "-o", m_temporary.filePath("merged.h5")};
        for (int i = 1; i <= 2; ++i) {
            merge += m_temporary.filePath("part%1.h5").arg(i);
            const CommandRun part =
                series(merge.back(), {"--analyses", "previous_token", "--shard", QString("%1/2").arg(i)});
            QVERIFY2(part.exitCode == 0, part.err);
        }
        const CommandRun merged = runHeadwise(merge, m_temporary.path());
        QVERIFY2(merged.exitCode == 0, merged.err);
        QVERIFY2(merged.out.contains("L0H3 became a previous-token head"), merged.out);
        const CommandRun asJson = runHeadwise(merge + QStringList{"--replace", "--json"}, m_temporary.path());
        QVERIFY2(asJson.exitCode == 0, asJson.err);
        auto answer = nlohmann::json::parse(asJson.out.toStdString());
        QCOMPARE(answer.at("output").get<std::string>(), m_temporary.filePath("merged.h5").toStdString());
        QCOMPARE(answer.at("parts").get<int>(), 2);
        QCOMPARE(answer.at("changes").at(0).at("head").get<std::string>(), "0.3");
        answer.erase("output");
        answer.erase("parts");
        const CommandRun whole =
            series(m_temporary.filePath("unsharded.h5"), {"--analyses", "previous_token", "--json"});
        QVERIFY2(whole.exitCode == 0, whole.err);
        QVERIFY2(answer == nlohmann::json::parse(whole.out.toStdString()), asJson.out);
        const CommandRun missing =
            runHeadwise({"merge", "--replace", "-o", m_temporary.filePath("merged.h5"), merge.back()},
                        m_temporary.path());
        QCOMPARE(missing.exitCode, 2);
        QVERIFY2(missing.err.contains("Part 1/2 is missing"), missing.err);
    }

    /// The views of `export`, at one step or at all.
    void viewsOfAStepAreExported()
    {
        const QString file = m_temporary.filePath("views.h5");
        const CommandRun done = series(file, {"--analyses", "previous_token,spectra"});
        QVERIFY2(done.exitCode == 0, done.err);
        const CommandRun list = run({"export", "--list", file});
        QVERIFY2(list.out.contains("previous_token\t") && list.out.contains("scores/qk_effective_rank"),
                 list.out);
        const auto firstRow = [this](const QString& name) {
            QFile csv(m_temporary.filePath(name));
            return csv.open(QIODevice::ReadOnly) ? csv.readAll() : QByteArray();
        };
        const QStringList view{"export", file, "--view", "previous_token", "-o"};
        QCOMPARE(run(view + QStringList{m_temporary.filePath("last.csv")}).exitCode, 0);
        QCOMPARE(run(view + QStringList{m_temporary.filePath("at2000.csv"), "--step", "2000"}).exitCode, 0);
        QCOMPARE(run(view + QStringList{m_temporary.filePath("at0.csv"), "--step", "0"}).exitCode, 0);
        QVERIFY(!firstRow("last.csv").isEmpty());
        QCOMPARE(firstRow("last.csv"), firstRow("at2000.csv"));
        QVERIFY(firstRow("last.csv") != firstRow("at0.csv"));
        QVERIFY2(list.out.contains("tracks/ov_in\t"), list.out);
        const CommandRun tracks = run({"export", file, "--view", "tracks/ov_in", "--head", "1.2", "-o",
                                       m_temporary.filePath("tracks.csv")});
        QVERIFY2(tracks.exitCode == 0, tracks.err);
        const QByteArray rows = firstRow("tracks.csv");
        QVERIFY2(rows.startsWith("track,0,64,256,512,1000,2000"), rows); // singular vectors, a column a step
        if (HEADWISE_GUI) {
            const QString svg = m_temporary.filePath("tracks.svg");
            QCOMPARE(run({"export", file, "--view", "tracks/ov_in", "--head", "1.2", "-o", svg}).exitCode, 0);
            const QByteArray drawn = firstRow("tracks.svg");
            QVERIFY(drawn.contains("<svg") && !drawn.contains(", step 2000")); // it shows all steps
        }
        const CommandRun none = run(view + QStringList{m_temporary.filePath("x.csv"), "--step", "7"});
        QCOMPARE(none.exitCode, 2);
        QVERIFY2(none.err.contains("no checkpoint of step 7"), none.err);
    }

    void anAnimationPlaysTheSteps()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        const QString file = m_temporary.filePath("animated.h5"), svg = m_temporary.filePath("a.svg");
        const CommandRun done = series(file, {"--analyses", "previous_token,spectra"});
        QVERIFY2(done.exitCode == 0, done.err);
        const auto animated = [&](const QStringList& more) {
            return run(QStringList{"export", file, "--animate", "-o", svg, "--view"} + more);
        };
        for (const QStringList& view :
             {QStringList{"previous_token"}, QStringList{"spectrum", "--head", "0.3"},
              QStringList{"/scores/ov_subspace_overlap"}}) {
            const CommandRun made = animated(view);
            QVERIFY2(made.exitCode == 0, made.err);
            QFile picture(svg);
            QVERIFY(picture.open(QIODevice::ReadOnly));
            const QByteArray text = picture.readAll();
            QCOMPARE(text.count("<animate "), 6);
            QCOMPARE(text.count("dur=\"4.5s\""), 6);
            QVERIFY(text.contains(", step 0)") && text.contains(", step 2000)") && !text.contains("<script"));
        }
        const CommandRun other = run(
            {"export", file, "--animate", "-o", m_temporary.filePath("a.png"), "--view", "previous_token"});
        QCOMPARE(other.exitCode, 2);
        QVERIFY2(other.err.contains("--animate writes .svg"), other.err);
        QCOMPARE(animated({"previous_token", "--step", "0"}).exitCode, 2);
    }

    /// From the metadata of a figure of one step, of a head, and of an animation; also of a series that has grown since.
    void figuresOfASeriesAreMadeAgain()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        const QString folder = m_temporary.filePath("again"), file = m_temporary.filePath("again.h5");
        for (const int step : {0, 512})
            PlantedSeries::write(folder.toStdString(), step);
        const QStringList compute{"series", folder, "-o", file, "--analyses", "previous_token,spectra"};
        QCOMPARE(run(compute).exitCode, 0);
        const auto bytes = [this](const QString& name) {
            QFile figure(m_temporary.filePath(name));
            return figure.open(QIODevice::ReadOnly) ? figure.readAll() : QByteArray();
        };
        const auto again = [&](const QString& name, const QStringList& more = {}) {
            return run(QStringList{"export"} + more
                       + QStringList{"--again", m_temporary.filePath(name), "-o",
                                     m_temporary.filePath("again-" + name)});
        };
        const std::vector<QStringList> views{
            {"step.svg", "--view", "previous_token", "--step", "0"},
            {"head.png", "--view", "spectrum", "--head", "0.3", "--step", "512"},
            {"steps.svg", "--view", "previous_token", "--animate"}};
        for (const QStringList& view : views) {
            const QString& name = view.front();
            const CommandRun made =
                run(QStringList{"export", file, "-o", m_temporary.filePath(name)} + view.mid(1));
            QVERIFY2(made.exitCode == 0, made.err);
            const CommandRun remade = again(name);
            QVERIFY2(remade.exitCode == 0, remade.err);
            QVERIFY2(bytes(name).size() > 1000 && bytes("again-" + name) == bytes(name), qPrintable(name));
        }
        QCOMPARE(bytes("again-steps.svg").count("<animate "), 2);
        QVERIFY(bytes("step.svg").contains("again/step0") && !bytes("step.svg").contains("sha256"));
        QVERIFY(bytes("head.png").contains("sha256"));

        PlantedSeries::write(folder.toStdString(), 1000);
        QCOMPARE(run(compute).exitCode, 0);
        for (const QStringList& view : views)
            QCOMPARE(again(view.front()).exitCode, 0);
        QVERIFY(bytes("again-step.svg").contains("step 0)"));
        QCOMPARE(bytes("again-steps.svg").count("<animate "), 3);

        const CommandRun session = again("step.svg", {testData("session-v1.h5").c_str()});
        QCOMPARE(session.exitCode, 2);
        QVERIFY2(session.err.contains("was drawn from a series, but"), session.err);
        const QString other = m_temporary.filePath("other.h5");
        QCOMPARE(series(other, {"--analyses", "previous_token"}).exitCode, 0);
        const CommandRun stranger = again("step.svg", {other});
        QCOMPARE(stranger.exitCode, 2);
        QVERIFY2(stranger.err.contains("is a series of 'training', but"), stranger.err);
    }

    /// Panels of several steps, and over all of them, on one page.
    void figuresOfSeveralPanelsAreDrawnFromASeries()
    {
        if (!HEADWISE_GUI)
            QSKIP("built without the window");
        const QString file = m_temporary.filePath("panels.h5"), figure = m_temporary.filePath("panels.json");
        QCOMPARE(series(file, {"--analyses", "previous_token,spectra"}).exitCode, 0);
        const auto described = [&figure](const QByteArray& panels) {
            QFile description(figure);
            return description.open(QIODevice::WriteOnly)
                && description.write(R"({"session": "panels.h5", "page": {"height": 150}, "panels": [)"
                                     + panels + "]}")
                > 0;
        };
        const auto drawn = [&](const QString& name, const QStringList& how) {
            return run(QStringList{"export"} + how + QStringList{"-o", m_temporary.filePath(name)});
        };
        const auto bytes = [this](const QString& name) {
            QFile written(m_temporary.filePath(name));
            return written.open(QIODevice::ReadOnly) ? written.readAll() : QByteArray();
        };
        QVERIFY(described(R"({"view": "previous_token", "step": 0, "scale": "s"},
            {"view": "previous_token", "scale": "s"}, {"view": "training/previous_token", "row": 2},
            {"view": "training/previous_token", "head": "0.3"},
            {"view": "tracks/ov_in", "head": "1.2", "row": 3},
            {"view": "training/ov_singular_values", "head": "1.2"})"));
        const CommandRun made = drawn("panels.svg", {"--figure", figure});
        QVERIFY2(made.exitCode == 0, made.err);
        const QByteArray svg = bytes("panels.svg");
        for (const char* words : {", step 0<", ", step 2000<", ">f</text>"})
            QVERIFY2(svg.contains(words), words);
        const CommandRun again = drawn("again.svg", {"--again", m_temporary.filePath("panels.svg")});
        QVERIFY2(again.exitCode == 0, again.err);
        QVERIFY(bytes("again.svg") == svg);
        const CommandRun session = drawn(
            "x.svg", {testData("session-v1.h5").c_str(), "--again", m_temporary.filePath("panels.svg")});
        QCOMPARE(session.exitCode, 2);
        QVERIFY2(session.err.contains("was drawn from a series, but"), session.err);
        const CommandRun every =
            drawn("every.svg", {file, "--view", "training/previous_token", "--size", "340x160mm"});
        QVERIFY2(every.exitCode == 0, every.err);
        QVERIFY(bytes("every.svg").contains(">L1H1<"));
        for (const auto& [panel, words] :
             {std::pair(R"({"view": "previous_token", "step": 7})", "Panel a: the series has no checkpoint"),
              std::pair(R"({"view": "tracks/ov_in", "head": "1.2", "step": 0})", "shows all steps"),
              std::pair(R"({"view": "previous_token", "step": -2})", "panels[0].step is -2")}) {
            QVERIFY(described(panel));
            const CommandRun refused = drawn("x.svg", {"--figure", figure});
            QCOMPARE(refused.exitCode, 2);
            QVERIFY2(refused.err.contains(words), refused.err);
        }
    }

    /// A member that is damaged, and one without anything: named, NaN, and exit code 0. Without any good member: 3.
    void damagedMembersAreNamed()
    {
        const QString folder = m_temporary.filePath("damaged");
        for (const int step : {0, 512})
            PlantedSeries::write(folder.toStdString(), step);
        QVERIFY(QDir(folder).mkpath("step7"));
        QFile weights(folder + "/step0/model.safetensors");
        QVERIFY(weights.resize(weights.size() / 2));
        const QString file = m_temporary.filePath("damaged.h5");
        const CommandRun done = run({"series", folder, "-o", file, "--analyses", "previous_token"});
        QVERIFY2(done.exitCode == 0, done.err);
        QVERIFY2(done.err.contains("'step0' was skipped") && done.err.contains("'step7' was skipped"),
                 done.err);
        QVERIFY2(done.out.contains("2 skipped"), done.out);
        const auto read = readSeries(file.toStdString());
        QVERIFY(isOk(read));
        QVERIFY(std::isnan(read->scores[0].values[0]) && !read->problems[0].empty());
        QVERIFY(QFile::remove(folder + "/step512/model.safetensors"));
        const CommandRun hopeless = run(
            {"series", folder, "-o", m_temporary.filePath("hopeless.h5"), "--analyses", "previous_token"});
        QCOMPARE(hopeless.exitCode, 3);
        QVERIFY2(hopeless.err.contains("No member of 'damaged' can be read"), hopeless.err);
    }

    void whatIsNoSeriesIsRefused()
    {
        QVERIFY(QDir(m_temporary.path()).mkpath("empty"));
        const QString file = m_temporary.filePath("never.h5");
        const CommandRun empty = run({"series", m_temporary.filePath("empty"), "-o", file});
        QCOMPARE(empty.exitCode, 3);
        QVERIFY2(empty.err.contains("There are no checkpoints in") && empty.err.contains("step1000"),
                 empty.err);
        QCOMPARE(run({"series", m_temporary.filePath("none"), "-o", file}).exitCode, 3);
        QCOMPARE(run({"series", m_temporary.filePath("training")}).exitCode, 2);
        QCOMPARE(series(file, {"--shard", "3/2"}).exitCode, 2);
        QCOMPARE(series(file, {"--analyses", "nonsense"}).exitCode, 2);
        QCOMPARE(series(file, {"--analyses", "composition"}).exitCode, 2);
        QCOMPARE(series(file, {"--revision", "step1"}).exitCode, 2);
        QVERIFY(!QFile::exists(file));
    }

private:
    CommandRun run(const QStringList& arguments) const { return runHeadwise(arguments, m_temporary.path()); }
    CommandRun series(const QString& file, const QStringList& more) const
    {
        return run(QStringList{"series", m_temporary.filePath("training"), "-o", file} + more);
    }

    QTemporaryDir m_temporary;
};

HEADWISE_TEST(SeriesCommandTest)
#include "series_command_test.moc"
