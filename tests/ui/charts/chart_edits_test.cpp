#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export.h"

#include <QApplication>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <memory>

using namespace headwise;
using namespace headwise::ui;

namespace {

/// The part of the SVG that is drawn, without its metadata.
QString drawnSvg(const LineChart& chart, const FigureEdits& edits)
{
    FigureSettings settings{.format = FigureFormat::Svg, .width = 120, .height = 80};
    settings.style.edits = edits;
    const Result<RenderedFigure> figure = renderFigure(chart, settings);
    const QString svg = figure ? QString::fromUtf8(figure->bytes) : QString();
    return svg.mid(svg.indexOf(QStringLiteral("</metadata>")));
}

} // namespace

class ChartEditsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    /// Two clouds and the mark of the selected head.
    void init()
    {
        m_chart = std::make_unique<LineChart>();
        ChartSeries first{QStringLiteral("earlier"), {{1, 1}, {2, 3}}, SeriesStyle::Points};
        first.labels = {QStringLiteral("L0H0"), QStringLiteral("L0H1")};
        ChartSeries second{QStringLiteral("later"), {{3, 2}, {4, 4}}, SeriesStyle::Points};
        second.labels = {QStringLiteral("L1H0"), QStringLiteral("L1H1")};
        ChartSeries mark{QStringLiteral("chosen"), {{2, 3}}, SeriesStyle::Points};
        mark.isSelection = true;
        m_chart->setSeries({first, second, mark});
    }

    void partsAreSeriesAndPointsWithoutTheSelection()
    {
        const FigureParts parts = m_chart->parts();
        QCOMPARE(parts.series, QStringList({QStringLiteral("earlier"), QStringLiteral("later")}));
        QCOMPARE(parts.points.size(), 4);
        QVERIFY(parts.hasSelection);
    }

    void theSelectionIsDrawnOnlyIfAskedFor()
    {
        QVERIFY(!drawnSvg(*m_chart, {}).contains(QStringLiteral(">chosen<")));
        QVERIFY(drawnSvg(*m_chart, {.selection = true}).contains(QStringLiteral(">chosen<")));
    }

    void aHiddenSeriesLeavesTheOthersTheirColours()
    {
        const QString later = seriesColor(1).name();
        const QString all = drawnSvg(*m_chart, {});
        QVERIFY(all.contains(seriesColor(0).name()) && all.contains(later));
        const QString one = drawnSvg(*m_chart, {.series = {{"earlier", false}}});
        QVERIFY(!one.contains(QStringLiteral(">earlier<")) && one.contains(QStringLiteral(">later<")));
        QVERIFY(!one.contains(seriesColor(0).name()) && one.contains(later));
    }

    void theOrderIsThatOfTheChoice()
    {
        const auto isEarlierFirst = [](const QString& svg) {
            return svg.indexOf(QStringLiteral(">earlier<")) < svg.indexOf(QStringLiteral(">later<"));
        };
        QVERIFY(isEarlierFirst(drawnSvg(*m_chart, {})));
        QVERIFY(!isEarlierFirst(drawnSvg(*m_chart, {.series = {{"later", true}, {"earlier", true}}})));
    }

    /// Classes differ in shape too: a disc fills less of its box than a square.
    void classesDifferInShape()
    {
        LineChart chart;
        chart.setSeries(
            {{QString(), {{1, 1}}, SeriesStyle::Points}, {QString(), {{2, 2}}, SeriesStyle::Points}});
        FigureSettings settings{.width = 120, .height = 80};
        settings.style.axes = false;
        settings.style.lineWidth = 5;
        const QImage image = figureImage(chart, settings, 288);
        const double disc = filledShare(image, seriesColor(0)), square = filledShare(image, seriesColor(1));
        QVERIFY2(disc > 0.7 && disc < 0.85, qPrintable(QString::number(disc)));
        QVERIFY2(square > 0.93, qPrintable(QString::number(square)));
    }

    void chosenPointsAreLabelled()
    {
        QVERIFY(!drawnSvg(*m_chart, {}).contains(QStringLiteral(">L1H0<")));
        const QString svg = drawnSvg(*m_chart, {.labels = {"L1H0"}});
        QVERIFY(svg.contains(QStringLiteral(">L1H0<")) && !svg.contains(QStringLiteral(">L0H1<")));
    }

    void aChartSaysWhatItLeavesOut()
    {
        const auto says = [this](const QString& words) {
            const QStringList said = m_chart->omissions({200, 150}, {});
            return std::ranges::any_of(said, [&](const QString& one) { return one.contains(words); });
        };
        QVERIFY(m_chart->omissions({400, 300}, {}).isEmpty());
        QStringList names;
        QVector<QPointF> points;
        for (int i = 0; i < 200; ++i) {
            names << QStringLiteral("token%1").arg(i);
            points << QPointF(i, i % 7);
        }
        points << QPointF(7, std::nan(""));
        m_chart->setLook({.xTitle = QString(), .yTitle = QString(200, u'y'), .xLabels = names});
        m_chart->setSeries({{QString(), points}});
        QVERIFY(says(QStringLiteral("names on the x axis")));
        QVERIFY(says(QStringLiteral("axis title is shortened")));
        QVERIFY(says(QStringLiteral("1 point is left out")));
    }

private:
    /// The share of its box that a marker fills; markers are drawn with 80 % of their colour on white.
    static double filledShare(const QImage& image, const QColor& color)
    {
        const auto isNear = [](int value, int full) { return std::abs(value - (0.8 * full + 51)) < 4; };
        QRect box;
        int filled = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x) {
                const QRgb pixel = image.pixel(x, y);
                if (!isNear(qRed(pixel), color.red()) || !isNear(qGreen(pixel), color.green())
                    || !isNear(qBlue(pixel), color.blue()))
                    continue;
                box |= QRect(x, y, 1, 1);
                ++filled;
            }
        return filled / std::max(1.0, static_cast<double>(box.width()) * box.height());
    }
    static QColor seriesColor(int place)
    {
        return lightColors().categorical[static_cast<std::size_t>(place)];
    }

    std::unique_ptr<LineChart> m_chart;
};

HEADWISE_TEST(ChartEditsTest)
#include "chart_edits_test.moc"
