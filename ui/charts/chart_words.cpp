// Words inside the plot: notes, names of baselines and of points.

#include "ui/base/text.h"
#include "ui/charts/chart_painter.h"
#include "ui/figures/math_text.h"

#include <QFontMetricsF>
#include <QLineF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double chartWordsGap = 4;

/// The room for words in a plot: the points it shows, and the places that other words have.
class WordRoom {
public:
    /// \param taken  the places of other words
    WordRoom(const ChartFrame& frame, const std::vector<ChartSeries>& series, const QPaintDevice* device,
             std::vector<QRectF> taken = {})
        : m_places(drawnPlaces(frame, series))
        , m_taken(std::move(taken))
        , m_reach(frame.isPaper ? markerReach : 0)
    {
        m_taken.push_back(legendInside(frame, series, device));
    }

    /// Adds places of lines that words cover only where there are no better ones.
    void avoid(const std::vector<QPointF>& places)
    {
        m_lines.insert(m_lines.end(), places.begin(), places.end());
    }
    std::ptrdiff_t hiddenBy(const QRectF& box) const
    {
        const auto within = [](const QRectF& area) {
            return [area](const QPointF& place) { return area.contains(place); };
        };
        return std::ranges::count_if(m_places, within(box.adjusted(-m_reach, -m_reach, m_reach, m_reach)))
            + std::ranges::count_if(m_lines, within(box));
    }
    bool isFree(const QRectF& box) const
    {
        return std::ranges::none_of(m_taken, [&box](const QRectF& other) { return other.intersects(box); });
    }
    /// Tells whether a line runs over other words.
    bool crosses(const QLineF& line) const
    {
        constexpr int steps = 12;
        for (int i = 0; i <= steps; ++i)
            if (!isFree(QRectF(line.pointAt(double(i) / steps) - QPointF(0.5, 0.5), QSizeF(1, 1))))
                return true;
        return false;
    }
    /// Takes the free place that hides least, the earlier one of equals. \return empty if there is no free one
    QRectF take(const std::vector<QRectF>& candidates)
    {
        QRectF best;
        auto least = std::numeric_limits<std::ptrdiff_t>::max();
        for (const QRectF& box : candidates)
            if (const auto hidden = hiddenBy(box); isFree(box) && hidden < least) {
                least = hidden;
                best = box;
            }
        m_taken.push_back(best);
        return best;
    }

private:
    static constexpr double markerReach = 2; // points, from its middle
    std::vector<QPointF> m_places, m_lines;
    std::vector<QRectF> m_taken;
    double m_reach;
};

void paintIn(QPainter& painter, const QRectF& box, const QString& words)
{
    painter.drawText(
        QPointF(box.left(), box.top() + QFontMetricsF(painter.font(), painter.device()).ascent()), words);
}

constexpr double besidePoint = 6; // from the middle of a marker to its name

/// The places of a name around its point, the best first.
std::vector<QRectF> pointNameBoxes(const QPointF& at, const QSizeF& size, bool mayBeFar)
{
    std::vector<QRectF> boxes;
    const auto add = [&](double right, double down) { // distances of the edges; 0: centred
        const double x = right > 0 ? right : right < 0 ? right - size.width() : -size.width() / 2;
        const double y = down > 0 ? down : down < 0 ? down - size.height() : -size.height() / 2;
        boxes.emplace_back(at + QPointF(x, y), size);
    };
    add(besidePoint, 0);
    add(-besidePoint, 0);
    add(0, -besidePoint);
    add(0, besidePoint);
    for (const double far : mayBeFar ? std::vector<double>{14, 24, 36, 52} : std::vector<double>{})
        for (const double right : {far, -far, 0.0})
            for (const double down : {0.0, far / 2, -far / 2, far, -far})
                if (right != 0 || down != 0)
                    add(right, down);
    return boxes;
}

/// The line from a point to the nearest place of its name; null if they are side by side.
QLineF leaderTo(const QRectF& box, const QPointF& at)
{
    constexpr double fromPoint = 3;
    const QPointF end(std::clamp(at.x(), box.left(), box.right()),
                      std::clamp(at.y(), box.top(), box.bottom()));
    QLineF line(end, at);
    if (line.length() <= besidePoint + 1)
        return {};
    line.setLength(line.length() - fromPoint);
    return {line.p2(), line.p1()};
}

