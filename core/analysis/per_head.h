#pragma once

#include "core/analysis/catalogue.h"
#include "core/results/results.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// Shared code of the analyses that compute a number, or a list of numbers, per head.

/// Returns the selected heads in order, by default all heads of the model.
std::vector<HeadId> selectedHeads(const ModelConfig& config, const AnalysisOptions& options);

/// Numbers [n_layers, n_heads, width]. Default: NaN.
class PerHead {
public:
    explicit PerHead(const ModelConfig& config, int width = 1);

    void set(HeadId head, double value) { row(head)[0] = value; }
    /// Sets the numbers of a head, padded with zeros up to the width.
    void set(HeadId head, std::span<const double> values);
    std::span<double> row(HeadId head);

    /// Returns an array with the axes "layer", "head" and, if it has a width, `lastAxis`.
    ResultArray array(Precision precision, std::string path, std::string title, std::string definition,
                      std::optional<Axis> lastAxis = {}) const;

private:
    int m_nLayers, m_nHeads, m_width;
    std::vector<double> m_values;
};

/// \param values NaN where nothing was computed; rounded to float32 unless `precision` is F64
ResultArray realArray(Precision precision, std::string path, std::vector<std::size_t> shape,
                      std::vector<double> values, std::vector<ArrayAxis> axes);
ResultArray complexArray(Precision precision, std::string path, std::vector<std::size_t> shape,
                         std::vector<std::complex<double>> values, std::vector<ArrayAxis> axes);

/// Collects the arrays of an analysis in the run's precision.
Results resultsOf(const AnalysisContext& context, std::vector<ArraySpec> specs);

/// Runs `body` for every selected head, in parallel. Skips a head whose weights are not finite; its numbers stay NaN.
/// \returns a warning that names the skipped heads, or none
/// Errors: those of `body` except Corrupt; Cancelled.
Result<std::vector<std::string>> forEachHead(const AnalysisContext& context, const Task& task,
                                             std::string_view step,
                                             const std::function<Result<Done>(HeadId)>& body);

/// Runs `body` for the selected heads, `size` at a time, so that one product can serve several heads.
/// \param body returns those of its heads whose weights are not finite
Result<std::vector<std::string>>
forEachGroup(const AnalysisContext& context, const Task& task, std::string_view step, int size,
             const std::function<Result<std::vector<HeadId>>(std::span<const HeadId>)>& body);

/// Returns `task` without progress reports, for the inner loops of an operation that reports its own steps.
Task withoutProgress(const Task& task);

/// Accepts every model: for catalogue rows that apply to all of them.
std::string appliesAlways(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
