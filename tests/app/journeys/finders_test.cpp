#include "core/analysis/tokens/relation_pairs.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/support/journey_core.h"
#include "tests/support/journey_steps.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/models/token_table_model.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QListWidget>
#include <QToolButton>

using namespace headwise;
using namespace headwise::test;
using ui::HeatmapView;
using ui::LineChart;
using ui::text;

namespace {

const std::string candidate = "analyses/induction/candidate_";

ResultSet coreResults(JourneyModel model, std::string_view analysis, std::shared_ptr<const TokenSide> tokens,
                      const AnalysisOptions& options)
{
    const AnalysisContext context{*coreModel(model).circuits, std::move(tokens), options};
    const auto results = findAnalysis(analysis)->run(context, Task{});
    if (!results)
        qFatal("%s", printed(results.error()).constData());
    return *results;
}

double valueAt(const ResultSet& results, const std::string& path, std::size_t index)
{
    const ResultArray* array = results.find(path);
    if (!array || index >= array->shape.front())
        return std::nan("");
    if (const auto* whole = std::get_if<std::vector<std::int32_t>>(&array->values))
        return (*whole)[index];
    return static_cast<double>(std::get<std::vector<float>>(array->values)[index]);
}

std::vector<double> valuesOf(const ResultSet& results, const std::string& path)
{
    const auto& values = std::get<std::vector<float>>(results.find(path)->values);
    return {values.begin(), values.end()};
}

std::shared_ptr<const Tokenizer> tokenizerOf(JourneyModel model)
{
    auto read = Tokenizer::open(folderOf(model) / "tokenizer.json");
    if (!read)
        qFatal("%s", printed(read.error()).constData());
    return std::make_shared<const Tokenizer>(std::move(read).value());
}

/// Twenty capitals in GPT-2's vocabulary; in the demo's small one, words that a copying head hits and words that it
/// misses.
Relation someRelation(JourneyModel model)
{
    using Pairs = std::vector<std::pair<std::string, std::string>>;
    static const Pairs capitals{
        {"France", "Paris"},   {"Germany", "Berlin"},   {"Italy", "Rome"},    {"Spain", "Madrid"},
        {"England", "London"}, {"Russia", "Moscow"},    {"China", "Beijing"}, {"Japan", "Tokyo"},
        {"Egypt", "Cairo"},    {"Greece", "Athens"},    {"Poland", "Warsaw"}, {"Iraq", "Baghdad"},
        {"Iran", "Tehran"},    {"Syria", "Damascus"},   {"Turkey", "Ankara"}, {"Ireland", "Dublin"},
        {"Austria", "Vienna"}, {"Sweden", "Stockholm"}, {"Norway", "Oslo"},   {"Canada", "Ottawa"}};
    static const Pairs copies{
        {"shall", "shall"}, {"there", "there"}, {"which", "which"}, {"their", "their"},  {"people", "people"},
        {"house", "house"}, {"child", "child"}, {"word", "word"},   {"hand", "hand"},    {"king", "king"},
        {"name", "name"},   {"city", "city"},   {"days", "days"},   {"before", "great"}, {"father", "earth"},
        {"heart", "right"}, {"land", "heaven"}, {"sons", "blood"},  {"David", "Egypt"},  {"priest", "time"}};
    Relation relation;
    relation.pairs = model == JourneyModel::Gpt2Small ? capitals : copies;
    return relation;
}

std::vector<bool> unusedTokens(const Tokenizer& tokenizer, int count)
{
    std::vector<bool> unused(static_cast<std::size_t>(count));
    for (int id = 0; id < count; ++id)
        unused[static_cast<std::size_t>(id)] = !tokenizer.hasToken(id);
    return unused;
}

bool writeCsv(const Relation& relation, const QString& name)
{
    QFile file(name);
    QByteArray lines("source,target\n");
    for (const auto& [source, target] : relation.pairs)
        lines += QByteArray::fromStdString(source) + ',' + QByteArray::fromStdString(target) + '\n';
    return file.open(QIODevice::WriteOnly) && file.write(lines) == lines.size();
}

/// "0.1" … of one kind of head, found by running the demo.
QStringList truth(const QString& kind)
{
    QFile file(text((std::filesystem::path(HEADWISE_DEMO_MODEL) / "truth.json").string()));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    QStringList heads;
    for (const QJsonValue& head : QJsonDocument::fromJson(file.readAll()).object()[kind].toArray())
        if (const auto id = parseHeadId(head.toString().toStdString()))
            heads << text(*id);
    return heads;
}

/// Index among the candidates of the results; past the end if there is no such pair.
std::size_t placeOf(const ResultSet& core, const QString& earlier, const QString& later)
{
    const auto headAt = [&](const char* kind, std::size_t place) {
        return text(HeadId{static_cast<int>(valueAt(core, candidate + kind + "_layer", place)),
                           static_cast<int>(valueAt(core, candidate + kind + "_head", place))});
    };
    const std::size_t count = core.find(candidate + "combined")->shape.front();
    std::size_t place = 0;
    while (place < count && (headAt("earlier", place) != earlier || headAt("later", place) != later))
        ++place;
    return place;
}

/// Returns the visible button that cancels the job with that title; null if there is none.
QToolButton* wayToStop(Journey& journey, const QString& job)
{
    for (QToolButton* button : journey.window()->findChildren<QToolButton*>())
        if (button->isVisible() && button->accessibleName().startsWith(QStringLiteral("Cancel ") + job))
            return button;
    return nullptr;
}

/// Counts the pixels of the accent colour under the number of a cell.
int barLength(const QTableView* table, int row, int column)
{
    const QRect room = table->visualRect(table->model()->index(row, column));
    const QImage drawn = table->viewport()->grab(room).toImage();
    int count = 0;
    for (int x = 0; x < drawn.width(); ++x)
        count += drawn.pixelColor(x, drawn.height() - 4) == ui::lightColors().accent ? 1 : 0;
    return count;
}

} // namespace

