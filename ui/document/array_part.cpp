#include "ui/document/array_part.h"

#include "core/results/layer_null.h"
#include "core/results/suggested_picture.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

namespace headwise::ui {

namespace {

constexpr double arrayPartMissing = std::numeric_limits<double>::quiet_NaN();

bool contains(const std::string& axis, std::string_view word)
{
    return axis.find(word) != std::string::npos;
}

std::string folderOf(const ResultArray& array)
{
    return array.path.substr(0, array.path.rfind('/'));
}

const std::vector<std::string>* strings(const std::map<std::string, AttributeValue>& attributes,
                                        const std::string& key)
{
    const auto found = attributes.find(key);
    return found == attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&found->second);
}

bool isNamedAfter(const ResultArray& array, const Analysis& analysis)
{
    const std::string_view path = array.path;
    const auto begins = [&](std::string_view folder) {
        return path.starts_with(folder) && path.substr(folder.size()).starts_with(analysis.id);
    };
    const auto isFolder = [&](std::size_t end) { return path.size() > end && path[end] == '/'; };
    constexpr std::string_view own = "analyses/";
    constexpr std::string_view scores = "scores/";
    return (begins(own) && isFolder(own.size() + analysis.id.size()))
        || (begins("") && isFolder(analysis.id.size()))
        || (begins(scores) && path.size() == scores.size() + analysis.id.size());
}

/// The place of `head` in the list that stands beside an array whose first dimension counts the analysed heads.
std::optional<std::size_t> placeInList(const ResultArray& array, const ResultSet& results, HeadId head)
{
    const auto group = results.groupAttributes.find(folderOf(array));
    const auto* heads = group == results.groupAttributes.end() ? nullptr : strings(group->second, "heads");
    if (!heads)
        heads = strings(array.attributes, "heads");
    if (!heads)
        return std::nullopt;
    const auto found = std::find(heads->begin(), heads->end(), dottedHead(head));
    const auto place = static_cast<std::size_t>(found - heads->begin());
    return place < array.shape[0] && found != heads->end() ? std::optional(place) : std::nullopt;
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

bool isOfLayers(const ResultArray& array, const ModelCard& card)
{
    return array.shape.size() > 1 && array.shape[0] == static_cast<std::size_t>(card.nLayers)
        && !array.axes.empty() && array.axes[0] == "layer";
}

std::size_t dimensionInArray(const ArrayPart& part, std::size_t dimension)
{
    return part.array->shape.size() - part.shape.size() + dimension;
}

std::optional<ArrayPart> atLayer(const ResultArray& array, const PictureContext& context)
{
    const ArrayPart part = entryOf(wholeArray(array), static_cast<std::size_t>(context.head.layer));
    return isMissing(part) ? std::nullopt : std::optional(part);
}

bool isPlace(const std::string& axis) // in a prompt
{
    return contains(axis, "query") || contains(axis, "key") || contains(axis, "position");
}

/// Whether labels that are as many as this dimension has entries are its: those of a square stand at its last side,
/// but in a prompt at both.
bool takesLabels(const ArrayPart& part, std::size_t dimension, std::size_t count)
{
    return part.shape[dimension] == count
        && (dimension + 1 == part.shape.size() || part.shape.back() != count
            || isPlace(part.axis(dimension)));
}

/// Ids that stand beside `array` and name the entries of its dimension `dimension`: the tokens of a prompt or of a list.
const ResultArray* idsBeside(const ArrayPart& part, std::size_t dimension, const ResultSet& results)
{
    const std::string& axis = part.axis(dimension);
    const std::string folder = folderOf(*part.array);
    for (const ResultArray& other : results.arrays) {
        if (!isTokenIds(other) || other.shape.size() != 1 || other.shape[0] != part.shape[dimension]
            || folderOf(other) != folder)
            continue;
        if (other.axes[0] == axis || (isPlace(other.axes[0]) && isPlace(axis)))
            return &other;
    }
    return nullptr;
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
                return arrayPartMissing;
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
                return place < values.size() ? static_cast<double>(values[place].imag()) : arrayPartMissing;
        },
        array->values);
}

