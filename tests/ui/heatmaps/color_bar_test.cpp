#include "ui/heatmaps/color_bar.h"

#include "tests/support/program.h"

#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/limits_dialog.h"
#include "ui/widgets/ticks.h"

#include <QApplication>
#include <QLineEdit>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>

#include <cmath>

using namespace headwise;
using namespace headwise::ui;

namespace {

// 8 px of space above and below the bar of a 200 px high widget.
constexpr int top = 8;
constexpr int bottom = 192;

void drag(ColorBar& bar, QPoint from, QPoint to)
{
    QTest::mousePress(&bar, Qt::LeftButton, {}, from);
    QTest::mouseMove(&bar, to);
    QTest::mouseRelease(&bar, Qt::LeftButton, {}, to);
}

void showBar(ColorBar& bar)
{
    bar.resize(60, 200);
    bar.show();
    QVERIFY(QTest::qWaitForWindowExposed(&bar));
}

} // namespace

class ColorBarTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void showsTheColorsOfItsScale()
    {
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        const ColorScale scale{.map = ColorMap::Viridis, .low = 0, .high = 1};
        bar.setScale(scale);
        const QImage image = bar.grab().toImage();
        for (int y = top + 2; y < bottom - 2; y += 10) {
            // The centre of the pixel; the bar's 256 slices meet 184 pixels, so one slice off is allowed.
            const float value = static_cast<float>(bottom - y - 0.5) / float(bottom - top);
            const QRgb found = image.pixel(4, y);
            QVERIFY(found == colorOf(value, scale) || found == colorOf(value + 1.0F / 256, scale)
                    || found == colorOf(value - 1.0F / 256, scale));
        }
    }

    void aBarBesideAMapIsAsLongAsTheMap()
    {
        for (const Qt::Orientation orientation : {Qt::Vertical, Qt::Horizontal}) {
            const bool upright = orientation == Qt::Vertical;
            HeatmapPanel panel(nullptr, orientation);
            panel.view()->setCellShape(HeatmapView::CellShape::Square);
            panel.view()->setMatrix(std::make_shared<const Eigen::MatrixXf>(
                Eigen::MatrixXf::Random(upright ? 4 : 8, upright ? 8 : 4)));
            panel.resize(upright ? QSize(400, 400) : QSize(400, 380));
            panel.show();
            QVERIFY(QTest::qWaitForWindowExposed(&panel));
            const auto* bar = panel.findChild<ColorBar*>();
            const QRectF cells(panel.view()->cells().rect(0, 0).topLeft(),
                               upright ? panel.view()->cells().rect(3, 7).bottomRight()
                                       : panel.view()->cells().rect(7, 3).bottomRight());
            const QImage image = panel.grab().toImage();
            const auto isColored = [&](double along) {
                const QPoint at =
                    upright ? QPoint(bar->x() + 6, qRound(along)) : QPoint(qRound(along), bar->y() + 6);
                return image.pixelColor(at) != image.pixelColor(image.width() - 1, image.height() - 1);
            };
            const double first = upright ? cells.top() : cells.left();
            const double last = upright ? cells.bottom() : cells.right();
            QVERIFY(last - first > 120 && last + 40 < (upright ? image.height() : image.width()));
            QVERIFY(isColored(first + 3) && isColored(last - 3));
            for (double along = last + 12; along < (upright ? image.height() : image.width()) - 1; along += 5)
                QVERIFY(!isColored(along));
        }
    }

    void aBarBesideNothingIsNotDrawn()
    {
        HeatmapPanel panel(nullptr, Qt::Vertical);
        panel.resize(400, 300);
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        auto* bar = panel.findChild<ColorBar*>();
        const auto isDrawn = [bar] {
            const QImage image = bar->grab().toImage();
            for (int y = 0; y < image.height(); ++y)
                if (image.pixel(image.width() / 4, y) != image.pixel(0, 0))
                    return true;
            return false;
        };
        QVERIFY(!isDrawn());
        panel.view()->setMatrix(std::make_shared<const Eigen::MatrixXf>(Eigen::MatrixXf::Random(4, 4)));
        QVERIFY(isDrawn());
        panel.view()->setMatrix(nullptr);
        QVERIFY(!isDrawn());
    }

    void draggingAnEndOfASignedScaleKeepsItSymmetric()
    {
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        QSignalSpy changed(&bar, &ColorBar::scaleChanged);
        drag(bar, {6, top}, {6, top + 46}); // A quarter of 184 px down from +1 to +0.5.
        QVERIFY(!changed.isEmpty());
        QVERIFY(std::abs(bar.scale().high - 0.5F) < 1e-6F);
        QCOMPARE(bar.scale().low, -bar.scale().high);
        QCOMPARE(bar.scale().fit, ColorFit::Fixed);
    }

    void draggingAnEndOfAnUnsignedScaleMovesOnlyIt()
    {
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        bar.setScale({.map = ColorMap::Viridis, .low = 0, .high = 4});
        drag(bar, {6, bottom}, {6, bottom - 46});
        QCOMPARE(bar.scale().low, 1.0F);
        QCOMPARE(bar.scale().high, 4.0F);
        drag(bar, {6, top}, {6, bottom + 100}); // Never past the other end.
        QVERIFY(bar.scale().low < bar.scale().high);
    }

    void aDragFromTheMiddleChangesNothing()
    {
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        QSignalSpy changed(&bar, &ColorBar::scaleChanged);
        drag(bar, {6, 100}, {6, 150});
        QCOMPARE(changed.count(), 0);
    }

    void doubleClickFitsTheDataAgain()
    {
        HeatmapView view;
        view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(2, 2, 3)));
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        bar.follow(&view);
        QCOMPARE(bar.scale().high, 3.0F);
        drag(bar, {6, top}, {6, top + 46});
        QCOMPARE(view.colors()->scale().high, 1.5F);
        QTest::mouseDClick(&bar, Qt::LeftButton, {}, {6, 100});
        QCOMPARE(view.colors()->scale().high, 3.0F);
        QCOMPARE(bar.scale().high, 3.0F);
    }

    void limitsCanBeTyped()
    {
        HeatmapView view;
        view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Constant(2, 2, 3)));
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        bar.follow(&view);
        QTest::keyClick(&bar, Qt::Key_Return);
        auto* dialog = bar.findChild<LimitsDialog*>();
        QVERIFY(dialog && dialog->isVisible());
        const auto field = [dialog](const char* name) {
            for (auto* line : dialog->findChildren<QLineEdit*>())
                if (line->accessibleName() == QLatin1String(name))
                    return line;
            return static_cast<QLineEdit*>(nullptr);
        };
        QLineEdit *low = field("Lower limit"), *high = field("Upper limit");
        QVERIFY(low && high);
        QCOMPARE(low->text(), QStringLiteral("-3"));
        low->setText(QStringLiteral("2"));
        high->setText(QStringLiteral("1.5"));
        QTest::keyClick(dialog, Qt::Key_Return); // the wrong way round
        QVERIFY(dialog->isVisible() && view.colors()->scale().high == 3.0F);
        low->setText(QStringLiteral("\u22121e-3"));
        QTest::keyClick(dialog, Qt::Key_Return);
        QVERIFY(!dialog->isVisible());
        QCOMPARE(view.colors()->scale().low, -1e-3F);
        QCOMPARE(view.colors()->scale().high, 1.5F);
        QCOMPARE(view.colors()->scale().fit, ColorFit::Fixed);
        QVERIFY(view.colors()->isLocked());
    }

    void keysInvertAndLock()
    {
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        QTest::keyClick(&bar, Qt::Key_I);
        QVERIFY(bar.scale().inverted);
        QTest::keyClick(&bar, Qt::Key_L);
        QCOMPARE(bar.scale().fit, ColorFit::Fixed);
        QTest::keyClick(&bar, Qt::Key_L);
        QCOMPARE(bar.scale().fit, ColorFit::Full);
    }

    void theMenuOffersEveryMapAndFit()
    {
        ColorBar bar(Qt::Vertical);
        showBar(bar);
        QContextMenuEvent event(QContextMenuEvent::Mouse, {6, 100}, bar.mapToGlobal(QPoint(6, 100)));
        QApplication::sendEvent(&bar, &event);
        auto* menu = bar.findChild<QMenu*>();
        QVERIFY(menu);
        QStringList titles;
        for (QAction* action : menu->actions()) {
            titles << action->text();
            if (action->text() == mapTitle(ColorMap::Cividis))
                action->trigger();
        }
        QCOMPARE(bar.scale().map, ColorMap::Cividis);
        QVERIFY(titles.contains(QStringLiteral("Data range")));
        QVERIFY(titles.contains(QStringLiteral("Invert")));
        menu->close();
    }

    void ticksAreRoundAndInside()
    {
        const std::vector<double> ticks = roundTicks(-1, 1, 5);
        QVERIFY(ticks == (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
        QVERIFY(roundTicks(3, 3, 5).empty());
        QCOMPARE(roundTicks(0, 10, 500).size(), std::size_t{11}); // a long axis stays legible
        QVERIFY(roundTicks(14.5, 90, 3) == (std::vector<double>{20, 40, 60, 80})); // not 50 alone
        QVERIFY(roundTicks(0, 90, 3) == (std::vector<double>{0, 50}));
        QVERIFY(decadeTicks(0.01, 100, 10) == (std::vector<double>{0.01, 0.1, 1, 10, 100}));
        QVERIFY(decadeTicks(0, 100, 10).empty());
        QCOMPARE(tickText(-0.5, 0.5), QStringLiteral("−0.5"));
        QCOMPARE(tickText(2, 1), QStringLiteral("2"));
        QCOMPARE(decadeText(1e-5), QStringLiteral("10⁻⁵"));
        QCOMPARE(decadeText(0.1), QStringLiteral("0.1"));
    }

    void coloursByRankUseAllColoursAlike()
    {
        auto matrix = std::make_shared<Eigen::MatrixXf>(1, 1000);
        for (int i = 0; i < 1000; ++i)
            (*matrix)(0, i) = std::exp(0.02F * static_cast<float>(i)); // most of them small
        HeatmapView view;
        view.colors()->setScale({.map = ColorMap::Viridis, .fit = ColorFit::DataRange});
        view.setMatrix(matrix);
        ColorBar bar(Qt::Vertical);
        bar.follow(&view);
        showBar(bar);
        const float middle = (*matrix)(0, 500);
        QVERIFY(position(middle, view.colors()->scale()) < 0.01F);
        bar.setTransform(ColorTransform::Rank);
        QVERIFY(std::abs(position(middle, view.colors()->scale()) - 0.5F) < 0.01F);
        QVERIFY(bar.scale() == view.colors()->scale());
        view.colors()->toggleLock(); // The limits stay, the ranks are of what is shown.
        view.setMatrix(std::make_shared<Eigen::MatrixXf>(matrix->rightCols(500)));
        QVERIFY(std::abs(position((*matrix)(0, 750), view.colors()->scale()) - 0.5F) < 0.01F);
    }

    void aHistogramHasTheSharesOfWhatIsWithinTheLimits()
    {
        ColorScale scale{.map = ColorMap::Signed, .low = -2, .high = 2};
        const std::vector<float> sample{-2, -1.5F, -0.4F, 0.55F, 0.6F, 2, 3, -7, NAN, 0.7F};
        // Nine are finite, two of them out of range; a value at the upper limit is in the last part.
        const std::vector<double> expected{2 / 9.0, 1 / 9.0, 3 / 9.0, 1 / 9.0};
        QCOMPARE(sharesOnBar(sample, scale, 4), expected);
        scale.transform = ColorTransform::Sqrt; // what is above 0.5 lies in the last quarter
        QCOMPARE(sharesOnBar(sample, scale, 4), (std::vector<double>{2 / 9.0, 1 / 9.0, 0.0, 4 / 9.0}));
        QCOMPARE(sharesOnBar({}, scale, 2), (std::vector<double>{0.0, 0.0}));
    }

    void theHistogramIsThereWhileALimitIsDragged()
    {
        HeatmapView view;
        Eigen::MatrixXf matrix = Eigen::MatrixXf::Constant(10, 10, 0.6F);
        matrix(0, 0) = -1;
        matrix(9, 9) = 1;
        view.setMatrix(std::make_shared<const Eigen::MatrixXf>(matrix));
        ColorBar bar(Qt::Vertical);
        bar.follow(&view);
        showBar(bar);
        const auto shown = [&] {
            return bar.grab().toImage().pixelColor(22, bottom - (bottom - top) * 4 / 5);
        };
        const QColor before = shown();
        QTest::mousePress(&bar, Qt::LeftButton, {}, {5, top});
        QTest::mouseMove(&bar, {5, top + 1});
        QVERIFY(shown() != before); // almost all values are there
        QTest::mouseMove(&bar, {5, 100});
        QTest::mouseRelease(&bar, Qt::LeftButton, {}, {5, 100});
        QTest::mouseMove(&bar, {5, 101});
        QCOMPARE(shown(), before);
    }
};

HEADWISE_TEST(ColorBarTest)
#include "color_bar_test.moc"
