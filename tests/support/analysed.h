#pragma once

#include "core/analysis/catalogue.h"
#include "core/model/architecture.h"
#include "tests/support/matchers.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

namespace headwise::test {

/// Returns the circuits of a model on disk, processed according to `wish`.
Circuits circuitsOf(const std::filesystem::path& path, const ProcessingWish& wish = {});

Circuits toyCircuits(const ToyOptions& options, const ProcessingWish& wish = {});

ProcessingWish noProcessing();

std::shared_ptr<const TokenSide> tokensOf(const Circuits& circuits, Embedding embedding = Embedding::Raw,
                                          Precision precision = Precision::F32);

/// Returns one full or residual circuit as a dense double matrix, directly from the weights: the oracle of every
/// analysis.
Matrix<double> denseCircuit(const Circuits& circuits, CircuitKind kind, HeadId head, const Matrix<double>& E,
                            const Matrix<double>& W_U);

Matrix<double> denseCircuit(const Circuits& circuits, CircuitKind kind, HeadId head);

/// Returns the numbers of an array in any precision; qFatal names a missing one.
std::vector<double> numbers(const ResultSet& results, std::string_view path);

/// Returns options for results in double precision.
AnalysisOptions inDouble();

ResultSet analysed(const Circuits& circuits, const std::vector<std::string>& names,
                   const AnalysisOptions& options = {}, const Task& task = {});

} // namespace headwise::test
