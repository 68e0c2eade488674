#pragma once

#include "core/base/task.h"
#include "core/checkpoint/tensor_statistics.h"
#include "core/model/load_report.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <vector>

namespace headwise::app {

/// One per tensor of the file; nothing if its dtype cannot be decoded.
using StatisticsOfAll = std::vector<std::optional<TensorStatistics>>;

/// Reads every stored number once, or twice with histograms. Errors: Io, Cancelled.
Result<StatisticsOfAll> statisticsOfAll(const WeightMap& file, int bins, const Task& task);

/// \param report null: nothing is known of the tensors' use
nlohmann::ordered_json tensorsJson(const WeightMap& file, const LoadReport* report,
                                   const StatisticsOfAll& statistics);
nlohmann::ordered_json reportJson(const ModelWeights& weights);
nlohmann::ordered_json normsJson(const std::vector<NormFactors>& norms);

/// Prints two lines per tensor, 80 columns wide if the numbers allow it: the name, then its properties.
void printTensors(const WeightMap& file, const StatisticsOfAll& statistics);
void printReport(const ModelWeights& weights);
void printNorms(const std::vector<NormFactors>& norms);

} // namespace headwise::app
