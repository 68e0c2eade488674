#pragma once

#include "tests/support/analysed.h"

#include <vector>

namespace headwise::test {

/// Ids by falling value, ties to the lower id.
std::vector<int> ranked(const Eigen::VectorXd& scores);

/// Singular directions straight from the dense circuit, signs fixed by the token scores of the first side.
struct DenseDirections {
    Eigen::VectorXd S, cosine;    // [k]; u_k · v_k
    Matrix<double> first, second; // [tokens, k] scores
};

DenseDirections denseDirections(const Circuits& circuits, CircuitKind kind, HeadId head);

/// U and σ of a dense matrix.
struct LeftDirections {
    Eigen::VectorXd S;
    Matrix<double> U;
};

LeftDirections leftDirections(const Matrix<double>& m);

} // namespace headwise::test
