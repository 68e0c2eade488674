#pragma once

#include "core/base/task.h"
#include "core/circuits/circuits.h"

#include <cstdint>
#include <vector>

namespace headwise {

/// The weights of a later head that read the output of an earlier head.
enum class ReadBy { Queries, Keys, Values };

/// The parts that make up the composition of two heads.
struct PairParts {
    /// Principal angles between the earlier head's output subspace and the later head's input subspace, degrees, ascending.
    std::vector<double> angles;
    std::vector<double> anglesOfChance; ///< As PrincipalAngles::ofChance.
    /// Singular values of W_OV¹ M² over ‖W_OV¹‖_F ‖M²‖_F, M² = W_QK, W_QKᵀ, W_OV, descending.
    /// The square of each is the contribution of one rank-1 part to the squared composition score.
    std::vector<double> parts;

    double score() const; ///< The composition score: the root of the sum of the squares of `parts`.
};

/// Errors: InvalidArgument for a head outside the model, or if the first is in no earlier layer; Corrupt if a weight is not
/// finite; Cancelled.
/// Cost: 40 d r² flops and the decompositions of a few [r, r] matrices.
/// Source: CONTRACTS.md §7; Björck & Golub 1973 for the angles.
Result<PairParts> pairParts(const Circuits& circuits, ReadBy by, HeadId earlier, HeadId later,
                            const Task& task);

} // namespace headwise
