#include "ui/charts/chart_painter.h"

#include "tests/support/painted_texts.h"
#include "tests/support/program.h"

#include "ui/base/theme.h"
#include "ui/charts/chart_content.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export_title.h"
#include "ui/heatmaps/cell_colors.h"

#include <QApplication>
#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QSvgGenerator>
#include <QTest>

#include <cmath>
#include <functional>

using namespace headwise;
using namespace headwise::ui;

class ChartWordsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void namesInTheColourOfTheirLineAreReadable()
    {
        const auto contrast = [](const QColor& a, const QColor& b) {
            const double one = luminance(a), other = luminance(b);
            return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
        };
        QVERIFY(contrast(Qt::white, Qt::black) > 20.9); // 21 to 1
        for (const ThemeColors* colors : {&lightColors(), &darkColors(), &highContrastColors()})
            for (int place = 0; place < 7; ++place) {
                const QColor name = nameColor(place, *colors), line = seriesColor(place, *colors);
                QVERIFY2(contrast(name, colors->window) >= 4.5, qPrintable(name.name()));
                QVERIFY2(contrast(name, colors->base) >= 4.5, qPrintable(name.name()));
                if (line.hslSaturation() > 60) // and it is still seen whose it is
                    QVERIFY(std::abs(name.hslHue() - line.hslHue()) < 25);
            }
        // The legend is painted in it: vermilion on white has 3.9.
        const ChartSeries first{QStringLiteral("one"), {{0, 0}, {1, 1}}};
        const ChartSeries second{QStringLiteral("two"), {{0, 0.5}, {0.2, 0.6}}};
        test::TextCollector page(QSize(400, 300));
        QPainter painter(&page);
        const ChartFrame frame{.plot = {0, 0, 400, 300},
                               .range = {0, 0, 1, 1},
                               .look = {},
                               .font = qApp->font(),
                               .colors = lightColors()};
        paintChartLegend(painter, frame, {first, second});
        painter.end();
        int found = 0;
        for (const test::PaintedText& text : page.texts())
            if (text.words == QStringLiteral("two")) {
                ++found;
                QVERIFY(contrast(text.color, lightColors().window) >= 4.5);
            }
        QCOMPARE(found, 1);
    }

    /// Notes, and the names of baselines, give way to the data.
    void wordsStandWhereTheyCoverNoPoints()
    {
        ChartSeries corner{QString(), {}, SeriesStyle::Points};
        for (int i = 0; i < 200; ++i) // the bottom left of the plot
            corner.points << QPointF(0.4 * (i % 20) / 20.0, 0.02 * (i / 20.0));
        const ChartFrame frame{.plot = {0, 0, 400, 300},
                               .range = {0, 0, 1, 1},
                               .look = {},
                               .font = qApp->font(),
                               .colors = lightColors()};
        const auto inkIn = [&](const std::function<void(QPainter&)>& paint, const QRect& area) {
            QImage image(400, 300, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            paint(painter);
            painter.end();
            int ink = 0;
            for (int y = area.top(); y <= area.bottom(); ++y)
                for (int x = area.left(); x <= area.right(); ++x)
                    ink += image.pixelColor(x, y) == QColor(Qt::white) ? 0 : 1;
            return ink;
        };
        const auto note = [&](QPainter& painter) {
            paintChartNote(painter, frame, {corner}, QStringLiteral("2 left out"));
        };
        QCOMPARE(inkIn(note, {0, 200, 160, 100}), 0);
        QVERIFY(inkIn(note, {200, 200, 200, 100}) > 20);
        ChartSeries edges{QString(), {}, SeriesStyle::Points}; // all corners: the note stands in the middle
        for (int i = 0; i <= 100; ++i)
            for (const double at : {0.02, 0.05, 0.95, 0.98})
                edges.points << QPointF(i / 100.0, at);
        const auto middle = [&](QPainter& painter) {
            paintChartNote(painter, frame, {edges}, QStringLiteral("2 left out"));
        };
        QVERIFY(inkIn(middle, {0, 30, 400, 240}) > 20);
        QCOMPARE(inkIn(middle, {0, 270, 400, 30}) + inkIn(middle, {0, 0, 400, 30}), 0);
        const ChartContent content{
            .look = {}, .series = {corner}, .baselines = {{QStringLiteral("null"), 0.03}}};
        const auto baseline = [&](QPainter& painter) { paintChartBaselines(painter, frame, content); };
        QVERIFY(inkIn(baseline, {200, 250, 200, 50}) > inkIn(baseline, {0, 250, 200, 50}) + 10);
    }

    /// The nulls of two kinds of bars may be nearly the same.
    void namesOfTwoBaselinesStandApart()
    {
        const ChartSeries bars{QString(), {{0, 0.8}, {1, 0.9}}, SeriesStyle::Bars};
        const ChartFrame frame{.plot = {0, 0, 400, 300},
                               .range = {-0.5, 0, 2, 1},
                               .look = {},
                               .font = qApp->font(),
                               .colors = lightColors()};
        const ChartContent content{.look = {},
                                   .series = {bars},
                                   .baselines = {{QStringLiteral("null of the first norm"), 0.5},
                                                 {QStringLiteral("null of the second norm"), 0.53}}};
        test::TextCollector page({400, 300});
        QPainter painter(&page);
        paintChartBaselines(painter, frame, content);
        painter.end();
        const std::vector<test::PaintedText>& texts = page.texts();
        QCOMPARE(texts.size(), 2U);
        QVERIFY(!texts[0].ink.intersects(texts[1].ink));
        for (const test::PaintedText& text : texts)
            for (const ChartBaseline& line : content.baselines) { // none is struck through
                const double y = frame.map({0, line.y}).y();
                QVERIFY2(text.ink.bottom() < y || text.ink.top() > y, qPrintable(text.words));
            }
    }

    void barsOnPaperDoNotCoverTheNameOfABaseline()
    {
        const auto drawn = [](const QString& name) {
            const ChartSeries bar{QString(), {{0, 1}}, SeriesStyle::Bars}; // as wide as the plot
            const ChartContent content{.look = {}, .series = {bar}, .baselines = {{name, 0.5}}};
            QImage image(400, 300, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            paintChartOnPaper(painter, content, {-0.5, 0, 1, 1}, image.rect(), {});
            return image;
        };
        QVERIFY(drawn(QStringLiteral("null")) != drawn(QString()));
    }

    void namesOfPointsDoNotCoverEachOther()
    {
        ChartSeries heads{QString(), {{0.5, 0.5}}, SeriesStyle::Points};
        for (int i = 0; i < 6; ++i)
            heads.pointNames.emplace_back(0, QStringLiteral("L%1H0").arg(i));
        const ChartFrame frame{.plot = {0, 0, 400, 300},
                               .range = {0, 0, 1, 1},
                               .look = {},
                               .font = qApp->font(),
                               .colors = lightColors()};
        QBuffer svg;
        QSvgGenerator generator;
        generator.setOutputDevice(&svg);
        generator.setSize({400, 300});
        QPainter painter(&generator);
        paintPointNames(painter, frame, {heads});
        painter.end();
        const QByteArray drawn = svg.data();
        QVERIFY(drawn.contains("L0H0") && drawn.contains("L1H0")); // at either side
        QVERIFY(!drawn.contains("L5H0"));                          // the sixth has no room
    }

    void namesDoNotCoverThoseOfBaselines()
    {
        ChartSeries heads{
            QString(), {{0.1, 0.53}, {0.9, 0.53}, {0.1, 0.47}, {0.9, 0.47}}, SeriesStyle::Points};
        heads.pointNames = {{0, QStringLiteral("L0H0")}, {1, QStringLiteral("L1H1")}};
        const ChartContent content{
            .look = {}, .series = {heads}, .baselines = {{QStringLiteral("random weights"), 0.5}}};
        const ChartFrame frame{.plot = {0, 0, 400, 300},
                               .range = {0, 0, 1, 1},
                               .look = {},
                               .font = qApp->font(),
                               .colors = lightColors()};
        test::TextCollector page({400, 300});
        QPainter painter(&page);
        paintChartBaselines(painter, frame, content);
        paintPointNames(painter, frame, content.series, baselineNames(frame, content, &page));
        paintChartNote(painter, frame, content.series, QStringLiteral("2 left out"),
                       baselineNames(frame, content, &page));
        painter.end();
        const std::vector<test::PaintedText>& texts = page.texts();
        QCOMPARE(texts.size(), 4U);
        for (std::size_t i = 0; i < texts.size(); ++i)
            for (std::size_t k = 0; k < i; ++k)
                QVERIFY2(!texts[k].ink.intersects(texts[i].ink),
                         qPrintable(texts[i].words + QStringLiteral(" over ") + texts[k].words));
    }

    void theLegendNamesNoCurveThatIsNotDrawn()
    {
        const double nan = std::nan("");
        const ChartFrame frame{.plot = {0, 0, 400, 300},
                               .range = {0, -1, 2, 2},
                               .look = {.xTitle = {}, .yTitle = {}, .yScale = ChartLook::Scale::Log},
                               .font = qApp->font(),
                               .colors = lightColors()};
        const std::vector<ChartSeries> series{
            {QStringLiteral("drawn"), {{0, 1}, {1, 5}}, SeriesStyle::Bars},
            {QStringLiteral("missing"), {{0, nan}, {1, nan}}, SeriesStyle::Bars},
            {QStringLiteral("absent"), {}, SeriesStyle::Points},
            {QStringLiteral("zeros"), {{0, 0}, {1, 0}}, SeriesStyle::Bars}}; // no logarithm shows them
        QBuffer svg;
        QSvgGenerator generator;
        generator.setOutputDevice(&svg);
        generator.setSize({400, 300});
        QPainter painter(&generator);
        paintChartLegend(painter, frame, series);
        painter.end();
        QVERIFY(svg.data().contains("drawn"));
        for (const char* name : {"missing", "absent", "zeros"})
            QVERIFY2(!svg.data().contains(name), name);
    }

    void linesAreNamedAtTheirEndsWhereThereIsRoom()
    {
        const auto linesOf = [](int count, const QString& name) {
            std::vector<ChartSeries> lines;
            for (int i = 0; i < count; ++i)
                lines.push_back({name, {{0, 0.1 * i}, {10, 5}}, SeriesStyle::Line}); // all end at one place
            return lines;
        };
        LineChart chart;
        chart.resize(500, 300);
        const auto widths = [&](const std::vector<ChartSeries>& series) { // on the screen and on paper
            chart.setSeries(series);
            QImage image(500, 300, QImage::Format_RGB32);
            QPainter painter(&image);
            const ChartContent content{.look = {}, .series = series};
            const double onPaper =
                paintChartOnPaper(painter, content, fullRange(content), image.rect(), {}).frame.ends;
            return std::pair(chart.frame().ends, onPaper);
        };
        const QString name = QStringLiteral("line");
        for (const int count : {2, 6}) {
            const auto [screen, paper] = widths(linesOf(count, name));
            QVERIFY(screen > 0 && paper > 0);
            QVERIFY(chart.frame().plot.right() + screen <= chart.width());
        }
        for (const auto& series : {linesOf(1, name), linesOf(7, name), linesOf(3, QString(60, u'l'))})
            QCOMPARE(widths(series), std::pair(0.0, 0.0)); // the legend has them
    }

    void namesAtEndsDoNotCoverEachOther()
    {
        const ChartFrame frame{.plot = {0, 0, 300, 200},
                               .range = {0, 0, 1, 1},
                               .look = {},
                               .font = qApp->font(),
                               .colors = lightColors(),
                               .ends = 100};
        for (const double y : {0.0, 0.5, 1.0}) { // in a corner too
            const std::vector<ChartSeries> lines{{QStringLiteral("HHHH"), {{0, 0}, {1, y}}},
                                                 {QStringLiteral("HHHH"), {{0, 1}, {1, y}}},
                                                 {QStringLiteral("HHHH"), {{0, 0.2}, {1, y}}}};
            QImage image(400, 200, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            paintChartLegend(painter, frame, lines);
            painter.end();
            int names = 0; // runs of rows with ink
            bool wasInked = false;
            for (int row = 0; row < image.height(); ++row) {
                bool isInked = false;
                for (int x = 312; x < image.width(); ++x) // right of the leaders
                    isInked = isInked || image.pixelColor(x, row) != QColor(Qt::white);
                names += isInked && !wasInked ? 1 : 0;
                wasInked = isInked;
            }
            QCOMPARE(names, 3);
        }
    }

    /// Bars of two series are both seen; only where they would be too thin do they stand in front of each other.
    void barsOnPaperStandSideBySide()
    {
        const auto showsSecondAlone = [](int bars) {
            ChartContent content{.look = {},
                                 .series = {{QStringLiteral("one"), {}, SeriesStyle::Bars},
                                            {QStringLiteral("two"), {}, SeriesStyle::Bars}}};
            for (ChartSeries& series : content.series)
                for (int i = 0; i < bars; ++i)
                    series.points << QPointF(i, 1);
            QImage image(400, 300, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            paintChartOnPaper(painter, content, fullRange(content), image.rect(), {});
            painter.end();
            const QColor ink = seriesColor(1, lightColors());
            const auto overWhite = [](int channel) { return 0.85 * channel + 0.15 * 255; };
            for (int x = 0; x < image.width(); ++x) {
                const QColor seen = image.pixelColor(x, image.height() / 2);
                if (std::abs(seen.red() - overWhite(ink.red())) < 3
                    && std::abs(seen.green() - overWhite(ink.green())) < 3
                    && std::abs(seen.blue() - overWhite(ink.blue())) < 3)
                    return true;
            }
            return false;
        };
        QVERIFY(showsSecondAlone(6));
        QVERIFY(!showsSecondAlone(200));
    }

    /// The line of a null strikes no name through, and a name does not touch a marker.
    void wordsOnPaperAvoidLinesAndMarkers()
    {
        ChartSeries limit{QStringLiteral("largest 3 %"), {{0.9, 0}, {0.9, 1}}};
        ChartSeries heads{QString(), {{0.5, 0.5}}, SeriesStyle::Points};
        heads.pointNames = {{0, QStringLiteral("L0H7")}};
        ChartContent content{.look = {},
                             .series = {limit, heads},
                             .baselines = {{QStringLiteral("null"), 0.5}, {QStringLiteral("most"), 0.95}}};
        test::TextCollector page({400, 300});
        QPainter painter(&page);
        const ChartFrame frame =
            paintChartOnPaper(painter, content, {0, 0, 1, 1}, {0, 0, 400, 300}, {}).frame;
        painter.end();
        int found = 0;
        for (const test::PaintedText& text : page.texts())
            if (text.words == QStringLiteral("L0H7") || text.words == limit.name)
                for (const ChartBaseline& line : content.baselines) {
                    const double y = frame.map({0, line.y}).y();
                    QVERIFY2(text.ink.bottom() < y || text.ink.top() > y, qPrintable(text.words));
                    ++found;
                }
        QCOMPARE(found, 4);

        content.baselines.erase(content.baselines.begin());
        const auto nameAmong = [&](const QVector<QPointF>& points) {
            content.series = {{QString(), points, SeriesStyle::Points}};
            return baselineNames(frame, content, &page).front();
        };
        const QPointF inFirst = frame.unmap(nameAmong({{0.5, 0.1}}).center());
        const QRectF second = nameAmong({inFirst});
        const QPointF beside = frame.unmap({second.left() - 1, second.center().y()});
        const QRectF third = nameAmong({inFirst, beside});
        QVERIFY(!third.adjusted(-2, -2, 2, 2).contains(frame.map(beside)));
        QVERIFY(!third.contains(frame.map(inFirst)));
    }

    /// The title of the y axis stands beside its labels, however short they are.
    /// A title that is too long says less before it is cut off in a word.
    void aLongTitleEndsAtItsComma()
    {
        const QString name = QStringLiteral("Score by offset"),
                      rest = QStringLiteral(", the mean row of E with the mean row of E");
        QImage image(10, 10, QImage::Format_RGB32);
        const FittedTitle whole(name + rest, qApp->font(), 1000, &image);
        QCOMPARE(whole.text, name + rest);
        const FittedTitle cut(name + rest, qApp->font(),
                              QFontMetricsF(qApp->font(), &image).horizontalAdvance(name) + 1, &image);
        QCOMPARE(cut.text, name);
        QCOMPARE(cut.font.pointSizeF(), qApp->font().pointSizeF());
        const FittedTitle least(name + rest, qApp->font(), 40, &image);
        QVERIFY(least.text.endsWith(u'…') && least.width <= 40);
    }

    void theTitleStandsBesideTheLabels()
    {
        const ChartContent content{.look = {.xTitle = QStringLiteral("x"), .yTitle = QStringLiteral("Score")},
                                   .series = {{QString(), {{0, 0}, {9, 9}}}}};
        test::TextCollector page({400, 300});
        QPainter painter(&page);
        paintChartOnPaper(painter, content, {0, 0, 9, 9}, {0, 0, 400, 300}, {});
        painter.end();
        double title = 0, labels = 400;
        for (const test::PaintedText& text : page.texts()) {
            if (text.words == QStringLiteral("Score"))
                title = text.ink.right();
            else if (text.words != QStringLiteral("x"))
                labels = std::min(labels, text.ink.left());
        }
        QVERIFY2(title > 0 && labels > title && labels - title < 16,
                 qPrintable(QStringLiteral("%1 %2").arg(title).arg(labels)));
    }
};

HEADWISE_TEST(ChartWordsTest)
#include "chart_words_test.moc"
