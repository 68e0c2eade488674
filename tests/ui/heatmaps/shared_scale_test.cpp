#include "ui/heatmaps/shared_scale.h"

#include "tests/support/program.h"

#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QTest>

#include <memory>

using namespace headwise;
using namespace headwise::ui;

namespace {

void fill(HeatmapView& view, float value, int rows = 20, int columns = 20)
{
    view.resize(300, 300);
    view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(rows, columns, value)));
}

} // namespace

class SharedScaleTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void linkedHeatmapsHaveOneScaleThatFitsBoth()
    {
        HeatmapView left, right;
        fill(left, 2);
        fill(right, -5);
        QCOMPARE(left.colorScale().high, 2.0F);
        linkHeatmaps(&left, &right);
        QCOMPARE(left.colorScale().high, 5.0F);
        QVERIFY(left.colorScale() == right.colorScale());
        fill(left, 7); // A newer matrix on either side.
        QCOMPARE(right.colorScale().high, 7.0F);
        fill(left, 1);
        QCOMPARE(left.colorScale().high, 5.0F);
    }

    void whatIsChangedInOneChangesInBoth()
    {
        HeatmapView left, right;
        fill(left, 2);
        fill(right, -5);
        linkHeatmaps(&left, &right);
        right.colors()->setScale({.map = ColorMap::Viridis, .low = 0, .high = 3, .fit = ColorFit::Fixed});
        QCOMPARE(left.colorScale().map, ColorMap::Viridis);
        QCOMPARE(left.colorScale().high, 3.0F);
    }

    void linkedHeatmapsAreSeenAtTheSamePlace()
    {
        HeatmapView left, right;
        fill(left, 2);
        fill(right, -5);
        left.zoom()->setState({.zoomX = 2, .zoomY = 4, .row = 3, .column = 7});
        linkHeatmaps(&left, &right);
        QVERIFY(right.state() == left.state());
        QTest::keyClick(&right, Qt::Key_Right);
        QCOMPARE(left.state().column, 8);
        QTest::keyClick(&left, Qt::Key_Plus);
        QCOMPARE(right.state().zoomX, 3.0);
    }

    void matricesOfDifferentSizesComeToRestAtAStateBothHave()
    {
        HeatmapView left, right;
        fill(left, 1, 100, 100);
        fill(right, 1, 6, 6);
        linkHeatmaps(&left, &right);
        left.zoom()->setState({.zoomX = 40, .zoomY = 40});
        QCOMPARE(right.state().zoomX, 3.0);
        QVERIFY(left.state() == right.state());
    }

    void aViewThatIsGoneNoLongerCounts()
    {
        HeatmapView left;
        fill(left, 2);
        {
            HeatmapView right;
            fill(right, -5);
            linkHeatmaps(&left, &right);
            QCOMPARE(left.colorScale().high, 5.0F);
        }
        QCOMPARE(left.colorScale().high, 2.0F);
        auto first = std::make_unique<HeatmapView>(); // The one that owns the shared scale may go first.
        fill(*first, 9);
        linkHeatmaps(first.get(), &left);
        QCOMPARE(left.colorScale().high, 9.0F);
        first.reset();
        QVERIFY(!left.colors()->sharedScale());
        fill(left, 3);
        QCOMPARE(left.colorScale().high, 3.0F);
    }
};

HEADWISE_TEST(SharedScaleTest)
#include "shared_scale_test.moc"
