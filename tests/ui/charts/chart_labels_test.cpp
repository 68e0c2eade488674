// Labels of the axes: whole, apart from each other and beside the data, at two sizes and in both themes.

#include "tests/support/painted_texts.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/chart_painter.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/widgets/ticks.h"

#include <QApplication>
#include <QSet>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::ui;

namespace {

using AxisScale = ChartLook::Scale;

ChartSeries lineThrough(double left, double low, double right, double high)
{
    return {QString(), {{left, low}, {right, high}}, SeriesStyle::Line};
}

ChartLook titledAxes(AxisScale x, AxisScale y)
{
    return {.xTitle = QStringLiteral("token"), .yTitle = QStringLiteral("value"), .yScale = y, .xScale = x};
}

/// The ratio of WCAG 2.2.
double contrastOf(const QColor& ink, const QColor& surface)
{
    const auto luminance = [](const QColor& color) {
        const auto linear = [](double x) {
            return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
        };
        return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF())
            + 0.0722 * linear(color.blueF());
    };
    const double one = luminance(ink), other = luminance(surface);
    return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

} // namespace

class ChartLabelsTest : public QObject {
    Q_OBJECT

private:
    /// Checks the labels and titles that the axes of a chart paint.
    static void checkAxes(const LineChart& chart, bool hasNumbersBelow)
    {
        test::TextCollector page(chart.size());
        const ChartFrame frame = chart.frame();
        QPainter painter(&page);
        paintChartAxes(painter, frame);
        painter.end();
        const QRectF whole = QRectF(chart.rect()).adjusted(-1, -1, 1, 1);
        const QRectF plot = frame.plot.adjusted(1, 1, -1, -1);
        QStringList left, below;
        const std::vector<test::PaintedText>& texts = page.texts();
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const test::PaintedText& one = texts[i];
            QVERIFY2(whole.contains(one.ink), qPrintable(one.words));
            QVERIFY2(!plot.intersects(one.ink), qPrintable(one.words));
            QVERIFY2(contrastOf(one.color, frame.colors.base) >= 4.5, qPrintable(one.words));
            for (std::size_t k = 0; k < i; ++k)
                QVERIFY2(!texts[k].ink.intersects(one.ink),
                         qPrintable(one.words + QStringLiteral(" over ") + texts[k].words));
            const bool isTitle = one.words == frame.look.xTitle || one.words == frame.look.yTitle;
            if (!isTitle && one.ink.right() <= frame.plot.left())
                left << one.words;
            else if (!isTitle)
                below << one.words;
        }
        QVERIFY2(left.size() >= 2, qPrintable(left.join(u'|')));
        QCOMPARE(QSet<QString>(left.begin(), left.end()).size(), left.size()); // no two alike
        if (!hasNumbersBelow)
            return;
        QVERIFY2(below.size() >= 2, qPrintable(below.join(u'|')));
        QCOMPARE(QSet<QString>(below.begin(), below.end()).size(), below.size());
    }

