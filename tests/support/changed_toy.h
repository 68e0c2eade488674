#pragma once

#include "tests/support/analysed.h"

#include <Eigen/LU>
#include <Eigen/QR>

#include <functional>
#include <random>

namespace headwise::test {

/// [rows, cols], normal numbers; the same wherever the standard library is.
inline Matrix<double> normalNumbers(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    return Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); });
}

/// [rows, cols] with orthonormal columns.
inline Matrix<double> orthonormalColumns(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    const Eigen::HouseholderQR<Matrix<double>> qr(normalNumbers(rows, cols, seed));
    return qr.householderQ() * Matrix<double>::Identity(rows, cols);
}

/// A toy whose tensors are changed after it was made. TransformerLens names, float64, so that what is set is read.
class ChangedToy {
public:
    explicit ChangedToy(ToyOptions options)
        : m_options(std::move(options))
        , m_folder(std::filesystem::path(m_temporary.path().toStdString()) / "toy")
    {
        m_options.float64 = true;
        m_tensors = writeToyModel(m_folder, m_options).tensors;
    }

    const ToyOptions& options() const { return m_options; }

    /// One head of W_Q, W_K, W_V, W_O ("blocks.0.attn.W_Q", query or key/value head) or a whole matrix (head 0).
    Matrix<double> matrix(const std::string& name, int head = 0) const
    {
        const auto& tensor = m_tensors.at(name);
        const auto [rows, cols] = sizes(name);
        Matrix<double> out(rows, cols);
        const Eigen::Index at = head * out.size();
        for (Eigen::Index i = 0; i < rows; ++i) {
            for (Eigen::Index j = 0; j < cols; ++j)
                out(i, j) = tensor.values[static_cast<std::size_t>(at + i * cols + j)];
        }
        return out;
    }
    void set(const std::string& name, int head, const Matrix<double>& values)
    {
        auto& tensor = m_tensors.at(name);
        const Eigen::Index at = head * values.size();
        for (Eigen::Index i = 0; i < values.rows(); ++i) {
            for (Eigen::Index j = 0; j < values.cols(); ++j)
                tensor.values[static_cast<std::size_t>(at + i * values.cols() + j)] = values(i, j);
        }
    }
    static std::string attn(int layer, const char* name)
    {
        return "blocks." + std::to_string(layer) + ".attn." + name;
    }

    Circuits circuits(const ProcessingWish& wish = noProcessing()) const
    {
        writeSafetensors(m_folder / "model.safetensors", m_tensors, true);
        return circuitsOf(m_folder, wish);
    }

private:
    std::pair<Eigen::Index, Eigen::Index> sizes(const std::string& name) const
    {
        const auto& shape = m_tensors.at(name).shape;
        return {static_cast<Eigen::Index>(shape[shape.size() - 2]), static_cast<Eigen::Index>(shape.back())};
    }

    QTemporaryDir m_temporary;
    ToyOptions m_options;
    std::filesystem::path m_folder;
    std::map<std::string, StoredTensor> m_tensors;
};

/// Attention alone, without norms and biases: what stands in the file is what a circuit is made of.
inline ToyOptions bareAttention()
{
    ToyOptions options;
    options.attnOnly = true;
    options.normalization = std::nullopt;
    options.qkvBias = options.outBias = options.unembedBias = false;
    return options;
}

} // namespace headwise::test
