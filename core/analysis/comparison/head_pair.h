#pragma once

#include "core/base/task.h"
#include "core/circuits/circuits.h"
#include "core/circuits/subspace.h"
#include "core/circuits/token_table.h"

#include <vector>

namespace headwise {

/// Similarity of one residual circuit between two heads. No number depends on the bases of the heads.
struct HeadPair {
    double cosine = 0; ///< ⟨A, B⟩_F / (‖A‖_F ‖B‖_F); random baseline 0 ± 1/d_model. NaN for a zero circuit.
    double leftKernel =
        0; ///< ‖U_Aᵀ U_B‖²_F of the columns of W_Q (W_V): the query input (the read subspace).
    double rightKernel = 0;            ///< The same of W_K (W_Oᵀ): the key input (the written subspace).
    double kernelOfChance = 0;         ///< min(d, r_A) min(d, r_B)/d
    PrincipalAngles left, right;       ///< Angles between the kernels' subspaces: Σ cos² is the kernel.
    std::vector<double> first, second; ///< Singular values of each, descending; min(d, r_A) and min(d, r_B).
    double spectrumDistance = 0; ///< ‖σ_A/‖σ_A‖ − σ_B/‖σ_B‖‖₂, 0 … √2, the shorter one padded with zeros
};

/// A head and the model that has it.
struct HeadOfModel {
    Circuits circuits;
    HeadId head;
};

/// Compares heads that may come from two models and differ in d_head.
/// The comparison is meaningful if one model was trained from the other, so that they share a residual stream.
/// \param kind Qk or Ov
/// Errors: InvalidArgument for a head outside its model, or models of different d_model; Corrupt if a weight is not finite;
/// Cancelled.
/// Source: CONTRACTS.md §7; Björck & Golub 1973 for the angles.
Result<HeadPair> compareHeads(const HeadOfModel& first, const HeadOfModel& second, CircuitKind kind,
                              const Task& task);

/// Another head and the similarity of its circuit.
struct NearHead {
    HeadId head;
    double cosine = 0; ///< As HeadPair::cosine.

    bool operator==(const NearHead&) const = default;
};

/// Returns the `count` heads whose circuits have the largest cosine with that of `head`, in falling order.
/// Skips heads whose cosine is not finite.
/// \param kind Qk or Ov
/// Errors: InvalidArgument for a head outside the model; Cancelled.
/// Cost: 4 d r² flops for each other head, and every head's factors read once.
Result<std::vector<NearHead>> nearestHeads(const Circuits& circuits, CircuitKind kind, HeadId head, int count,
                                           const Task& task);

/// The ranks and values of one token in two lines.
struct ChangedEntry {
    int id = 0;
    int firstRank = 0, secondRank = 0; ///< From 0, in the whole line, ties to the lower id.
    double first = 0, second = 0;      ///< Values.

    bool operator==(const ChangedEntry&) const = default;
};

/// The k largest entries of two lines over the same tokens, by where they are.
struct TableDifference {
    std::vector<ChangedEntry> onlyFirst, both; ///< By rank in the first line.
    std::vector<ChangedEntry> onlySecond;      ///< By rank in the second.
};

/// \param unused true: an id without a token, left out; empty: none
/// Cost: 2 k V comparisons beside the sorting.
TableDifference tableDifference(const RowVector<double>& first, const RowVector<double>& second, int k,
                                const std::vector<bool>& unused);

} // namespace headwise
