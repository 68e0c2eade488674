#include "ui/charts/spectrum_chart.h"

#include "tests/support/program.h"

#include "ui/base/theme.h"
#include "ui/charts/chart_content.h"
#include "ui/charts/chart_painter.h"

#include <QApplication>
#include <QChartView>
#include <QLineSeries>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <cmath>
#include <limits>

using namespace headwise;
using namespace headwise::ui;

namespace {

const ChartLook logLook{.xTitle = QStringLiteral("index"),
                        .yTitle = QStringLiteral("singular value"),
                        .yScale = ChartLook::Scale::Log};

ChartSeries line(const QString& name, const QVector<QPointF>& points)
{
    return {name, points, SeriesStyle::Line};
}

void showChart(LineChart& chart)
{
    chart.resize(400, 300);
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
}

QWidget* canvasOf(LineChart& chart)
{
    return chart.findChild<QChartView*>()->viewport();
}

void turnWheelOverChart(LineChart& chart, QPointF at, Qt::KeyboardModifiers modifiers = {})
{
    QWheelEvent event(at, at, {}, {0, 120}, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
    QApplication::sendEvent(canvasOf(chart), &event);
}

bool isNear(const QColor& a, const QColor& b)
{
    return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue()) < 60;
}

/// Returns the sentence about the points that the chart cannot show.
QString omittedBy(const LineChart& chart)
{
    return chart.omissions({400, 300}, {}).value(0);
}

} // namespace

class SpectrumChartTest : public QObject {
    Q_OBJECT

private slots:
    void aBoxAtTheEdgeIsWhole()
    {
        ChartSeries boxes{QStringLiteral("boxes"), {}, SeriesStyle::Boxes};
        for (const double x : {0.0, 1.0})
            for (const double y : {1.0, 2.0, 3.0, 4.0, 5.0})
                boxes.points << QPointF(x, y);
        ChartContent content;
        content.series = {boxes};
        const QRectF range = fullRange(content);
        QVERIFY(range.left() <= -boxWidth / 2 && range.right() >= 1 + boxWidth / 2);
    }

    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void theLegendStandsWhereItHidesNothing()
    {
        LineChart chart;
        showChart(chart);
        const QRgb color = seriesColor(0, lightColors()).rgb();
        const auto coloredAtTop = [&](double from, double to) { // of the picture's width
            const QImage drawn = chart.grab().toImage();
            int count = 0;
            for (int x = static_cast<int>(from * drawn.width()); x < to * drawn.width(); ++x)
                for (int y = 0; y < drawn.height() / 4; ++y)
                    count += isNear(drawn.pixelColor(x, y), QColor(color)) ? 1 : 0;
            return count;
        };
        chart.setSeries({line(QStringLiteral("rising line"), {{0, 0}, {1, 1}})});
        QVERIFY(coloredAtTop(0, 0.5) > 50);
        chart.setSeries({line(QStringLiteral("falling line"), {{0, 1}, {1, 0}})});
        QVERIFY(coloredAtTop(0.6, 1) > 50);
    }

    void aLegendThatWouldHideLinesStandsAboveThem()
    {
        QVector<QPointF> everywhere; // no corner is free of it
        for (int i = 0; i <= 40; ++i)
            everywhere << QPointF(i, i % 2);
        LineChart chart;
        showChart(chart);
        const auto seen = [](const QImage& image, int series) { // first and last row with its colour
            std::pair rows(image.height(), -1);
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x)
                    if (isNear(image.pixelColor(x, y), seriesColor(series, lightColors())))
                        rows = {std::min(rows.first, y), y};
            return rows;
        };
        const auto drawn = [&chart](bool onPaper) {
            if (!onPaper)
                return chart.grab().toImage();
            QImage image(400, 300, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            chart.paintFigure(painter, image.size(), {});
            return image;
        };
        for (const bool onPaper : {false, true}) {
            chart.setSeries({line({}, everywhere), line(QStringLiteral("of one point"), {{0, 0}})});
            const QImage above = drawn(onPaper);
            QVERIFY(seen(above, 1).second > 0); // the name, in its colour
            QVERIFY(seen(above, 1).second < seen(above, 0).first);
            // Several names stand beside each other, in as many rows as needed.
            chart.setSeries(
                {line({}, everywhere), line(QString(30, u'b'), {{0, 0}}), line(QString(30, u'c'), {{0, 0}})});
            const QImage rows = drawn(onPaper);
            QVERIFY(seen(rows, 1).second < seen(rows, 2).second);
            QVERIFY(seen(rows, 2).second < seen(rows, 0).first);
        }
        chart.setSeries(
            {line({}, {{0, 0}, {40, 0}, {41, 1}}), line(QStringLiteral("of one point"), {{0, 0}})});
        const auto plotTop = [&chart] { return chart.positionOf({0, chart.range().bottom()}).y(); };
        const double withRoom = plotTop(); // a corner is free: the name takes nothing from the plot
        QVERIFY(seen(drawn(false), 1).second > withRoom);
        chart.setSeries({line({}, everywhere)});
        QCOMPARE(plotTop(), withRoom);
        chart.setSeries({line({}, everywhere), line(QStringLiteral("of one point"), {{0, 0}})});
        QVERIFY(plotTop() > withRoom + 10);
    }