class FindersTest : public QObject {
    Q_OBJECT

private slots:
    void inductionHeadsAreFoundFromTheWeights_data() { addJourneyModels(); }
    void inductionHeadsAreFoundFromTheWeights()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j5-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        // J5: a menu and its first line.
        journey.begin();
        journey.trigger(QStringLiteral("Induction finder"));
        if (which == JourneyModel::Gpt2Small) // takes seconds: shows progress and can be cancelled
            journey.waitFor(
                [&] { return wayToStop(journey, QStringLiteral("Induction circuits")) != nullptr; },
                QStringLiteral("a way to stop it"));
        auto* pairs = journey.named<QTableView>(QStringLiteral("Candidates"));
        QVERIFY(pairs);
        journey.waitFor([&] { return pairs->model()->rowCount() > 0; }, QStringLiteral("the candidates"));
        QVERIFY(journey.tookGestures(2, 5s));
        journey.waitForRest();
        const int earlier = columnOf(pairs, QStringLiteral("Earlier head"));
        const int later = columnOf(pairs, QStringLiteral("Later head"));
        AnalysisOptions
            options; // of all heads of the small model, of those in the first rows of the large one
        for (int row = 0; row < 2 && which == JourneyModel::Gpt2Small; ++row)
            for (const int column : {earlier, later})
                options.heads.push_back(*parseHeadId(cell(pairs, row, column).toStdString()));
        const ResultSet core = coreResults(which, "induction", coreModel(which).tokens(), options);
        const std::array<std::size_t, 2> places{
            placeOf(core, cell(pairs, 0, earlier), cell(pairs, 0, later)),
            placeOf(core, cell(pairs, 1, earlier), cell(pairs, 1, later))};
        for (const auto& [title, name] : {std::pair("Previous token", "previous_token"),
                                          {"K-composition", "k_composition"},
                                          {"Matching", "matching"},
                                          {"Copying", "copying"}}) {
            const int column = columnOf(pairs, QLatin1String(title));
            const double first = valueAt(core, candidate + name, places[0]);
            const double second = valueAt(core, candidate + name, places[1]);
            QVERIFY(reads(numberIn(pairs, 0, column), first));
            QVERIFY(reads(numberIn(pairs, 1, column), second));
            // The length of the bar under a number is proportional to it.
            pairs->scrollTo(pairs->model()->index(0, column));
            const double length = barLength(pairs, 0, column);
            QVERIFY2(length > 0, title);
            QVERIFY2(std::abs(barLength(pairs, 1, column) - length * std::abs(second / first)) < 4, title);
        }
        if (which == JourneyModel::Demo) {
            QCOMPARE(places[0], std::size_t{0});
            QCOMPARE(places[1], std::size_t{1});
            QStringList found;
            for (int row = 0; row < 10; ++row)
                found << cell(pairs, row, later);
            found.removeDuplicates();
            QStringList known = truth(QStringLiteral("induction"));
            found.resize(known.size());
            found.sort();
            known.sort();
            QCOMPARE(found, known);
            QCOMPARE(QStringList{cell(pairs, 0, earlier)}, truth(QStringLiteral("previous_token")));
        }
        const QString best = cell(pairs, 0, later);
        // A row marks both heads, one selected, the other as the reference.
        clickRow(pairs, 1);
        QVERIFY(journey.shows(cell(pairs, 1, later)));
        QVERIFY(journey.shows(QStringLiteral("ref: ") + cell(pairs, 1, earlier)));
        QCOMPARE(pairs->selectionModel()->selectedRows().front().row(), 1); // the row stays in place

