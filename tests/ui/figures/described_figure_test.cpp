#include "ui/pictures/described_figure.h"

#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/composed_figure.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QTest>

#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

namespace {

/// Two heatmaps of pairs of heads, the second ten times as strong.
Session sessionOfPairs()
{
    Session session = readSession(testData("session-v1.h5"), Task{}).value();
    ResultArray strong = *session.results.find("composition/q");
    strong.path = "composition/k";
    strong.range.reset();
    std::visit(
        [](auto& values) {
            for (auto& value : values)
                value *= 10;
        },
        strong.values);
    ResultSet more;
    more.arrays.push_back(std::move(strong));
    session.results.merge(std::move(more));
    return session;
}

FigureDescription twoPanels(const std::string& scale)
{
    FigureDescription figure;
    figure.session = "s.h5";
    figure.page.height = 80;
    figure.panels = {{.view = "composition-q", .scale = scale, .row = 1, .column = 1},
                     {.view = "composition-k", .scale = scale, .row = 1, .column = 2}};
    return figure;
}

const HeatmapView* panelCells(DescribedFigure& figure, std::size_t panel)
{
    return dynamic_cast<const HeatmapView*>(figure.page().panels()[panel].source);
}

} // namespace

/// Figures of several panels, drawn from a session.
class DescribedFigureTest : public QObject {
    Q_OBJECT

private:
    Session m_session;

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        m_session = sessionOfPairs();
    }

    void panelsOfOneScaleHaveTheSameColours()
    {
        const auto apart = DescribedFigure::make(twoPanels({}), m_session);
        QVERIFY(isOk(apart));
        QVERIFY(panelCells(**apart, 0)->colors()->scale().high
                < panelCells(**apart, 1)->colors()->scale().high);
        const auto together = DescribedFigure::make(twoPanels("strength"), m_session);
        QVERIFY(isOk(together));
        QVERIFY(panelCells(**together, 0)->colors()->scale() == panelCells(**together, 1)->colors()->scale());
        QVERIFY(panelCells(**together, 0)->colors()->scale().high
                >= panelCells(**apart, 1)->colors()->scale().high);
    }

    void aPanelHasItsOwnWords()
    {
        FigureDescription description = twoPanels({});
        description.panels[0].valueTitle = "strength";
        description.panels[0].xTitle = "reader";
        description.panels[0].title = "Own title";
        const auto figure = DescribedFigure::make(description, m_session);
        QVERIFY(isOk(figure));
        QCOMPARE(panelCells(**figure, 0)->content()->valueTitle(), QStringLiteral("strength"));
        QCOMPARE(panelCells(**figure, 0)->scene().columns.title, QStringLiteral("reader"));
        QCOMPARE(panelCells(**figure, 0)->scene().rows.title, panelCells(**figure, 1)->scene().rows.title);
        QCOMPARE((*figure)->page().panels()[0].title, QStringLiteral("Own title"));
    }

    /// In the order asked for, with the colours that they have among all.
    void aPanelDrawsTheSeriesItNames()
    {
        Session session = m_session;
        ResultSet more;
        more.arrays.push_back(*session.results.find("spectra/qk/singular_values"));
        more.arrays.back().path = "spectra/ov/singular_values";
        session.results.merge(std::move(more));
        FigureDescription description = twoPanels({});
        description.panels.resize(1);
        description.panels[0] = {
            .view = "spectrum", .head = "1.2", .series = {"OV", "QK"}, .row = 1, .column = 1};
        const auto seriesOf = [](DescribedFigure& figure) {
            const auto* chart = dynamic_cast<const LineChart*>(figure.page().panels()[0].source);
            return chart ? chart->series() : std::vector<ChartSeries>();
        };
        const auto both = DescribedFigure::make(description, session);
        QVERIFY(isOk(both));
        const std::vector<ChartSeries> drawn = seriesOf(**both);
        QCOMPARE(drawn.size(), std::size_t{2});
        QVERIFY(drawn[0].name == u"OV" && drawn[0].place == 1);
        QVERIFY(drawn[1].name == u"QK" && drawn[1].place == 0);
        description.panels[0].series = {"OV"};
        const auto one = DescribedFigure::make(description, session);
        QVERIFY(isOk(one));
        QCOMPARE(seriesOf(**one).size(), std::size_t{1});
        description.panels[0].series = {"VO"};
        QVERIFY(failsWith(DescribedFigure::make(description, session), ErrorCode::InvalidArgument,
                          "it has 'QK', 'OV'"));
        description.panels[0] = {.view = "composition-q", .series = {"OV"}, .row = 1, .column = 1};
        QVERIFY(failsWith(DescribedFigure::make(description, session), ErrorCode::InvalidArgument,
                          "is not a chart"));
    }

    void nothingTouchesTheEdge()
    {
        FigureDescription description = twoPanels({});
        description.title = "A title";
        description.caption = "A caption that is long enough to take two lines at the bottom of the page, "
                              "under both panels, where it could run over the edge of the paper.";
        const auto figure = DescribedFigure::make(description, m_session);
        QVERIFY(isOk(figure));
        const QImage image =
            figureImage((*figure)->page(), figureSettings(description, FigureFormat::Png), 144);
        const auto isWhite = [&image](int x, int y) { return (image.pixel(x, y) & 0xFFFFFFU) == 0xFFFFFFU; };
        int inked = 0;
        for (int y = 0; y < image.height(); ++y) {
            QVERIFY(isWhite(0, y) && isWhite(image.width() - 1, y));
            inked += isWhite(image.width() / 4, y) ? 0 : 1;
        }
        for (int x = 0; x < image.width(); ++x)
            QVERIFY(isWhite(x, 0) && isWhite(x, image.height() - 1));
        QVERIFY(inked > 20);
    }

    /// Panels of a row begin at the same height, whatever the length of their titles.
    void panelsOfARowBeginAtTheSameHeight()
    {
        FigureDescription description = twoPanels({});
        description.panels[1].title = QStringLiteral("a title of many words ").repeated(8).toStdString();
        const auto figure = DescribedFigure::make(description, m_session);
        QVERIFY(isOk(figure));
        const FigureSettings settings = figureSettings(description, FigureFormat::Svg);
        const Result<RenderedFigure> svg = renderFigure((*figure)->page(), settings);
        QVERIFY(isOk(svg));
        QVERIFY(svg->bytes.contains(">a</text>") && svg->bytes.contains(">b</text>"));
        const std::vector<QRectF> bodies = (*figure)->page().bodies(paintedSize(settings), settings.style);
        QCOMPARE(bodies[0].top(), bodies[1].top());
        QVERIFY(bodies[0].top() > 20); // below two lines
        QVERIFY(bodies[0].right() < bodies[1].left());
    }

    /// The data of a column begin at the same left edge and those of a row at the same height, whatever stands beside
    /// or above them.
    void theDataOfPanelsAreAligned()
    {
        LineChart chart;
        chart.setLook({.xTitle = QStringLiteral("x"), .yTitle = QStringLiteral("y")});
        chart.setSeries({{QStringLiteral("one"), {{0, 0}, {1, 2}}}});
        HeatmapView cells;
        cells.content()->setColumnAxis(
            {QStringLiteral("column"), [](int i) { return QStringLiteral("name %1").arg(i); }});
        cells.content()->setRowAxis({QStringLiteral("row"), [](int i) { return QString::number(i); }});
        cells.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Identity(3, 3)));
        const ComposedFigure page({{&chart, QStringLiteral("a"), true, {}, 0, 0},
                                   {&cells, QStringLiteral("b"), true, {}, 0, 1},
                                   {&cells, QStringLiteral("c"), true, {}, 1, 0}},
                                  {{1, 1}, {1, 1}}, {});
        const QSizeF size(480, 400);
        const std::vector<QRectF> bodies = page.bodies(size, {});
        const auto dataOf = [](const FigureSource& source, const QRectF& body) {
            return source.dataArea(body.size(), {}).value_or(QRectF()).translated(body.topLeft());
        };
        const QRectF a = dataOf(chart, bodies[0]), b = dataOf(cells, bodies[1]), c = dataOf(cells, bodies[2]);
        QVERIFY2(std::abs(a.top() - b.top()) < 1,
                 qPrintable(QStringLiteral("%1 %2").arg(a.top()).arg(b.top())));
        QVERIFY2(std::abs(a.left() - c.left()) < 1,
                 qPrintable(QStringLiteral("%1 %2").arg(a.left()).arg(c.left())));
        // They are not aligned by themselves.
        QVERIFY(std::abs(chart.dataArea({230, 180}, {})->top() - cells.dataArea({230, 180}, {})->top()) > 5);
        QVERIFY(a.width() > 100 && a.height() > 60 && c.width() > 60);
    }

    void onlyPanelsOfSeveralHaveALetter()
    {
        FigureDescription description = twoPanels({});
        const auto isLettered = [&] {
            const auto figure = DescribedFigure::make(description, m_session);
            const auto svg = renderFigure((*figure)->page(), figureSettings(description, FigureFormat::Svg));
            return svg && svg->bytes.contains(">a<");
        };
        QVERIFY(isLettered());
        description.panels.pop_back();
        QVERIFY(!isLettered());
        description.panels.front().label = "a";
        QVERIFY(isLettered());
    }

    void aPageThatIsTooSmallIsRefused()
    {
        FigureDescription description = twoPanels({});
        description.page.height = 12;
        const auto figure = DescribedFigure::make(description, m_session);
        QVERIFY(!figure && figure.error().code == ErrorCode::InvalidArgument);
        QVERIFY2(printed(figure.error()).contains("Panel a, b: there is too little room"),
                 printed(figure.error()).constData());
    }
};

HEADWISE_TEST(DescribedFigureTest)
#include "described_figure_test.moc"