    /// Many names in a small chart: those that do not fit are counted, and none covers the lines.
    void aLongLegendLeavesHalfOfASmallChart()
    {
        QVector<QPointF> everywhere;
        for (int i = 0; i <= 40; ++i)
            everywhere << QPointF(i, i % 2);
        LineChart chart;
        showChart(chart);
        chart.resize(300, 190);
        const auto plot = [&chart] {
            return chart.positionOf({0, chart.range().top()}).y()
                - chart.positionOf({0, chart.range().bottom()}).y();
        };
        chart.setSeries({line({}, everywhere)});
        const double alone = plot();
        std::vector<ChartSeries> series{line({}, everywhere)};
        for (const char16_t letter : {u'b', u'c', u'd', u'e', u'f', u'g'})
            series.push_back(line(QString(25, letter), {{0, 0}}));
        chart.setSeries(series);
        const double with = plot();
        QVERIFY2(with < alone - 20 && with > 0.45 * alone,
                 qPrintable(QStringLiteral("%1 of %2").arg(with).arg(alone)));
        const QImage drawn = chart.grab().toImage();
        const auto isDrawn = [&](int index, int from, int to) {
            for (int y = from; y < to; ++y)
                for (int x = 0; x < drawn.width(); ++x)
                    if (isNear(drawn.pixelColor(x, y), seriesColor(index, lightColors())))
                        return true;
            return false;
        };
        const int top = static_cast<int>(chart.positionOf({0, chart.range().bottom()}).y());
        QVERIFY(isDrawn(1, 0, top) && !isDrawn(1, top + 2, drawn.height()));
    }

    void barsStayInThePlot()
    {
        LineChart chart;
        showChart(chart);
        chart.setSeries({{{}, {{0, 2}, {1, 1}, {2, 1}, {3, 2}}, SeriesStyle::Bars}});
        QVERIFY(chart.range().left() <= -0.4 && chart.range().right() >= 3.4); // a bar is 0.8 wide
        const auto blueBeside = [&chart](double x) {
            const QImage image = chart.grab().toImage();
            const int edge = qRound(chart.positionOf({x, 0}).x()) - 3;
            for (int y = 10; y < image.height() - 10; ++y)                   // within the ring of the focus
                if (isNear(image.pixelColor(edge, y), QColor(38, 135, 190))) // 85 % of the colour over white
                    return true;
            return false;
        };
        QVERIFY(blueBeside(0.1)); // within the first: the control
        QVERIFY(!blueBeside(chart.range().left()));
        QRectF half = chart.range();
        half.setLeft(0);
        chart.setRange(half); // the first is cut in two, and its left part is not on the axis
        QVERIFY(!blueBeside(0));
        QVERIFY(blueBeside(0.1));
    }

    void drawsTheLineWhereItSaysThePointIs()
    {
        LineChart chart;
        showChart(chart);
        chart.setSeries({line(QStringLiteral("QK"), {{0, 1}, {10, 1}, {20, 3}})});
        const QImage image = chart.grab().toImage();
        const QPointF at = chart.positionOf({5, 1}); // On the flat part.
        bool found = false;
        for (int dy = -2; dy <= 2; ++dy)
            found = found
                || isNear(image.pixelColor(at.toPoint() + QPoint(0, dy)), seriesColor(0, lightColors()));
        QVERIFY(found);
    }

