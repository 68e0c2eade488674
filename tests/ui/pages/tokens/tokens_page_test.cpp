#include "ui/pages/tokens/tokens_page.h"

#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/position/rotary_tables.h"
#include "core/circuits/gaussian_order.h"
#include "core/circuits/token_table.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/base/text.h"
#include "ui/document/workspace_state.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/table_figure.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QToolButton>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class TokensPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<TokensPage>;

    static HeatmapView* map(Opened& opened)
    {
        return opened.find<HeatmapView>(QStringLiteral("Effect of attending to the token"));
    }

    static double rowNorm(Opened& opened, HeadId head)
    {
        const auto line =
            tokenLine(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                      {CircuitKind::FullOv, head}, TableSide::Row, opened.workspace.selection()->token());
        return line->norm();
    }

    static QTableView* tableNamed(Opened& opened, const QString& name)
    {
        return opened.find<QTableView>(name);
    }

    /// Selects an item of the box with that name by its text, as a user does.
    static void choose(Opened& opened, const QString& name, const QString& item)
    {
        auto* box = opened.find<QComboBox>(name);
        const int index = box->findText(item);
        QVERIFY2(index >= 0, qPrintable(item));
        box->setCurrentIndex(index);
        emit box->activated(index);
    }

private slots:
    void everyHeadShowsWhatAttendingToTheTokenDoes()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setToken(
            opened.workspace.model()->tokenizer()->encode(" king")->back());
        QTRY_VERIFY(map(opened)->matrix());
        const auto agrees = [&](HeadId head) {
            const double shown = double{(*map(opened)->matrix())(head.layer, head.head)};
            return std::abs(shown - rowNorm(opened, head)) < 1e-5 * rowNorm(opened, head);
        };
        QTRY_VERIFY(agrees({1, 5}));
        QVERIFY(agrees({0, 1}) && agrees({1, 0}));
        opened.workspace.selection()->setToken(opened.workspace.model()->tokenizer()->encode(" the")->back());
        QTRY_VERIFY(agrees({1, 5}) && agrees({0, 7}));
    }

    void aClickOpensTheTablesOfThatHead()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setToken(
            opened.workspace.model()->tokenizer()->encode(" king")->back());
        QTRY_VERIFY(map(opened)->matrix());
        QTest::mouseClick(map(opened), Qt::LeftButton, {},
                          map(opened)->cells().rect(1, 5).center().toPoint());
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 5}));
        const auto line =
            tokenLine(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                      {CircuitKind::FullOv, {1, 5}}, TableSide::Row, opened.workspace.selection()->token());
        const int best = ends(*line, 1, opened.workspace.filteredTokens()->unused()).top.front().id;
        auto* table = opened.page.findChildren<QTableView*>().first();
        QTRY_COMPARE(cellText(table, 0, 2), QString::number(best));
        QTest::mouseClick(map(opened), Qt::LeftButton, Qt::ShiftModifier,
                          map(opened)->cells().rect(0, 1).center().toPoint());
        QCOMPARE(opened.workspace.selection()->reference(), std::optional(HeadId{0, 1}));
        QCOMPARE(opened.page.figures().size(), 2);
    }

    void theDirectPathIsARowOfTheSelectedTokenWithItsBias()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        Workspace& workspace = opened.workspace;
        workspace.selection()->setToken(workspace.model()->tokenizer()->encode(" king")->back());
        choose(opened, QStringLiteral("Contents of the tables"), QStringLiteral("largest of all tokens"));
        choose(opened, QStringLiteral("Circuit of the tables"),
               QStringLiteral("direct path: what comes next"));
        QCOMPARE(opened.find<QComboBox>(QStringLiteral("Contents of the tables"))->currentText(),
                 QStringLiteral("row of the token"));
        const auto* largest = tableNamed(opened, QStringLiteral("largest"));
        const auto* smallest = tableNamed(opened, QStringLiteral("smallest"));
        const auto& weights = workspace.model()->circuits()->weights();
        const int V = workspace.model()->card().dVocab;
        const RowVector<double> bias = weights.b_U<double>(0, V);
        const auto lineOf = [&](bool isRow) {
            const int token = workspace.selection()->token();
            return isRow
                ? RowVector<double>(weights.W_E<double>(token, 1) * weights.W_U<double>(0, V))
                : RowVector<double>((weights.W_E<double>(0, V) * weights.W_U<double>(token, 1)).transpose());
        };
        const auto shows = [&](const RowVector<double>& line, bool isRow, bool withBias) {
            const RowVector<double> biased =
                line + (isRow ? bias : RowVector<double>::Constant(V, bias(workspace.selection()->token())));
            const RowVector<double>& shown = withBias ? biased : line;
            const TokenEnds both = ends(shown, 2, workspace.filteredTokens()->unused());
            const LineStatistics of = lineStatistics(shown, workspace.filteredTokens()->unused());
            const auto is = [&](const QTableView* table, int row, const TokenEntry& entry) {
                const auto cell = [&](int column) { return cellText(table, row, column); };
                return cell(TokenTableModel::IdColumn) == QString::number(entry.id)
                    && cell(TokenTableModel::ValueColumn) == signedNumber(entry.value)
                    && cell(TokenTableModel::ZColumn) == signedNumber(of.zScore(entry.value))
                    && (withBias || cell(TokenTableModel::BiasedColumn) == signedNumber(biased(entry.id)));
            };
            return is(largest, 0, both.top[0]) && is(largest, 1, both.top[1])
                && is(smallest, 0, both.bottom[0]);
        };
        QTRY_VERIFY(shows(lineOf(true), true, false));
        QVERIFY(!largest->isColumnHidden(TokenTableModel::ZColumn)
                && !largest->isColumnHidden(TokenTableModel::BiasedColumn));
        workspace.selection()->setToken(workspace.model()->tokenizer()->encode(" of")->back()); // it follows
        QTRY_VERIFY(shows(lineOf(true), true, false));
        for (auto* box : opened.page.findChildren<QCheckBox*>())
            if (box->text() == QLatin1String("biases"))
                box->click();
        QTRY_VERIFY(shows(lineOf(true), true, true));
        choose(opened, QStringLiteral("Contents of the tables"), QStringLiteral("column of the token"));
        QTRY_VERIFY(shows(lineOf(false), false, true));
        QVERIFY(opened.page.figures().front()->figureTitle().startsWith(QStringLiteral("direct path: ")));
        choose(opened, QStringLiteral("Circuit of the tables"), QStringLiteral("full OV: what it writes"));
        const auto ov = tokenLine(*workspace.model()->circuits(), *workspace.model()->tokens(),
                                  {CircuitKind::FullOv, workspace.selection()->head(), {.biases = true}},
                                  TableSide::Column, workspace.selection()->token());
        const int best = ends(*ov, 1, workspace.filteredTokens()->unused()).top.front().id;
        QTRY_COMPARE(cellText(largest, 0, TokenTableModel::IdColumn), QString::number(best));
    }

    void filteredTokensAreNotRanked()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        const auto tokenizer = opened.workspace.model()->tokenizer();
        opened.workspace.selection()->setToken(tokenizer->encode(" king")->back());
        const auto line =
            tokenLine(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                      {CircuitKind::FullOv, {1, 5}}, TableSide::Row, opened.workspace.selection()->token());
        std::vector<bool> unused = opened.workspace.filteredTokens()->unused();
        unused.resize(static_cast<std::size_t>(line->size()), false);
        int left = 0;
        for (int id = 0; id < static_cast<int>(unused.size()); ++id)
            if (const auto at = static_cast<std::size_t>(id);
                !unused[at] && tokenizer->bytes(id).starts_with(' ')) {
                unused[at] = true;
                ++left;
            }
        const TokenEnds wanted = ends(*line, 100, unused);
        choose(opened, QStringLiteral("Leading space"), QStringLiteral("without"));
        auto* button = opened.find<QToolButton>(QStringLiteral("Token filter"));
        QTRY_COMPARE(button->text(), QStringLiteral("%1 tokens left out").arg(count(left)));
        const auto shows = [&](const QTableView* table, const std::vector<TokenEntry>& entries) {
            for (int row = 0; row < 100; ++row)
                if (cellText(table, row, TokenTableModel::IdColumn)
                    != QString::number(entries[static_cast<std::size_t>(row)].id))
                    return false;
            return true;
        };
        const auto* largest = tableNamed(opened, QStringLiteral("largest"));
        const auto* smallest = tableNamed(opened, QStringLiteral("smallest"));
        QTRY_VERIFY(shows(largest, wanted.top));
        QVERIFY(shows(smallest, wanted.bottom));
        choose(opened, QStringLiteral("Leading space"), QStringLiteral("with or without"));
        QCOMPARE(button->text(), QStringLiteral("all tokens"));
        QTRY_VERIFY(shows(largest, ends(*line, 100, opened.workspace.filteredTokens()->unused()).top));
    }

    void tokensThatOccurSeldomAreLeftOut()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QDoubleSpinBox* lowest = nullptr;
        for (auto* box : opened.page.findChildren<QDoubleSpinBox*>())
            if (box->accessibleName() == QLatin1String("Lowest count"))
                lowest = box;
        QVERIFY(lowest && !lowest->isEnabled());
        QVERIFY(lowest->toolTip().contains(QStringLiteral("Analyses page")));
        std::vector<double> counts(static_cast<std::size_t>(opened.workspace.model()->card().dVocab), 0.0);
        counts[5] = counts[300] = 10, counts[6] = 9;
        AnalysisInputs inputs = opened.workspace.runs()->inputs();
        inputs.tokenCounts = std::make_shared<const TokenCounts>("c.csv", counts);
        opened.workspace.runs()->setInputs(inputs);
        QVERIFY(lowest->isEnabled() && lowest->toolTip().contains(QStringLiteral("c.csv")));
        auto* button = opened.find<QToolButton>(QStringLiteral("Token filter"));
        QCOMPARE(button->text(), QStringLiteral("all tokens"));
        lowest->setValue(10);
        emit lowest->editingFinished();
        const auto& unused = opened.workspace.filteredTokens()->unused();
        const auto used =
            static_cast<int>(counts.size()) - static_cast<int>(std::ranges::count(unused, true));
        QTRY_COMPARE(button->text(), QStringLiteral("%1 tokens left out").arg(count(used - 2)));
        const std::vector<bool>& leftOut = opened.workspace.filteredTokens()->unused();
        QVERIFY(!leftOut[5] && !leftOut[300] && leftOut[6]);
        QCOMPARE(filterName(opened.workspace.filteredTokens()->filter()), std::string("--min-count 10"));
        inputs.tokenCounts.reset();
        opened.workspace.runs()->setInputs(inputs);
        QVERIFY(!lowest->isEnabled());
        QTRY_COMPARE(button->text(), QStringLiteral("all tokens"));
    }

    void theFilterIsOfTheWholeWindowAndKept()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        choose(opened, QStringLiteral("Script"), QStringLiteral("printable ASCII"));
        auto* lowest = opened.find<QSpinBox>(QStringLiteral("First id"));
        lowest->setValue(300);
        emit lowest->editingFinished();
        const auto inForce = [&] { return filterName(opened.workspace.filteredTokens()->filter()); };
        QTRY_COMPARE(inForce(), std::string("--ascii --first-id 300"));
        for (int id = 0; id < opened.workspace.model()->card().dVocab; ++id) {
            const std::string bytes = opened.workspace.model()->tokenizer()->bytes(id);
            const bool isAscii = std::ranges::all_of(bytes, [](char c) { return c >= ' ' && c <= '~'; });
            QCOMPARE(opened.workspace.filteredTokens()->unused()[static_cast<std::size_t>(id)],
                     id < 300 || !isAscii || !opened.workspace.model()->tokenizer()->hasToken(id));
        }
        const QJsonObject state = questionState(opened.workspace);
        opened.workspace.filteredTokens()->setFilter({});
        QCOMPARE(inForce(), std::string());
        QCOMPARE(lowest->value(), 0); // another page cleared it
        restoreQuestion(opened.workspace, state);
        QTRY_COMPARE(inForce(), std::string("--ascii --first-id 300"));
        QCOMPARE(lowest->value(), 300);
        const TokenFilter all{.asciiOnly = true,
                              .wordsOnly = true,
                              .trainedOnly = true,
                              .noSpecials = true,
                              .leadingSpace = TokenFilter::LeadingSpace::Without,
                              .firstId = 3,
                              .lastId = 99,
                              .lowestNorm = 0.5,
                              .highestNorm = 2.25,
                              .lowestCount = 7};
        QCOMPARE(filterFromState(filterState(all)), all);
        QVERIFY(filterState({}).isEmpty());
    }

    void scoresStandBesideThoseWithBiases()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        const auto* table = tableNamed(opened, QStringLiteral("largest"));
        QVERIFY(table->isColumnHidden(TokenTableModel::BiasedColumn));
        QVERIFY(table->isColumnHidden(TokenTableModel::IdColumn));
        choose(opened, QStringLiteral("Circuit of the tables"), QStringLiteral("full QK: where it looks"));
        QVERIFY(!table->isColumnHidden(TokenTableModel::BiasedColumn));
        const auto with =
            tokenLine(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                      {CircuitKind::FullQk, {1, 5}, {true, false}}, TableSide::Row,
                      opened.workspace.selection()->token());
        const auto without =
            tokenLine(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                      {CircuitKind::FullQk, {1, 5}}, TableSide::Row, opened.workspace.selection()->token());
        const int first = ends(*without, 1, opened.workspace.filteredTokens()->unused()).top.front().id;
        QTRY_COMPARE(cellText(table, 0, TokenTableModel::IdColumn), QString::number(first));
        QCOMPARE(cellText(table, 0, TokenTableModel::BiasedColumn), signedNumber((*with)(first)));
        for (auto* box : opened.page.findChildren<QCheckBox*>())
            if (box->text() == QLatin1String("ids") || box->text() == QLatin1String("biases"))
                box->click();
        QVERIFY(!table->isColumnHidden(TokenTableModel::IdColumn));
        QVERIFY(table->isColumnHidden(TokenTableModel::BiasedColumn)); // the score itself has them now
    }

    void scoresOfRotaryModelsAreThoseAtTheOffset()
    {
        const QTemporaryDir folder;
        const auto model = std::filesystem::path(folder.path().toStdString()) / "rotary";
        writeToyModel(model, rotaryOptions());
        Opened opened(model);
        opened.workspace.selection()->setHead({1, 2});
        opened.workspace.selection()->setToken(3);
        auto* offset = opened.find<QSpinBox>(QStringLiteral("Offset of the key"));
        QVERIFY(offset->isVisible() && !offset->isEnabled());
        choose(opened, QStringLiteral("Circuit of the tables"), QStringLiteral("full QK: where it looks"));
        QVERIFY(offset->isEnabled());
        const auto* table = tableNamed(opened, QStringLiteral("largest"));
        const auto shows = [&](const RowVector<double>& line) {
            const TokenEnds found = ends(line, 5, {});
            for (int row = 0; row < 5; ++row)
                if (cellText(table, row, TokenTableModel::ValueColumn)
                    != signedNumber(found.top[static_cast<std::size_t>(row)].value))
                    return false;
            return true;
        };
        const auto at = [&](int places) {
            return *rotaryTokenLine(*opened.workspace.model()->circuits(),
                                    *opened.workspace.model()->tokens(), {1, 2}, 3, places);
        };
        QTRY_VERIFY(shows(at(0)));
        offset->setValue(4);
        QCOMPARE(opened.workspace.selection()->rotaryOffset(), 4);
        QTRY_VERIFY(shows(at(4)));
        QVERIFY(!shows(at(0)));
        QVERIFY(opened.page.figures().first()->figureTitle().contains(QStringLiteral("Δ = 4")));
        choose(opened, QStringLiteral("Contents of the tables"), QStringLiteral("largest of all tokens"));
        auto* largest = opened.find<TableFigure>(QStringLiteral("Largest entries, all tokens"));
        double best = -1e9;
        for (int token = 0; token < opened.workspace.model()->card().dVocab; ++token)
            best = std::max(best,
                            rotaryTokenLine(*opened.workspace.model()->circuits(),
                                            *opened.workspace.model()->tokens(), {1, 2}, token, 4)
                                ->maxCoeff());
        QTRY_COMPARE(cellText(largest, 0, 3), signedNumber(best));
        Opened learned(HEADWISE_DEMO_MODEL);
        QVERIFY(!learned.find<QSpinBox>(QStringLiteral("Offset of the key"))->isVisible());
    }

    void theLargestOfAllPairsAreThoseOfTheWholeCircuit()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        choose(opened, QStringLiteral("Contents of the tables"), QStringLiteral("largest of all tokens"));
        Matrix<double> dense =
            opened.workspace.model()
                ->circuits()
                ->circuit<double>(CircuitKind::FullOv, {1, 5}, opened.workspace.model()->tokens().get())
                .dense();
        const std::vector<bool>& unused = opened.workspace.filteredTokens()->unused();
        const auto leaveOut = [&dense](Eigen::Index id) {
            dense.row(id).setConstant(-1e9);
            dense.col(id).setConstant(-1e9);
        };
        for (std::size_t id = 0; id < unused.size(); ++id)
            if (unused[id])
                leaveOut(static_cast<Eigen::Index>(id));
        auto* table = opened.find<TableFigure>(QStringLiteral("Largest entries, all tokens"));
        const auto isFirst = [&] {
            Eigen::Index row = 0, column = 0;
            const double value = dense.maxCoeff(&row, &column);
            return cellText(table, 0, 1) == opened.workspace.model()->tokenText(static_cast<int>(row))
                && cellText(table, 0, 2) == opened.workspace.model()->tokenText(static_cast<int>(column))
                && cellText(table, 0, 3) == signedNumber(value);
        };
        // The null over the displayed pairs, by the definition.
        const auto gaussian = [&] {
            double sum = 0, squares = 0, n = 0;
            for (const double value : dense.reshaped())
                if (value > -1e8)
                    sum += value, squares += value * value, n += 1;
            return sum / n + std::sqrt(squares / n - sum / n * sum / n) * expectedPlace(0, n);
        };
        QTRY_VERIFY(isFirst());
        QCOMPARE(table->model()->rowCount(), 100);
        QCOMPARE(cellText(table, 0, 4), signedNumber(gaussian()));
        auto* lowest = opened.find<QSpinBox>(QStringLiteral("First id"));
        lowest->setValue(500);
        emit lowest->editingFinished();
        for (Eigen::Index id = 0; id < 500; ++id)
            leaveOut(id);
        QTRY_VERIFY(isFirst());
        QTRY_COMPARE(cellText(table, 0, 4), signedNumber(gaussian()));
        QCOMPARE(opened.page.figures().size(), 2);
    }

    void theMouseReadsOutTheStrongestOutputs()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(map(opened)->matrix());
        QSignalSpy said(&opened.page, &Page::readOutChanged);
        QTest::mouseMove(map(opened), map(opened)->cells().rect(1, 7).center().toPoint());
        const auto line =
            tokenLine(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                      {CircuitKind::FullOv, {1, 7}}, TableSide::Row, opened.workspace.selection()->token());
        QStringList outputs;
        for (const TokenEntry& entry : ends(*line, 5, opened.workspace.filteredTokens()->unused()).top)
            outputs << opened.workspace.model()->tokenText(entry.id);
        QTRY_VERIFY(!said.isEmpty() && said.last()[0].toString().endsWith(outputs.join(u' ')));
        QVERIFY(said.last()[0].toString().contains(number(rowNorm(opened, {1, 7}))));
    }
};

HEADWISE_TEST(TokensPageTest)
#include "tokens_page_test.moc"
