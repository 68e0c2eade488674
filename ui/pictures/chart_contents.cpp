#include "ui/pictures/chart_contents.h"

#include "ui/base/text.h"
#include "ui/document/head_metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>

// Lines, bars and points of arrays that are cut at the selection.

namespace headwise::ui {

namespace {

constexpr std::size_t chartContentsMostLines = 16; // a person tells apart, with a name each
constexpr std::size_t mostNames = 300;             // along an axis

/// Symbol of the quantity along an axis; empty: it has none.
QString symbolOf(Axis axis)
{
    switch (axis) {
    case Axis::Offset: return QStringLiteral("Δ");
    case Axis::Key: return QStringLiteral("j");
    case Axis::Query: return QStringLiteral("i");
    case Axis::Frequency: return QStringLiteral("m");
    default: return {};
    }
}

class SeriesMaker {
public:
    SeriesMaker(const PictureData& shown, const PictureContext& context)
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
        if (m_data.picture.kind == Picture::Kind::Points)
            addPoints();
        else
            addLines();
        if (m_contents.look.yTitle.isEmpty() && m_contents.look.plane == ChartLook::Plane::Free)
            m_contents.look.yTitle = commonTitle(m_data.arrays);
        return std::move(m_contents);
    }

private:
    /// The arrays cut at the selection; says why where one cannot be.
    std::vector<ArrayPart> parts()
    {
        std::vector<ArrayPart> all;
        for (const ResultArray* array : m_data.arrays) {
            if (const auto part = cutAtHeads(*array, m_context))
                all.push_back(ofLayer(*part) ? entryOf(*part, static_cast<std::size_t>(m_context.head.layer))
                                             : *part);
            else
                m_contents.message = headAxes(*array, m_context.card) == HeadAxes::TwoHeads
                    ? PictureBody::tr("Shift+click another head in the grid to mark it as the reference.")
                    : PictureBody::tr("This head was left out of the computation.");
        }
        return all;
    }

    /// A null that is the same for all heads of a layer.
    bool ofLayer(const ArrayPart& part) const
    {
        return part.shape.size() > 1 && part.axis(0) == Axis::Layer && isNull(*part.array)
            && part.shape[0] == static_cast<std::size_t>(m_context.card.nLayers);
    }

    void addLines()
    {
        const std::vector<ArrayPart> all = parts();
        if (!all.empty()
            && std::ranges::all_of(all, [](const ArrayPart& part) { return part.shape.empty(); }))
            return addNumbers(all);
        std::vector<const ResultArray*> named, nulls; // These name the axis only where they are alone.
        for (const ArrayPart& part : all)
            if (!isEndOfBand(part, all))
                (isNull(*part.array) ? nulls : named).push_back(part.array);
        if (!named.empty() && !hasNumbers(all)) { // A null alone would look like the result.
            m_contents.message = PictureBody::tr("All values are NaN or infinite.");
            return;
        }
        for (const ArrayPart& part : all) {
            if (isEndOfBand(part, all))
                continue;
            const bool isOnly = named.size() == 1 && named.front() == part.array;
            if (part.shape.empty())
                m_contents.baselines.push_back({metricTitle(*part.array), part.at(0)});
            else if (isOnly
                     && part.size() > part.shape.back()) // its rows have names, and the axis has the array's
                addRows(part, false, bandOf(part, all));
            else
                addRows(part, named.size() + nulls.size() > 1, bandOf(part, all));
            const double null = part.array->nullMean.value_or(std::nan(""));
            if (std::isfinite(null)
                && std::ranges::none_of(m_contents.baselines,
                                        [&](const ChartBaseline& line) { return line.y == null; }))
                m_contents.baselines.push_back(
                    {named.size() > 1 ? PictureBody::tr("null of %1").arg(metricTitle(*part.array))
                                      : PictureBody::tr("null"),
                     null});
        }
        if (named.empty())
            named = nulls.empty() ? m_data.arrays : nulls;
        m_contents.look.yTitle = m_data.picture.overFirst ? PictureBody::tr("σ / σ₁") : commonTitle(named);
    }

    /// The names of folders, as composition_nulls, do not count.
    static bool isNull(const ResultArray& array)
    {
        return array.path.find("null", array.path.rfind('/') + 1) != std::string::npos;
    }

