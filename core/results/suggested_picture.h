#pragma once

#include "core/results/picture.h"
#include "core/results/result_set.h"

namespace headwise {

/// The picture of an array alone, as its shape and its numbers suggest it.
/// \param headDimensions how many first dimensions name the head, or the two heads, that a picture is cut at; 0: shown whole
/// \param listsHeads     whether the first of them counts heads in a list
Picture suggestedPicture(const ResultArray& array, std::size_t headDimensions, bool listsHeads = false);

/// Whether the last dimension counts the checkpoints of a training.
bool isOverTraining(const ResultArray& array);

/// Whether the arrays are there without which `picture` is empty.
bool canBeDrawn(const Picture& picture, const ResultSet& results);

} // namespace headwise
