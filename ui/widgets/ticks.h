#pragma once

#include <QString>

#include <vector>

namespace headwise::ui {

/// Returns multiples of 1, 2 or 5 times a power of ten from `low` to `high`, at most `atMost` and never more than 20. For three
/// or more, it returns one more rather than a single one.
std::vector<double> roundTicks(double low, double high, int atMost);
/// Returns powers of ten from `low` to `high`, both above zero; every second, third, … if there are more than `atMost`.
std::vector<double> decadeTicks(double low, double high, int atMost);

/// Formats a tick with as many decimals as its neighbours need: "0.5" beside "1.0", "−2".
QString tickText(double value, double spacing);
/// Formats "10⁻³"; between 0.01 and 1000 the plain number.
QString decadeText(double value);

} // namespace headwise::ui
