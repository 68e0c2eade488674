#pragma once

#include "core/analysis/selected_heads.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// Positions and tokens that the analyses of positions show, and their arrays.

/// Returns the number of positions in a line, at most 1024.
Eigen::Index shownPositions(const ModelConfig& config);

/// Returns three queries out of n positions, or fewer if n is smaller. They are 50, 500 and 1000 of 1024 as in
/// Kamoda et al. 2025, and the same fractions of other lengths.
std::vector<int> shownQueries(Eigen::Index n);

/// Returns `count` of n indices, evenly spaced and including the first and the last. Returns all if there are no more.
std::vector<int> evenlySpaced(Eigen::Index n, Eigen::Index count);

/// Returns the number of positions per side of each head's square: at most 128, and 2²¹ numbers in total.
Eigen::Index squareSide(const ModelConfig& config);

struct ShownTokens {
    std::vector<int> ids;
    std::string warning; ///< Set if the prompt was cut; else empty.
};

/// Returns the prompt up to `longest` tokens. Without a prompt, returns `sampled` random tokens in use.
/// Errors: InvalidArgument for an id outside the vocabulary.
Result<ShownTokens> shownTokens(const ModelConfig& config, const AnalysisOptions& options,
                                Eigen::Index sampled, Eigen::Index longest);

/// Returns up to `count` distinct random ids in use, rising.
std::vector<int> sampledIds(const ModelConfig& config, const AnalysisOptions& options, Eigen::Index count);

/// Returns the row-wise softmax over j ≤ i, and i − j < window if there is one; 0 elsewhere. \param scores [n, n], row = query
Matrix<double> maskedSoftmax(const Matrix<double>& scores, int window);

/// Stores the numbers of a head row-major, as arrays do, padded with zeros.
void setRows(RealNumbers& out, HeadId head, const Matrix<double>& values);

/// Returns the numbers of a matrix row by row, as arrays hold them.
std::vector<double> rowMajor(const Matrix<double>& values);

/// Contract of token ids along one axis. Other units mark other integers.
ArraySpec idsAlong(Axis axis, std::string path, std::string title, std::string unit = "token");

/// Names the lines of an array [layer, head, query, position] after their queries: "i = 500".
void nameQueries(ResultArray& array, const std::vector<int>& queries);

/// Returns "analyses/ANALYSIS/NAME" for every name.
std::vector<std::string> pathsOf(std::string_view analysis, std::initializer_list<const char*> names);

/// Returns why an analysis of layer 0 has no heads to compute; empty if a head of layer 0 is selected.
std::string whyNoHeadOfLayer0(const AnalysisOptions& options);
/// Returns the number of selected heads in layer 0.
int countOfLayer0(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
