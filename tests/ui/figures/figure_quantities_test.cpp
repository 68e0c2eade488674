#include "core/session/session.h"
#include "core/session/views.h"
#include "tests/support/every_input.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/chart_content.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/math_text.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pictures/chart_titles.h"
#include "ui/pictures/picture_body.h"

#include <QApplication>
#include <QRegularExpression>
#include <QTest>
#include <QXmlStreamReader>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

using namespace headwise;
using namespace headwise::ui;

namespace {

QString withoutSpaces(QString words)
{
    static const QRegularExpression spaces(QStringLiteral("\\s"));
    return words.remove(spaces);
}

/// The words as they are drawn, without the marks of scripts.
QString drawnWords(const QString& words)
{
    QString drawn;
    for (const MathRun& run : mathRuns(words))
        drawn += run.text;
    return withoutSpaces(drawn);
}

/// All text of the figure's SVG on a page that has room for it.
QString textsOf(const FigureSource& figure)
{
    const Result<RenderedFigure> svg =
        renderFigure(figure, {.format = FigureFormat::Svg, .width = 400, .height = 300});
    QString texts;
    QXmlStreamReader reader(svg ? svg->bytes : QByteArray());
    while (!reader.atEnd())
        if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == u"text")
            texts += reader.readElementText(QXmlStreamReader::IncludeChildElements);
    return withoutSpaces(texts);
}

bool hasUnit(const QString& title, const ResultArray& array)
{
    return array.unit.empty() || array.unit == "token" || title.contains(text(array.unit));
}

QString faultOfBar(const HeatmapView& view, const ResultArray& array)
{
    const QString title = view.content()->valueTitle();
    if (title.isEmpty())
        return QStringLiteral("the colour bar has no name");
    if (!hasUnit(title, array))
        return QStringLiteral("'%1' lacks the unit %2").arg(title, text(array.unit));
    if (array.nullMean && std::isfinite(*array.nullMean) && !title.contains(QStringLiteral("null")))
        return QStringLiteral("'%1' lacks the null").arg(title);
    return {};
}

QString faultOfAxes(const LineChart& chart, const Picture& picture, const ResultArray& array)
{
    const ChartLook& look = chart.look();
    if (look.xTitle.isEmpty() && look.xLabels.isEmpty())
        return QStringLiteral("the x axis has no name");
    if (look.yTitle.isEmpty() && look.plane != ChartLook::Plane::LogPolar)
        return QStringLiteral("the y axis has no name");
    const bool isOfValues = picture.kind == Picture::Kind::Lines || picture.kind == Picture::Kind::Bars;
    if (isOfValues && picture.arrays.size() == 1 && !picture.overFirst && !hasUnit(look.yTitle, array))
        return QStringLiteral("'%1' lacks the unit %2").arg(look.yTitle, text(array.unit));
    const bool hasNull = array.nullMean && std::isfinite(*array.nullMean);
    if (picture.kind == Picture::Kind::Lines && picture.arrays.size() == 1 && hasNull
        && chart.baselines().empty())
        return QStringLiteral("it lacks the line of its null");
    return {};
}

/// The first title that is missing from the exported figure.
QString notDrawn(const FigureSource& figure, const QStringList& titles)
{
    const QString texts = textsOf(figure);
    for (const QString& title : titles)
        if (!texts.contains(drawnWords(title)))
            return QStringLiteral("'%1' is not drawn").arg(title);
    return {};
}

} // namespace

