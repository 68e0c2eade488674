#include "ui/base/text.h"
#include "ui/charts/chart_painter.h"
#include "ui/document/head_metrics.h"
#include "ui/pictures/chart_contents.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Charts of all heads: in a plane of two scores, on a map, and how many have which value.

namespace headwise::ui {

namespace {

constexpr int mostBins = 32;

class HeadsMaker {
public:
    HeadsMaker(const PictureData& shown, const PictureContext& context)
        : m_data(shown)
        , m_context(context)
    {
        const Picture& picture = shown.picture;
        m_contents.look.xScale = picture.logX ? ChartLook::Scale::Log : ChartLook::Scale::Linear;
        m_contents.look.yScale = picture.logY ? ChartLook::Scale::Log : ChartLook::Scale::Linear;
        m_contents.message = PictureBody::tr("These results lack this array.");
    }

    ChartContents make()
    {
        if (m_data.picture.kind == Picture::Kind::HeadPlane)
            addHeadPlane();
        else if (m_data.picture.kind == Picture::Kind::HeadMap)
            addHeadMap();
        else
            addHistogram();
        return std::move(m_contents);
    }

private:
    void addMark(const QPointF& at)
    {
        if (!std::isfinite(at.x()) || !std::isfinite(at.y()))
            return;
        ChartSeries mark{QString(), {}, SeriesStyle::Points};
        mark.isSelection = true;
        m_contents.series.push_back(mark); // its colour is one of the shades'
        mark.name = text(m_context.head);
        mark.points = {at};
        const auto isNamed = [&mark](const auto& named) { return named.second == mark.name; };
        if (std::ranges::none_of(m_contents.series.front().pointNames, isNamed))
            mark.pointNames.emplace_back(0, mark.name);
        m_contents.series.push_back(mark);
    }

    /// Names every head in the table of the chart.
    void label(ChartSeries& heads) const
    {
        const int inLayer = std::max(1, m_context.card.nHeads);
        for (int i = 0; i < heads.points.size(); ++i)
            heads.labels << text(HeadId{i / inLayer, i % inLayer});
    }

    /// Names the heads that are farthest from the mean, in standard deviations of either axis: five at most.
    void nameExtremes(ChartSeries& heads) const
    {
        constexpr std::size_t mostNamed = 5;
        constexpr double farthest = 2; // deviations from which on a head is named
        std::vector<QPointF> places;
        QPointF sum, squares;
        double count = 0;
        for (const QPointF& point : heads.points) {
            const QPointF at = shownPoint(point, m_contents.look);
            places.push_back(at);
            if (!std::isfinite(at.x()) || !std::isfinite(at.y()))
                continue;
            sum += at;
            squares += QPointF(at.x() * at.x(), at.y() * at.y());
            ++count;
        }
        const auto deviations = [count](double value, double total, double ofSquares) {
            const double mean = total / count, variance = ofSquares / count - mean * mean;
            return variance > 1e-12 * std::max(1e-300, mean * mean) ? (value - mean) / std::sqrt(variance)
                                                                    : 0;
        };
        std::vector<std::pair<double, int>> far;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const double distance = std::hypot(deviations(places[i].x(), sum.x(), squares.x()),
                                               deviations(places[i].y(), sum.y(), squares.y()));
            if (distance >= farthest) // false for NaN
                far.emplace_back(-distance, static_cast<int>(i));
        }
        std::ranges::sort(far);
        far.resize(std::min(far.size(), mostNamed));
        const int inLayer = std::max(1, m_context.card.nHeads);
        for (const auto& [distance, index] : far)
            heads.pointNames.emplace_back(index, text(HeadId{index / inLayer, index % inLayer}));
    }

    void addHeadPlane()
    {
        std::erase_if(m_data.arrays, [this](const ResultArray* array) {
            return array->shape.size() != 2 || headAxes(*array, m_context.card) != HeadAxes::OneHead;
        });
        if (m_data.arrays.size() < 2)
            return;
        const ArrayPart x = wholeArray(*m_data.arrays[0]);
        const ArrayPart y = wholeArray(*m_data.arrays[1]);
        ChartSeries heads{QString(), {}, SeriesStyle::Points};
        for (std::size_t i = 0; i < x.size(); ++i)
            heads.points << QPointF(x.at(i), y.at(i));
        m_contents.look.xTitle = axisTitle(*x.array);
        m_contents.look.yTitle = axisTitle(*y.array);
        if (m_data.arrays.size() > 2)
            shadePoints(m_contents, heads, wholeArray(*m_data.arrays[2]));
        nameExtremes(heads);
        label(heads);
        const HeadId head = m_context.head;
        const QPointF mark(metricAt(*x.array, head), metricAt(*y.array, head));
        m_contents.series.push_back(std::move(heads));
        addMark(mark);
        if (y.array->nullMean)
            m_contents.baselines.push_back({PictureBody::tr("null"), *y.array->nullMean}); // of the y axis
    }