    void aLogAxisLeavesOutWhatItCannotShowAndCountsIt()
    {
        LineChart chart;
        showChart(chart);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const std::vector<ChartSeries> series{
            line(QStringLiteral("QK"), {{0, 100}, {1, 0}, {2, -5}, {3, 1}, {4, nan}})};
        chart.setSeries(series);
        QCOMPARE(omittedBy(chart), QStringLiteral("1 point is left out: not finite"));
        chart.setLook(logLook);
        QCOMPARE(omittedBy(chart), QStringLiteral("3 points are left out: not above zero"));
        const auto* drawn =
            dynamic_cast<QLineSeries*>(chart.findChild<QChartView*>()->chart()->series().value(0));
        QVERIFY(drawn);
        QCOMPARE(drawn->points(), (QList<QPointF>{{0, 2}, {3, 0}}));
    }

    void theWheelZoomsXAndWithShiftY()
    {
        LineChart chart;
        showChart(chart);
        chart.setSeries({line(QStringLiteral("QK"), {{0, 0}, {100, 10}})});
        const QRectF full = chart.range();
        const QPointF at = chart.positionOf({25, 5});
        turnWheelOverChart(chart, at);
        QCOMPARE(chart.range().width(), full.width() / 1.25);
        QCOMPARE(chart.range().height(), full.height());
        QVERIFY((chart.positionOf({25, 5}) - at).manhattanLength()
                < 1e-6); // The point under the mouse stays in place.
        turnWheelOverChart(chart, at, Qt::ShiftModifier);
        QCOMPARE(chart.range().height(), full.height() / 1.25);
        QTest::mouseDClick(canvasOf(chart), Qt::LeftButton, {}, at.toPoint());
        QTest::mouseRelease(canvasOf(chart), Qt::LeftButton, {},
                            at.toPoint()); // Qt 6.4 leaves the button down.
        QCOMPARE(chart.range(), full);
    }

    void readsTheNearestPoint()
    {
        LineChart chart;
        showChart(chart);
        chart.setLook(logLook);
        chart.setSeries({line(QStringLiteral("QK"), {{0, 0}, {1, 100}, {2, 1}}),
                         line(QStringLiteral("OV"), {{0, 3}, {2, 50}})});
        QSignalSpy hovered(&chart, &LineChart::pointHovered);
        QSignalSpy clicked(&chart, &LineChart::pointClicked);
        const QPoint at = chart.positionOf({2, 50}).toPoint() + QPoint(-3, 2);
        QTest::mouseMove(canvasOf(chart), at);
        QTRY_COMPARE(hovered.count(), 1);
        QCOMPARE(hovered[0], (QList<QVariant>{QStringLiteral("OV"), 1, QPointF(2, 50)}));
        QTest::mouseClick(canvasOf(chart), Qt::LeftButton, {}, chart.positionOf({2, 1}).toPoint());
        // The index counts all given points, including the hidden one.
        QCOMPARE(clicked.value(0), (QList<QVariant>{QStringLiteral("QK"), 2}));
    }

    void keysGoFromPointToPoint()
    {
        LineChart chart;
        chart.resize(400, 300);
        chart.setSeries({{QStringLiteral("a"), {{1, 5}, {2, 3}, {3, 1}}}, {QStringLiteral("b"), {{1, 4}}}});
        chart.show();
        QSignalSpy hovered(&chart, &LineChart::pointHovered);
        QSignalSpy clicked(&chart, &LineChart::pointClicked);
        QTest::keyClick(&chart, Qt::Key_Right);
        QTest::keyClick(&chart, Qt::Key_Right);
        QCOMPARE(hovered.last().at(0).toString(), QStringLiteral("a"));
        QCOMPARE(hovered.last().at(1).toInt(), 1);
        QCOMPARE(hovered.last().at(2).toPointF(), QPointF(2, 3));
        QTest::keyClick(&chart, Qt::Key_End);
        QTest::keyClick(&chart, Qt::Key_Return);
        QCOMPARE(clicked.last().at(1).toInt(), 2);
        QTest::keyClick(&chart, Qt::Key_Down); // the other has one point
        QCOMPARE(hovered.last().at(0).toString(), QStringLiteral("b"));
        QCOMPARE(hovered.last().at(1).toInt(), 0);
        // Fewer series: the current point is gone, and the keys start again.
        const auto clicks = clicked.size();
        chart.setSeries({{QStringLiteral("c"), {{1, 2}, {2, 9}}}});
        QTest::keyClick(&chart, Qt::Key_Return);
        QCOMPARE(clicked.size(), clicks);
        QTest::keyClick(&chart, Qt::Key_Right);
        QCOMPARE(hovered.last().at(0).toString(), QStringLiteral("c"));
        QCOMPARE(hovered.last().at(1).toInt(), 0);
        const QRectF all = chart.range();
        QTest::keyClick(&chart, Qt::Key_Plus);
        QVERIFY(chart.range().width() < all.width());
        QTest::keyClick(&chart, Qt::Key_0);
        QCOMPARE(chart.range(), all);
    }

