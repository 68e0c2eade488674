#pragma once

#include "core/analysis/catalogue.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

// What the analyses that give one number, or one list of numbers, per head have in common.

/// The heads asked for, in order; all of the model when none were named.
std::vector<HeadId> selectedHeads(const ModelConfig& config, const AnalysisOptions& options);

/// Numbers [n_layers, n_heads, width], NaN until they are set.
class PerHead {
public:
    explicit PerHead(const ModelConfig& config, int width = 1);

    void set(HeadId head, double value) { row(head)[0] = value; }
    /// Padded with zeros up to the width.
    void set(HeadId head, std::span<const double> values);
    std::span<double> row(HeadId head);

    /// Axes "layer", "head" and, with a width, `lastAxis`.
    ResultArray array(Precision precision, std::string path, std::string title, std::string definition,
                      std::string lastAxis = {}) const;

private:
    int m_nLayers, m_nHeads, m_width;
    std::vector<double> m_values;
};

/// \param values NaN where nothing was computed; rounded to float32 unless `precision` is F64
ResultArray realArray(Precision precision, std::string path, std::vector<std::size_t> shape,
                      std::vector<double> values, std::vector<std::string> axes);
ResultArray complexArray(Precision precision, std::string path, std::vector<std::size_t> shape,
                         std::vector<std::complex<double>> values, std::vector<std::string> axes);

/// Runs `body` for every selected head, in parallel. A head whose weights are not finite is left out, its numbers stay NaN.
/// \returns a warning that names such heads, or none
/// Errors: those of a body but Corrupt; Cancelled.
Result<std::vector<std::string>> forEachHead(const AnalysisContext& context, const Task& task,
                                             std::string_view step,
                                             const std::function<Result<Done>(HeadId)>& body);

/// The same for the selected heads `size` at a time, for what is one product for several of them.
/// \param body returns those of its heads whose weights are not finite
Result<std::vector<std::string>>
forEachGroup(const AnalysisContext& context, const Task& task, std::string_view step, int size,
             const std::function<Result<std::vector<HeadId>>(std::span<const HeadId>)>& body);

/// `task` without its ear: for the inner loops of an operation that reports its own steps.
Task withoutProgress(const Task& task);

/// For rows of the catalogue that fit every model.
std::string appliesAlways(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
