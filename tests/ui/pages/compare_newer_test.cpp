// The selected head in two models: the Compare page agrees with each model's own circuits.

#include "core/circuits/block.h"
#include "tests/support/analysed.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/compared_model.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/compare/compare_page.h"
#include "ui/pages/compare/models_page.h"
#include "ui/widgets/table_figure.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>

#include <numeric>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class CompareNewerTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<ComparePage>;

    static constexpr HeadId head{1, 2};

    QTemporaryDir m_folder;

    std::filesystem::path path(const char* name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

    static HeatmapView* older(Opened& opened)
    {
        return opened.find<HeatmapView>(QStringLiteral("Circuit of the selected head"));
    }
    static HeatmapView* newer(Opened& opened)
    {
        return opened.find<HeatmapView>(QStringLiteral("Circuit of the reference"));
    }
    static bool shows(const HeatmapView* view, const Eigen::MatrixXf& matrix)
    {
        return view->isVisible() && view->matrix() && view->matrix()->rows() == matrix.rows()
            && *view->matrix() == matrix;
    }
    static void choose(Opened& opened, CircuitKind kind)
    {
        auto* box = opened.find<QComboBox>(QStringLiteral("Circuit to compare"));
        box->setCurrentIndex(box->findData(static_cast<int>(kind)));
    }
    static bool says(const Opened& opened, const QString& words)
    {
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(words))
                return true;
        return false;
    }
    void compare(Opened& opened, const char* name) const
    {
        opened.workspace.selection()->setHead(head);
        ComparedModel::of(&opened.workspace)->compare({path(name), std::nullopt, {}});
        QTRY_VERIFY(ComparedModel::of(&opened.workspace)->ready());
    }