const std::string& ArrayPart::axis(std::size_t dimension) const
{
    static const std::string none;
    const std::size_t place = dimensionInArray(*this, dimension);
    return place < array->axes.size() ? array->axes[place] : none;
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

HeadAxes headAxes(const ResultArray& array, const ModelCard& card)
{
    const auto layers = static_cast<std::size_t>(card.nLayers);
    const auto heads = static_cast<std::size_t>(card.nHeads);
    const auto isHead = [&](std::size_t at) {
        return array.shape.size() >= at + 2 && array.axes.size() >= at + 2 && array.shape[at] == layers
            && array.shape[at + 1] == heads && contains(array.axes[at], "layer")
            && contains(array.axes[at + 1], "head") && !contains(array.axes[at], "other model");
    };
    if (isHead(0))
        return isHead(2) ? HeadAxes::TwoHeads : HeadAxes::OneHead;
    if (array.shape.size() > 2 && isOfLayers(array, card))
        return HeadAxes::Layer;
    return !array.axes.empty() && array.axes[0] == "analysed head" ? HeadAxes::ListedHeads : HeadAxes::None;
}

std::optional<ArrayPart> cutAtHeads(const ResultArray& array, const PictureContext& context)
{
    if (!context.isCut)
        return wholeArray(array);
    const HeadId head = context.head;
    const auto atHead = [](const ArrayPart& part, HeadId at) {
        return entryOf(entryOf(part, static_cast<std::size_t>(at.layer)), static_cast<std::size_t>(at.head));
    };
    const ArrayPart all = wholeArray(array);
    switch (headAxes(array, context.card)) {
    case HeadAxes::None: return all;
    case HeadAxes::OneHead: {
        const ArrayPart part = atHead(all, head);
        return isMissing(part) ? std::nullopt : std::optional(part);
    }
    case HeadAxes::TwoHeads: {
        const std::optional<HeadId> reference = context.reference;
        if (!reference)
            return std::nullopt;
        return atHead(atHead(all, std::min(*reference, head)), std::max(*reference, head));
    }
    case HeadAxes::ListedHeads: {
        const auto place = placeInList(array, *context.results, head);
        return place ? std::optional(entryOf(all, *place)) : std::nullopt;
    }
    case HeadAxes::Layer: return atLayer(array, context);
    }
    return std::nullopt;
}

std::vector<std::optional<ArrayPart>> cutSideBySide(const std::vector<const ResultArray*>& arrays,
                                                    const PictureContext& context)
{
    const auto isOfLayer = [&](const ResultArray* array) {
        return headAxes(*array, context.card) == HeadAxes::Layer;
    };
    const bool isAtLayer = std::ranges::any_of(arrays, isOfLayer);
    std::vector<std::optional<ArrayPart>> parts;
    parts.reserve(arrays.size());
    for (const ResultArray* array : arrays) {
        const bool isNumbers =
            headAxes(*array, context.card) == HeadAxes::None && isOfLayers(*array, context.card);
        parts.push_back(isAtLayer && isNumbers ? atLayer(*array, context) : cutAtHeads(*array, context));
    }
    return parts;
}

Eigen::MatrixXf matrixOf(const ArrayPart& part)
{
    const auto columns = static_cast<Eigen::Index>(part.shape.empty() ? 1 : part.shape.back());
    const auto rows = columns == 0 ? 0 : static_cast<Eigen::Index>(part.size()) / columns;
    Eigen::MatrixXf matrix(rows, columns);
    std::visit(
        [&](const auto& values) {
            using Value = typename std::decay_t<decltype(values)>::value_type;
            for (Eigen::Index row = 0; row < rows; ++row)
                for (Eigen::Index column = 0; column < columns; ++column) {
                    const Value& value =
                        values[part.first + static_cast<std::size_t>(row * columns + column)];
                    if constexpr (std::is_arithmetic_v<Value>)
                        matrix(row, column) = static_cast<float>(value);
                    else
                        matrix(row, column) = static_cast<float>(std::abs(value));
                }
        },
        part.array->values);
    return matrix;
}

bool isTokenIds(const ResultArray& array)
{
    return std::holds_alternative<std::vector<std::int32_t>>(array.values)
        && (array.unit == "token" || array.path.ends_with("ids"));
}

std::function<int(int)> tokensAlong(const ArrayPart& part, std::size_t dimension,
                                    const PictureContext& context)
{
    const std::string& axis = part.axis(dimension);
    if (axis.ends_with("token") && part.shape[dimension] == static_cast<std::size_t>(context.card.dVocab))
        return [](int index) { return index; };
    const auto results = context.results;
    const ResultArray* ids = idsBeside(part, dimension, *results);
    if (!ids)
        return nullptr;
    return [results, ids](int index) {
        return static_cast<int>(wholeArray(*ids).at(static_cast<std::size_t>(index)));
    };
}

std::function<QString(int)> namesAlong(const ArrayPart& part, std::size_t dimension,
                                       const PictureContext& context)
{
    const std::string& axis = part.axis(dimension);
    for (const std::string& key : {axis + "_labels", axis + " labels", axis + "s", std::string("labels")}) {
        const auto* labels = strings(part.array->attributes, key);
        if (labels && labels->size() == part.shape[dimension]
            && (key != "labels" || takesLabels(part, dimension, labels->size())))
            return [names = *labels](int index) { return text(names[static_cast<std::size_t>(index)]); };
    }
    const auto tokens = tokensAlong(part, dimension, context);
    if (!tokens)
        return nullptr;
    return [tokenText = context.tokenText, tokens](int index) {
        const int id = tokens(index);
        return id < 0 ? QStringLiteral("–") : tokenText(id);
    };
}

QString nullText(const std::vector<const ResultArray*>& arrays)
{
    QStringList parts;
    for (const ResultArray* array : arrays) {
        if (!array->nullMean)
            continue;
        const auto words = [](const LayerNull& null) {
            return null.deviation ? QStringLiteral("%1 ± %2").arg(number(*null.mean), number(*null.deviation))
                                  : number(*null.mean);
        };
        QString value = words({array->nullMean, array->nullDeviation});
        if (array->attributes.contains(layer0NullMean))
            value += QObject::tr(" (layer 0: %1)").arg(words(layerNull(*array, 0)));
        parts << (arrays.size() == 1 ? QObject::tr("null %1").arg(value)
                                     : QObject::tr("null of %1 %2").arg(metricTitle(*array), value));
    }
    if (parts.size() > 1 && parts.size() == static_cast<qsizetype>(arrays.size())
        && std::all_of(arrays.begin(), arrays.end(), [&](const ResultArray* array) {
               return array->nullMean == arrays[0]->nullMean
                   && array->nullDeviation == arrays[0]->nullDeviation
                   && layerNull(*array, 0).deviation == layerNull(*arrays[0], 0).deviation;
           }))
        return nullText({arrays[0]});
    return parts.join(QStringLiteral(" · "));
}

bool belongsTo(const ResultArray& array, const Analysis& analysis)
{
    const auto isShown = [&](const Picture& picture) {
        return std::find(picture.arrays.begin(), picture.arrays.end(), array.path) != picture.arrays.end();
    };
    return isNamedAfter(array, analysis)
        || std::any_of(analysis.pictures.begin(), analysis.pictures.end(), isShown);
}

bool isComputed(const Analysis& analysis, const ResultSet& results)
{
    const auto isIts = [&](const ResultArray& array) {
        const auto isOthers = [&](const Analysis& other) {
            return other.id != analysis.id && isNamedAfter(array, other);
        };
        return isNamedAfter(array, analysis)
            || (belongsTo(array, analysis) && std::none_of(catalogue().begin(), catalogue().end(), isOthers));
    };
    return std::any_of(results.arrays.begin(), results.arrays.end(), isIts);
}

namespace {

Picture suggested(const ResultArray& array, const ModelCard& card)
{
    switch (headAxes(array, card)) {
    case HeadAxes::None: return suggestedPicture(array, 0);
    case HeadAxes::OneHead: return suggestedPicture(array, 2);
    case HeadAxes::TwoHeads: return suggestedPicture(array, 4);
    case HeadAxes::ListedHeads: return suggestedPicture(array, 1, true);
    case HeadAxes::Layer: return suggestedPicture(array, 1);
    }
    return {};
}

} // namespace

bool isOfMissingHead(const Picture& picture, const PictureContext& context)
{
    using Kind = Picture::Kind;
    constexpr std::array cut{Kind::Lines, Kind::Bars, Kind::Points, Kind::Matrix, Kind::Table};
    if (std::ranges::find(cut, picture.kind) == cut.end())
        return false; // of all heads
    const auto isMissing = [&](const std::string& path) {
        const ResultArray* array = context.results->find(path);
        if (!array)
            return true;
        const HeadAxes heads = headAxes(*array, context.card);
        const bool isOfHead = heads == HeadAxes::ListedHeads || heads == HeadAxes::Layer
            || (heads == HeadAxes::OneHead && array->shape.size() > 2);
        return isOfHead && !cutAtHeads(*array, context);
    };
    return std::ranges::all_of(picture.arrays, isMissing);
}

bool canBeDrawn(const Picture& picture, const ResultSet& results)
{
    std::vector<const ResultArray*> there;
    for (const std::string& path : picture.arrays)
        if (const ResultArray* array = results.find(path))
            there.push_back(array);
    const bool isComplex = there.size() == 1 && there[0]->values.index() >= 3;
    const bool needsTwo =
        picture.kind == Picture::Kind::HeadPlane || (picture.kind == Picture::Kind::Points && !isComplex);
    return there.size() >= (needsTwo ? 2U : 1U);
}

std::vector<Picture> picturesOf(const Analysis& analysis, const ResultSet& results, const ModelCard& card)
{
    if (!analysis.pictures.empty())
        return analysis.pictures;
    std::vector<Picture> pictures;
    for (const ResultArray& array : results.arrays) {
        if (!belongsTo(array, analysis))
            continue;
        Picture picture = suggested(array, card);
        // Arrays of one kind side by side: the norms of four circuits, ids and their values.
        const bool joins = !pictures.empty() && pictures.back().kind == picture.kind
            && (picture.kind == Picture::Kind::HeadGrid || picture.kind == Picture::Kind::Table)
            && results.find(pictures.back().arrays.front())->shape == array.shape
            && pictures.back().arrays.size() < (picture.kind == Picture::Kind::Table ? 2 : 4);
        if (joins)
            pictures.back().arrays.push_back(array.path);
        else
            pictures.push_back(std::move(picture));
    }
    return pictures;
}

} // namespace headwise::ui
