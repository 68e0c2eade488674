#include "tests/support/pdf_page.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/chart_painter.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pages/parts/figure_row.h"

#include <QApplication>
#include <QLabel>
#include <QPainter>
#include <QRegularExpression>
#include <QTest>
#include <QXmlStreamReader>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::ui;

namespace {

/// A grid of cells whose rows and columns have names.
std::unique_ptr<HeatmapView> namedCells(int count, const std::function<QString(int)>& name, int groupSize)
{
    auto view = std::make_unique<HeatmapView>();
    HeatmapAxis axis{QStringLiteral("token"), name, groupSize};
    if (groupSize > 0)
        axis.groupLabel = [](int group) { return QStringLiteral("L%1").arg(group); };
    view->content()->setRowAxis(axis);
    view->content()->setColumnAxis(axis);
    view->setCellShape(HeatmapView::CellShape::Square);
    view->setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Identity(count, count)));
    view->setFigureTitle(
        QStringLiteral("A title that is so long that it needs several lines, as those of compositions do"));
    return view;
}

/// Three charts like those of the scores' page.
struct ThreeCharts {
    LineChart charts[3];
    FigureRow row{{{&charts[0], QStringLiteral("first")},
                   {&charts[1], QStringLiteral("second")},
                   {&charts[2], QStringLiteral("third")}},
                  nullptr};

    ThreeCharts()
    {
        for (LineChart& chart : charts) {
            chart.setLook({.xTitle = QStringLiteral("key position of the pattern"),
                           .yTitle = QStringLiteral("attention score before the softmax (logits)")});
            chart.setSeries({{QStringLiteral("one curve"), {{0, 0}, {1, 2}}},
                             {QStringLiteral("another curve"), {{0, 1}, {1, 1}}}});
        }
        row.setFigureTitle(QStringLiteral("L5H1"));
    }
};

QByteArray svgAt(const FigureSource& source, double width, double height)
{
    const FigureSettings settings{.format = FigureFormat::Svg, .width = width, .height = height};
    const Result<RenderedFigure> figure = renderFigure(source, settings);
    return figure ? figure->bytes : QByteArray();
}

/// The smallest type of an SVG as it is drawn, in points; infinite without type.
double smallestTypeIn(const QByteArray& svg)
{
    double least = std::numeric_limits<double>::infinity();
    std::vector<double> scales{1.0};
    std::vector<double> sizes{0.0};
    QXmlStreamReader reader(svg);
    while (!reader.atEnd()) {
        reader.readNext();
        if (reader.isStartElement()) {
            double scale = scales.back();
            const QString transform = reader.attributes().value(QLatin1String("transform")).toString();
            if (const qsizetype open = transform.indexOf(QLatin1String("matrix(")); open >= 0) {
                const QStringList parts = transform.mid(open + 7).split(u',');
                scale *= std::hypot(parts.value(0).toDouble(), parts.value(1).toDouble());
            }
            const QString size = reader.attributes().value(QLatin1String("font-size")).toString();
            scales.push_back(scale);
            sizes.push_back(size.isEmpty() ? sizes.back() : size.toDouble());
            if (reader.name() == u"text")
                least = std::min(least, scales.back() * sizes.back());
        } else if (reader.isEndElement()) {
            scales.pop_back();
            sizes.pop_back();
        }
    }
    return least;
}

bool isEdgeWhite(const FigureSource& source, double width, double height)
{
    const FigureSettings settings{.width = width, .height = height};
    const QImage image = figureImage(source, settings, 144);
    const auto isWhite = [&image](int x, int y) { return (image.pixel(x, y) & 0xFFFFFFU) == 0xFFFFFFU; };
    for (int x = 0; x < image.width(); ++x)
        if (!isWhite(x, 0) || !isWhite(x, image.height() - 1))
            return false;
    for (int y = 0; y < image.height(); ++y)
        if (!isWhite(0, y) || !isWhite(image.width() - 1, y))
            return false;
    return true;
}

} // namespace

class FigureTypeTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void noTypeIsSmallerThanSixPointsOrTouchesTheEdge_data()
    {
        QTest::addColumn<int>("kind"); // 0: heads, 1: tokens, 2: charts
        QTest::addColumn<double>("width");
        for (const double width : {85.0, 170.0}) {
            QTest::addRow("144 heads, %.0f mm", width) << 0 << width;
            QTest::addRow("tokens, %.0f mm", width) << 1 << width;
            QTest::addRow("three charts, %.0f mm", width) << 2 << width;
        }
    }
    void noTypeIsSmallerThanSixPointsOrTouchesTheEdge()
    {
        QFETCH(const int, kind);
        QFETCH(const double, width);
        const auto heads = namedCells(
            144, [](int i) { return QStringLiteral("L%1H%2").arg(i / 12).arg(i % 12); }, 12);
        const auto tokens = namedCells(
            40, [](int i) { return QStringLiteral("␣token%1").arg(i); }, 0);
        const ThreeCharts charts;
        const FigureSource& source = kind == 0 ? static_cast<const FigureSource&>(*heads)
            : kind == 1                        ? static_cast<const FigureSource&>(*tokens)
                                               : charts.row;
        const double height = width == 85 ? 70 : 100;
        const double smallest = smallestTypeIn(svgAt(source, width, height));
        QVERIFY2(smallest >= 6 && smallest <= 8, qPrintable(QString::number(smallest)));
        QVERIFY(isEdgeWhite(source, width, height));
    }

    /// All twelve layers are named where 144 heads have no room.
    void layersAreNamedWhereHeadsHaveNoRoom()
    {
        const auto heads = namedCells(
            144, [](int i) { return QStringLiteral("L%1H%2").arg(i / 12).arg(i % 12); }, 12);
        const QByteArray svg = svgAt(*heads, 170, 150);
        for (int layer = 0; layer < 12; ++layer)
            QVERIFY(svg.contains(QStringLiteral(">L%1<").arg(layer).toUtf8()));
        QVERIFY(!svg.contains(">L0H0<"));
    }

    /// The names of nulls stand in the legend where the plot has no place that is free of marks.
    void namesOfNullsCoverNoBars()
    {
        LineChart chart;
        ChartSeries bars{QStringLiteral("norm"), {}, SeriesStyle::Bars};
        for (int layer = 0; layer < 12; ++layer)
            bars.points << QPointF(layer, 5);
        chart.setSeries({bars});
        chart.setBaselines({{QStringLiteral("null of the norm of QK"), 2}});
        QVERIFY(svgAt(chart, 85, 70).contains(">null of the norm of QK: 2.00<"));
        chart.setBaselines({{QStringLiteral("null of the norm of QK"), 6}});
        QVERIFY(svgAt(chart, 85, 70).contains(">null of the norm of QK<"));
    }

    /// Names of tokens are whole on a page of a single column; some of them are left out.
    void namesOfTokensAreWhole()
    {
        const auto name = [](int) { return QStringLiteral("<|endoftext|>"); };
        const auto cells = namedCells(6, name, 0);
        cells->setFigureTitle(QStringLiteral("Title"));
        QVERIFY(svgAt(*cells, 85, 70).count(">&lt;|endoftext|") >= 4);
        LineChart chart;
        ChartLook look;
        ChartSeries bars{QString(), {}, SeriesStyle::Bars};
        for (int i = 0; i < 6; ++i) {
            look.xLabels << name(i);
            bars.points << QPointF(i, 1 + i);
        }
        chart.setLook(look);
        chart.setSeries({bars});
        QVERIFY(svgAt(chart, 85, 70).contains(">&lt;|endoftext|"));
        QVERIFY(!svgAt(chart, 85, 70).contains("…"));
    }

    /// Lines differ without colour: the first is solid, the others have dashes of their own, also in the legend.
    void linesDifferWithoutColour()
    {
        static const QRegularExpression dashes(QStringLiteral("stroke-dasharray=\"([^\"]*)\""));
        const auto patterns = [](const LineChart& chart) {
            QMap<QString, int> found;
            for (auto match = dashes.globalMatch(QString::fromUtf8(svgAt(chart, 85, 70))); match.hasNext();)
                ++found[match.next().captured(1)];
            return found;
        };
        LineChart chart;
        const QVector<QPointF> rising{{0, 0}, {1, 2}, {2, 1}}, falling{{0, 2}, {1, 0}, {2, 0}};
        chart.setSeries({{QStringLiteral("query 6"), rising},
                         {QStringLiteral("query 62"), falling},
                         {QStringLiteral("query 124"), {{0, 1}, {2, 1}}}});
        const QMap<QString, int> three = patterns(chart);
        QVERIFY2(three.size() >= 2, qPrintable(QStringList(three.keys()).join(u'|')));
        chart.setSeries({{QStringLiteral("query 6"), rising}});
        QVERIFY(patterns(chart).isEmpty());
    }

    /// Names of points that stand close together are all written, some farther away with a leader.
    void namesOfPointsCloseTogetherAreAllWritten()
    {
        LineChart chart;
        ChartSeries heads{QString(),
                          {{-0.2, -0.4}, {0.93, 0.93}, {0.94, 0.89}, {0.935, 0.83}, {0.1, 0.2}},
                          SeriesStyle::Points};
        heads.pointNames = {
            {1, QStringLiteral("L1H5")}, {2, QStringLiteral("L1H0")}, {3, QStringLiteral("L1H7")}};
        chart.setSeries({heads});
        const QByteArray svg = svgAt(chart, 85, 70);
        for (const char* name : {">L1H5<", ">L1H0<", ">L1H7<"})
            QVERIFY2(svg.contains(name), name);
        QVERIFY2(chart.omissions({237, 194}, {}).isEmpty(),
                 qPrintable(chart.omissions({237, 194}, {}).join(u'|')));
    }

    /// The first eight markers are eight shapes.
    void classesDifferByShape()
    {
        std::vector<QImage> shapes;
        for (int shape = 0; shape < 8; ++shape) {
            QImage image(40, 40, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            painter.setBrush(Qt::black);
            paintMarker(painter, {20, 20}, shape, 24);
            painter.end();
            QVERIFY(std::ranges::find(shapes, image) == shapes.end());
            shapes.push_back(image);
        }
    }

    /// The legend of a diagram takes more lines where one is too short.
    void theLegendOfADiagramStaysOnThePage()
    {
        DiagramView diagram;
        diagram.setHeads(2, 2);
        diagram.setEdges({{{0, 0}, {1, 0}, 1.0}, {{0, 1}, {1, 1}, 0.5, 1}});
        DiagramClasses classes;
        classes.kinds = {QStringLiteral("composition of the first kind"),
                         QStringLiteral("composition of the second kind"),
                         QStringLiteral("composition of the third kind")};
        diagram.setClasses(classes);
        QVERIFY(isEdgeWhite(diagram, 85, 70));
        const QByteArray svg = svgAt(diagram, 85, 70);
        for (const char* word : {">composition of the first kind<", ">composition of the third kind<"})
            QVERIFY2(svg.contains(word), word);
    }

    /// Long names take more lines; none is cut.
    void longNamesAreBrokenAndNotCut()
    {
        LineChart chart;
        const QString name = QStringLiteral("logit effect of the head at the smallest standard deviation");
        chart.setSeries({{name, {{0, 0}, {1, 2}}}, {QStringLiteral("other"), {{0, 1}, {1, 0}}}});
        const QByteArray legend = svgAt(chart, 60, 60);
        QVERIFY(!legend.contains("…") && legend.contains("deviation<"));
        QVERIFY(chart.omissions({170, 170}, {}).isEmpty());

        const auto cells = namedCells(
            3, [](int i) { return QString::number(i); }, 0);
        cells->content()->setValueTitle(
            QStringLiteral("Q-composition, median of the pairs of two layers, null 0.0625"));
        const QByteArray bar = svgAt(*cells, 85, 50);
        QVERIFY(!bar.contains("…") && bar.contains("0.0625<"));
        QVERIFY(cells->omissions({240, 140}, {}).isEmpty());
        cells->content()->setValueTitle(QStringLiteral("word ").repeated(90));
        QCOMPARE(cells->omissions({240, 140}, {}),
                 QStringList(QStringLiteral("the label of the colour bar is shortened")));
    }

    /// Names in a legend become smaller before one is left out.
    void aLegendInASingleColumnNamesEverySeries()
    {
        LineChart chart;
        std::vector<ChartSeries> curves;
        for (int i = 0; i < 9; ++i) {
            ChartSeries curve{QStringLiteral("singular values of circuit %1").arg(i), {}};
            for (int x = 0; x <= 40; ++x)
                curve.points << QPointF(x, std::sin(0.4 * x + i));
            curves.push_back(curve);
        }
        chart.setSeries(curves);
        chart.setLook({.xTitle = QStringLiteral("index"), .yTitle = QStringLiteral("value")});
        const QByteArray svg = svgAt(chart, 85, 70);
        for (const ChartSeries& curve : curves)
            QVERIFY2(svg.contains('>' + curve.name.toUtf8() + '<'), qPrintable(curve.name));
        QVERIFY2(chart.omissions({241, 198}, {}).isEmpty(),
                 qPrintable(chart.omissions({241, 198}, {}).join(u'|')));
        QVERIFY(smallestTypeIn(svg) >= 6);
    }

    /// The label of a colour bar stands beside the bar's numbers, however short they are.
    void theLabelOfABarIsNearItsNumbers()
    {
        const auto cells = namedCells(
            3, [](int i) { return QString::number(i); }, 0);
        cells->content()->setValueTitle(QStringLiteral("strength"));
        for (const QSizeF& size : {QSizeF(85, 70), QSizeF(170, 40)}) {
            const Result<RenderedFigure> pdf = renderFigure(
                *cells, {.format = FigureFormat::Pdf, .width = size.width(), .height = size.height()});
            QVERIFY(pdf);
            const test::PdfPage page = test::readPdfPage(pdf->bytes);
            const auto label =
                std::ranges::find(page.texts, QStringLiteral("strength"), &test::PdfText::text);
            QVERIFY(label != page.texts.end());
            double numbers = 0; // where the last of them ends
            for (const test::PdfText& text : page.texts)
                if (text.box.right() <= label->box.left())
                    numbers = std::max(numbers, text.box.right());
            const double gap = label->box.left() - numbers;
            QVERIFY2(gap > 0 && gap < 8, qPrintable(QString::number(gap)));
        }
    }

    /// A row of charts says what each panel leaves out.
    void aRowOfChartsSaysWhichPanelLeavesSomethingOut()
    {
        ThreeCharts three;
        three.charts[1].setSeries({{QStringLiteral("one curve"), {{0, 0}, {1, std::nan("")}, {2, 1}}}});
        const QStringList said = three.row.omissions({480, 200}, {});
        QVERIFY2(said.contains(QStringLiteral("panel b: 1 point is left out: not finite")),
                 qPrintable(said.join(u'|')));
    }

    void theDialogSaysWhatWasLeftOut()
    {
        const auto heads = namedCells(
            144, [](int i) { return QStringLiteral("L%1H%2").arg(i / 12).arg(i % 12); }, 12);
        ExportDialog dialog(heads.get(), {}, QStringLiteral("fig"));
        dialog.show();
        const auto says = [&dialog](const QString& words) {
            return std::ranges::any_of(dialog.findChildren<QLabel*>(), [&words](const QLabel* label) {
                return label->text().contains(words);
            });
        };
        QTRY_VERIFY(says(QStringLiteral("groups are named instead")));
        const auto few = namedCells(
            4, [](int i) { return QString::number(i); }, 0);
        QVERIFY(few->omissions({400, 400}, {}).isEmpty());
    }

    /// Three charts of a readable size do not fit abreast in a column; the page grows instead of shrinking them.
    void aPresetGrowsForPanelsThatAreStacked()
    {
        const ThreeCharts charts;
        ExportDialog narrow(&charts.row, {}, QStringLiteral("fig"));
        QCOMPARE(narrow.settings().width, 85.0);
        QVERIFY2(narrow.settings().height > 110, qPrintable(QString::number(narrow.settings().height)));
        QCOMPARE(narrow.remembered().height, 70.0);
        const double wide = charts.row.leastHeight(500, {});
        QVERIFY2(wide > 100 && wide < 160, qPrintable(QString::number(wide)));
    }
};

HEADWISE_TEST(FigureTypeTest)
#include "figure_type_test.moc"
