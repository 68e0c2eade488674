#include "ui/pages/compare/compare_page.h"

#include "core/analysis/comparison/ratio.h"
#include "core/circuits/block.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/split_bar.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class ComparePageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<ComparePage>;

    static constexpr HeadId head{1, 5}, reference{0, 1};

    static Eigen::MatrixXf whole(Opened& opened, CircuitKind kind, HeadId of)
    {
        return *wholeCircuit(*opened.workspace.model()->circuits(), {kind, of});
    }

    static HeatmapView* selected(Opened& opened)
    {
        return opened.find<HeatmapView>(QStringLiteral("Circuit of the selected head"));
    }
    static HeatmapView* other(Opened& opened)
    {
        return opened.find<HeatmapView>(QStringLiteral("Circuit of the reference"));
    }

    static void select(Opened& opened)
    {
        opened.workspace.selection()->setHead(head);
        opened.workspace.selection()->setReference(reference);
        QTRY_VERIFY(other(opened)->matrix() && other(opened)->isVisible());
    }

    static bool shows(const HeatmapView* view, const Eigen::MatrixXf& matrix)
    {
        return view->matrix() && view->matrix()->rows() == matrix.rows() && *view->matrix() == matrix;
    }

private slots:
    void saysHowToSetAReference()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        const auto says = [&] {
            for (const QLabel* label : opened.page.findChildren<QLabel*>())
                if (label->isVisible() && label->text().startsWith(QLatin1String("To compare L")))
                    return true;
            return false;
        };
        QTRY_VERIFY(says());
        QVERIFY(opened.page.figures().isEmpty());
        select(opened);
        QVERIFY(!says());
        opened.workspace.selection()->setReference(std::nullopt);
        QTRY_VERIFY(says());
    }

    void aLockHoldsWhenAnotherHeadIsSelected()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        select(opened);
        const ColorScale first = selected(opened)->colors()->scale();
        const auto go = [&](HeadId to) {
            opened.workspace.selection()->setHead(to);
            QTRY_VERIFY(shows(selected(opened), whole(opened, CircuitKind::Ov, to)));
        };
        go({1, 0});
        QVERIFY(selected(opened)->colors()->scale()
                != first); // the positive control: it follows both matrices
        go(head);
        QCOMPARE(selected(opened)->colors()->scale(), first);
        selected(opened)->setFocus();
        QTest::keyClick(selected(opened), Qt::Key_I);
        QVERIFY(other(opened)->colors()->scale().inverted);
        QTest::keyClick(selected(opened), Qt::Key_L);
        QVERIFY(other(opened)->colors()->isLocked());
        go({1, 0});
        for (const HeatmapView* view : {selected(opened), other(opened)}) {
            QCOMPARE(view->colors()->scale().high, first.high);
            QVERIFY(view->colors()->scale().inverted);
        }
        QTest::keyClick(other(opened), Qt::Key_L); // either unlocks both
        for (const HeatmapView* view : {selected(opened), other(opened)}) {
            QVERIFY(!view->colors()->isLocked());
            QVERIFY(view->colors()->scale().high != first.high);
            QVERIFY(view->colors()->scale().inverted);
        }
    }

    void showsBothHeadsWithOneScaleAndZoom()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        select(opened);
        QVERIFY(shows(selected(opened), whole(opened, CircuitKind::Ov, head)));
        QVERIFY(shows(other(opened), whole(opened, CircuitKind::Ov, reference)));
        QCOMPARE(selected(opened)->colors()->scale(), other(opened)->colors()->scale());
        ColorScale wider = selected(opened)->colors()->scale();
        wider.high *= 3;
        other(opened)->colors()->setScale(wider);
        QCOMPARE(selected(opened)->colors()->scale().high, wider.high);
        QTest::keyClick(selected(opened), Qt::Key_Plus);
        QVERIFY(selected(opened)->zoom()->state().zoomX > 1);
        QCOMPARE(other(opened)->zoom()->state(), selected(opened)->zoom()->state());
        QTest::mouseClick(other(opened), Qt::LeftButton, {}, other(opened)->rect().center());
        QVERIFY(other(opened)->zoom()->state().row >= 0);
        QCOMPARE(selected(opened)->zoom()->state(), other(opened)->zoom()->state());
    }

    void shiftShowsTheReferenceInPlaceAndDTheDifference()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        select(opened);
        const Eigen::MatrixXf a = whole(opened, CircuitKind::Ov, head);
        const Eigen::MatrixXf b = whole(opened, CircuitKind::Ov, reference);
        QTest::keyPress(&opened.page, Qt::Key_Shift);
        QVERIFY(shows(selected(opened), b));
        QTest::keyRelease(&opened.page, Qt::Key_Shift);
        QVERIFY(shows(selected(opened), a));
        opened.page.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&opened.page));
        QTest::keyClick(&opened.page, Qt::Key_D);
        auto* between = opened.find<HeatmapView>(QStringLiteral("Selected head minus reference"));
        QTRY_VERIFY(between->isVisible());
        QVERIFY(!selected(opened)->isVisible());
        QVERIFY(shows(between, a - b));
        QVERIFY(opened.page.figures().first()->figureTitle().startsWith(QStringLiteral("L1H5 − L0H1")));
        const auto buttons = opened.page.findChildren<QAbstractButton*>();
        QTRY_VERIFY(
            std::ranges::none_of(buttons, [](const QAbstractButton* button) { return button->isDown(); }));
        QTest::keyClick(&opened.page, Qt::Key_D);
        QTRY_VERIFY(selected(opened)->isVisible());
    }

    void aDividerPartsReferenceAndSelectedHead()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        select(opened);
        opened.find<QComboBox>(QStringLiteral("How to compare"))->setCurrentIndex(1);
        auto* split =
            opened.find<HeatmapView>(QStringLiteral("Reference left of the divider, selected head right"));
        auto* divider = opened.find<SplitBar>(QStringLiteral("Divider between reference and selected head"));
        QTRY_VERIFY(split->isVisible() && divider->isVisible());
        const Eigen::MatrixXf a = whole(opened, CircuitKind::Ov, head);
        const Eigen::MatrixXf b = whole(opened, CircuitKind::Ov, reference);
        const auto parted = [&](Eigen::Index at) {
            Eigen::MatrixXf both = a;
            both.leftCols(at) = b.leftCols(at);
            return both;
        };
        const int middle = static_cast<int>(a.cols()) / 2;
        QVERIFY(shows(split, parted(middle)));
        QCOMPARE(split->colors()->scale(), selected(opened)->colors()->scale());
        QTest::keyClick(divider, Qt::Key_Left);
        QCOMPARE(divider->value(), middle - 1);
        QTRY_VERIFY(shows(split, parted(middle - 1)));
        // The divider is between two columns and can be dragged.
        const auto edge = [&](int column) { return qRound(split->cells().rect(0, column).left()); };
        QTRY_VERIFY(std::abs(divider->geometry().center().x() - edge(middle - 1)) <= 1);
        const QPoint grip = divider->rect().center();
        QTest::mousePress(divider, Qt::LeftButton, {}, grip);
        QTest::mouseMove(divider, grip + QPoint(edge(5) - edge(middle - 1), 0));
        QTest::mouseRelease(divider, Qt::LeftButton, {}, grip);
        QTRY_VERIFY(shows(split, parted(5)));
        QTRY_VERIFY(std::abs(divider->geometry().center().x() - edge(5)) <= 1);
        QTest::keyClick(divider, Qt::Key_End);
        QTRY_VERIFY(shows(split, b));
        QVERIFY(opened.page.figures().first()->figureTitle().startsWith(
            QStringLiteral("L0H1 OV (reference) left")));
        // If it is out of view, it waits at the edge of the visible part.
        split->zoom()->setState({8, 8, 0, 0, -1, -1});
        divider->setValue(static_cast<int>(a.cols()));
        QTRY_VERIFY(divider->geometry().right() <= split->width());
        QVERIFY(divider->isVisible());
    }

    void aRatioIsEmptyWhereTheReferenceIsNearZero()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        select(opened);
        opened.find<QComboBox>(QStringLiteral("How to compare"))->setCurrentIndex(3);
        auto* ratio = opened.find<HeatmapView>(QStringLiteral("Selected head over reference"));
        QTRY_VERIFY(ratio->isVisible() && ratio->matrix());
        const Eigen::MatrixXf expected =
            ratioOf(whole(opened, CircuitKind::Ov, head), whole(opened, CircuitKind::Ov, reference));
        qint64 empty = 0;
        for (Eigen::Index i = 0; i < expected.size(); ++i) {
            const float value = expected.data()[i], shown = ratio->matrix()->data()[i];
            QVERIFY(shown == value || (std::isnan(shown) && std::isnan(value)));
            empty += std::isnan(value) ? 1 : 0;
        }
        QVERIFY(empty > 0 && empty < expected.size() / 20);
        QCOMPARE(ratio->content()->notFiniteCount(), empty);
        QVERIFY(opened.page.figures().first()->figureTitle().contains(count(empty)));
        // Ratio 1 is in the middle of the scale.
        const ColorScale& scale = ratio->colors()->scale();
        QVERIFY(std::abs((scale.low + scale.high) / 2 - 1) < 1e-5F && scale.high > 1);
    }

    void tablesSayWhatEntersAndLeaves()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setToken(opened.workspace.model()->tokenizer()->encode(" the")->back());
        select(opened);
        const int token = opened.workspace.selection()->token();
        const auto line = [&](HeadId of) {
            return *tokenLine(*opened.workspace.model()->circuits(), *opened.workspace.model()->tokens(),
                              {CircuitKind::FullOv, of}, TableSide::Row, token);
        };
        const TableDifference expected =
            tableDifference(line(head), line(reference), 20, opened.workspace.filteredTokens()->unused());
        auto* only = opened.find<TableFigure>(QStringLiteral("Only in the selected head"));
        auto* both = opened.find<TableFigure>(QStringLiteral("In both heads"));
        QTRY_COMPARE(only->model()->rowCount(), static_cast<int>(expected.onlyFirst.size()));
        QCOMPARE(both->model()->rowCount(), static_cast<int>(expected.both.size()));
        QVERIFY(!expected.onlyFirst.empty());
        QCOMPARE(cellText(only, 0, 0), opened.workspace.model()->tokenText(expected.onlyFirst.front().id));
        QCOMPARE(cellText(only, 0, 2), count(expected.onlyFirst.front().secondRank + 1));
        QCOMPARE(cellText(only, 0, 4), signedNumber(expected.onlyFirst.front().first));
        const QPoint cell = only->visualRect(only->model()->index(0, 0)).center();
        QTest::mouseClick(only->viewport(), Qt::LeftButton, {}, cell);
        QTest::mouseDClick(only->viewport(), Qt::LeftButton, {}, cell);
        QTRY_COMPARE(opened.workspace.selection()->token(), expected.onlyFirst.front().id);
        QVERIFY(expected.onlyFirst.size() > 1); // Enter does what a double click does.
        only->setCurrentIndex(only->model()->index(1, 0));
        QTest::keyClick(only, Qt::Key_Return);
        QTRY_COMPARE(opened.workspace.selection()->token(), expected.onlyFirst[1].id);
    }

    void numbersAndSpectraAreThoseOfCore()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        select(opened);
        opened.find<QComboBox>(QStringLiteral("Circuit to compare"))->setCurrentIndex(1); // QK
        const Circuits& circuits = *opened.workspace.model()->circuits();
        const auto pair = compareHeads({circuits, head}, {circuits, reference}, CircuitKind::Qk, Task{});
        QVERIFY(pair);
        QTRY_VERIFY(shows(selected(opened), whole(opened, CircuitKind::Qk, head)));
        QString words;
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            words += label->text();
        QVERIFY(words.contains(QStringLiteral("<b>%1</b>").arg(signedNumber(pair->cosine))));
        QVERIFY(words.contains(QStringLiteral("<b>%1</b>").arg(number(pair->leftKernel))));
        QVERIFY(words.contains(QStringLiteral("<b>%1</b>").arg(number(pair->spectrumDistance))));
        const auto& series =
            opened.find<LineChart>(QStringLiteral("Singular values of both heads"))->series();
        QCOMPARE(series.size(), 2U);
        QCOMPARE(series[1].points[0].y(), pair->second[0]);
        const auto& angles =
            opened.find<LineChart>(QStringLiteral("Principal angles of both heads"))->series();
        QCOMPARE(angles.size(), 3U);
        QCOMPARE(angles[0].points[1].y(), pair->left.angles[1]);
        QCOMPARE(angles[1].points[1].y(), pair->right.angles[1]);
        QCOMPARE(angles[2].points[1].y(), pair->left.ofChance[1]);
        // The view comes back as it was.
        const QJsonObject state = opened.page.viewState();
        opened.find<QComboBox>(QStringLiteral("Circuit to compare"))->setCurrentIndex(2);
        opened.page.setViewState(state);
        QCOMPARE(opened.page.viewState(), state);
        QTRY_VERIFY(opened.page.figures().size() == 7);
        QVERIFY(dataRows(opened.page.figures().last()).size() > 1);
    }
};

HEADWISE_TEST(ComparePageTest)
#include "compare_page_test.moc"
