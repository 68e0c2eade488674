#include "ui/pictures/described_figure.h"

#include "core/session/picture_numbers.h"
#include "ui/base/text.h"
#include "ui/charts/chart_content.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_metadata.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/heatmaps/shared_scale.h"
#include "ui/pictures/shared_ranges.h"

#include <QMap>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace headwise::ui {

PictureContext paperContext(const Session& session, std::optional<HeadId> head)
{
    return {.results = {std::shared_ptr<const ResultSet>(), &session.results},
            .card = session.model,
            .head = head.value_or(HeadId{}),
            .isCut = head.has_value(),
            .isPaper = true,
            .tokenText = [&session](int id) { return text(tokenText(session, id)); }};
}

struct DescribedFigure::Drawn {
    QString label;
    View view;
    std::string unit; ///< Unit of its numbers.
    std::unique_ptr<PictureBody> body;
    QWidget* picture = nullptr; ///< Part of the body.

    FigureSource* source() const { return dynamic_cast<FigureSource*>(picture); }
    HeatmapView* cells() const { return qobject_cast<HeatmapView*>(picture); }
    LineChart* chart() const { return qobject_cast<LineChart*>(picture); }
};

namespace {

Error inPanel(const QString& label, ErrorCode code, const std::string& sentence)
{
    return {code, "Panel " + label.toStdString() + ": " + sentence};
}

Error invalidPanel(const QString& label, const std::string& sentence)
{
    return inPanel(label, ErrorCode::InvalidArgument, sentence);
}

QString orOwn(const std::string& words, const QString& own)
{
    return words.empty() ? own : text(words);
}

void nameCellAxes(HeatmapView& cells, const FigurePanel& panel)
{
    HeatmapAxis rows = cells.scene().rows, columns = cells.scene().columns;
    rows.title = orOwn(panel.yTitle, rows.title);
    columns.title = orOwn(panel.xTitle, columns.title);
    cells.content()->setRowAxis(rows);
    cells.content()->setColumnAxis(columns);
    cells.content()->setValueTitle(orOwn(panel.valueTitle, cells.content()->valueTitle()));
}

void nameChartAxes(LineChart& chart, const FigurePanel& panel)
{
    ChartLook look = chart.look();
    look.xTitle = orOwn(panel.xTitle, look.xTitle);
    look.yTitle = orOwn(panel.yTitle, look.yTitle);
    chart.setLook(look);
}

/// Checks the heads that are named beside the panel's own.
Result<Done> checkHeads(const QString& label, const FigurePanel& panel, const ModelCard& card)
{
    std::vector<std::string> names;
    for (const HeadLabel& named : panel.heads)
        names.push_back(named.head);
    if (!panel.reference.empty())
        names.push_back(panel.reference);
    for (const std::string& name : names) {
        const std::optional<HeadId> head = parseHeadId(name);
        if (!head || head->layer >= card.nLayers || head->head >= card.nHeads)
            return invalidPanel(label, "the model has no head '" + name + "'.");
    }
    return Done{};
}

/// Names the heads that the panel asks for, instead of those that stand out. \return false for a chart without a point per head
bool nameHeads(LineChart& chart, const FigurePanel& panel, const ModelCard& card)
{
    std::vector<ChartSeries> series = chart.series();
    const auto cloud = std::ranges::find_if(series, [&card](const ChartSeries& one) {
        return one.style == SeriesStyle::Points
            && one.points.size() == static_cast<qsizetype>(card.nLayers) * card.nHeads;
    });
    if (cloud == series.end())
        return false;
    cloud->pointNames.clear();
    for (const HeadLabel& named : panel.heads) {
        const HeadId head = parseHeadId(named.head).value_or(HeadId{});
        cloud->pointNames.emplace_back(head.layer * card.nHeads + head.head, orOwn(named.text, text(head)));
    }
    chart.setSeries(series);
    return true;
}

/// Keeps the named series, in that order and with their own colours. \return false if the chart lacks one of them
bool chooseSeries(LineChart& chart, const FigurePanel& panel)
{
    const std::vector<ChartSeries>& all = chart.series();
    std::vector<ChartSeries> chosen;
    for (const std::string& name : panel.series) {
        const auto found = std::ranges::find(all, text(name), &ChartSeries::name);
        if (found == all.end())
            return false;
        const auto index = static_cast<std::size_t>(found - all.begin());
        const int place = placeOf(all, index);
        chosen.push_back(*found);
        chosen.back().place = place;
        std::copy_if(found + 1, all.end(), std::back_inserter(chosen), [place](const ChartSeries& other) {
            return other.name.isEmpty() && other.place == place; // belongs to it
        });
    }
    chart.setSeries(chosen);
    return true;
}

} // namespace

DescribedFigure::DescribedFigure(bool isOfSeries)
    : m_isOfSeries(isOfSeries)
{
}

DescribedFigure::~DescribedFigure() = default;

