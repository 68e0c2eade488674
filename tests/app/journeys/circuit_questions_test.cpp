#include "core/analysis/catalogue.h"
#include "core/analysis/position/rotary_tables.h"
#include "core/analysis/position/score_terms.h"
#include "core/analysis/singular_search.h"
#include "core/model/merges.h"
#include "tests/support/journey.h"
#include "tests/support/loaded.h"
#include "ui/text.h"
#include "ui/views/heatmap_view.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPlainTextEdit>
#include <QSlider>
#include <QStatusBar>
#include <QTableView>

#include <cmath>

using namespace headwise;
using namespace headwise::test;
using ui::HeatmapView;
using ui::text;

namespace {

const std::filesystem::path rotaryModel = HEADWISE_TEST_DATA "/models/stories260k";

Circuits circuitsIn(const std::filesystem::path& folder)
{
    return Circuits(std::make_shared<const ProcessedWeights>(processed(loaded(folder))));
}

Tokenizer tokenizerIn(const std::filesystem::path& folder)
{
    const auto read = Tokenizer::open(folder / "tokenizer.json");
    if (!read)
        qFatal("%s", printed(read.error()).constData());
    return *read;
}

std::shared_ptr<const TokenSide> tokensOf(const Circuits& circuits)
{
    const auto side = tokenSide(circuits, Embedding::Raw, Task{}, Precision::F32, TokenParts::MatricesAlone);
    if (!side)
        qFatal("%s", printed(side.error()).constData());
    return *side;
}

Matrix<double> dense(const FactoredMatrix<double>& circuit)
{
    return circuit.left() * circuit.right();
}

/// What is shown has three digits.
bool reads(double shown, double expected)
{
    const bool same = std::abs(shown - expected) <= 0.006 * std::abs(expected);
    if (!same)
        qWarning("the screen says %g, core %g", shown, expected);
    return same;
}

QString cell(const QAbstractItemView* table, int row, int column)
{
    return table->model()->index(row, column).data().toString();
}

double numberIn(const QAbstractItemView* table, int row, int column)
{
    return numberAfter(cell(table, row, column), {});
}

int columnOf(const QAbstractItemView* table, const QString& title)
{
    for (int column = 0; column < table->model()->columnCount(); ++column)
        if (table->model()->headerData(column, Qt::Horizontal).toString() == title)
            return column;
    return -1;
}

void clickRow(QTableView* table, int row)
{
    const QModelIndex index = table->model()->index(row, 0);
    table->scrollTo(index);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
}

QPoint placeOf(const HeatmapView* view, int row, int column)
{
    return view->cellRect(row, column).center().toPoint();
}

/// What the status bar says of the cell under the mouse.
QString readOut(Journey& journey, HeatmapView* view, int row, int column)
{
    QCoreApplication::processEvents(); // a new matrix may still be on its way to its place
    QTest::mouseMove(view, placeOf(view, row, column));
    QCoreApplication::processEvents();
    QString words;
    for (const QLabel* label : journey.window()->statusBar()->findChildren<QLabel*>())
        if (label->isVisible())
            words += label->text();
    return words;
}

/// A copy of a model whose W_O of one head is turned round in part, as training might.
bool copyWithOtherHead(const std::filesystem::path& from, const QString& to, const char* tensor, HeadId head,
                       int headsInLayer)
{
    const QDir folder(text(from.string()));
    for (const QString& name : folder.entryList(QDir::Files))
        if (!QFile::copy(folder.filePath(name), to + u'/' + name))
            return false;
    QFile file(to + QStringLiteral("/model.safetensors"));
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
    if (!file.open(QIODevice::ReadWrite))
        return false;
    quint64 length = 0;
    file.read(reinterpret_cast<char*>(&length), sizeof length);
    const QJsonObject header = QJsonDocument::fromJson(file.read(static_cast<qint64>(length))).object();
    const auto offsets = header[QLatin1String(tensor)].toObject()[QStringLiteral("data_offsets")].toArray();
    const qint64 first = offsets[0].toInteger(), size = offsets[1].toInteger() - first;
    if (size <= 0)
        return false;
    const qint64 ofHead = size / headsInLayer;
    file.seek(8 + static_cast<qint64>(length) + first + head.head * ofHead);
    QByteArray bytes = file.read(ofHead / 4);
    for (qsizetype i = 3; i < bytes.size(); i += 4) // the signs of little-endian floats
        bytes[i] = static_cast<char>(bytes[i] ^ '\x80');
    file.seek(file.pos() - bytes.size());
    return file.write(bytes) == bytes.size();
}

} // namespace

