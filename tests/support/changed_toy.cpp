#include "tests/support/changed_toy.h"

namespace headwise::test {

ToyOptions bareAttention()
{
    ToyOptions options;
    options.attnOnly = true;
    options.normalization = std::nullopt;
    options.qkvBias = options.outBias = options.unembedBias = false;
    return options;
}

ChangedToy::ChangedToy(ToyOptions options)
    : m_options(std::move(options))
    , m_folder(std::filesystem::path(m_temporary.path().toStdString()) / "toy")
{
    m_options.float64 = true;
    m_tensors = writeToyModel(m_folder, m_options).tensors;
}

Matrix<double> ChangedToy::matrix(const std::string& name, int head) const
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

void ChangedToy::set(const std::string& name, int head, const Matrix<double>& values)
{
    auto& tensor = m_tensors.at(name);
    const Eigen::Index at = head * values.size();
    for (Eigen::Index i = 0; i < values.rows(); ++i) {
        for (Eigen::Index j = 0; j < values.cols(); ++j)
            tensor.values[static_cast<std::size_t>(at + i * values.cols() + j)] = values(i, j);
    }
}

std::string ChangedToy::attn(int layer, const char* name)
{
    return "blocks." + std::to_string(layer) + ".attn." + name;
}

Circuits ChangedToy::circuits(const ProcessingWish& wish) const
{
    writeSafetensors(m_folder / "model.safetensors", m_tensors, true);
    return circuitsOf(m_folder, wish);
}

std::pair<Eigen::Index, Eigen::Index> ChangedToy::sizes(const std::string& name) const
{
    const auto& shape = m_tensors.at(name).shape;
    return {static_cast<Eigen::Index>(shape[shape.size() - 2]), static_cast<Eigen::Index>(shape.back())};
}

} // namespace headwise::test
