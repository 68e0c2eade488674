#pragma once

#include "core/analysis/catalogue.h"

#include <array>
#include <string>
#include <vector>

namespace headwise {

// Matrices, arrays and pictures of the analysis weights_in_vocabulary.

inline constexpr int listedColumns = 5;    ///< Columns listed of each matrix, the longest.
inline constexpr int comparedColumns = 16; ///< Columns of W_V compared with rows of W_O, the longest.
inline constexpr const char* weightsInVocabularyFolder = "analyses/weights_in_vocabulary/";

/// One matrix whose columns (rows, if it writes) are analysed one by one.
struct WeightsInVocabularyPart {
    const char* name;
    const char* formula;
    bool writes;
    /// Whether to list the tokens that add up to the column (by the pseudoinverse) instead of its products with tokens.
    bool isInverse;
    bool isOfMlp = false;
    bool isGate = false;
};
inline constexpr std::array<WeightsInVocabularyPart, 8> headParts{
    {{"W_V", "E W_V, column by column", false, false},
     {"W_O", "W_O W_U, row by row", true, false},
     {"W_Q", "E W_Q, column by column", false, false},
     {"W_K", "E W_K, column by column", false, false},
     {"W_V_pinv", "(Eᵀ)⁺ W_V, column by column", false, true},
     {"W_O_pinv", "W_O (W_Uᵀ)⁺, row by row", true, true},
     {"W_Q_pinv", "(Eᵀ)⁺ W_Q, column by column", false, true},
     {"W_K_pinv", "(Eᵀ)⁺ W_K, column by column", false, true}}};
inline constexpr std::array<WeightsInVocabularyPart, 6> mlpParts{
    {{"W_in", "E W_in, column by column", false, false, true},
     {"W_out", "W_out W_U, row by row", true, false, true},
     {"W_gate", "E W_gate, column by column", false, false, true, true},
     {"W_in_pinv", "(Eᵀ)⁺ W_in, column by column", false, true, true},
     {"W_out_pinv", "W_out (W_Uᵀ)⁺, row by row", true, true, true},
     {"W_gate_pinv", "(Eᵀ)⁺ W_gate, column by column", false, true, true, true}}};
inline constexpr std::size_t mlpMatrices = mlpParts.size() / 2;

/// Returns the definition of the arrays overlap and overlap_null.
/// \param length of the lists, "100 "; empty: any \param which rows: "l = k"
std::string overlapFormula(const std::string& length, const char* which);

std::vector<ArraySpec> weightsInVocabularyArrays();
std::vector<Picture> weightsInVocabularyPictures();

} // namespace headwise
