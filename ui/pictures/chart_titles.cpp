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

namespace {

/// Tells whether a title cannot end with the word, nor begin with it.
bool isLink(const QString& word)
{
    static const QStringList links{u"a"_qs,    u"an"_qs,   u"at"_qs, u"by"_qs,  u"for"_qs,
                                   u"from"_qs, u"full"_qs, u"in"_qs, u"its"_qs, u"of"_qs,
                                   u"on"_qs,   u"the"_qs,  u"to"_qs, u"with"_qs};
    return links.contains(word);
}

QString withoutMark(const QString& word)
{
    return word.endsWith(u',') || word.endsWith(u':') ? word.chopped(1) : word;
}

QString commonBeginning(const QStringList& titles)
{
    QStringList words = titles.front().split(u' ');
    for (const QString& title : titles) {
        const QStringList others = title.split(u' ');
        const auto [end, other] = std::ranges::mismatch(words, others, {}, withoutMark, withoutMark);
        words.erase(end, words.end());
    }
    while (!words.isEmpty() && isLink(words.last()))
        words.removeLast();
    return withoutMark(words.join(u' '));
}

/// "Composition by component" of "Q-composition by component" and "K-composition by component".
QString commonEnding(const QStringList& titles)
{
    QString ending = titles.front();
    for (const QString& title : titles)
        while (!title.endsWith(ending))
            ending.remove(0, 1);
    const auto start = std::ranges::find_if(ending, [](QChar c) { return c == u' ' || c == u'-'; });
    ending.remove(0, static_cast<qsizetype>(start - ending.begin()) + 1);
    if (ending.isEmpty() || isLink(ending.section(u' ', 0, 0)))
        return {};
    return ending.front().toUpper() + ending.mid(1);
}

} // namespace

QString commonTitle(const std::vector<const ResultArray*>& arrays)
{
    if (arrays.empty())
        return {};
    if (arrays.size() == 1)
        return axisTitle(*arrays.front());
    QStringList names;
    for (const ResultArray* array : arrays)
        names << metricTitle(*array);
    constexpr qsizetype shortest = 1; // a symbol, as σ; a capital stands for a matrix and is no quantity
    QString title = commonBeginning(names);
    if (title.isEmpty() || (title.size() == shortest && title.front().isUpper()))
        title = commonEnding(names);
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