/// The height of a line in the plot; NaN if it is not in it.
double heightOf(double level, const ChartFrame& frame)
{
    const double y = frame.map(shownPoint({1, level}, frame.look)).y();
    return frame.plot.top() <= y && y <= frame.plot.bottom() ? y : std::nan("");
}

/// Places along all the baselines, which would strike a name through.
std::vector<QPointF> placesOfLines(const ChartFrame& frame, const std::vector<ChartBaseline>& baselines)
{
    std::vector<QPointF> places;
    for (const ChartBaseline& baseline : baselines) {
        const std::vector<QPointF> line = placesAlong(frame, baseline.y);
        places.insert(places.end(), line.begin(), line.end());
    }
    return places;
}

/// Places above and below a line, at both ends and between them, the best first.
std::vector<QRectF> baselineNameBoxes(const QRectF& plot, double y, const QSizeF& size)
{
    constexpr int between = 8;
    const double left = plot.left() + chartWordsGap;
    const double way = std::max(0.0, plot.right() - chartWordsGap - size.width() - left);
    std::vector<double> starts{left, left + way};
    for (int i = 1; i < between; ++i)
        starts.push_back(left + way * i / between);
    std::vector<QRectF> boxes;
    for (const double top : {y - size.height() - 1, y + 2})
        for (const double x : starts)
            if (top >= plot.top() && top + size.height() <= plot.bottom())
                boxes.emplace_back(QPointF(x, top), size);
    return boxes;
}

} // namespace

std::vector<QPointF> placesAlong(const ChartFrame& frame, double level)
{
    constexpr double step = 8; // px
    std::vector<QPointF> places;
    if (const double y = heightOf(level, frame); !std::isnan(y))
        for (double x = frame.plot.left(); x < frame.plot.right(); x += step)
            places.emplace_back(x, y);
    return places;
}

std::vector<QRectF> baselineNames(const ChartFrame& frame, const ChartContent& content,
                                  const QPaintDevice* device)
{
    const double height = QFontMetricsF(frame.font, device).height();
    WordRoom room(frame, content.series, device);
    room.avoid(placesOfLines(frame, content.baselines));
    std::vector<QRectF> boxes;
    for (const ChartBaseline& baseline : content.baselines) {
        const double y = heightOf(baseline.y, frame);
        const double width = std::min(mathWidth(baseline.name, frame.font, device),
                                      std::max(0.0, frame.plot.width() - 2 * chartWordsGap));
        boxes.push_back(std::isnan(y) ? QRectF()
                                      : room.take(baselineNameBoxes(frame.plot, y, {width, height})));
    }
    return boxes;
}

bool moveBaselineNames(const ChartFrame& frame, ChartContent& content, const QPaintDevice* device)
{
    WordRoom room(frame, content.series, device);
    room.avoid(placesOfLines(frame, content.baselines));
    const auto hides = [&room](const QRectF& box) { return room.hiddenBy(box) > 0; };
    if (std::ranges::none_of(baselineNames(frame, content, device), hides))
        return false;
    for (ChartBaseline& baseline : content.baselines) {
        if (!std::isnan(heightOf(baseline.y, frame)) && !baseline.name.isEmpty())
            content.series.push_back({.name = baseline.name + QStringLiteral(": ") + number(baseline.y),
                                      .points = {},
                                      .style = SeriesStyle::Dashed,
                                      .place = ChartSeries::ofBaseline});
        baseline.name.clear();
    }
    return true;
}

void paintChartBaselines(QPainter& painter, const ChartFrame& frame, const ChartContent& content)
{
    if (content.baselines.empty())
        return;
    painter.save();
    painter.setFont(frame.font);
    painter.setPen(QPen(frame.colors.muted, frame.hairline, Qt::DashLine));
    for (const ChartBaseline& baseline : content.baselines)
        if (const double y = heightOf(baseline.y, frame); !std::isnan(y))
            painter.drawLine(QPointF(frame.plot.left(), y), QPointF(frame.plot.right(), y));
    const QFontMetricsF metrics(frame.font, painter.device());
    const std::vector<QRectF> boxes = baselineNames(frame, content, painter.device());
    QColor veil = frame.colors.base; // readable over the bars and curves that they cover
    veil.setAlphaF(0.85F);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (boxes[i].isEmpty())
            continue;
        painter.fillRect(boxes[i], veil);
        const QString& name = content.baselines[i].name;
        const bool isWhole = mathWidth(name, frame.font, painter.device()) <= boxes[i].width();
        drawMath(painter, boxes[i].topLeft() + QPointF(0, metrics.ascent()),
                 isWhole ? name : metrics.elidedText(name, Qt::ElideRight, boxes[i].width()));
    }
    painter.restore();
}

