#pragma once

#include "core/analysis/per_head.h"

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// Which positions and tokens the analyses of positions show, and their arrays per head.

/// At most 1024 positions in a line.
Eigen::Index shownPositions(const ModelConfig& config);

/// Three queries out of n positions, fewer where there are fewer: 50, 500 and 1000 of 1024 as in Kamoda et al. 2025, the
/// same parts of other lengths.
std::vector<int> shownQueries(Eigen::Index n);

/// `count` of n indices at even distances, the first and the last among them; all where there are no more.
std::vector<int> evenlySpaced(Eigen::Index n, Eigen::Index count);

/// How many positions a square per head may have: at most 128, and 2²¹ numbers in all.
Eigen::Index squareSide(const ModelConfig& config);

struct ShownTokens {
    std::vector<int> ids;
    std::string warning; ///< Where the prompt was cut; else empty.
};

/// The prompt up to `longest` tokens; without one `sampled` random tokens in use.
/// Errors: InvalidArgument for an id outside the vocabulary.
Result<ShownTokens> shownTokens(const ModelConfig& config, const AnalysisOptions& options,
                                Eigen::Index sampled, Eigen::Index longest);

/// Up to `count` random ids in use, rising, none twice.
std::vector<int> sampledIds(const ModelConfig& config, const AnalysisOptions& options, Eigen::Index count);

/// softmax over j ≤ i, and i − j < window if there is one, row by row; 0 elsewhere. \param scores [n, n], row = query
Matrix<double> maskedSoftmax(const Matrix<double>& scores, int window);

/// Row-major, as arrays have it; padded with zeros.
void setRows(PerHead& out, HeadId head, const Matrix<double>& values);

struct ArrayName {
    std::string path, title, definition;
};

/// PerHead's array with its last dimension cut into two.
ResultArray gridArray(const PerHead& values, Precision precision, ArrayName name,
                      std::array<Eigen::Index, 2> shape, std::array<const char*, 2> axes = {"query", "key"});

/// Token ids, or with another unit other whole numbers, along one axis.
ResultArray idArray(std::string path, std::string title, const std::vector<int>& ids, std::string axis,
                    std::string unit = "token");

/// Names the lines of an array [layer, head, query, position] after their queries: "i = 500".
void nameQueries(ResultArray& array, const std::vector<int>& queries);

/// "analyses/ANALYSIS/NAME" of every name.
std::vector<std::string> pathsOf(std::string_view analysis, std::initializer_list<const char*> names);

/// Why nothing is to be done where only layer 0 counts; empty if one of its heads was asked for.
std::string whyNoHeadOfLayer0(const AnalysisOptions& options);
/// How many of its heads were asked for.
int countOfLayer0(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