Result<std::unique_ptr<DescribedFigure>> DescribedFigure::make(const FigureDescription& description,
                                                               const FigureSessions& sessions)
{
    std::unique_ptr<DescribedFigure> figure(new DescribedFigure(sessions.isSeries()));
    for (std::size_t i = 0; i < description.panels.size(); ++i) {
        const FigurePanel& panel = description.panels[i];
        const QString label = text(panelLabel(description, i));
        const Result<FigureSessions::Step> from = sessions.at(panel.step, panel.view);
        if (!from)
            return inPanel(label, from.error().code, from.error().message);
        if (const Result<Done> drawn = figure->draw(panel, label, *from); !drawn)
            return drawn.error();
    }
    if (const Result<Done> shared = figure->shareScales(description); !shared)
        return shared.error();
    if (const Result<Done> composed = figure->compose(description); !composed)
        return composed.error();
    return figure;
}

Result<Done> DescribedFigure::draw(const FigurePanel& panel, const QString& label,
                                   const FigureSessions::Step& from)
{
    const Session& session = *from.session;
    const Result<View> view = viewOf(session, panel.view, parseHeadId(panel.head));
    if (!view)
        return inPanel(label, view.error().code, view.error().message);
    if (const Result<Done> checked = checkHeads(label, panel, session.model); !checked)
        return checked;
    auto drawn = std::make_unique<Drawn>();
    drawn->label = label;
    drawn->view = *view;
    if (view->dimensions < 1 || view->dimensions > 2)
        return invalidPanel(label,
                            "'" + panel.view + "' has " + std::to_string(view->dimensions)
                                + " dimensions and no picture; name a head.");
    PictureContext context = paperContext(session, view->head);
    context.reference = parseHeadId(panel.reference);
    const PictureData data = pictureData(view->picture, context.results);
    if (!data.arrays.empty())
        drawn->unit = data.arrays.front()->unit;
    drawn->body.reset(newPictureBody(view->picture.kind, {}, nullptr));
    drawn->body->setContext(context);
    drawn->body->showPicture(data);
    const auto figures = drawn->body->figures();
    if (figures.size() > 1)
        return invalidPanel(label,
                            "'" + panel.view + "' is " + std::to_string(figures.size())
                                + " pictures; give each a panel, as /" + view->picture.arrays.front() + ".");
    drawn->picture = figures.empty() ? nullptr : figures.front().first;
    if (!drawn->source())
        return inPanel(label, ErrorCode::NotFound,
                       "'" + panel.view + "' has no numbers"
                           + (view->head ? " of head " + dottedHead(*view->head) : std::string()) + ".");
    if (from.step) {
        const std::string step = std::to_string(*from.step);
        drawn->view.picture.title += ", step " + step;
        drawn->view.provenance.emplace_back(stepKey, step);
    }
    if (const Result<Done> named = nameParts(*drawn, panel, session.model); !named)
        return named;
    m_drawn.push_back(std::move(drawn));
    return Done{};
}

Result<Done> DescribedFigure::nameParts(const Drawn& drawn, const FigurePanel& panel, const ModelCard& card)
{
    HeatmapView* cells = drawn.cells();
    LineChart* chart = drawn.chart();
    if (!cells && !panel.valueTitle.empty())
        return invalidPanel(drawn.label, "value_title is given, but '" + panel.view + "' has no colour bar.");
    if (!cells && !chart && !(panel.xTitle + panel.yTitle).empty())
        return invalidPanel(drawn.label, "an axis title is given, but '" + panel.view + "' has no axes.");
    if (!panel.heads.empty() && !(chart && nameHeads(*chart, panel, card)))
        return invalidPanel(drawn.label,
                            "heads names heads, but '" + panel.view + "' has no point for each of them.");
    if (!panel.series.empty() && !chart)
        return invalidPanel(drawn.label, "series is given, but '" + panel.view + "' is not a chart.");
    if (!panel.series.empty() && !chooseSeries(*chart, panel))
        return invalidPanel(
            drawn.label,
            "series names one that '" + panel.view + "' does not have; it has '"
                + chartParts(chart->series()).series.join(QStringLiteral("', '")).toStdString() + "'.");
    if (cells)
        nameCellAxes(*cells, panel);
    if (chart)
        nameChartAxes(*chart, panel);
    return Done{};
}