/// Colour bars and axes of every view that a session with all analyses has.
class FigureQuantitiesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        const Circuits circuits = test::toyCircuits({});
        const ModelConfig& config = circuits.config();
        m_session.model.name = "toy";
        m_session.model.nLayers = config.nLayers;
        m_session.model.nHeads = config.nHeads;
        m_session.model.dModel = config.dModel;
        m_session.model.dVocab = config.dVocab;
        m_session.results = test::everything(circuits, Embedding::Raw);
        for (int token = 0; token < config.dVocab; ++token)
            m_session.tokens.push_back("t" + std::to_string(token));
    }

    void everyBarAndAxisNamesQuantityUnitAndNull()
    {
        constexpr int eachDrawn = 8; // All are checked; drawing all would take seconds.
        QStringList faults;
        int bars = 0, charts = 0;
        for (const ViewDescription& described : viewsOf(m_session)) {
            const auto head = described.ofHead ? std::optional(HeadId{1, 0}) : std::nullopt;
            const Result<View> view = viewOf(m_session, described.name, head);
            if (!view || view->dimensions < 1 || view->dimensions > 2)
                continue;
            const std::unique_ptr<PictureBody> body = drawn(*view);
            const auto figures = body->figures();
            const ResultArray* array = m_session.results.find(view->picture.arrays.front());
            if (figures.empty() || !array)
                continue;
            QString fault;
            if (const auto* map = dynamic_cast<const HeatmapView*>(figures.front().first);
                map && !map->isEmpty()) {
                fault = faultOfBar(*map, *array);
                if (fault.isEmpty() && bars++ % eachDrawn == 0)
                    fault = notDrawn(*map, {map->content()->valueTitle()});
            } else if (const auto* chart = dynamic_cast<const LineChart*>(figures.front().first);
                       chart && !chart->series().empty()) {
                fault = faultOfAxes(*chart, view->picture, *array);
                if (fault.isEmpty() && charts++ % eachDrawn == 0)
                    fault = notDrawn(*chart, {chart->look().xTitle, chart->look().yTitle});
            }
            if (!fault.isEmpty())
                faults << QStringLiteral("%1: %2").arg(text(described.name), fault);
        }
        QVERIFY2(faults.isEmpty(), qPrintable(faults.join(u'\n')));
        QVERIFY2(bars > 10 && charts > 5,
                 qPrintable(QStringLiteral("%1 bars, %2 charts").arg(bars).arg(charts)));
    }

    /// An axis has no room for the names of many series.
    void anAxisOfManySeriesNamesTheirQuantity()
    {
        const auto titleOf = [this](std::initializer_list<const char*> paths) {
            std::vector<const ResultArray*> arrays;
            for (const char* path : paths)
                if (const ResultArray* array = m_session.results.find(path))
                    arrays.push_back(array);
            return arrays.size() == paths.size() ? commonTitle(arrays) : QString();
        };
        QCOMPARE(titleOf({"analyses/norm_spread/position_mean", "analyses/norm_spread/position_min",
                          "analyses/norm_spread/position_max", "analyses/norm_spread/position_null"}),
                 QStringLiteral("σ"));
        QCOMPARE(titleOf({"analyses/symmetry/layer_symmetry", "analyses/symmetry/layer_positive",
                          "analyses/symmetry/layer_direction"}),
                 QStringLiteral("value"));
        QVERIFY(titleOf({"analyses/symmetry/layer_symmetry", "analyses/symmetry/layer_direction"})
                    .contains(QStringLiteral(", Directionality")));
    }

    /// The words that titles share, and no more: neither "Singular values of full" nor "O to".
    void anAxisNamesWhatItsSeriesShare()
    {
        const auto titleOf = [](std::initializer_list<const char*> titles) {
            std::vector<ResultArray> arrays(titles.size());
            std::vector<const ResultArray*> shown;
            for (std::size_t i = 0; i < titles.size(); ++i) {
                arrays[i].title = *(titles.begin() + i);
                shown.push_back(&arrays[i]);
            }
            return commonTitle(shown);
        };
        QCOMPARE(titleOf({"Singular values of full QK", "Singular values of full OV"}),
                 QStringLiteral("Singular values"));
        QCOMPARE(titleOf({"Principal angles, O to Q", "Principal angles of random subspaces"}),
                 QStringLiteral("Principal angles"));
        QCOMPARE(titleOf({"O to Q, projection kernel", "O to K, projection kernel"}),
                 QStringLiteral("Projection kernel"));
        QCOMPARE(titleOf({"Q-composition", "K-composition", "V-composition"}), QStringLiteral("Composition"));
        QCOMPARE(titleOf({"Matching", "Copying"}), QStringLiteral("Matching, Copying"));
    }

    /// The rows of one array and of its null: the axis names the array, and the nulls share an entry of the legend.
    void rowsHaveShortNamesAndTheirNullsOne()
    {
        const LineChart* chart = nullptr;
        const auto body = curvesOf({1, 2, 3, 4}, chart);
        QVERIFY(chart);
        QStringList names;
        for (const ChartSeries& one : chart->series())
            names << one.name;
        QCOMPARE(names,
                 QStringList({QStringLiteral("component 0"), QStringLiteral("component 1"),
                              QStringLiteral("By chance"), QString()}));
        QCOMPARE(chart->look().yTitle, QStringLiteral("Score (logits)"));
        QCOMPARE(chart->series()[2].place, chart->series()[3].place);
        QStringList rows; // The numbers keep their names.
        chart->forEachDataRow([&rows](const QStringList& row) { rows << row.front(); });
        QCOMPARE(rows.mid(0, 2), QStringList({QStringLiteral("series"), QStringLiteral("component 0")}));
        QCOMPARE(rows.last(), QStringLiteral("By chance 1"));
        FigureStyle style; // A hidden series takes those along that share its entry.
        style.edits.series = {{"By chance", false}};
        QCOMPARE(contentOnPaper({.look = chart->look(), .series = chart->series()}, style).series.size(),
                 std::size_t{2});
    }

    /// A mean and its deviation below and above it are one line with a band.
    void aMeanAndItsDeviationAreABand()
    {
        const auto results = std::make_shared<ResultSet>();
        Picture picture{.kind = Picture::Kind::Lines, .title = "Scores", .arrays = {}};
        const auto add = [&](const char* path, float by) {
            ResultArray array;
            array.path = path;
            array.title = path;
            array.shape = {3};
            array.axes = {Axis::Offset};
            array.values = std::vector<float>{1 + by, 2 + by, 3 + by};
            picture.arrays.emplace_back(path);
            results->arrays.push_back(std::move(array));
        };
        add("analyses/x/mean_score", 0);
        add("analyses/x/score_low", -0.5F);
        add("analyses/x/score_high", 0.5F);
        const LineChart* chart = nullptr;
        const auto body = chartOf(picture, results, chart);
        QVERIFY(chart);
        QCOMPARE(chart->series().size(), std::size_t{1});
        QVERIFY(chart->series()[0].hasBand);
        QCOMPARE(chart->series()[0].errors, std::vector<float>(3, 0.5F));
    }

    /// Twelve layers would stand on one another above each of two parts.
    void barsOfLayersStandSideBySide()
    {
        const LineChart* chart = nullptr;
        const auto body =
            barsOf({3, 2}, {Axis::Layer, Axis::Part}, std::vector<float>{1, 2, 3, 4, 5, 6}, chart);
        QVERIFY(chart);
        QCOMPARE(chart->series().size(), std::size_t{2});
        QCOMPARE(chart->series()[1].points, QVector<QPointF>({{0, 2}, {1, 4}, {2, 6}}));
        QCOMPARE(chart->look().xTitle, QStringLiteral("layer"));
    }

    /// A count of −1 was not computed.
    void countsThatWereNotComputedAreNoBars()
    {
        const LineChart* chart = nullptr;
        const auto body = barsOf({3}, {Axis::Relation}, std::vector<std::int32_t>{4, -1, 0}, chart);
        QVERIFY(chart);
        const QVector<QPointF>& bars = chart->series().front().points;
        QVERIFY(bars.size() == 3 && bars[0].y() == 4 && std::isnan(bars[1].y()) && bars[2].y() == 0);
    }

    /// A null alone would look like the result.
    void aNullIsNotDrawnAlone()
    {
        constexpr float none = std::numeric_limits<float>::quiet_NaN();
        const LineChart* chart = nullptr;
        const auto body = curvesOf({none, none, none, none}, chart);
        QVERIFY(!chart && body->figures().empty());
    }

    /// No bar says what the colours of points mean, so the caption does.
    void aCaptionExplainsTheColoursOfPoints()
    {
        const auto captionOf = [this](const char* name) {
            const Result<View> view = viewOf(m_session, name, std::nullopt);
            const std::unique_ptr<PictureBody> body = view ? drawn(*view) : nullptr;
            const auto* chart = body && !body->figures().empty()
                ? dynamic_cast<const LineChart*>(body->figures().front().first)
                : nullptr;
            return chart ? figureCaption(*chart) : QString();
        };
        const QString shaded = captionOf("symmetry: Symmetric and antisymmetric part");
        QVERIFY2(shaded.contains(QStringLiteral("Colour: Directionality of QK, from ")), qPrintable(shaded));
        const QString plain = captionOf("symmetry: Heads by symmetry");
        QVERIFY2(!plain.isEmpty() && !plain.contains(QStringLiteral("Colour:")), qPrintable(plain));
    }

    void aGridOfPatternsNamesItsScale()
    {
        const auto patterns = std::make_shared<const Patterns>(
            Patterns{{Eigen::MatrixXf::Identity(3, 3), Eigen::MatrixXf::Identity(3, 3)}});
        PatternGrid grid;
        grid.setPatterns(patterns, patterns);
        grid.setValueTitle(QStringLiteral("attention (probability)"));
        const QString texts = textsOf(grid);
        QVERIFY2(texts.contains(QStringLiteral("attention(probability):white0,fullcolour1")),
                 qPrintable(texts));
    }

    void aDiagramNamesItsWidestArrow()
    {
        DiagramView diagram;
        diagram.setHeads(2, 3);
        diagram.setEdges({{{0, 1}, {1, 2}, 0.5}, {{0, 0}, {1, 2}, -0.25}});
        diagram.setValueTitle(QStringLiteral("K-composition"));
        const QString texts = textsOf(diagram);
        QVERIFY2(texts.contains(QStringLiteral("widestarrow:K-composition0.5")), qPrintable(texts));
    }

