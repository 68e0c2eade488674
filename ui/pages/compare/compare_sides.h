#pragma once

#include "core/analysis/comparison/head_pair.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// One of the two compared heads, with its name.
struct CompareSide {
    QString name;  ///< "L1H5", "L1H5 newer"
    QString model; ///< Displayed name.
    HeadId head;
    std::shared_ptr<const Circuits> circuits;
    std::shared_ptr<const TokenSide> tokens; ///< May be null for residual circuits.
};

struct CompareSides {
    CompareSide first, second;
    bool hasSameVocabulary = true;

    bool isOneSpace() const; ///< True if d_model is equal.
    /// Explains why the two circuits cannot be compared entry by entry; empty if they can.
    QString whyNot(CircuitKind kind) const;
};

struct CompareAnswer {
    std::shared_ptr<const Eigen::MatrixXf> first, second;
    std::optional<HeadPair> pair; ///< None if the two are in different spaces.
};

/// \param ids tokens of the rows and columns, for full circuits
/// Errors: those of circuitBlock, wholeCircuit and compareHeads; Cancelled.
Result<CompareAnswer> compared(const CompareSides& sides, CircuitKind kind, const std::vector<int>& ids,
                               const Task& task);

/// Compares the k strongest tokens of the row of `token`. \param kind FullQk or FullOv
/// Errors: those of tokenLine.
Result<TableDifference> tablesCompared(const CompareSides& sides, CircuitKind kind, int token, int k,
                                       const std::vector<bool>& unused);

/// Returns Qk or Ov, without the token sides.
CircuitKind residualOf(CircuitKind kind);
CircuitKind fullOf(CircuitKind kind);

} // namespace headwise::ui