    void unitsOfTheComplexPlaneAreEqual()
    {
        LineChart chart;
        showChart(chart);
        chart.setLook({.xTitle = {}, .yTitle = {}, .plane = ChartLook::Plane::Complex});
        chart.setSeries({{QStringLiteral("OV"), {{0.1, 3}}, SeriesStyle::Points}});
        const QPointF unit = chart.positionOf({1, 1}) - chart.positionOf({0, 0});
        QVERIFY(std::abs(unit.x() + unit.y()) < 1e-9); // y grows downwards.
        QVERIFY(unit.x() > 0);
    }

    void theLogPolarPlaneHasTheAngleAndTheLogarithmOfTheModulus()
    {
        LineChart chart;
        showChart(chart);
        chart.setLook({.xTitle = {}, .yTitle = {}, .plane = ChartLook::Plane::LogPolar, .innerRadius = 0.01});
        chart.setSeries(
            {{QStringLiteral("λ"), {{1, 0}, {0, 0.1}, {-0.01, 0}, {0.001, 0}}, SeriesStyle::Points}});
        QCOMPARE(omittedBy(chart), QStringLiteral("1 point is left out: too close to zero"));
        const QPointF centre = chart.positionOf({0.01, 0});
        const double decade = (chart.positionOf({1, 0}).x() - centre.x()) / 2;
        QVERIFY(decade > 20);
        const auto isAt = [&](const QPointF& number, double right, double up) {
            const QPointF away = chart.positionOf(number) - centre;
            return std::hypot(away.x() - right * decade, away.y() + up * decade) < 1e-6;
        };
        QVERIFY(isAt({0, 0.1}, 0, 1) && isAt({-0.01, 0}, 0, 0) && isAt({-1, 0}, -2, 0));
        QVERIFY(isAt({0.6, 0.8}, 1.2, 1.6) && isAt({0, -10}, 0, -3));
        QStringList rows;
        chart.forEachDataRow([&](const QStringList& row) { rows << row.join(u'|'); });
        QCOMPARE(rows[2], QStringLiteral("λ|0|0.1")); // the number itself
        QSignalSpy read(&chart, &LineChart::pointHovered);
        QTest::mouseMove(canvasOf(chart), chart.positionOf({0, 0.1}).toPoint());
        QTRY_COMPARE(read.size(), 1);
        QCOMPARE(read[0][2].toPointF(), QPointF(0, 0.1));
    }

    void errorsAreBarsAndAColumnOfTheData()
    {
        LineChart chart;
        showChart(chart);
        ChartSeries series = line(QStringLiteral("σ"), {{0, 4}, {1, 2}, {2, 0}});
        chart.setSeries({series});
        const auto inked = [&chart](const QPointF& point) {
            const QPoint at = chart.positionOf(point).toPoint();
            const QImage image = chart.grab().toImage().copy(at.x() - 1, at.y() - 1, 3, 3);
            for (int i = 0; i < 9; ++i) {
                const QColor pixel = image.pixelColor(i % 3, i / 3);
                if (pixel.blue() - pixel.red() > 60) // of the series; grid and ground are grey
                    return true;
            }
            return false;
        };
        QVERIFY(!inked({1, 2.8}));
        series.errors = {0, 1, 0};
        chart.setSeries({series});
        QVERIFY(inked({1, 2.8}) && inked({1, 1.2}) && !inked({1, 3.4}));
        QStringList rows;
        chart.forEachDataRow([&](const QStringList& row) { rows << row.join(u'|'); });
        QCOMPARE(rows,
                 (QStringList{QStringLiteral("series|x|y|error"), QStringLiteral("σ|0|4|0"),
                              QStringLiteral("σ|1|2|1"), QStringLiteral("σ|2|0|0")}));
    }

