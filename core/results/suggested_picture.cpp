#include "core/results/suggested_picture.h"

#include <algorithm>
#include <type_traits>

namespace headwise {
namespace {

bool hasNegative(const ResultArray& array)
{
    return std::visit(
        [](const auto& values) {
            return std::any_of(values.begin(), values.end(), [](const auto& value) {
                if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>)
                    return value < 0;
                else
                    return value.real() < 0;
            });
        },
        array.values);
}

} // namespace

bool isOverTraining(const ResultArray& array)
{
    return !array.axes.empty() && array.axes.back() == Axis::Step && array.attributes.contains("steps");
}

Picture suggestedPicture(const ResultArray& array, std::size_t headDimensions, bool listsHeads)
{
    constexpr std::size_t oneHead = 2, twoHeads = 4;
    const std::size_t rest = array.shape.size() - headDimensions;
    const bool isWhole = std::holds_alternative<std::vector<std::int32_t>>(array.values);
    const bool isComplex = array.values.index() >= 3;
    Picture picture;
    picture.title = array.title.empty() ? array.path : array.title;
    picture.arrays = {array.path};
    picture.signedColors = (array.range && array.range->first < 0) || hasNegative(array);
    if (rest == 0 && headDimensions == oneHead && !isWhole)
        picture.kind = Picture::Kind::HeadGrid;
    else if (rest == 0 && headDimensions == twoHeads)
        picture.kind = Picture::Kind::HeadPairs;
    else if (isComplex && rest == 1)
        picture.kind = Picture::Kind::Points;
    else if (rest == 1 && !isWhole) {
        picture.kind = Picture::Kind::Lines;
        picture.logX = isOverTraining(array);
    } else if (rest == 2 && !isWhole && isOverTraining(array)) {
        picture.kind = Picture::Kind::Lines;
        picture.logX = true;
        picture.logY = !array.range;
    } else if (rest == 2 && !isWhole && !listsHeads)
        picture.kind = Picture::Kind::Matrix;
    else
        picture.kind = Picture::Kind::Table;
    return picture;
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

} // namespace headwise
