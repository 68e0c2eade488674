#pragma once

#include "core/findings/findings.h"

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// Shared code of the rules: numbers of arrays whose shape was checked, thresholds, and the words of a sentence.
// A session file may come from a stranger, so every rule gets its arrays from here.

/// Fewest null deviations of any finding, because no null is exactly Gaussian.
inline constexpr double leastZ = 5;
/// Most findings of one rule; the last one says how many more there are.
inline constexpr std::size_t mostFindings = 5;

/// A size that checkedArray() accepts whatever it is.
inline constexpr int anySize = -1;

/// Returns the array if it has this shape and as many numbers; null if it is absent or odd.
const ResultArray* checkedArray(const FindingEvidence& evidence, std::string_view path,
                                std::initializer_list<int> shape);
const ResultArray* perHeadArray(const FindingEvidence& evidence, std::string_view path); ///< [L, H]
const ResultArray* pairsArray(const FindingEvidence& evidence, std::string_view path);   ///< [L, H, L, H]

/// Returns one number in row-major order; NaN outside and of complex numbers.
double numberIn(const ResultArray& array, std::size_t index);
/// Returns one number of an array whose first dimensions are layer and head.
double numberOf(const ResultArray& array, HeadId head, std::size_t entry = 0);
/// Returns one number of an array [L, H, L, H].
double numberOfPair(const ResultArray& array, HeadId first, HeadId second);
/// Returns the numbers that an array [L, H, …] has for one head.
std::vector<double> listOf(const ResultArray& array, HeadId head);

/// All heads of the model, in order.
std::vector<HeadId> headsOf(const ModelCard& model);
std::size_t headCount(const ModelCard& model);

/// A head's number, compared with heads of random weights.
struct JudgedHead {
    HeadId head;
    double value = 0;
    double nullMean = 0; ///< NaN where it is not known.
    double z = 0;        ///< NaN where it is not known.
};

/// Returns the heads that have a number in an array [L, H], judged by the null of the array or of layer 0.
std::vector<JudgedHead> judgedHeads(const FindingEvidence& evidence, std::string_view path);

/// Returns the z that chance exceeds in one model of a hundred if `tests` numbers are judged (Bonferroni), at least leastZ.
double thresholdZ(std::size_t tests);

/// How far `value` lies on the way from its null to its bound: 0 to 1. An unknown null is taken as 0.
double shareOfRange(double value, double nullMean, double bound = 1);

/// Keeps the strongest and lets the last sentence say how many more there are.
std::vector<Finding> strongestFindings(std::vector<Finding> all);

std::string shortNumber(double value); ///< Three significant digits: "0.930", "513", "12300".
std::string scoreAndZ(const JudgedHead& head, std::string_view what = "score"); ///< "(score 0.93, z 513)"
std::string
listedHeads(const std::vector<HeadId>& heads); ///< "L1H5, L1H7 and L1H0"; of many: the first five.
/// Returns the token as shown between quotation marks, or "#42" without a tokenizer.
std::string tokenName(const FindingEvidence& evidence, int id);

} // namespace headwise
