#include "ui/document/array_part.h"

#include "core/results/layer_null.h"
#include "core/results/suggested_picture.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"

#include <QObject>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <type_traits>

namespace headwise::ui {

namespace {

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

/// Whether labels that are as many as this dimension has entries are its: those of a square stand at its last side,
/// but in a prompt at both.
bool takesLabels(const ArrayPart& part, std::size_t dimension, std::size_t count)
{
    return part.shape[dimension] == count
        && (dimension + 1 == part.shape.size() || part.shape.back() != count
            || isQueryOrKey(part.axis(dimension).axis()));
}

/// Ids that stand beside `array` and name the entries of its dimension `dimension`: the tokens of a prompt or of a list.
const ResultArray* idsBeside(const ArrayPart& part, std::size_t dimension, const ResultSet& results)
{
    const ArrayAxis axis = part.axis(dimension);
    const std::string folder = folderOf(*part.array);
    for (const ResultArray& other : results.arrays) {
        if (!isTokenIds(other) || other.shape.size() != 1 || other.shape[0] != part.shape[dimension]
            || folderOf(other) != folder)
            continue;
        if (other.axes[0] == axis || (isQueryOrKey(other.axes[0].axis()) && isQueryOrKey(axis.axis())))
            return &other;
    }
    return nullptr;
}

/// The first of the heads that a part, cut at the selected head, has along that dimension: those of its layer, or of
/// its group. None where the dimension counts something else.
std::optional<HeadId> firstMember(const ArrayPart& part, std::size_t dimension, const PictureContext& context)
{
    const bool isCut = context.isCut && part.shape.size() + 2 == part.array->shape.size();
    const auto members = static_cast<int>(part.shape[dimension]);
    if (!isCut || part.axis(dimension) != Axis::Member || members < 1 || context.card.nHeads % members != 0)
        return std::nullopt;
    return HeadId{context.head.layer, context.head.head / members * members};
}

} // namespace

std::optional<ArrayPart> cutAtHeads(const ResultArray& array, const PictureContext& context)
{
    return context.isCut ? cutAtHead(array, *context.results, context.card, context.head, context.reference)
                         : wholeArray(array);
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
            headAxes(*array, context.card) == HeadAxes::None && isPerLayer(*array, context.card);
        parts.push_back(isAtLayer && isNumbers ? cutAtLayer(*array, context.head.layer)
                                               : cutAtHeads(*array, context));
    }
    return parts;
}

double measuredAt(const ArrayPart& part, std::size_t index)
{
    const double number = part.at(index);
    const bool isCount = std::holds_alternative<std::vector<std::int32_t>>(part.array->values);
    return isCount && number < 0 ? std::nan("") : number;
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
    if (countsTokens(part.axis(dimension).axis())
        && part.shape[dimension] == static_cast<std::size_t>(context.card.dVocab))
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
    const std::string axis = part.axis(dimension).name();
    for (const std::string& key : {axis + "_labels", axis + " labels", axis + "s", std::string("labels")}) {
        const auto* labels = strings(part.array->attributes, key);
        if (labels && labels->size() == part.shape[dimension]
            && (key != "labels" || takesLabels(part, dimension, labels->size())))
            return [names = *labels](int index) { return text(names[static_cast<std::size_t>(index)]); };
    }
    if (const auto first = firstMember(part, dimension, context))
        return [first = *first](int index) { return text(HeadId{first.layer, first.head + index}); };
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
        if (const auto draws = nullNumber(*array, nullDraws))
            value += QObject::tr(" from %1 draws").arg(*draws);
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
    const HeadAxes heads = headAxes(array, card);
    return suggestedPicture(array, headDimensions(heads), heads == HeadAxes::ListedHeads);
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