    /// Numbers of the head side by side, each with its name.
    void addNumbers(const std::vector<ArrayPart>& all)
    {
        ChartSeries bars{text(m_context.head), {}, SeriesStyle::Bars};
        for (const ArrayPart& part : all) {
            bars.points << QPointF(static_cast<double>(bars.points.size()), part.at(0));
            m_contents.look.xLabels << metricTitle(*part.array);
        }
        m_contents.names = [labels = m_contents.look.xLabels](int index) { return labels.value(index); };
        m_contents.series.push_back(std::move(bars));
    }

    SeriesStyle styleOf(const ResultArray& array) const
    {
        const bool isBeside = &array != m_data.arrays.front();
        const bool isEnd = array.path.ends_with("_low") || array.path.ends_with("_high")
            || (isBeside && (array.path.ends_with("_at_min_sigma") || array.path.ends_with("_at_max_sigma")));
        if (isEnd || isNull(array))
            return SeriesStyle::Dashed;
        return m_data.picture.kind == Picture::Kind::Bars ? SeriesStyle::Bars : SeriesStyle::Line;
    }

    using Band = std::pair<const ArrayPart*, const ArrayPart*>; // lower and upper ends; null without a band

    static const ArrayPart* companion(const ArrayPart& part, const std::vector<ArrayPart>& all,
                                      const char* ending)
    {
        const std::string& path = part.array->path;
        constexpr std::string_view mean = "mean_"; // "mean_score" has the ends "score_low" and "score_high"
        const std::size_t name = path.rfind('/') + 1;
        const std::string stem =
            path.compare(name, mean.size(), mean) == 0 ? std::string(path).erase(name, mean.size()) : path;
        const auto found = std::ranges::find_if(all, [&](const ArrayPart& other) {
            return (other.array->path == path + ending || other.array->path == stem + ending)
                && other.shape == part.shape;
        });
        return found == all.end() ? nullptr : &*found;
    }

    static Band bandOf(const ArrayPart& part, const std::vector<ArrayPart>& all)
    {
        return {companion(part, all, "_low"), companion(part, all, "_high")};
    }

    /// Whether another part's band has it as an end.
    static bool isEndOfBand(const ArrayPart& part, const std::vector<ArrayPart>& all)
    {
        return std::ranges::any_of(all, [&](const ArrayPart& other) {
            const auto [low, high] = bandOf(other, all);
            return low && high && (&part == low || &part == high);
        });
    }

    void addRows(const ArrayPart& part, bool several, const Band& band)
    {
        // Bars of layers stand side by side, a series for each of their parts.
        const bool isTurned = m_data.picture.kind == Picture::Kind::Bars && part.shape.size() == 2
            && part.axis(0) == Axis::Layer;
        const std::size_t along = isTurned ? 0 : part.shape.size() - 1;
        const std::size_t length = part.shape[along];
        const std::size_t rows = length == 0 ? 0 : part.size() / length;
        const std::size_t across = isTurned ? 1 : 0;
        const std::vector<double> x = places(part, along);
        const auto rowNames = part.shape.size() == 2 ? namesAlong(part, across, m_context) : nullptr;
        const std::size_t first = m_contents.series.size();
        for (const std::size_t row : shownRows(part, rows)) {
            const int index = static_cast<int>(row);
            QString name = several ? nameOf(*part.array) : QString();
            if (isNull(*part.array) && rows > 1) // alike: one entry in the legend
                name = row == 0 ? metricTitle(*part.array) : QString();
            else if (rows > 1)
                name += (name.isEmpty() ? QString() : QStringLiteral(" "))
                    + (rowNames ? rowNames(index)
                                : QStringLiteral("%1 %2").arg(text(part.axis(across).name())).arg(index));
            ChartSeries line{name, {}, styleOf(*part.array)};
            if (isNull(*part.array) && rows > 1) {
                line.place = static_cast<int>(first);
                const QString own = QStringLiteral("%1 %2").arg(metricTitle(*part.array)).arg(index);
                line.labels = QStringList(static_cast<qsizetype>(length), own); // for tables
            }
            line.points.reserve(static_cast<qsizetype>(length));
            for (std::size_t i = 0; i < length; ++i)
                if (const double y = measuredAt(part, isTurned ? i * rows + row : row * length + i);
                    std::isfinite(y) || part.axis(along) != Axis::Step) // a row need not have every step
                    line.points << QPointF(x[i], y);
            if (band.first && band.second) {
                line.hasBand = true;
                m_contents.caption =
                    PictureBody::tr("Band: from %1 to %2.")
                        .arg(metricTitle(*band.first->array), metricTitle(*band.second->array));
                for (std::size_t i = 0; i < length; ++i)
                    line.errors.push_back(static_cast<float>(
                        (band.second->at(row * length + i) - band.first->at(row * length + i)) / 2));
            }
            if (isOfSingularValues(part))
                addBrackets(line);
            m_contents.series.push_back(std::move(line));
        }
        if (rows > chartContentsMostLines)
            m_contents.caption = PictureBody::tr("%1 of %2 rows, evenly spaced, including the selected one.")
                                     .arg(chartContentsMostLines)
                                     .arg(rows);
    }