        auto* plane = wheelTo<LineChart>(journey, pairs, QStringLiteral("Matching and copying"));
        QVERIFY(plane);
        const QPointF point(valueAt(core, candidate + "matching", places[0]),
                            valueAt(core, candidate + "copying", places[0]));
        const QString words = readOutAt(journey, plane, plane->positionOf(point).toPoint());
        QVERIFY2(words.contains(best), qPrintable(words));
        QVERIFY(reads(numberAfter(words.section(QStringLiteral("   "), 2), {}), point.y()));

        // One more click runs the model on random tokens to compare with the weights.
        journey.click(QStringLiteral("Verify on random tokens"));
        if (which == JourneyModel::Gpt2Small) { // takes half a minute: it is cancelled
            QToolButton* stop = nullptr;
            journey.waitFor(
                [&] { return (stop = wayToStop(journey, QStringLiteral("Attention on repeated"))); },
                QStringLiteral("a way to stop it"));
            QVERIFY(stop);
            const UserTime sinceClick;
            QTest::mouseClick(stop, Qt::LeftButton);
            journey.waitFor([stop] { return !stop->isVisible(); }, QStringLiteral("the end of the job"));
            // 100 ms, with slack for a busy machine.
            const double waited = sinceClick.milliseconds();
            QVERIFY2(waited <= 500, qPrintable(QString::number(waited)));
            return journey.waitForRest();
        }
        journey.waitForRest();
        QWidget* pictures = nullptr;
        for (const QScrollArea* area : journey.window()->findChildren<QScrollArea*>())
            if (area->isVisible() && area->findChild<QTableView*>())
                pictures = area->widget();
        auto* both = wheelTo<LineChart>(journey, pictures,
                                        QStringLiteral("Induction from the weights and on random tokens"));
        QVERIFY(both);
        const HeadId head = *parseHeadId(best.toStdString());
        const double attention =
            coreScore(which, "pattern_scores", "analyses/pattern_scores/induction", head);
        const QPointF there(valueOf(core, "analyses/induction/as_induction_head", head), attention);
        const QString said = readOutAt(journey, both, both->positionOf(there).toPoint());
        QVERIFY2(said.contains(best), qPrintable(said));
        QVERIFY(reads(numberAfter(said.section(QStringLiteral("   "), 2), {}), attention));
        journey.waitForRest();
    }

    void theHeadThatKnowsARelation_data() { addJourneyModels(); }
    void theHeadThatKnowsARelation()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        const QString name = QStringLiteral("my_pairs_%1").arg(model);
        const QTemporaryDir folder;
        const QString file = folder.filePath(name + QStringLiteral(".csv"));
        const Relation pairs = someRelation(which);
        QVERIFY(writeCsv(pairs, file));
        AnalysisOptions options;
        options.inputs.relations = {{name.toStdString(), pairs.pairs}};
        options.inputs.tokenizer = tokenizerOf(which);
        options.unusedTokens =
            unusedTokens(*options.inputs.tokenizer, coreModel(which).weights->config().dVocab);
        const ResultSet core = coreResults(which, "relations", coreModel(which).matrices(), options);
        const std::vector<double> hits = valuesOf(core, "analyses/relations/by_head");
        const std::vector<double> lowered = valuesOf(core, "analyses/relations/suppression");
        const auto best = static_cast<std::size_t>(std::max_element(hits.begin(), hits.end()) - hits.begin());
        const auto heads = static_cast<std::size_t>(coreModel(which).weights->config().nHeads);
        const HeadId bestHead{static_cast<int>(best / heads), static_cast<int>(best % heads)};
        QVERIFY(hits[best] > 0 || which == JourneyModel::Gpt2Small); // whose weights are random
        {
            Journey journey(QStringLiteral("j6-") + QLatin1String(QTest::currentDataTag()));
            openComputed(journey, which);
            // J6: one gesture.
            auto* grid = journey.named<HeatmapView>(QStringLiteral("Heads"));
            QVERIFY(grid);
            journey.begin();
            journey.drop(grid, {file});
            auto* raised = journey.named<HeatmapView>(QStringLiteral("Share of pairs raised"));
            QVERIFY(raised);
            QVERIFY(journey.tookGestures(1, 2s));
            journey.waitForRest();
            // The grid is coloured and the heads are ranked by it.
            auto* ranking = journey.named<QTableView>(QStringLiteral("Heads by their score"));
            QVERIFY(ranking);
            QCOMPARE(ranking->model()->headerData(1, Qt::Horizontal).toString(),
                     QStringLiteral("Best relation score: ") + name);
            QVERIFY(reads(numberIn(ranking, 0, 1), hits[best]));
            const QString words = readOut(journey, grid, bestHead.layer, bestHead.head);
            QVERIFY2(reads(numberAfter(words, QStringLiteral("score: ") + name), hits[best]),
                     qPrintable(words));
            const QString share = readOut(journey, raised, bestHead.layer, bestHead.head);
            QVERIFY2(reads(numberAfter(share, QStringLiteral("most in")), 100 * hits[best]),
                     qPrintable(share));
            // Its pairs with their outcomes.
            const QString title = text(bestHead)
                + (hits[best] > 0 ? QStringLiteral(" (the best head)")
                                  : QStringLiteral(" (no head hits any pair)"));
            journey.waitFor([&] { return journey.shows(title); }, title);
            auto* table = journey.named<QTableView>(QStringLiteral("Pairs of the head"));
            QVERIFY(table);
            const int column = columnOf(table, QStringLiteral("Hit"));
            const int place = columnOf(table, QStringLiteral("Rank of the target"));
            const CoreModel& own = coreModel(which);
            const auto expected =
                relationPairs({*own.circuits, own.matrices(), options}, 0, bestHead, 20, Task{});
            QVERIFY(isOk(expected));
            QCOMPARE(expected->size(), std::size_t{20});
            QCOMPARE(table->model()->rowCount(), 20);
            int ticks = 0;
            for (int row = 0; row < 20; ++row) {
                const RelationPair& pair = (*expected)[static_cast<std::size_t>(row)];
                const auto tokenAt = [&](int at) {
                    return table->model()->index(row, at).data(ui::TokenTableModel::IdRole).toInt();
                };
                QCOMPARE(std::pair(tokenAt(0), tokenAt(1)), std::pair(pair.source, pair.target));
                QCOMPARE(cell(table, row, column), pair.isHit ? QStringLiteral("✓") : QStringLiteral("✗"));
                QCOMPARE(cell(table, row, place), ui::count(pair.rank + 1));
                ticks += pair.isHit ? 1 : 0;
            }
            QCOMPARE(static_cast<double>(ticks), std::round(hits[best] * 20));
            journey.openTab(QStringLiteral("Suppression"));
            auto* down = journey.named<HeatmapView>(QStringLiteral("Share of pairs lowered"));
            QVERIFY(down);
            const auto lowest =
                static_cast<std::size_t>(std::max_element(lowered.begin(), lowered.end()) - lowered.begin());
            const QString less =
                readOut(journey, down, static_cast<int>(lowest / heads), static_cast<int>(lowest % heads));
            QVERIFY2(reads(numberAfter(less, QStringLiteral("most in")), 100 * lowered[lowest]),
                     qPrintable(less));
            journey.openTab(QStringLiteral("Hits"));
            QVERIFY(listed(journey).contains(name + QStringLiteral(" (not saved)")));
            journey.click(QStringLiteral("Save as relation"));
            QVERIFY(listed(journey).contains(name));
            journey.waitForRest();
        }
        if (which == JourneyModel::Gpt2Small)
            return; // the list does not depend on the model
        Journey nextDay(QStringLiteral("j6-again-") + QLatin1String(QTest::currentDataTag()));
        openModel(nextDay, folderOf(which));
        nextDay.trigger(QStringLiteral("Relations"));
        QVERIFY(listed(nextDay).contains(name));
        nextDay.waitForRest();
    }

private:
    static QStringList listed(Journey& journey)
    {
        QStringList names;
        if (const auto* list = journey.named<QListWidget>(QStringLiteral("Relations")))
            for (int row = 0; row < list->count(); ++row)
                names << list->item(row)->text();
        return names;
    }
};

HEADWISE_TEST_MAIN(FindersTest, runJourneys<FindersTest>)
#include "finders_test.moc"
