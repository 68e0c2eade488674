#include "ui/pictures/chart_contents.h"

#include "ui/base/text.h"
#include "ui/document/head_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Lines, bars and points of arrays that are cut at the selection.

namespace headwise::ui {

namespace {

constexpr std::size_t chartContentsMostLines = 16; // a person tells apart, with a name each
constexpr std::size_t mostNames = 300;             // along an axis

/// Words that all titles begin with, with the unit of the first: "Singular values" of QK and of OV.
QString commonTitle(const std::vector<const ResultArray*>& arrays)
{
    if (arrays.empty())
        return {};
    if (arrays.size() == 1)
        return axisTitle(*arrays.front());
    QStringList words = metricTitle(*arrays.front()).split(u' ');
    for (const ResultArray* array : arrays) {
        const QStringList others = metricTitle(*array).split(u' ');
        const auto [end, other] = std::ranges::mismatch(words, others);
        words.erase(end, words.end());
    }
    while (!words.isEmpty()
           && QStringList{u"of"_qs, u"in"_qs, u"at"_qs, u"the"_qs, u"by"_qs}.contains(words.last()))
        words.removeLast();
    QString title = words.join(u' ');
    while (title.endsWith(u',') || title.endsWith(u':'))
        title.chop(1);
    const QString unit = text(arrays.front()->unit);
    return title.isEmpty() || unit.isEmpty() ? title + unit : QStringLiteral("%1 (%2)").arg(title, unit);
}

/// "full QK" for "spectra/full_qk/singular_values"; empty for an array of another kind.
QString circuitTitle(const ResultArray& array)
{
    const QStringList parts = text(array.path).split(u'/');
    const bool isOfCircuit = parts[0] == u"spectra" || parts[0] == u"eigenvalues";
    return !isOfCircuit ? QString()
                        : parts.value(1)
                              .replace(u'_', u' ')
                              .replace(QStringLiteral("qk"), QStringLiteral("QK"))
                              .replace(QStringLiteral("ov"), QStringLiteral("OV"));
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
        m_contents.message = PictureBody::tr("The results have no such array.");
    }

    ChartContents make()
    {
        if (m_data.picture.kind == Picture::Kind::Points)
            addPoints();
        else
            addLines();
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
                    ? PictureBody::tr("Mark another head as the reference: Shift+click it in the grid.")
                    : PictureBody::tr("This head was left out of the computation.");
        }
        return all;
    }

    /// A null that is the same for all heads of a layer.
    bool ofLayer(const ArrayPart& part) const
    {
        return part.shape.size() > 1 && part.axis(0) == Axis::Layer
            && part.array->path.find("null") != std::string::npos
            && part.shape[0] == static_cast<std::size_t>(m_context.card.nLayers);
    }

    void addLines()
    {
        const std::vector<ArrayPart> all = parts();
        if (!all.empty()
            && std::ranges::all_of(all, [](const ArrayPart& part) { return part.shape.empty(); }))
            return addNumbers(all);
        for (const ArrayPart& part : all) {
            if (part.shape.empty())
                m_contents.baselines.push_back({metricTitle(*part.array), part.at(0)});
            else
                addRows(part, all.size() > 1);
            const double null = part.array->nullMean.value_or(std::nan(""));
            if (std::isfinite(null)
                && std::ranges::none_of(m_contents.baselines,
                                        [&](const ChartBaseline& line) { return line.y == null; }))
                m_contents.baselines.push_back(
                    {all.size() > 1 ? PictureBody::tr("null of %1").arg(metricTitle(*part.array))
                                    : PictureBody::tr("null"),
                     null});
        }
        if (m_data.arrays.size() == 1 || m_contents.look.yTitle.isEmpty())
            m_contents.look.yTitle = commonTitle(m_data.arrays);
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
        const bool isEndOfBand = array.path.ends_with("_low") || array.path.ends_with("_high");
        if (isEndOfBand || array.path.find("null") != std::string::npos)
            return SeriesStyle::Dashed;
        return m_data.picture.kind == Picture::Kind::Bars ? SeriesStyle::Bars : SeriesStyle::Line;
    }

    void addRows(const ArrayPart& part, bool several)
    {
        const std::size_t length = part.shape.back();
        const std::size_t rows = length == 0 ? 0 : part.size() / length;
        const std::size_t last = part.shape.size() - 1;
        const std::vector<double> x = places(part, last);
        const auto rowNames = part.shape.size() == 2 ? namesAlong(part, 0, m_context) : nullptr;
        for (const std::size_t row : shownRows(part, rows)) {
            const int index = static_cast<int>(row);
            QString name = several ? nameOf(*part.array) : QString();
            if (rows > 1)
                name += (name.isEmpty() ? QString() : QStringLiteral(" "))
                    + (rowNames ? rowNames(index)
                                : QStringLiteral("%1 %2").arg(text(part.axis(0).name())).arg(index));
            ChartSeries line{name, {}, styleOf(*part.array)};
            line.points.reserve(static_cast<qsizetype>(length));
            for (std::size_t i = 0; i < length; ++i)
                line.points << QPointF(x[i], part.at(row * length + i));
            m_contents.series.push_back(std::move(line));
        }
        if (rows > chartContentsMostLines)
            m_contents.caption = PictureBody::tr("%1 of %2 rows, evenly spaced, the selected one among them.")
                                     .arg(chartContentsMostLines)
                                     .arg(rows);
    }

    /// An array among others. On paper, where legends are short, the circuit it belongs to.
    QString nameOf(const ResultArray& array) const
    {
        const QString circuit = m_context.isPaper ? circuitTitle(array) : QString();
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
        m_contents.look.xTitle = text(part.axis(dimension).name());
        const auto names = namesAlong(part, dimension, m_context);
        if (!names)
            return x;
        bool numeric = true;
        for (std::size_t i = 0; i < x.size() && numeric; ++i)
            names(static_cast<int>(i)).toDouble(&numeric);
        for (std::size_t i = 0; i < x.size() && numeric; ++i)
            x[i] = names(static_cast<int>(i)).toDouble();
        if (numeric)
            return x;
        m_contents.names = names;
        m_contents.tokens = tokensAlong(part, dimension, m_context);
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
        m_contents.look.plane = ChartLook::Plane::Complex;
        m_contents.look.xTitle = PictureBody::tr("real part");
        m_contents.look.yTitle = PictureBody::tr("imaginary part");
        for (const ArrayPart& part : all) {
            ChartSeries cloud{
                all.size() > 1 ? metricTitle(*part.array) : text(m_context.head), {}, SeriesStyle::Points};
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

QString axisTitle(const ResultArray& array)
{
    const QString title = metricTitle(array);
    return array.unit.empty() || array.unit == "token"
        ? title
        : QStringLiteral("%1 (%2)").arg(title, text(array.unit));
}

void shadePoints(ChartContents& contents, ChartSeries& cloud, const ArrayPart& by)
{
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::size_t i = 0; i < by.size(); ++i) {
        low = std::fmin(low, by.at(i));
        high = std::fmax(high, by.at(i));
    }
    for (std::size_t i = 0; i < by.size(); ++i)
        cloud.shades.push_back(static_cast<float>(high > low ? (by.at(i) - low) / (high - low) : 0.5));
    contents.caption = PictureBody::tr("Colour: %1, from %2 (blue) to %3 (orange).")
                           .arg(metricTitle(*by.array), number(low), number(high));
}

ChartContents seriesContents(const PictureData& shown, const PictureContext& context)
{
    return SeriesMaker(shown, context).make();
}

} // namespace headwise::ui