    /// Tells whether a part other than a null has a finite number.
    static bool hasNumbers(const std::vector<ArrayPart>& all)
    {
        return std::ranges::any_of(all, [](const ArrayPart& part) {
            for (std::size_t i = 0; i < part.size() && !isNull(*part.array); ++i)
                if (std::isfinite(part.at(i)))
                    return true;
            return false;
        });
    }

    static bool isOfSingularValues(const ArrayPart& part)
    {
        return part.axis(part.shape.size() - 1) == Axis::SingularValue
            && part.array->path.find("singular_values") != std::string::npos;
    }

    /// Brackets singular values that are meaningful only together, and divides by the first where that is asked for.
    void addBrackets(ChartSeries& line)
    {
        m_contents.symbol = QStringLiteral("σ");
        std::vector<double> sigma;
        for (const QPointF& point : line.points)
            if (std::isfinite(point.y()))
                sigma.push_back(point.y());
        const double unit = m_data.picture.overFirst && !sigma.empty() && sigma[0] > 0 ? sigma[0] : 1;
        for (QPointF& point : line.points)
            point.ry() /= unit;
        std::ranges::copy(degenerateBrackets(sigma, m_context.card.dModel, unit),
                          std::back_inserter(m_contents.brackets));
        if (!m_contents.brackets.empty())
            m_contents.caption = PictureBody::tr(
                "Brackets group singular values within 1 % of each other; only their joint subspace is meaningful.");
    }

    /// An array among others: the circuit it belongs to, because legends are short.
    static QString nameOf(const ResultArray& array)
    {
        const QString circuit = circuitTitle(array);
        return circuit.isEmpty() ? metricTitle(array) : circuit;
    }

    /// All rows, or as many as a person tells apart, from the first to the last and with that of the selection.
    std::vector<std::size_t> shownRows(const ArrayPart& part, std::size_t rows) const
    {
        std::vector<std::size_t> shown(std::min(rows, chartContentsMostLines));
        for (std::size_t i = 0; i < shown.size(); ++i)
            shown[i] = rows <= chartContentsMostLines ? i : i * (rows - 1) / (chartContentsMostLines - 1);
        const HeadId head = m_context.head;
        const Axis axis = part.axis(0).axis();
        const int selected = axis == Axis::Head || axis == Axis::Member
            ? head.head // members: of the selected layer
            : axis == Axis::Layer ? head.layer
                                  : -1;
        if (rows > chartContentsMostLines && selected >= 0 && static_cast<std::size_t>(selected) < rows) {
            const auto row = static_cast<std::size_t>(selected);
            const auto after = std::ranges::lower_bound(shown, row); // the last row is shown: there is one
            if (*after != row)
                (after == shown.end() - 1 ? *(after - 1) : *after) = row;
        }
        return shown;
    }

