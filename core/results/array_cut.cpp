#include "core/results/array_cut.h"

#include "core/base/matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>

namespace headwise {

namespace {

const std::vector<std::string>* texts(const std::map<std::string, AttributeValue>& attributes,
                                      const std::string& key)
{
    const auto found = attributes.find(key);
    return found == attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&found->second);
}

/// Whether dimensions `at` and `at` + 1 are the model's layers and heads.
bool isHead(const ResultArray& array, std::size_t at, const ModelCard& card)
{
    using Names = std::array<Axis, 2>;
    constexpr std::array<Names, 4> names{
        Names{Axis::Layer, Axis::Head}, Names{Axis::EarlierLayer, Axis::EarlierHead},
        Names{Axis::LaterLayer, Axis::LaterHead}, Names{Axis::OtherLayer, Axis::OtherHead}};
    return array.shape.size() >= at + 2 && array.axes.size() >= at + 2
        && array.shape[at] == static_cast<std::size_t>(card.nLayers)
        && array.shape[at + 1] == static_cast<std::size_t>(card.nHeads)
        && std::ranges::any_of(names, [&](const Names& pair) {
               return array.axes[at] == pair[0] && array.axes[at + 1] == pair[1];
           });
}

/// Whether a list of a head that was left out: as it was before anything was computed.
bool isMissing(const ArrayPart& part)
{
    const bool isIds = std::holds_alternative<std::vector<std::int32_t>>(part.array->values);
    if (part.shape.empty() || part.size() == 0)
        return false;
    for (std::size_t i = 0; i < part.size(); ++i)
        if (isIds ? part.at(i) >= 0 : !std::isnan(part.at(i)))
            return false;
    return true;
}

std::optional<ArrayPart> unlessMissing(ArrayPart part)
{
    return isMissing(part) ? std::nullopt : std::optional(std::move(part));
}

ArrayPart atHead(const ArrayPart& part, HeadId head)
{
    return entryOf(entryOf(part, static_cast<std::size_t>(head.layer)), static_cast<std::size_t>(head.head));
}

} // namespace

std::size_t ArrayPart::size() const
{
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

double ArrayPart::at(std::size_t index) const
{
    return std::visit(
        [place = first + index](const auto& values) -> double {
            using Value = typename std::decay_t<decltype(values)>::value_type;
            if (place >= values.size())
                return notComputed;
            if constexpr (std::is_arithmetic_v<Value>)
                return static_cast<double>(values[place]);
            else
                return static_cast<double>(values[place].real());
        },
        array->values);
}

double ArrayPart::imaginaryAt(std::size_t index) const
{
    return std::visit(
        [place = first + index](const auto& values) -> double {
            using Value = typename std::decay_t<decltype(values)>::value_type;
            if constexpr (std::is_arithmetic_v<Value>)
                return 0;
            else
                return place < values.size() ? static_cast<double>(values[place].imag()) : notComputed;
        },
        array->values);
}

ArrayAxis ArrayPart::axis(std::size_t dimension) const
{
    const std::size_t place = array->shape.size() - shape.size() + dimension;
    return place < array->axes.size() ? array->axes[place] : Axis::Foreign;
}

ArrayPart wholeArray(const ResultArray& array)
{
    return {&array, 0, array.shape};
}

ArrayPart entryOf(const ArrayPart& part, std::size_t index)
{
    ArrayPart entry = part;
    entry.shape.erase(entry.shape.begin());
    entry.first += index * entry.size();
    return entry;
}

ResultArray copyOf(const ArrayPart& part)
{
    ResultArray copy = *part.array;
    copy.axes.erase(copy.axes.begin(), copy.axes.end() - static_cast<std::ptrdiff_t>(part.shape.size()));
    copy.shape = part.shape;
    std::visit(
        [&](auto& values) {
            const auto begin = values.begin() + static_cast<std::ptrdiff_t>(part.first);
            values = std::decay_t<decltype(values)>(begin, begin + static_cast<std::ptrdiff_t>(part.size()));
        },
        copy.values);
    return copy;
}

HeadAxes headAxes(const ResultArray& array, const ModelCard& card)
{
    if (isHead(array, 0, card))
        return isHead(array, 2, card) ? HeadAxes::TwoHeads : HeadAxes::OneHead;
    if (array.shape.size() > 2 && isPerLayer(array, card))
        return HeadAxes::Layer;
    return !array.axes.empty() && array.axes[0] == Axis::AnalysedHead ? HeadAxes::ListedHeads
                                                                      : HeadAxes::None;
}

std::size_t headDimensions(HeadAxes axes)
{
    switch (axes) {
    case HeadAxes::None: return 0;
    case HeadAxes::OneHead: return 2;
    case HeadAxes::TwoHeads: return 4;
    case HeadAxes::ListedHeads:
    case HeadAxes::Layer: return 1;
    }
    return 0;
}

std::optional<std::size_t> placeInList(const ResultArray& array, const ResultSet& results, HeadId head)
{
    const auto group = results.groupAttributes.find(array.path.substr(0, array.path.rfind('/')));
    const auto* heads = group == results.groupAttributes.end() ? nullptr : texts(group->second, "heads");
    if (!heads)
        heads = texts(array.attributes, "heads");
    if (!heads || array.shape.empty())
        return std::nullopt;
    const auto found = std::find(heads->begin(), heads->end(), dottedHead(head));
    const auto place = static_cast<std::size_t>(found - heads->begin());
    return place < array.shape[0] && found != heads->end() ? std::optional(place) : std::nullopt;
}

std::optional<ArrayPart> cutAtHead(const ResultArray& array, const ResultSet& results, const ModelCard& card,
                                   HeadId head, std::optional<HeadId> reference)
{
    const ArrayPart all = wholeArray(array);
    switch (headAxes(array, card)) {
    case HeadAxes::None: return all;
    case HeadAxes::OneHead: return unlessMissing(atHead(all, head));
    case HeadAxes::TwoHeads:
        if (!reference)
            return std::nullopt;
        return atHead(atHead(all, std::min(*reference, head)), std::max(*reference, head));
    case HeadAxes::ListedHeads: {
        const auto place = placeInList(array, results, head);
        return place ? std::optional(entryOf(all, *place)) : std::nullopt;
    }
    case HeadAxes::Layer: return cutAtLayer(array, head.layer);
    }
    return std::nullopt;
}

std::optional<ArrayPart> cutAtLayer(const ResultArray& array, int layer)
{
    return unlessMissing(entryOf(wholeArray(array), static_cast<std::size_t>(layer)));
}

bool isPerLayer(const ResultArray& array, const ModelCard& card)
{
    return array.shape.size() > 1 && array.shape[0] == static_cast<std::size_t>(card.nLayers)
        && !array.axes.empty() && array.axes[0] == Axis::Layer;
}

} // namespace headwise