private slots:
    void cleanup() { applyTheme(*qApp, ThemeMode::Light); }

    void labelsStandApartAndBesideTheData_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<bool>("isDark");
        for (const QSize& size : {QSize(420, 280), QSize(230, 150)})
            for (const bool isDark : {false, true})
                QTest::addRow("%d x %d, %s", size.width(), size.height(), isDark ? "dark" : "light")
                    << size << isDark;
    }

    void labelsStandApartAndBesideTheData()
    {
        QFETCH(QSize, size);
        QFETCH(bool, isDark);
        applyTheme(*qApp, isDark ? ThemeMode::Dark : ThemeMode::Light);
        LineChart chart;
        chart.resize(size);
        struct Case {
            const char* name;
            ChartLook look;
            ChartSeries series;
        };
        const std::vector<Case> cases{
            {"plain", titledAxes(AxisScale::Linear, AxisScale::Linear), lineThrough(0, -1, 63, 1)},
            {"tiny", titledAxes(AxisScale::Linear, AxisScale::Linear), lineThrough(0, -3e-7, 10, 4e-7)},
            {"zoomed in", titledAxes(AxisScale::Linear, AxisScale::Linear),
             lineThrough(0, -0.99991, 10, -0.99984)},
            {"large ids", titledAxes(AxisScale::Linear, AxisScale::Linear),
             lineThrough(150000, 0, 150400, 1)},
            {"large values", titledAxes(AxisScale::Linear, AxisScale::Linear),
             lineThrough(0, 1.5e6, 7, 1.5004e6)},
            {"many decades", titledAxes(AxisScale::Linear, AxisScale::Log), lineThrough(0, 1e-12, 10, 1e3)},
            {"below one", titledAxes(AxisScale::Linear, AxisScale::Log), lineThrough(0, 2e-9, 10, 5e-4)},
            {"within a decade", titledAxes(AxisScale::Linear, AxisScale::Log), lineThrough(0, 0.55, 10, 9.6)},
            {"log below", titledAxes(AxisScale::Log, AxisScale::Linear), lineThrough(1e-6, 0, 1e4, 1)},
            {"within a decade below", titledAxes(AxisScale::Log, AxisScale::Linear),
             lineThrough(0.055, 0, 0.96, 1)},
        };
        for (const Case& one : cases) {
            chart.setLook(one.look);
            chart.setSeries({one.series});
            checkAxes(chart, true);
            QVERIFY2(!QTest::currentTestFailed(), one.name);
        }
    }

    /// There is no layer 0.5.
    void countsHaveNoTicksBetweenThem()
    {
        LineChart chart;
        chart.resize(420, 280);
        const auto numbersBelow = [&chart](bool areWhole) {
            ChartLook look = titledAxes(AxisScale::Linear, AxisScale::Linear);
            look.wholeX = areWhole;
            chart.setLook(look);
            chart.setSeries({lineThrough(0, 10, 1, 30)});
            test::TextCollector page(chart.size());
            QPainter painter(&page);
            paintChartAxes(painter, chart.frame());
            painter.end();
            QStringList below;
            for (const test::PaintedText& one : page.texts())
                if (one.ink.top() > chart.frame().plot.bottom() && one.words != look.xTitle)
                    below << one.words;
            return below;
        };
        QVERIFY(numbersBelow(false).contains(QStringLiteral("0.5")));
        QCOMPARE(numbersBelow(true), QStringList({QStringLiteral("0"), QStringLiteral("1")}));
    }

    /// In a high plot there is room for a tick at −100, where no count can be.
    void countsBegunAtZeroHaveNoTicksBelowIt()
    {
        LineChart chart;
        chart.resize(900, 2000);
        ChartLook look = titledAxes(AxisScale::Linear, AxisScale::Linear);
        look.wholeY = true;
        chart.setLook(look);
        for (const double most : {3.0, 2000.0}) {
            const ChartSeries counts{QString(), {{0, 1}, {1, most}, {2, 0}}, SeriesStyle::Bars};
            chart.setSeries({counts});
            test::TextCollector page(chart.size());
            QPainter painter(&page);
            paintChartAxes(painter, chart.frame());
            painter.end();
            int numbers = 0;
            for (const test::PaintedText& one : page.texts())
                if (one.ink.right() < chart.frame().plot.left() && one.words != look.yTitle) {
                    ++numbers;
                    QVERIFY2(!one.words.contains(u'\u2212') && !one.words.contains(u'.'),
                             qPrintable(one.words));
                }
            QVERIFY(numbers >= 4);
        }
    }

    void namesBelowStandApart()
    {
        for (const QSize& size : {QSize(420, 280), QSize(230, 200)})
            for (const int count : {3, 8, 12, 64}) {
                LineChart chart;
                chart.resize(size);
                ChartLook look = titledAxes(AxisScale::Linear, AxisScale::Linear);
                ChartSeries series{QString(), {}, SeriesStyle::Bars};
                for (int i = 0; i < count; ++i) {
                    look.xLabels << QStringLiteral("L%1H%2").arg(i / 8).arg(i % 8);
                    series.points << QPointF(i, i % 5);
                }
                chart.setLook(look);
                chart.setSeries({series});
                checkAxes(chart, false);
                QVERIFY2(!QTest::currentTestFailed(), qPrintable(QString::number(count)));
            }
    }

    void theLegendCoversNoData()
    {
        std::vector<ChartSeries> curves;
        for (int i = 0; i < 8; ++i) { // too many for names at their ends
            ChartSeries curve{QStringLiteral("curve %1").arg(i), {}, SeriesStyle::Line};
            for (int x = 0; x <= 40; ++x) // in all four corners
                curve.points << QPointF(x, std::sin(0.4 * x + i));
            curves.push_back(curve);
        }
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark}) {
            applyTheme(*qApp, mode);
            LineChart chart;
            chart.resize(420, 280);
            for (const std::size_t count : {1U, 3U, 8U}) {
                chart.setSeries({curves.begin(), curves.begin() + static_cast<std::ptrdiff_t>(count)});
                const ChartFrame frame = chart.frame();
                const QRectF legend = legendInside(frame, chart.series(), &chart);
                for (const QPointF& place : drawnPlaces(frame, chart.series()))
                    QVERIFY2(!legend.contains(place), qPrintable(QString::number(count)));
                QVERIFY(frame.legend > 0 || frame.ends > 0 || !legend.isEmpty());
                QVERIFY(frame.plot.height() > 80);
            }
        }
    }

    void largeNumbersKeepTheDigitsThatDiffer()
    {
        QCOMPARE(tickText(150100, 100), QStringLiteral("1.501e5"));
        QCOMPARE(tickText(1500200, 100), QStringLiteral("1.5002e6"));
        QCOMPARE(tickText(120000, 20000), QStringLiteral("1.2e5"));
        QCOMPARE(tickText(-5e-7, 5e-7), QStringLiteral("−5e−7"));
        QCOMPARE(tickText(0, 1000), QStringLiteral("0"));
    }
};

HEADWISE_TEST(ChartLabelsTest)
#include "chart_labels_test.moc"
