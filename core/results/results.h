#pragma once

#include "core/base/result.h"
#include "core/circuits/circuits.h"
#include "core/results/array_spec.h"
#include "core/results/numbers.h"
#include "core/results/result_set.h"

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Collects the arrays of one analysis, each under its contract.
class Results {
public:
    Results(const ModelConfig& config, Precision precision, std::vector<ArraySpec> specs);

    /// Adds the array of the spec with this path; rounds real and complex numbers to float32 unless the precision is F64.
    /// \returns the array, for its null and attributes; the reference is good until the next put()
    /// A path without a spec, or a shape that contradicts its axes and the model, is a bug that finish() reports.
    ResultArray& put(const std::string& path, RealNumbers numbers);
    ResultArray& put(const std::string& path, WholeNumbers numbers);
    ResultArray& put(const std::string& path, ComplexNumbers numbers);
    /// One dimension.
    ResultArray& put(const std::string& path, std::vector<double> values);
    ResultArray& put(const std::string& path, std::vector<std::int32_t> values);
    /// \param values row-major
    ResultArray& put(const std::string& path, std::vector<std::size_t> shape, std::vector<double> values);
    ResultArray& put(const std::string& path, std::vector<std::size_t> shape,
                     std::vector<std::int32_t> values);
    ResultArray& put(const std::string& path, std::vector<std::size_t> shape,
                     std::vector<std::complex<double>> values);

    /// Arrays so far, in the order of put().
    std::vector<ResultArray>& arrays() { return m_set.arrays; }
    std::map<std::string, AttributeValue>& groupAttributes(const std::string& group)
    {
        return m_set.groupAttributes[group];
    }
    void warn(std::string warning) { m_set.warnings.push_back(std::move(warning)); }
    void warn(const std::vector<std::string>& warnings);

    /// Errors: Internal if an array broke its contract.
    Result<ResultSet> finish() &&;

private:
    ResultArray& add(const std::string& path, NumberType type, std::vector<std::size_t> shape,
                     ResultArray::Values values);
    std::string whyNot(const ArraySpec& spec, NumberType type, const std::vector<std::size_t>& shape) const;

    std::size_t m_nLayers, m_nHeads;
    Precision m_precision;
    std::vector<ArraySpec> m_specs;
    ResultSet m_set;
    std::string m_broken; ///< First contract that was broken, as a sentence; empty: none.
};

} // namespace headwise