    void aBandIsAnAreaAroundItsLine()
    {
        LineChart chart;
        showChart(chart);
        ChartSeries series = line(QStringLiteral("k"), {{0, 4}, {1, 2}, {2, 0}});
        series.errors = {2, 1, 1};
        series.hasBand = true;
        chart.setSeries({series});
        QVERIFY(chart.range().top() <= -1 && chart.range().bottom() >= 6); // all of it
        const auto tinted = [&chart](const QPointF& point) {
            const QColor pixel = chart.grab().toImage().pixelColor(chart.positionOf(point).toPoint());
            return pixel.blue() - pixel.red() > 10;
        };
        QVERIFY(tinted({0.5, 4.2}) && tinted({0.5, 1.8}) && tinted({1.5, 1.8})); // between the points too
        QVERIFY(!tinted({0.5, 4.8}) && !tinted({0.5, 1.2}) && !tinted({1.5, 2.4}));
        chart.setRange({0.4, 1, 0.8, 2}); // cut off at the plot
        QVERIFY(tinted({0.5, 2.9}) && !tinted({1.15, 2.9}));
        QStringList rows;
        chart.forEachDataRow([&](const QStringList& row) { rows << row.join(u'|'); });
        QCOMPARE(rows.at(1), QStringLiteral("k|0|4|2"));
    }

    void survivesWhateverItIsGiven()
    {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        for (const QVector<QPointF>& points :
             {QVector<QPointF>{}, QVector<QPointF>{{0, 0}}, QVector<QPointF>{{nan, nan}},
              QVector<QPointF>{{1, 5}, {2, 5}}, QVector<QPointF>{{0, 1e300}, {1, -1e300}}})
            for (const ChartLook::Scale scale : {ChartLook::Scale::Linear, ChartLook::Scale::Log}) {
                LineChart chart;
                chart.setLook({.xTitle = {}, .yTitle = {}, .yScale = scale});
                chart.setSeries({line(QStringLiteral("a"), points)});
                chart.resize(200, 150);
                QVERIFY(!chart.grab().isNull());
                QVERIFY(chart.range().width() > 0 && chart.range().height() > 0);
            }
    }

    void theFigureClipsLinesToThePlot()
    {
        QImage image(200, 100, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        const ChartFrame frame{.plot = QRectF(50, 20, 100, 60),
                               .range = QRectF(0, 0, 10, 10),
                               .look = {},
                               .font = {},
                               .colors = lightColors()};
        paintChartSeries(painter, frame, line({}, {{-100, 5}, {100, 5}}), {Qt::red, 0, 3});
        paintChartSeries(painter, frame, line({}, {{5, -100}, {5, 100}}), {Qt::red, 0, 3});
        painter.end();
        QCOMPARE(image.pixelColor(100, 30), QColor(Qt::red));
        QCOMPARE(image.pixelColor(60, 50), QColor(Qt::red));
        for (const QPoint outside : {QPoint(40, 50), QPoint(160, 50), QPoint(100, 10), QPoint(100, 90)})
            QCOMPARE(image.pixelColor(outside), QColor(Qt::white));
    }

    void theDataAreTheGivenPoints()
    {
        LineChart chart;
        chart.setLook(logLook);
        chart.setSeries({line(QStringLiteral("QK"), {{0, 0.1}, {1, -2}})});
        QStringList rows;
        chart.forEachDataRow([&rows](const QStringList& row) { rows << row.join(u','); });
        QCOMPARE(rows,
                 (QStringList{QStringLiteral("series,index,singular value"), QStringLiteral("QK,0,0.1"),
                              QStringLiteral("QK,1,-2")}));
    }
};

HEADWISE_TEST(SpectrumChartTest)
#include "spectrum_chart_test.moc"
