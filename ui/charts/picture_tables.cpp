// The tables that assistive technology reads instead of pictures.

#include "ui/base/text.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/prompt_text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/widgets/picture_accessible.h"

#include <algorithm>
#include <limits>

namespace headwise::ui {

namespace {

using PictureTablesPlace = PictureAccessible::Place;

/// A chart: rows are points, columns are x and the series. Series over the same x share their rows; others have their
/// own.
class ChartAccessible : public PictureAccessible {
public:
    explicit ChartAccessible(LineChart* chart)
        : PictureAccessible(chart)
    {
    }

    int rowCount() const override
    {
        qsizetype rows = 0;
        for (const ChartSeries& series : all())
            rows = isShared() ? std::max(rows, series.points.size()) : rows + series.points.size();
        return static_cast<int>(std::min<qsizetype>(rows, std::numeric_limits<int>::max()));
    }
    int columnCount() const override { return all().empty() ? 0 : static_cast<int>(all().size()) + 1; }

    QString cellText(PictureTablesPlace place) const override
    {
        const QPointF* point = pointAt(place);
        if (!point)
            return {};
        return place.column == 0 ? xText(point->x()) : number(point->y());
    }
    QString exactText(PictureTablesPlace place) const override
    {
        const QPointF* point = pointAt(place);
        return point ? exactNumber(place.column == 0 ? point->x() : point->y()) : QString();
    }
    QString rowTitle(int row) const override { return cellText({row, 0}); }
    QString columnTitle(int column) const override
    {
        return column == 0 ? chart()->look().xTitle : all()[static_cast<std::size_t>(column - 1)].name;
    }
    QRectF cellArea(PictureTablesPlace place) const override
    {
        constexpr double reach = 5; // px
        const QPointF* point = pointAt(place);
        const QPointF at = point ? chart()->positionOf(*point) : QPointF(-2 * reach, -2 * reach);
        return {at - QPointF(reach, reach), QSizeF(2 * reach, 2 * reach)};
    }
    std::optional<PictureTablesPlace> current() const override
    {
        const QPoint point = chart()->property(currentPointProperty).toPoint(); // series, index
        const bool isThere = chart()->property(currentPointProperty).isValid() && point.x() >= 0
            && point.x() < static_cast<int>(all().size())
            && point.y() < all()[static_cast<std::size_t>(point.x())].points.size();
        return isThere ? std::optional(PictureTablesPlace{rowsBefore(point.x()) + point.y(), point.x() + 1})
                       : std::nullopt;
    }

private:
    LineChart* chart() const { return static_cast<LineChart*>(object()); }
    const std::vector<ChartSeries>& all() const { return chart()->series(); }

    bool isShared() const
    {
        const auto& series = all();
        return std::all_of(series.begin(), series.end(), [&](const ChartSeries& one) {
            const auto& first = series.front().points;
            return one.points.size() == first.size()
                && std::equal(one.points.begin(), one.points.end(), first.begin(),
                              [](const QPointF& a, const QPointF& b) { return a.x() == b.x(); });
        });
    }

    int rowsBefore(int series) const
    {
        qsizetype rows = 0;
        for (int i = 0; i < series && !isShared(); ++i)
            rows += all()[static_cast<std::size_t>(i)].points.size();
        return static_cast<int>(rows);
    }

    /// Null if the column's series has no point in the row.
    const QPointF* pointAt(PictureTablesPlace place) const
    {
        for (int series = 0; series < static_cast<int>(all().size()); ++series) {
            const auto& points = all()[static_cast<std::size_t>(series)].points;
            const int row = place.row - rowsBefore(series);
            if (row >= 0 && row < points.size() && (place.column == 0 || place.column == series + 1))
                return &points[row];
        }
        return nullptr;
    }

    QString xText(double x) const
    {
        const QStringList& names = chart()->look().xLabels;
        const auto index = static_cast<qsizetype>(x);
        return index >= 0 && index < names.size() && x == static_cast<double>(index) ? names[index]
                                                                                     : number(x);
    }
};

/// Layers × heads; a cell says where its head attends most.
class PatternAccessible : public PictureAccessible {
public:
    explicit PatternAccessible(PatternGrid* grid)
        : PictureAccessible(grid)
    {
    }