void paintChartNote(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series,
                    const QString& note, const std::vector<QRectF>& taken)
{
    if (note.isEmpty())
        return;
    painter.save();
    painter.setFont(frame.font);
    const QFontMetricsF metrics(frame.font, painter.device());
    const QSizeF size(metrics.horizontalAdvance(note), metrics.height());
    const QRectF inside = frame.plot.adjusted(chartWordsGap, chartWordsGap, -chartWordsGap, -chartWordsGap);
    const double right = inside.right() - size.width(), bottom = inside.bottom() - size.height();
    std::vector<QRectF> places{{{inside.left(), bottom}, size},
                               {{right, bottom}, size},
                               {inside.topLeft(), size},
                               {{right, inside.top()}, size}};
    constexpr int between = 4; // steps from one corner to the next
    for (int i = 0; right > inside.left() && bottom > inside.top() && i <= between; ++i)
        for (int j = 0; j <= between; ++j)
            places.emplace_back(QPointF(inside.left() + (right - inside.left()) * j / between,
                                        inside.top() + (bottom - inside.top()) * i / between),
                                size);
    WordRoom room(frame, series, painter.device(), taken);
    QRectF box = room.take(places);
    if (box.isEmpty())
        box = {{inside.left(), bottom}, size};
    if (room.hiddenBy(box) > 0) { // readable over the points it covers
        QColor veil = frame.colors.base;
        veil.setAlphaF(0.85F);
        painter.fillRect(box, veil);
    }
    painter.setPen(frame.colors.muted);
    paintIn(painter, box, note);
    painter.restore();
}

std::vector<PlacedName> placedPointNames(const ChartFrame& frame, const std::vector<ChartSeries>& series,
                                         const std::vector<QRectF>& taken, const QPaintDevice* device)
{
    std::vector<PlacedName> placed;
    if (std::ranges::all_of(series, [](const ChartSeries& one) { return one.pointNames.empty(); }))
        return placed;
    const QFontMetricsF metrics(frame.font, device);
    WordRoom room(frame, series, device, taken);
    for (const double level : frame.levels)
        room.avoid(placesAlong(frame, level));
    for (const ChartSeries& one : series)
        for (const auto& [index, name] : one.pointNames) {
            const QPointF at = frame.map(shownPoint(one.points.value(index), frame.look));
            const QSizeF size(metrics.horizontalAdvance(name), metrics.height());
            std::vector<QRectF> candidates;
            for (const QRectF& box : pointNameBoxes(at, size, frame.isPaper))
                if (frame.plot.contains(at) && frame.plot.contains(box) && !room.crosses(leaderTo(box, at)))
                    candidates.push_back(box);
            if (const QRectF box = room.take(candidates); !box.isEmpty())
                placed.push_back({box, name, leaderTo(box, at)});
        }
    return placed;
}

std::vector<QRectF> namePlaces(const ChartFrame& frame, const ChartContent& content,
                               const QPaintDevice* device)
{
    std::vector<QRectF> places = baselineNames(frame, content, device);
    for (const PlacedName& placed : placedPointNames(frame, content.series, places, device))
        places.push_back(placed.box);
    return places;
}

void paintPointNames(QPainter& painter, const ChartFrame& frame, const std::vector<ChartSeries>& series,
                     const std::vector<QRectF>& taken)
{
    painter.save();
    painter.setFont(frame.font);
    painter.setPen(frame.colors.text);
    for (const PlacedName& placed : placedPointNames(frame, series, taken, painter.device())) {
        if (!placed.leader.isNull()) {
            painter.setPen(QPen(frame.colors.muted, frame.hairline));
            painter.drawLine(placed.leader);
            painter.setPen(frame.colors.text);
        }
        paintIn(painter, placed.box, placed.name);
    }
    painter.restore();
}

} // namespace headwise::ui