class CircuitQuestionsTest : public QObject {
    Q_OBJECT

private slots:
    void singularDirectionsAreBrowsedAndSearched_data() { addJourneyModels(); }
    void singularDirectionsAreBrowsedAndSearched()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j7-") + QLatin1String(QTest::currentDataTag()));
        open(journey, folderOf(which));
        // J7: one click on the tab, then keys alone.
        journey.openTab(QStringLiteral("Vectors"));
        auto* tokens = journey.named<QTableView>(QStringLiteral("Tokens of the first side"));
        journey.waitFor([&] { return tokens->model()->rowCount() > 0; }, QStringLiteral("the tokens"));
        journey.keys(QStringLiteral("Right"));
        journey.keys(QStringLiteral("Right"));
        journey.keys(QStringLiteral("Space"));
        const Circuits circuits = circuitsIn(folderOf(which));
        const auto expected = singularDirections(circuits, CircuitKind::Ov, {0, 0});
        QVERIFY(isOk(expected));
        QVERIFY(reads(numberAfter(journey.labelWith(QStringLiteral("direction 3 ")), QStringLiteral("σ")),
                      expected->S(2)));
        QVERIFY(tokens->model()->headerData(3, Qt::Horizontal).toString().startsWith(QStringLiteral("−3")));
        // Ctrl+F: every direction of every head that has the token among its strongest.
        const QString word = which == JourneyModel::Demo ? QStringLiteral("with") : QStringLiteral("doctor");
        journey.keys(QStringLiteral("Ctrl+F"));
        journey.type(word);
        journey.keys(QStringLiteral("Return"));
        auto* found = journey.named<QTableView>(QStringLiteral("Directions with the token"));
        journey.waitFor([&] { return found->model()->rowCount() > 0; }, QStringLiteral("the directions"));
        const auto head = parseHeadId(cell(found, 0, 0).toStdString());
        QVERIFY(head);
        const auto token = tokenizerIn(folderOf(which)).find(word.toStdString());
        QVERIFY(isOk(token));
        const auto hits = findInDirections(circuits, *tokensOf(circuits), {*token, 20, {*head}, {}}, Task{});
        QVERIFY(isOk(hits));
        QVERIFY(reads(numberIn(found, 0, 4), hits->front().score));
        QVERIFY(reads(numberIn(found, 0, 5), hits->front().sigma));
        clickRow(found, 0);
        QVERIFY(journey.shows(text(*head)));
        const QString title = QStringLiteral("direction %1 ").arg(hits->front().direction + 1);
        journey.waitFor([&] { return journey.shows(title); }, title);
        QVERIFY(reads(numberAfter(journey.labelWith(title), QStringLiteral("σ")), hits->front().sigma));
        journey.waitForRest();
    }

    void compositionLeadsFromTheMapToTwoHeads_data() { addJourneyModels(); }
    void compositionLeadsFromTheMapToTwoHeads()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j8-") + QLatin1String(QTest::currentDataTag()));
        open(journey, folderOf(which));
        // J8: a click on the tab, where keys are what is shown first; the scores are computed unasked.
        journey.openTab(QStringLiteral("Composition"));
        auto* map = journey.named<HeatmapView>(QStringLiteral("Composition of all pairs"));
        journey.waitFor([&] { return map->rowCount() > 0; }, QStringLiteral("the scores"));
        const QString link = QStringLiteral("L0H2 → L1H5");
        const QString words = readOut(journey, map, 2, 5);
        QVERIFY2(words.contains(link), qPrintable(words));
        const Circuits circuits = circuitsIn(folderOf(which));
        const Matrix<double> writes = dense(circuits.ov({0, 2})), reading = dense(circuits.qk({1, 5}));
        const double expected = (writes * reading.transpose()).norm() / (writes.norm() * reading.norm());
        QVERIFY(reads(numberAfter(words, link), expected));
        QTest::keyClick(journey.named<QSlider>(QStringLiteral("Percentile of pairs left out")), Qt::Key_End);
        QVERIFY(journey.shows(QStringLiteral("the strongest 1 %")));
        journey.openTab(QStringLiteral("Wiring"));
        journey.named(QStringLiteral("K-composition, strongest pairs"));
        QVERIFY(journey.shows(QStringLiteral("30 largest, down to")));
        journey.openTab(QStringLiteral("Map"));
        if (which == JourneyModel::Demo) { // z of every pair
            journey.click(QStringLiteral("Against chance"));
            journey.waitForRest();
            QVERIFY(std::isfinite(numberAfter(readOut(journey, map, 2, 5), QStringLiteral("   z"))));
        }
        // A double click: both heads side by side.
        QTest::mouseDClick(map, Qt::LeftButton, {}, placeOf(map, 2, 5));
        journey.waitFor([&] { return journey.shows(QStringLiteral("cosine of")); },
                        QStringLiteral("the pair"));
        QVERIFY(journey.shows(QStringLiteral("L1H5")) && journey.shows(QStringLiteral("L0H2")));
        const Matrix<double> other = dense(circuits.ov({1, 5}));
        const double cosine = writes.cwiseProduct(other).sum() / (writes.norm() * other.norm());
        const QString numbers = journey.labelWith(QStringLiteral("cosine of"));
        QVERIFY(reads(numberAfter(numbers, QStringLiteral("cosine of OV")), cosine));
        journey.waitForRest();
    }

    void theScoresOfALayer0HeadAreSixTerms_data() { addJourneyModels(); }
    void theScoresOfALayer0HeadAreSixTerms()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j9-") + QLatin1String(QTest::currentDataTag()));
        open(journey, folderOf(which));
        // J9: a menu, its group and a line; then a token list of one's own.
        journey.trigger(QStringLiteral("Six terms of a layer-0 score"));
        auto* terms = journey.named<HeatmapView>(QStringLiteral("T^ee"));
        auto* prompt = journey.named<QPlainTextEdit>(QStringLiteral("Prompt"));
        QTest::mouseClick(prompt->viewport(), Qt::LeftButton);
        journey.keys(QStringLiteral("Ctrl+A"));
        journey.type(QStringLiteral("the king of the sea"));
        QVERIFY(journey.shows(QStringLiteral("run it again")));
        journey.click(QStringLiteral("Run again"));
        const Tokenizer tokenizer = tokenizerIn(folderOf(which));
        const auto ids = tokenizer.encode("the king of the sea");
        QVERIFY(isOk(ids));
        journey.waitFor([&] { return terms->rowCount() == std::ssize(*ids); }, QStringLiteral("the terms"));
        journey.waitForRest();
        const Circuits circuits = circuitsIn(folderOf(which));
        const Matrix<double> ee =
            scoreTerms(circuits.weights(), {0, 0}, promptParts(circuits.weights(), *ids)).pairs[0];
        QVERIFY(reads(numberAfter(readOut(journey, terms, 3, 1), QStringLiteral("   ")), ee(3, 1)));
        // The tokens that a suffix looks for before it.
        const QString suffix = which == JourneyModel::Demo ? QStringLiteral("ness") : QStringLiteral("iens");
        journey.keys(QStringLiteral("Ctrl+F"));
        journey.type(suffix);
        journey.keys(QStringLiteral("Return"));
        journey.trigger(QStringLiteral("Detokenization"));
        auto* prefixes = journey.named<QTableView>(QStringLiteral("Prefixes the suffix looks for"));
        AnalysisOptions options;
        options.heads = {{0, 0}};
        options.inputs.token = *tokenizer.find(suffix.toStdString());
        const std::array<const Analysis*, 1> chosen{findAnalysis("detokenization")};
        const auto results = runAnalyses(circuits, chosen, options, Task{});
        QVERIFY(isOk(results));
        const auto& values =
            std::get<std::vector<float>>(results->find("analyses/detokenization/prefix_values")->values);
        QVERIFY(reads(numberIn(prefixes, 0, 2), values.front()));
        journey.waitForRest();
    }

    void aRotaryHeadIsReadAtEveryOffset()
    {
        Journey journey(QStringLiteral("j10-stories260k"));
        open(journey, rotaryModel);
        journey.openTab(QStringLiteral("Position")); // J10: one click
        auto* slider = journey.named<QSlider>(QStringLiteral("Offset of the key"));
        auto* keys = journey.named<QTableView>(QStringLiteral("Keys at the offset"));
        for (int i = 0; i < 3; ++i)
            QTest::keyClick(slider, Qt::Key_Right);
        const QString heading = QStringLiteral("Δ = 3 places before it");
        journey.waitFor([&] { return journey.shows(heading) && keys->model()->rowCount() > 0; }, heading);
        const QString query = journey.labelWith(heading)
                                  .section(QStringLiteral("query "), 1)
                                  .section(QStringLiteral(" →"), 0, 0);
        const int token = query.mid(1).toInt(); // "#17": the model has no tokenizer
        const Circuits circuits = circuitsIn(rotaryModel);
        const auto line = rotaryTokenLine(circuits, *tokensOf(circuits), {0, 0}, token, 3);
        QVERIFY(isOk(line));
        QVERIFY(reads(numberIn(keys, 0, 2), line->maxCoeff()));
        QVERIFY(reads(numberIn(keys, 0, 4), line->minCoeff()));
        // The heads by their previous-token score, once every score is there to be found.
        journey.waitForRest();
        journey.keys(QStringLiteral("Ctrl+M"));
        journey.type(QStringLiteral("previous"));
        journey.keys(QStringLiteral("Return"));
        const std::array<const Analysis*, 1> chosen{findAnalysis("previous_token")};
        const auto results = runAnalyses(circuits, chosen, {}, Task{});
        QVERIFY(isOk(results));
        const auto& scores = std::get<std::vector<float>>(results->find("scores/previous_token")->values);
        const auto* heads = journey.named<QTableView>(QStringLiteral("Heads by their score"));
        QVERIFY(reads(numberIn(heads, 0, 1), *std::max_element(scores.begin(), scores.end())));
        journey.waitForRest();
    }

    void aFineTunedModelIsComparedHeadByHead_data() { addJourneyModels(); }
    void aFineTunedModelIsComparedHeadByHead()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        const bool isDemo = which == JourneyModel::Demo;
        const HeadId changed = isDemo ? HeadId{1, 3} : HeadId{7, 4};
        const QTemporaryDir newer;
        QVERIFY(copyWithOtherHead(folderOf(which), newer.path(),
                                  isDemo ? "blocks.1.attn.W_O" : "h.7.attn.c_proj.weight", changed,
                                  isDemo ? 8 : 12));
        Journey journey(QStringLiteral("j12-") + QLatin1String(QTest::currentDataTag()));
        open(journey, folderOf(which));
        journey.drop(journey.window(), {newer.path()}, Qt::AltModifier); // J12: one gesture
        auto* heads = journey.named<QTableView>(QStringLiteral("Heads by how much they changed"));
        QCOMPARE(cell(heads, 0, 0), text(changed));
        const Matrix<double> before = dense(circuitsIn(folderOf(which)).ov(changed));
        const Matrix<double> after = dense(circuitsIn(newer.path().toStdString()).ov(changed));
        QVERIFY(reads(numberIn(heads, 0, 1), (after - before).norm() / before.norm()));
        QCOMPARE(numberIn(heads, 1, 1), 0.0); // the others are as they were
        clickRow(heads, 0);
        const auto* tokens = journey.named<QTableView>(QStringLiteral("Tokens that left and entered"));
        QVERIFY(journey.shows(text(changed) + QStringLiteral(": tokens that left and entered")));
        QVERIFY(!cell(tokens, 0, 2).isEmpty());
        journey.waitForRest();
    }

    void aSkiplessMergeSaysWhatItWouldSave_data() { addJourneyModels(); }
    void aSkiplessMergeSaysWhatItWouldSave()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j14-") + QLatin1String(QTest::currentDataTag()));
        open(journey, folderOf(which));
        journey.trigger(QStringLiteral("Skipless merge")); // J14: Model, Skipless merge: two clicks
        const auto* table = journey.named<QTableView>(QStringLiteral("What removing a pair would save"));
        // Well conditioned, so that the sizes decide.
        const std::array<Merge, 3> expected = mergesOf(loaded(folderOf(which))->config());
        const QStringList names{QStringLiteral("qp"), QStringLiteral("kp"), QStringLiteral("vp")};
        for (int pair = 0; pair < 3; ++pair) {
            const Merge& merge = expected[static_cast<std::size_t>(pair)];
            QCOMPARE(cell(table, pair, 0), names[pair]);
            QVERIFY(reads(numberIn(table, pair, columnOf(table, QStringLiteral("Saving"))), merge.saving));
            QVERIFY(reads(numberIn(table, pair, columnOf(table, QStringLiteral("Speed-up"))), merge.speedup));
        }
        QVERIFY(journey.shows(QStringLiteral("Exact only for models without skip connections")));
        journey.waitForRest();
    }

private:
    static void open(Journey& journey, const std::filesystem::path& folder)
    {
        journey.drop(journey.window(), {text(folder.string())});
        journey.waitFor([&] { return journey.shows(QStringLiteral("‖OV‖")); }, QStringLiteral("the norms"));
    }
};

int main(int argc, char** argv)
{
    return runJourneys<CircuitQuestionsTest>(argc, argv);
}
#include "circuit_questions_test.moc"