    /// Where the entries of one dimension stand on the x axis, and what they are called.
    std::vector<double> places(const ArrayPart& part, std::size_t dimension)
    {
        const double first =
            part.axis(dimension) == Axis::SingularValue ? 1 : 0; // σ₁, as everybody counts them
        std::vector<double> x(part.shape[dimension]);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = first + static_cast<double>(i);
        m_contents.look.xTitle = part.axis(dimension) == Axis::SingularValue
            ? PictureBody::tr("index k")
            : text(part.axis(dimension).name());
        m_contents.look.wholeX = true;
        m_contents.symbol = symbolOf(part.axis(dimension).axis());
        const auto names = namesAlong(part, dimension, m_context);
        if (!names)
            return x;
        bool numeric = true;
        for (std::size_t i = 0; i < x.size() && numeric; ++i)
            names(static_cast<int>(i)).toDouble(&numeric);
        for (std::size_t i = 0; i < x.size() && numeric; ++i)
            x[i] = names(static_cast<int>(i)).toDouble();
        m_contents.look.wholeX =
            !numeric || std::ranges::all_of(x, [](double value) { return value == std::round(value); });
        if (numeric)
            return x;
        m_contents.names = names;
        m_contents.tokens = tokensAlong(part, dimension, m_context);
        if (part.axis(dimension) == Axis::Frequency)
            m_contents.look.xTitle = PictureBody::tr("frequency (wavelength, positions per turn)");
        if (x.size() <= mostNames && m_contents.look.xLabels.isEmpty())
            for (std::size_t i = 0; i < x.size(); ++i)
                m_contents.look.xLabels << names(static_cast<int>(i));
        return x;
    }

    void addPoints()
    {
        const std::vector<ArrayPart> all = parts();
        const auto isComplex = [](const ArrayPart& part) { return part.array->values.index() >= 3; };
        if (!all.empty() && std::ranges::all_of(all, isComplex))
            return addComplexPoints(all);
        if (all.size() < 2)
            return;
        ChartSeries cloud{QString(), {}, SeriesStyle::Points};
        const std::size_t count = std::min(all[0].size(), all[1].size());
        cloud.points.reserve(static_cast<qsizetype>(count));
        for (std::size_t i = 0; i < count; ++i)
            cloud.points << QPointF(all[0].at(i), all[1].at(i));
        m_contents.look.xTitle = axisTitle(*all[0].array);
        m_contents.look.yTitle = axisTitle(*all[1].array);
        if (all[0].shape.size() == 1) {
            m_contents.names = namesAlong(all[0], 0, m_context);
            m_contents.tokens = tokensAlong(all[0], 0, m_context);
            for (int i = 0; m_contents.names && i < static_cast<int>(count); ++i)
                cloud.labels << m_contents.names(i);
        }
        if (all.size() > 2 && all[2].size() == count)
            shadePoints(m_contents, cloud, all[2]);
        if (all[0].axis(0) == Axis::Position) // a curve through them
            m_contents.series.push_back({QString(), cloud.points, SeriesStyle::Line});
        m_contents.series.push_back(std::move(cloud));
        addCutOffs(*all[0].array, *all[1].array);
    }

    /// A cloud for each part, in the complex plane.
    void addComplexPoints(const std::vector<ArrayPart>& all)
    {
        m_contents.symbol = QStringLiteral("λ");
        m_contents.look = complexLook(all, m_data.picture.polar);
        for (const ArrayPart& part : all) {
            ChartSeries cloud{
                all.size() > 1 ? nameOf(*part.array) : text(m_context.head), {}, SeriesStyle::Points};
            for (std::size_t i = 0; i < part.size(); ++i)
                cloud.points << QPointF(part.at(i), part.imaginaryAt(i));
            m_contents.series.push_back(std::move(cloud));
        }
    }

    /// Lines beyond which the largest 3 % lie, where the arrays know them.
    void addCutOffs(const ResultArray& x, const ResultArray& y)
    {
        const auto cutOff = [](const ResultArray& array) {
            const auto found = array.attributes.find("cutoff_3_percent");
            const auto* value =
                found == array.attributes.end() ? nullptr : std::get_if<double>(&found->second);
            return value && std::isfinite(*value) ? std::optional(*value) : std::nullopt;
        };
        const QString name = PictureBody::tr("largest 3 %");
        if (const auto at = cutOff(y))
            m_contents.baselines.push_back({name, *at});
        if (const auto at = cutOff(x)) {
            const auto& points = m_contents.series.back().points;
            const auto [low, high] =
                std::ranges::minmax_element(points, {}, [](const QPointF& point) { return point.y(); });
            m_contents.series.push_back({name, {{*at, low->y()}, {*at, high->y()}}, SeriesStyle::Dashed});
        }
    }

    PictureData m_data;
    const PictureContext& m_context;
    ChartContents m_contents;
};

} // namespace

ChartContents seriesContents(const PictureData& shown, const PictureContext& context)
{
    return SeriesMaker(shown, context).make();
}

} // namespace headwise::ui
