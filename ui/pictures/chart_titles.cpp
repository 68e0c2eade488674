#include "core/circuits/singular_directions.h"
#include "core/results/layer_null.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"
#include "ui/pictures/chart_contents.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Titles, brackets, colours and planes of charts.

namespace headwise::ui {

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
    const bool isOfOneUnit = std::ranges::all_of(
        arrays, [&](const ResultArray* array) { return array->unit == arrays.front()->unit; });
    const QString unit = isOfOneUnit ? text(arrays.front()->unit) : QString();
    if (title.isEmpty() && unit.isEmpty()) { // each with its own
        QStringList titles;
        for (const ResultArray* array : arrays)
            titles << axisTitle(*array);
        titles.removeDuplicates();
        constexpr qsizetype most = 2; // an axis has room for
        if (titles.size() > most)
            return PictureBody::tr("value"); // The series have their names.
        return titles.join(QStringLiteral(", "));
    }
    return title.isEmpty() || unit.isEmpty() ? title + unit : QStringLiteral("%1 (%2)").arg(title, unit);
}

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

std::vector<ChartBracket> degenerateBrackets(std::span<const double> sigma, int dModel, double unit)
{
    const std::vector<int> blocks = degenerateBlocks(sigma, numericalRank(sigma, dModel));
    std::vector<ChartBracket> brackets;
    for (std::size_t first = 0, last = 0; first < blocks.size(); first = last + 1) {
        last = first;
        while (last + 1 < blocks.size() && blocks[last + 1] == blocks[first])
            ++last;
        if (last > first)
            brackets.push_back(
                {static_cast<double>(first + 1), static_cast<double>(last + 1), sigma[first] / unit});
    }
    return brackets;
}

ChartLook complexLook(const std::vector<ArrayPart>& all, bool polar)
{
    constexpr double mostDecades = 6; // smaller ones are rounding
    ChartLook look;
    look.plane = polar ? ChartLook::Plane::LogPolar : ChartLook::Plane::Complex;
    look.xTitle =
        polar ? PictureBody::tr("λ by its angle, |λ| on a logarithmic radius") : PictureBody::tr("real part");
    look.yTitle = polar ? QString() : PictureBody::tr("imaginary part");
    if (!polar)
        return look;
    std::vector<double> moduli;
    for (const ArrayPart& part : all)
        for (std::size_t i = 0; i < part.size(); ++i)
            moduli.push_back(std::hypot(part.at(i), part.imaginaryAt(i)));
    std::erase_if(moduli, [](double modulus) { return !std::isfinite(modulus); });
    const double largest = moduli.empty() ? 0 : *std::ranges::max_element(moduli);
    double smallest = largest;
    for (const double modulus : moduli)
        if (modulus >= largest * std::pow(10, -mostDecades))
            smallest = std::min(smallest, modulus);
    look.innerRadius = largest > 0 ? std::pow(10, std::ceil(std::log10(smallest)) - 1) : 1;
    return look;
}

QString axisTitle(const ResultArray& array)
{
    const QString title = metricTitle(array);
    return array.unit.empty() || array.unit == "token"
        ? title
        : QStringLiteral("%1 (%2)").arg(title, text(array.unit));
}

QString valueTitle(const ResultArray& array)
{
    const QString title = axisTitle(array);
    if (!array.nullMean || !std::isfinite(*array.nullMean))
        return title;
    const std::optional<double> first = nullNumber(array, layer0NullMean);
    return first
        ? PictureBody::tr("%1, null %2, in layer 0 %3").arg(title, number(*array.nullMean), number(*first))
        : PictureBody::tr("%1, null %2").arg(title, number(*array.nullMean));
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

} // namespace headwise::ui
