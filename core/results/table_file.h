#pragma once

#include "core/base/result.h"
#include "core/files/delimited.h"
#include "core/results/result_set.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// The shortest decimal that reads back as the same number, with a point whatever the locale; "nan", "inf", "-inf".
std::string shortestText(float value);
std::string shortestText(double value);

/// One row per number: an index per axis, then "value", or "real" and "imaginary".
Table tableOf(const ResultArray& array);

/// The array as a NumPy file, format 1.0, little-endian, C order.
std::string npyBytes(const std::vector<std::size_t>& shape, const ResultArray::Values& values);

} // namespace headwise
