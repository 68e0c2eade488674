#pragma once

#include "core/analysis/comparison/head_pair.h"

#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// One of the two heads that are compared, with what it is called.
struct CompareSide {
    QString name;  ///< "L1H5", "L1H5 newer"
    QString model; ///< For people.
    HeadId head;
    std::shared_ptr<const Circuits> circuits;
    std::shared_ptr<const TokenSide> tokens; ///< May be null for residual circuits.
};

struct CompareSides {
    CompareSide first, second;
    bool hasSameVocabulary = true;

    bool isOneSpace() const; ///< d_model is the same.
    /// Why the two have no pictures of this circuit that can be laid on one another; empty: they have.
    QString whyNot(CircuitKind kind) const;
};

struct CompareAnswer {
    std::shared_ptr<const Eigen::MatrixXf> first, second;
    std::optional<HeadPair> pair; ///< None where the two are of different spaces.
};

/// \param ids tokens that are rows and columns, of full circuits
/// Errors: those of circuitBlock, wholeCircuit and compareHeads; Cancelled.
Result<CompareAnswer> compared(const CompareSides& sides, CircuitKind kind, const std::vector<int>& ids,
                               const Task& task);

/// The k strongest tokens of the row of `token`. \param kind FullQk or FullOv
/// Errors: those of tokenLine.
Result<TableDifference> tablesCompared(const CompareSides& sides, CircuitKind kind, int token, int k,
                                       const std::vector<bool>& unused);

/// Qk or Ov, whatever stands on the token sides.
CircuitKind residualOf(CircuitKind kind);
CircuitKind fullOf(CircuitKind kind);

} // namespace headwise::ui