    void addHeadMap()
    {
        if (m_data.arrays.empty() || m_data.arrays.front()->shape.size() != 3
            || m_data.arrays.front()->shape[2] < 2)
            return;
        const ArrayPart points = wholeArray(*m_data.arrays.front());
        const std::size_t wide = points.shape[2];
        const auto layers = static_cast<float>(std::max<std::size_t>(1, points.shape[0] - 1));
        ChartSeries heads{QString(), {}, SeriesStyle::Points};
        for (std::size_t i = 0; i < points.shape[0] * points.shape[1]; ++i) {
            heads.points << QPointF(points.at(i * wide), points.at(i * wide + 1));
            const auto layer = static_cast<int>(i / points.shape[1]);
            heads.shades.push_back(static_cast<float>(layer) / layers);
        }
        m_contents.caption =
            PictureBody::tr("Colour: layer 0 (blue) to %1 (orange).").arg(points.shape[0] - 1);
        if (m_data.arrays.size() > 1) {
            heads.shades.clear();
            shadePoints(m_contents, heads, wholeArray(*m_data.arrays[1]));
        }
        label(heads);
        m_contents.look.xTitle = PictureBody::tr("%1, coordinate 1").arg(axisTitle(*points.array));
        m_contents.look.yTitle = PictureBody::tr("%1, coordinate 2").arg(axisTitle(*points.array));
        const HeadId head = m_context.head;
        const QPointF mark =
            heads.points[static_cast<qsizetype>(head.layer) * m_context.card.nHeads + head.head];
        m_contents.series.push_back(std::move(heads));
        addMark(mark);
    }

    void addHistogram()
    {
        double low = std::numeric_limits<double>::infinity();
        double high = -low;
        std::size_t most = 0;
        for (const ResultArray* array : m_data.arrays) {
            const ArrayPart all = wholeArray(*array);
            most = std::max(most, all.size());
            for (std::size_t i = 0; i < all.size(); ++i) {
                low = std::fmin(low, all.at(i));
                high = std::fmax(high, all.at(i));
            }
        }
        if (!(low <= high) || !std::isfinite(high - low))
            return;
        if (low == high)
            high = low + std::max(1e-6, std::abs(low) * 1e-3);
        const int bins = std::clamp(static_cast<int>(2 * std::sqrt(static_cast<double>(most))), 8, mostBins);
        double highest = 0;
        for (const ResultArray* array : m_data.arrays)
            highest = std::max(highest, addCounts(*array, {low, high}, bins));
        const auto upright = [&](const QString& name, double x) {
            if (std::isfinite(x))
                m_contents.series.push_back({name, {{x, 0}, {x, highest}}, SeriesStyle::Dashed});
        };
        const ResultArray& first = *m_data.arrays.front();
        if (first.nullMean)
            upright(PictureBody::tr("null"), *first.nullMean);
        if (m_data.arrays.size() == 1 && headAxes(first, m_context.card) == HeadAxes::OneHead
            && std::isfinite(metricAt(first, m_context.head))) {
            upright(text(m_context.head), metricAt(first, m_context.head));
            m_contents.series.back().isSelection = true;
        }
        m_contents.look.xTitle = commonTitle(m_data.arrays);
        m_contents.look.yTitle = PictureBody::tr("heads");
        m_contents.look.wholeY = true;
    }

    /// The largest count.
    double addCounts(const ResultArray& array, std::pair<double, double> range, int bins)
    {
        const ArrayPart all = wholeArray(array);
        std::vector<double> counts(static_cast<std::size_t>(bins));
        for (std::size_t i = 0; i < all.size(); ++i) {
            const double at = (all.at(i) - range.first) / (range.second - range.first) * bins;
            if (std::isfinite(at))
                ++counts[static_cast<std::size_t>(std::clamp(static_cast<int>(at), 0, bins - 1))];
        }
        ChartSeries bars{m_data.arrays.size() > 1 ? metricTitle(array) : QString(), {}, SeriesStyle::Bars};
        const double width = (range.second - range.first) / bins;
        for (int i = 0; i < bins; ++i)
            bars.points << QPointF(range.first + (i + 0.5) * width, counts[static_cast<std::size_t>(i)]);
        m_contents.series.push_back(std::move(bars));
        return std::ranges::max(counts);
    }

    PictureData m_data;
    const PictureContext& m_context;
    ChartContents m_contents;
};

} // namespace

ChartContents headContents(const PictureData& shown, const PictureContext& context)
{
    return HeadsMaker(shown, context).make();
}

} // namespace headwise::ui
