#include "core/findings/rule_numbers.h"

#include "core/circuits/gaussian_order.h"
#include "core/results/layer_null.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace headwise {
namespace {

constexpr double unknownNumber = std::numeric_limits<double>::quiet_NaN();
/// Share of random models in which a rule may fire by chance.
constexpr double falseAlarms = 0.01;
/// Most heads that a sentence names.
constexpr std::size_t mostNames = 5;

std::size_t sizeOfValues(const ResultArray& array)
{
    return std::visit([](const auto& values) { return values.size(); }, array.values);
}

/// Whether the sizes multiply to the count of numbers. They may be too large to be multiplied.
bool holdsItsShape(const ResultArray& array)
{
    const std::size_t values = sizeOfValues(array);
    std::size_t product = 1;
    for (const std::size_t size : array.shape) {
        if (size == 0)
            return values == 0;
        if (product > values / size)
            return false;
        product *= size;
    }
    return product == values;
}

std::size_t placeOf(const ResultArray& array, HeadId head)
{
    return static_cast<std::size_t>(head.layer) * array.shape[1] + static_cast<std::size_t>(head.head);
}

/// Number of numbers behind the first two dimensions.
std::size_t numbersPerHead(const ResultArray& array)
{
    std::size_t product = 1;
    for (std::size_t i = 2; i < array.shape.size(); ++i)
        product *= array.shape[i];
    return product;
}

} // namespace

const ResultArray* checkedArray(const FindingEvidence& evidence, std::string_view path,
                                std::initializer_list<int> shape)
{
    const ResultArray* array = evidence.results.find(path);
    if (!array || array->shape.size() != shape.size() || !holdsItsShape(*array))
        return nullptr;
    const bool fits =
        std::equal(shape.begin(), shape.end(), array->shape.begin(), [](int wanted, std::size_t size) {
            return wanted == anySize || (wanted >= 0 && static_cast<std::size_t>(wanted) == size);
        });
    return fits ? array : nullptr;
}

const ResultArray* perHeadArray(const FindingEvidence& evidence, std::string_view path)
{
    return checkedArray(evidence, path, {evidence.model.nLayers, evidence.model.nHeads});
}

const ResultArray* pairsArray(const FindingEvidence& evidence, std::string_view path)
{
    const ModelCard& m = evidence.model;
    return checkedArray(evidence, path, {m.nLayers, m.nHeads, m.nLayers, m.nHeads});
}

double numberIn(const ResultArray& array, std::size_t index)
{
    return std::visit(
        [index](const auto& values) -> double {
            using Number = typename std::decay_t<decltype(values)>::value_type;
            if constexpr (std::is_arithmetic_v<Number>)
                return index < values.size() ? static_cast<double>(values[index]) : unknownNumber;
            else
                return unknownNumber;
        },
        array.values);
}

double numberOf(const ResultArray& array, HeadId head, std::size_t entry)
{
    return numberIn(array, placeOf(array, head) * numbersPerHead(array) + entry);
}

double numberOfPair(const ResultArray& array, HeadId first, HeadId second)
{
    return numberOf(array, first, placeOf(array, second));
}

std::vector<double> listOf(const ResultArray& array, HeadId head)
{
    std::vector<double> list(numbersPerHead(array));
    for (std::size_t i = 0; i < list.size(); ++i)
        list[i] = numberOf(array, head, i);
    return list;
}

std::size_t headCount(const ModelCard& model)
{
    return static_cast<std::size_t>(std::max(model.nLayers, 0))
        * static_cast<std::size_t>(std::max(model.nHeads, 0));
}

std::vector<HeadId> headsOf(const ModelCard& model)
{
    std::vector<HeadId> heads;
    heads.reserve(headCount(model));
    for (int layer = 0; layer < model.nLayers; ++layer)
        for (int head = 0; head < model.nHeads; ++head)
            heads.push_back({layer, head});
    return heads;
}

std::vector<JudgedHead> judgedHeads(const FindingEvidence& evidence, std::string_view path)
{
    const ResultArray* array = perHeadArray(evidence, path);
    if (!array)
        return {};
    std::vector<JudgedHead> judged;
    for (const HeadId head : headsOf(evidence.model)) {
        const double value = numberOf(*array, head);
        if (!std::isfinite(value))
            continue;
        const LayerNull null = layerNull(*array, head.layer);
        judged.push_back({head, value, null.mean.value_or(unknownNumber), null.zScore(value)});
    }
    return judged;
}

double thresholdZ(std::size_t tests)
{
    return tests == 0 ? leastZ : std::max(leastZ, upperQuantile(falseAlarms / static_cast<double>(tests)));
}

double shareOfRange(double value, double nullMean, double bound)
{
    const double from = std::isfinite(nullMean) ? nullMean : 0;
    const double share = (value - from) / (bound - from);
    return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
}

std::vector<Finding> strongestFindings(std::vector<Finding> all)
{
    std::stable_sort(all.begin(), all.end(),
                     [](const Finding& a, const Finding& b) { return a.strength > b.strength; });
    if (all.size() <= mostFindings)
        return all;
    const std::size_t more = all.size() - mostFindings;
    all.resize(mostFindings);
    std::string& last = all.back().text;
    if (last.ends_with('.'))
        last.pop_back();
    last += fmt::format("; and {} more.", more);
    return all;
}

std::string shortNumber(double value)
{
    const double size = std::abs(value);
    if (size == 0)
        return "0";
    if (!(size >= 99.95) || size >= 1e15)
        return fmt::format("{:#.3g}", value); // "0.970" and "1.00"
    const double unit = std::pow(10.0, std::floor(std::log10(size)) - 2);
    return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

std::string scoreAndZ(const JudgedHead& head, std::string_view what)
{
    const std::string z = std::isfinite(head.z) ? ", z " + shortNumber(head.z) : std::string();
    return fmt::format("({} {}{})", what, shortNumber(head.value), z);
}

std::string listedHeads(const std::vector<HeadId>& heads)
{
    const std::size_t shown = std::min(heads.size(), mostNames);
    const std::size_t more = heads.size() - shown;
    std::string names;
    for (std::size_t i = 0; i < shown; ++i) {
        const bool isLast = i + 1 == shown && more == 0;
        names += (i == 0 ? "" : isLast ? " and " : ", ") + headLabel(heads[i]);
    }
    return more == 0 ? names : names + fmt::format(" and {} more", more);
}

std::string tokenName(const FindingEvidence& evidence, int id)
{
    if (id < 0 || static_cast<std::size_t>(id) >= evidence.tokens.size())
        return "#" + std::to_string(id);
    return "“" + evidence.tokens[static_cast<std::size_t>(id)] + "”";
}

} // namespace headwise