private slots:
    void initTestCase()
    {
        writeToyModel(path("older"), ToyOptions());
        ToyOptions other;
        other.seed = 5;
        writeToyModel(path("newer"), other);
        other.dVocab = 13;
        writeToyModel(path("vocabulary"), other);
        other.dVocab = 11;
        other.dModel = 11;
        writeToyModel(path("wider"), other);
        other.nHeads = 2;
        writeToyModel(path("fewer"), other);
    }

    void bothCircuitsStandSideBySide()
    {
        Opened opened(path("older"));
        compare(opened, "newer");
        const Circuits a = circuitsOf(path("older")), b = circuitsOf(path("newer"));
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov}) {
            choose(opened, kind);
            const Eigen::MatrixXf B = *wholeCircuit(b, {kind, head});
            QTRY_VERIFY(shows(newer(opened), B));
            QVERIFY(shows(older(opened), *wholeCircuit(a, {kind, head})));
            const Matrix<double> dense = denseCircuit(b, kind, head, {}, {});
            QVERIFY((B.cast<double>() - dense).norm() < 1e-6 * dense.norm());
            QVERIFY(*older(opened)->matrix() != *newer(opened)->matrix());
            QCOMPARE(older(opened)->colors()->scale(), newer(opened)->colors()->scale());
            const auto pair = compareHeads({a, head}, {b, head}, kind, Task{});
            QVERIFY(pair);
            QVERIFY(says(opened, QStringLiteral("<b>%1</b>").arg(signedNumber(pair->cosine))));
            const auto& series =
                opened.find<LineChart>(QStringLiteral("Principal angles of both heads"))->series();
            QCOMPARE(series.size(), 3U);
            QCOMPARE(series[0].points.back().y(), pair->left.angles.back());
            QCOMPARE(series[1].points.back().y(), pair->right.angles.back());
            QCOMPARE(series[2].points.front().y(), pair->left.ofChance.front());
        }
        QVERIFY(
            opened.page.figures().first()->figureTitle().startsWith(QStringLiteral("L1H2 OV, toy and toy")));
        QCOMPARE(opened.page.figures().first()->provenance().back().first, QStringLiteral("compared with"));
        QVERIFY(opened.page.figures()[1]->figureTitle().startsWith(QStringLiteral("L1H2 newer OV (toy)")));
    }

    void zoomFlashAndDifferenceAreThoseOfTwoHeads()
    {
        Opened opened(path("older"));
        compare(opened, "newer");
        const Eigen::MatrixXf A = *wholeCircuit(circuitsOf(path("older")), {CircuitKind::Ov, head});
        const Eigen::MatrixXf B = *wholeCircuit(circuitsOf(path("newer")), {CircuitKind::Ov, head});
        QTRY_VERIFY(shows(newer(opened), B));
        QTest::keyClick(older(opened), Qt::Key_Plus);
        QVERIFY(older(opened)->zoom()->state().zoomX > 1);
        QCOMPARE(newer(opened)->zoom()->state(), older(opened)->zoom()->state());
        QTest::keyPress(&opened.page, Qt::Key_Shift);
        QVERIFY(shows(older(opened), B));
        QTest::keyRelease(&opened.page, Qt::Key_Shift);
        QVERIFY(shows(older(opened), A));
        opened.page.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&opened.page));
        QTest::keyClick(&opened.page, Qt::Key_D);
        auto* between = opened.find<HeatmapView>(QStringLiteral("Selected head minus reference"));
        QTRY_VERIFY(shows(between, A - B));
    }

    void theTablesSayWhichTokensLeftAndEntered()
    {
        Opened opened(path("older"));
        opened.workspace.selection()->setToken(3);
        compare(opened, "newer");
        const auto lineOf = [&](const char* name) {
            const Circuits circuits = circuitsOf(path(name));
            return *tokenLine(circuits, *tokensOf(circuits), {CircuitKind::FullOv, head}, TableSide::Row, 3);
        };
        // All eleven tokens are among the twenty strongest of both, so only their ranks differ.
        const TableDifference expected = tableDifference(lineOf("older"), lineOf("newer"), 20, {});
        auto* both = opened.find<TableFigure>(QStringLiteral("In both heads"));
        QTRY_COMPARE(both->model()->rowCount(), 11);
        bool isMoved = false;
        for (int row = 0; row < 11; ++row) {
            const ChangedEntry& entry = expected.both[static_cast<std::size_t>(row)];
            QCOMPARE(cellText(both, row, 0), opened.workspace.model()->tokenText(entry.id));
            QCOMPARE(cellText(both, row, 1), count(entry.firstRank + 1));
            QCOMPARE(cellText(both, row, 2), count(entry.secondRank + 1));
            QCOMPARE(cellText(both, row, 5), signedNumber(entry.second));
            isMoved = isMoved || entry.firstRank != entry.secondRank;
        }
        QVERIFY(isMoved);
    }

    void otherVocabulariesLeaveTheResidualCircuits()
    {
        Opened opened(path("older"));
        compare(opened, "vocabulary");
        const Eigen::MatrixXf B = *wholeCircuit(circuitsOf(path("vocabulary")), {CircuitKind::Ov, head});
        QTRY_VERIFY(shows(newer(opened), B));
        QVERIFY(says(opened, QStringLiteral("The vocabularies differ")));
        choose(opened, CircuitKind::FullOv);
        QTRY_VERIFY(says(opened, QStringLiteral("have different tokens")));
        QVERIFY(!newer(opened)->isVisible());
    }

    void otherWidthsLeaveTheFullCircuits()
    {
        Opened opened(path("older"));
        compare(opened, "wider"); // there is no change of heads of other sizes: they are matched
        QVERIFY(!opened.workspace.model()->results()->find("comparison/ov/relative_change"));
        QVERIFY(opened.workspace.model()->results()->find("comparison/match/best"));
        QTRY_VERIFY(says(opened, QStringLiteral("d_model is 7 in toy and 11 in toy")));
        QVERIFY(!newer(opened)->isVisible());
        choose(opened, CircuitKind::FullOv);
        const Circuits circuits = circuitsOf(path("wider"));
        const auto tokens = tokensOf(circuits);
        std::vector<int> ids(11);
        std::iota(ids.begin(), ids.end(), 0);
        const Eigen::MatrixXf B =
            *circuitBlock(circuits, tokens.get(), {CircuitKind::FullOv, head}, ids, ids);
        QTRY_VERIFY(shows(newer(opened), B));
        QVERIFY(says(opened, QStringLiteral("no cosine")));
    }

    void aHeadThatOneModelLacksIsSaid()
    {
        Opened opened(path("older"));
        compare(opened, "fewer");
        QTRY_VERIFY(says(opened, QStringLiteral("toy has no head L1H2, only 2 layers of 2 heads")));
    }

    void whatItIsComparedWithIsChosen()
    {
        Opened opened(path("older"));
        auto* against = opened.find<QComboBox>(QStringLiteral("Head to compare with"));
        QVERIFY(!against->isVisible());
        compare(opened, "newer");
        QTRY_VERIFY(against->isVisible());
        QCOMPARE(against->currentIndex(), 1); // there is no reference head
        const Circuits circuits = circuitsOf(path("older"));
        opened.workspace.selection()->setReference(HeadId{0, 0});
        QTRY_VERIFY(shows(newer(opened), *wholeCircuit(circuits, {CircuitKind::Ov, {0, 0}})));
        QCOMPARE(against->currentIndex(), 0);
        const QJsonObject ofHeads = opened.page.viewState();
        against->setCurrentIndex(1);
        const Eigen::MatrixXf B = *wholeCircuit(circuitsOf(path("newer")), {CircuitKind::Ov, head});
        QTRY_VERIFY(shows(newer(opened), B));
        opened.page.setViewState(ofHeads);
        QCOMPARE(against->currentIndex(), 0);
        // The page of both models leads here.
        ModelsPage models(&opened.workspace);
        models.show();
        QSignalSpy requested(&models, &ModelsPage::pageRequested);
        for (QPushButton* button : models.findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("Circuits of L1H2 in both"))
                button->click();
        QCOMPARE(requested.size(), 1);
        QCOMPARE(requested[0][0].toString(), QStringLiteral("compare"));
        QCOMPARE(against->currentIndex(), 1);
    }

    void theNewerModelFollowsTheProcessingAndIsForgottenWithTheOpenOne()
    {
        Opened opened(path("older"));
        compare(opened, "newer");
        const Eigen::MatrixXf folded = *wholeCircuit(circuitsOf(path("newer")), {CircuitKind::Ov, head});
        QTRY_VERIFY(shows(newer(opened), folded));
        opened.workspace.model()->setProcessingWish(noProcessing());
        const Eigen::MatrixXf raw =
            *wholeCircuit(circuitsOf(path("newer"), noProcessing()), {CircuitKind::Ov, head});
        QVERIFY(raw != folded);
        QTRY_VERIFY(shows(newer(opened), raw));
        // A copy for pictures knows it too.
        const auto copy = opened.workspace.snapshot(HeadId{0, 1});
        QVERIFY(ComparedModel::of(copy.get())->ready());
        QVERIFY(ComparedModel::of(copy.get())->isReference());
        opened.workspace.opener()->openModel({path("newer"), std::nullopt, {}});
        QTRY_VERIFY(ComparedModel::of(&opened.workspace)->name().isEmpty());
        QVERIFY(!ComparedModel::of(&opened.workspace)->isReference());
    }

    void aSessionOpensItAgain()
    {
        const std::filesystem::path file = path("session.h5");
        QJsonObject state;
        {
            Opened opened(path("older"));
            compare(opened, "newer");
            QSignalSpy saved(opened.workspace.session(), &SessionFile::saved);
            opened.workspace.session()->save(file, {});
            QTRY_COMPARE(saved.size(), 1);
            state = opened.page.viewState();
        }
        Workspace workspace;
        ComparePage page(&workspace);
        page.show();
        workspace.opener()->openSession(file);
        QTRY_VERIFY(workspace.model()->hasModel());
        workspace.selection()->setHead(head);
        page.setViewState(state);
        const Eigen::MatrixXf B = *wholeCircuit(circuitsOf(path("newer")), {CircuitKind::Ov, head});
        const auto found = [&] {
            for (const HeatmapView* view : page.findChildren<HeatmapView*>())
                if (view->accessibleName() == QStringLiteral("Circuit of the reference") && shows(view, B))
                    return true;
            return false;
        };
        QTRY_VERIFY(found());
    }
};

HEADWISE_TEST(CompareNewerTest)
#include "compare_newer_test.moc"
