#pragma once

#include "core/model/head_id.h"
#include "core/model/model_card.h"
#include "core/results/result_set.h"

#include <optional>
#include <vector>

namespace headwise {

/// Remainder of an array when some of its first dimensions are fixed: a run of its numbers.
struct ArrayPart {
    const ResultArray* array = nullptr;
    std::size_t first = 0;          ///< Its first number, of the array's.
    std::vector<std::size_t> shape; ///< The last of the array's.

    std::size_t size() const;
    double at(std::size_t index) const; ///< The real part of complex numbers; NaN outside.
    double imaginaryAt(std::size_t index) const;
    ArrayAxis axis(std::size_t dimension) const; ///< One of the part's dimensions; Foreign outside.
};

ArrayPart wholeArray(const ResultArray& array);
ArrayPart entryOf(const ArrayPart& part, std::size_t index); ///< Fixes the part's first dimension.
/// Copies a part into an array of its own.
ResultArray copyOf(const ArrayPart& part);

/// Heads that an array's first dimensions refer to; Layer: lists of each layer, not of its heads.
enum class HeadAxes { None, OneHead, TwoHeads, ListedHeads, Layer };
HeadAxes headAxes(const ResultArray& array, const ModelCard& card);

/// How many first dimensions the heads take: 0, 1, 2 or 4.
std::size_t headDimensions(HeadAxes axes);

/// Place of `head` in an array whose first dimension counts the analysed heads: the attribute `heads` of its group or its own.
std::optional<std::size_t> placeInList(const ResultArray& array, const ResultSet& results, HeadId head);

/// The array at `head` or its layer; of pairs of heads, at the reference and `head`, the earlier one first. None without a
/// reference, or if nothing was computed there: every number of a list is NaN, every token −1.
std::optional<ArrayPart> cutAtHead(const ResultArray& array, const ResultSet& results, const ModelCard& card,
                                   HeadId head, std::optional<HeadId> reference = {});
/// The array at a layer, by its first dimension; none likewise.
std::optional<ArrayPart> cutAtLayer(const ResultArray& array, int layer);
/// Whether the first of several dimensions counts the model's layers.
bool isPerLayer(const ResultArray& array, const ModelCard& card);

} // namespace headwise
