#include "tests/support/planted.h"

#include <algorithm>
#include <random>

namespace headwise::test {

ToyOptions plantedOptions()
{
    ToyOptions options;
    options.attnOnly = true;
    options.float64 = true;
    options.normalization = std::nullopt;
    options.qkvBias = options.outBias = options.unembedBias = false;
    return options;
}

ToyOptions widePlantedOptions()
{
    ToyOptions options = plantedOptions();
    options.dModel = 24;
    options.dHead = 5;
    options.nHeads = 2;
    return options;
}

PlantedModel::PlantedModel(const ToyOptions& options)
    : m_folder(std::filesystem::path(m_temporary.path().toStdString()) / "planted")
    , m_tensors(writeToyModel(m_folder, options).tensors)
{
}

PlantedModel::PlantedModel(const std::filesystem::path& folder)
    : m_folder(std::filesystem::path(m_temporary.path().toStdString()) / "planted")
    , m_tensors(readStoredTensors(folder))
{
    std::filesystem::create_directory(m_folder);
    std::filesystem::copy_file(folder / "config.json", m_folder / "config.json");
}

void PlantedModel::set(const char* name, HeadId head, const Matrix<double>& values)
{
    put(m_tensors.at("blocks." + std::to_string(head.layer) + ".attn." + name), head.head, values);
}

void PlantedModel::shuffle(unsigned seed)
{
    std::mt19937 random(seed);
    for (auto& [name, tensor] : m_tensors) {
        if (name.find("attn.W_") != std::string::npos)
            std::shuffle(tensor.values.begin(), tensor.values.end(), random);
    }
}

Circuits PlantedModel::circuits(const ProcessingWish& wish) const
{
    writeSafetensors(m_folder / "model.safetensors", m_tensors, true);
    return circuitsOf(m_folder, wish);
}

void PlantedModel::write(const std::filesystem::path& folder) const
{
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(m_folder / "config.json", folder / "config.json",
                               std::filesystem::copy_options::overwrite_existing);
    writeSafetensors(folder / "model.safetensors", m_tensors, true);
}

void PlantedModel::put(StoredTensor& tensor, int matrix, const Matrix<double>& values)
{
    const Eigen::Index at = matrix * values.size();
    if (static_cast<std::size_t>(at + values.size()) > tensor.values.size())
        qFatal("a planted matrix does not fit");
    for (Eigen::Index i = 0; i < values.rows(); ++i) {
        for (Eigen::Index j = 0; j < values.cols(); ++j)
            tensor.values[static_cast<std::size_t>(at + i * values.cols() + j)] = values(i, j);
    }
}

} // namespace headwise::test