Result<Done> DescribedFigure::shareScales(const FigureDescription& description)
{
    std::map<std::string, std::vector<const Drawn*>> groups;
    for (std::size_t i = 0; i < m_drawn.size(); ++i)
        if (const std::string& name = description.panels[i].scale; !name.empty())
            groups[name].push_back(m_drawn[i].get());
    for (const auto& [name, members] : groups) {
        std::vector<HeatmapView*> cells;
        std::vector<LineChart*> charts;
        const Drawn& first = *members.front();
        for (const Drawn* drawn : members) {
            const std::string scale = "scale '" + name + "' ";
            if (drawn->unit != first.unit)
                return invalidPanel(
                    drawn->label, scale + "joins the units '" + first.unit + "' and '" + drawn->unit + "'.");
            if (drawn->cells())
                cells.push_back(drawn->cells());
            else if (drawn->chart() && first.chart()
                     && haveComparableHeights(*first.chart(), *drawn->chart()))
                charts.push_back(drawn->chart());
            else
                return invalidPanel(drawn->label, scale + "joins pictures whose scales cannot be one.");
            if (!cells.empty() && !charts.empty())
                return invalidPanel(drawn->label, scale + "joins colours and curves.");
        }
        if (!cells.empty())
            m_scales.push_back(shareColors(cells));
        else
            shareHeights(charts);
    }
    return Done{};
}

Result<Done> DescribedFigure::compose(const FigureDescription& description)
{
    const std::pair<int, int> count = panelGrid(description);
    const auto shares = [](const std::vector<double>& own, int wanted) {
        return own.empty() ? std::vector<double>(static_cast<std::size_t>(wanted), 1.0) : own;
    };
    std::vector<ComposedFigure::Panel> panels;
    QStringList titles, caption{text(description.caption)};
    QMap<QString, QStringList> explained; // sentences on colours, bands and brackets: labels of their panels
    for (std::size_t i = 0; i < m_drawn.size(); ++i) {
        const FigurePanel& panel = description.panels[i];
        const QString title = orOwn(panel.title, text(m_drawn[i]->view.picture.title));
        const bool isLettered = m_drawn.size() > 1 || !panel.label.empty(); // a single picture needs no "a"
        titles << (isLettered ? m_drawn[i]->label + u' ' + title : title);
        if (const QString words = m_drawn[i]->source()->colorWords(); !words.isEmpty())
            explained[words] << m_drawn[i]->label;
        panels.push_back({.source = m_drawn[i]->source(),
                          .label = m_drawn[i]->label,
                          .isLettered = isLettered,
                          .title = title,
                          .row = panel.row - 1,
                          .column = panel.column - 1,
                          .rowSpan = panel.rowSpan,
                          .columnSpan = panel.columnSpan});
    }
    for (auto sentence = explained.cbegin(); sentence != explained.cend(); ++sentence)
        caption << (m_drawn.size() > 1 ? u'(' + sentence->join(QStringLiteral(", ")) + QStringLiteral(") ")
                                       : QString())
                + sentence.key();
    m_page = std::make_unique<ComposedFigure>(std::move(panels),
                                              ComposedFigure::Grid{shares(description.widths, count.second),
                                                                   shares(description.heights, count.first)},
                                              caption.join(u' ').trimmed());
    m_page->setFigureTitle(description.title.empty() ? titles.join(QStringLiteral("; "))
                                                     : text(description.title));
    m_page->setProvenance(provenance());
    const FigureSettings settings = figureSettings(description, FigureFormat::Pdf);
    const QStringList crowded = m_page->crowded(paintedSize(settings), settings.style);
    if (!crowded.isEmpty())
        return invalidPanel(crowded.join(QStringLiteral(", ")),
                            "there is too little room for its picture on a page of "
                                + number(settings.width).toStdString() + " × "
                                + number(settings.height).toStdString()
                                + " mm; make the page larger or the type smaller.");
    return Done{};
}

void DescribedFigure::addRecipe(const FigureDescription& description, const std::string& sessionSha256)
{
    const FigureDescription published = asPublished(description);
    Provenance lines = m_page->provenance();
    lines.append({QLatin1StringView(m_isOfSeries ? seriesKey : sessionFileKey), text(published.session)});
    if (!sessionSha256.empty())
        lines.append({QLatin1StringView(sessionSha256Key), text(sessionSha256)});
    lines.append({QLatin1StringView(figureDescriptionKey), text(headwise::text(published))});
    m_page->setProvenance(lines);
}

Provenance DescribedFigure::provenance() const
{
    // The facts of the session are those of any view; the rest belongs to a panel, as do the files of a checkpoint.
    std::vector<std::string> ofPanel{"view", "head", "definition", "embedding", "tokens"};
    if (m_isOfSeries)
        ofPanel.insert(ofPanel.end(), {stepKey, "source", "sha256"});
    Provenance lines;
    for (const auto& [key, value] : m_drawn.front()->view.provenance)
        if (std::ranges::find(ofPanel, key) == ofPanel.end())
            lines.append({text(key), text(value)});
    for (const std::unique_ptr<Drawn>& drawn : m_drawn) {
        QStringList words;
        for (const auto& [key, value] : drawn->view.provenance)
            if (std::ranges::find(ofPanel, key) != ofPanel.end())
                words << text(key) + QStringLiteral(": ") + text(value);
        lines.append({QStringLiteral("panel ") + drawn->label, words.join(QStringLiteral("; "))});
    }
    return lines;
}

} // namespace headwise::ui
