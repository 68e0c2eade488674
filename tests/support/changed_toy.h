#pragma once

#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"

#include <functional>
#include <random>

namespace headwise::test {

/// A toy whose tensors are changed after creation. TransformerLens names, float64, so that values are read exactly.
class ChangedToy {
public:
    explicit ChangedToy(ToyOptions options);

    const ToyOptions& options() const { return m_options; }

    /// One head of W_Q, W_K, W_V, W_O ("blocks.0.attn.W_Q", query or key/value head) or a whole matrix (head 0).
    Matrix<double> matrix(const std::string& name, int head = 0) const;
    void set(const std::string& name, int head, const Matrix<double>& values);
    static std::string attn(int layer, const char* name);

    Circuits circuits(const ProcessingWish& wish = noProcessing()) const;

private:
    std::pair<Eigen::Index, Eigen::Index> sizes(const std::string& name) const;

    QTemporaryDir m_temporary;
    ToyOptions m_options;
    std::filesystem::path m_folder;
    std::map<std::string, StoredTensor> m_tensors;
};

/// Attention alone, without norms and biases: circuits consist of exactly the stored numbers.
ToyOptions bareAttention();

} // namespace headwise::test
