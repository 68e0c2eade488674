#pragma once

#include "core/base/task.h"
#include "core/circuits/circuits.h"
#include "core/circuits/subspace.h"
#include "core/circuits/token_table.h"

#include <vector>

namespace headwise {

/// How far one residual circuit of two heads is alike; no number depends on the bases of the heads.
struct HeadPair {
    double cosine = 0; ///< ⟨A, B⟩_F / (‖A‖_F ‖B‖_F); of chance 0 ± 1/d_model. NaN for a zero circuit.
    double leftKernel =
        0; ///< ‖U_Aᵀ U_B‖²_F of the columns of W_Q (W_V): what queries are made of (what is read).
    double rightKernel = 0;            ///< The same of W_K (W_Oᵀ): what keys are made of (what is written).
    double kernelOfChance = 0;         ///< min(d, r_A) min(d, r_B)/d
    PrincipalAngles left, right;       ///< Of the subspaces that the kernels are of: Σ cos² is the kernel.
    std::vector<double> first, second; ///< Singular values of each, descending; min(d, r_A) and min(d, r_B).
    double spectrumDistance = 0; ///< ‖σ_A/‖σ_A‖ − σ_B/‖σ_B‖‖₂, 0 … √2, the shorter one padded with zeros
};

/// A head and the model that has it.
struct HeadOfModel {
    Circuits circuits;
    HeadId head;
};

/// The heads may be of two models and their d_head differ: residual streams mean the same where one model was trained from the other.
/// \param kind Qk or Ov
/// Errors: InvalidArgument for a head outside its model, or models of different d_model; Corrupt if a weight is not finite;
/// Cancelled.
/// Source: CONTRACTS.md §7; Björck & Golub 1973 for the angles.
Result<HeadPair> compareHeads(const HeadOfModel& first, const HeadOfModel& second, CircuitKind kind,
                              const Task& task);

/// Of two heads of one model.
Result<HeadPair> compareHeads(const Circuits& circuits, CircuitKind kind, HeadId first, HeadId second,
                              const Task& task);

/// Another head and how much alike its circuit is.
struct NearHead {
    HeadId head;
    double cosine = 0; ///< As HeadPair::cosine.

    bool operator==(const NearHead&) const = default;
};

/// The `count` heads whose circuit has the largest cosine with that of `head`, falling; heads whose cosine is not finite are left
/// out.
/// \param kind Qk or Ov
/// Errors: InvalidArgument for a head outside the model; Cancelled.
/// Cost: 4 d r² flops for each other head, and every head's factors read once.
Result<std::vector<NearHead>> nearestHeads(const Circuits& circuits, CircuitKind kind, HeadId head, int count,
                                           const Task& task);

/// Where one token stands in two lines.
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
