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

    void heatmapsHaveOneScaleThatFitsBoth()
    {
        HeatmapView left, right;
        SharedScale scale;
        fill(left, 2);
        fill(right, -5);
        QCOMPARE(left.colors()->scale().high, 2.0F);
        scale.add(&left);
        scale.add(&right);
        QCOMPARE(left.colors()->scale().high, 5.0F);
        QVERIFY(left.colors()->scale() == right.colors()->scale());
        fill(left, 7); // A newer matrix on either side.
        QCOMPARE(right.colors()->scale().high, 7.0F);
        fill(left, 1);
        QCOMPARE(left.colors()->scale().high, 5.0F);
    }

    void whatIsChangedInOneChangesInBoth()
    {
        HeatmapView left, right;
        SharedScale scale;
        fill(left, 2);
        fill(right, -5);
        scale.add(&left);
        scale.add(&right);
        right.colors()->setScale({.map = ColorMap::Viridis, .low = 0, .high = 3, .fit = ColorFit::Fixed});
        QCOMPARE(left.colors()->scale().map, ColorMap::Viridis);
        QCOMPARE(left.colors()->scale().high, 3.0F);
    }

    void aViewThatIsGoneNoLongerCounts()
    {
        HeatmapView left;
        fill(left, 2);
        auto scale = std::make_unique<SharedScale>();
        scale->add(&left);
        {
            HeatmapView right;
            fill(right, -5);
            scale->add(&right);
            QCOMPARE(left.colors()->scale().high, 5.0F);
        }
        QCOMPARE(left.colors()->scale().high, 2.0F);
        scale.reset();
        QVERIFY(!left.colors()->sharedScale());
        fill(left, 3);
        QCOMPARE(left.colors()->scale().high, 3.0F);
    }
};

HEADWISE_TEST(SharedScaleTest)
#include "shared_scale_test.moc"