    int rowCount() const override { return grid()->layers(); }
    int columnCount() const override { return grid()->heads(); }
    QString cellText(PictureTablesPlace place) const override
    {
        const PatternGrid::Entry entry = grid()->strongest({place.row, place.column});
        return PatternGrid::tr("%1: strongest %2, position %3 to %4")
            .arg(ui::text(HeadId{place.row, place.column}), number(double{entry.value}))
            .arg(entry.query)
            .arg(entry.key);
    }
    QString exactText(PictureTablesPlace place) const override
    {
        return exactNumber(grid()->strongest({place.row, place.column}).value);
    }
    QString rowTitle(int row) const override { return PatternGrid::tr("layer %1").arg(row); }
    QString columnTitle(int column) const override { return PatternGrid::tr("head %1").arg(column); }
    QRectF cellArea(PictureTablesPlace place) const override
    {
        return grid()->tileRect({place.row, place.column});
    }
    std::optional<PictureTablesPlace> current() const override
    {
        const HeadId head = grid()->current();
        return head.layer < rowCount() && head.head < columnCount()
            ? std::optional(PictureTablesPlace{head.layer, head.head})
            : std::nullopt;
    }

private:
    PatternGrid* grid() const { return static_cast<PatternGrid*>(object()); }
};

/// One row per edge: from, to, value.
class DiagramAccessible : public PictureAccessible {
public:
    explicit DiagramAccessible(DiagramView* diagram)
        : PictureAccessible(diagram)
    {
    }

    int rowCount() const override { return static_cast<int>(diagram()->edges().size()); }
    int columnCount() const override { return rowCount() > 0 ? 3 : 0; }
    QString cellText(PictureTablesPlace place) const override
    {
        const DiagramEdge& edge = edgeOf(place.row);
        return place.column == 0 ? ui::text(edge.from)
            : place.column == 1  ? ui::text(edge.to)
                                 : number(edge.value);
    }
    QString exactText(PictureTablesPlace place) const override
    {
        return place.column == 2 ? exactNumber(edgeOf(place.row).value) : cellText(place);
    }
    QString rowTitle(int row) const override
    {
        return QStringLiteral("%1 → %2").arg(ui::text(edgeOf(row).from), ui::text(edgeOf(row).to));
    }
    QString columnTitle(int column) const override
    {
        return column == 0 ? DiagramView::tr("from")
            : column == 1  ? DiagramView::tr("to")
                           : DiagramView::tr("value");
    }
    QRectF cellArea(PictureTablesPlace place) const override
    {
        const DiagramEdge& edge = edgeOf(place.row);
        return QRectF(diagram()->positionOf(edge.from), diagram()->positionOf(edge.to))
            .normalized()
            .adjusted(-1, -1, 1, 1);
    }

private:
    DiagramView* diagram() const { return static_cast<DiagramView*>(object()); }
    const DiagramEdge& edgeOf(int row) const { return diagram()->edges()[static_cast<std::size_t>(row)]; }
};

/// One row per token: how much the query attends to it.
class PromptAccessible : public PictureAccessible {
public:
    explicit PromptAccessible(PromptText* text)
        : PictureAccessible(text)
    {
    }

    int rowCount() const override { return static_cast<int>(prompt()->tokens().size()); }
    int columnCount() const override { return rowCount() > 0 ? 1 : 0; }
    QString cellText(PictureTablesPlace place) const override
    {
        return number(double{prompt()->attention(place.row)});
    }
    QString exactText(PictureTablesPlace place) const override
    {
        return exactNumber(prompt()->attention(place.row));
    }
    QString rowTitle(int row) const override { return prompt()->tokens()[row]; }
    QString columnTitle(int /*column*/) const override
    {
        return PromptText::tr("attention of %1").arg(prompt()->tokens()[prompt()->query()]);
    }
    QRectF cellArea(PictureTablesPlace place) const override { return prompt()->tokenRect(place.row); }
    std::optional<PictureTablesPlace> current() const override
    {
        const int query = prompt()->query();
        return query >= 0 ? std::optional(PictureTablesPlace{query, 0}) : std::nullopt;
    }

private:
    PromptText* prompt() const { return static_cast<PromptText*>(object()); }
};

} // namespace

void installPictureAccessibility()
{
    static const bool isInstalled = [] {
        QAccessible::installFactory([](const QString&, QObject* object) -> QAccessibleInterface* {
            if (auto* chart = qobject_cast<LineChart*>(object))
                return new ChartAccessible(chart);
            if (auto* grid = qobject_cast<PatternGrid*>(object))
                return new PatternAccessible(grid);
            if (auto* prompt = qobject_cast<PromptText*>(object))
                return new PromptAccessible(prompt);
            auto* diagram = qobject_cast<DiagramView*>(object);
            return diagram ? new DiagramAccessible(diagram) : nullptr;
        });
        return true;
    }();
    Q_UNUSED(isInstalled)
}

void announceCurrentCell(QWidget* view)
{
    if (!QAccessible::isActive() || !view->hasFocus())
        return;
    const QAccessibleInterface* table = QAccessible::queryAccessibleInterface(view);
    const QAccessibleInterface* cell = table ? table->focusChild() : nullptr;
    const int child = cell ? table->indexOfChild(cell) : -1;
    if (child < 0)
        return;
    QAccessibleEvent focus(view, QAccessible::Focus);
    focus.setChild(child);
    QAccessible::updateAccessibility(&focus);
}

} // namespace headwise::ui