private:
    /// Draws two rows of numbers and their nulls. \param chart the chart; null: there is none
    std::unique_ptr<PictureBody> curvesOf(std::vector<float> values, const LineChart*& chart) const
    {
        const auto results = std::make_shared<ResultSet>();
        for (const bool isNull : {false, true}) {
            ResultArray array;
            array.path = isNull ? "analyses/x/curves_null" : "analyses/x/curves";
            array.title = isNull ? "By chance" : "Score";
            array.unit = "logits";
            array.shape = {2, 2};
            array.axes = {Axis::Component, Axis::Rank};
            array.values = isNull ? std::vector<float>(4) : values;
            results->arrays.push_back(std::move(array));
        }
        const Picture picture{.kind = Picture::Kind::Lines,
                              .title = "Curves",
                              .arrays = {"analyses/x/curves", "analyses/x/curves_null"}};
        return chartOf(picture, results, chart);
    }

    /// Draws an array as bars. \param chart the chart; null: there is none
    std::unique_ptr<PictureBody> barsOf(std::vector<std::size_t> shape, std::vector<ArrayAxis> axes,
                                        ResultArray::Values values, const LineChart*& chart) const
    {
        const auto results = std::make_shared<ResultSet>();
        ResultArray array;
        array.path = "analyses/x/bars";
        array.title = "Bars";
        array.shape = std::move(shape);
        array.axes = std::move(axes);
        array.values = std::move(values);
        results->arrays.push_back(std::move(array));
        return chartOf({.kind = Picture::Kind::Bars, .title = "Bars", .arrays = {"analyses/x/bars"}}, results,
                       chart);
    }

    /// Draws a picture on paper. \param chart its only figure; null: it has none
    std::unique_ptr<PictureBody> chartOf(const Picture& picture,
                                         const std::shared_ptr<const ResultSet>& results,
                                         const LineChart*& chart) const
    {
        std::unique_ptr<PictureBody> body(newPictureBody(picture.kind, {}, nullptr));
        body->setContext({.results = results, .card = m_session.model, .isPaper = true, .tokenText = {}});
        body->showPicture(pictureData(picture, results));
        const auto figures = body->figures();
        chart = figures.size() != 1 ? nullptr : dynamic_cast<const LineChart*>(figures.front().first);
        return body;
    }

    /// As `headwise export` draws it.
    std::unique_ptr<PictureBody> drawn(const View& view) const
    {
        std::unique_ptr<PictureBody> body(newPictureBody(view.picture.kind, {}, nullptr));
        const PictureContext context{.results = {std::shared_ptr<const ResultSet>(), &m_session.results},
                                     .card = m_session.model,
                                     .head = view.head.value_or(HeadId{}),
                                     .isCut = view.head.has_value(),
                                     .isPaper = true,
                                     .tokenText = [](int id) { return QStringLiteral("t%1").arg(id); }};
        body->setContext(context);
        body->showPicture(pictureData(view.picture, context.results));
        return body;
    }

    Session m_session;
};

HEADWISE_TEST(FigureQuantitiesTest)
#include "figure_quantities_test.moc"
