#pragma once

#include "tests/support/analysed.h"

#include <Eigen/QR>

#include <algorithm>
#include <random>

namespace headwise::test {

/// [rows, cols] with orthonormal columns.
inline Matrix<double> orthonormal(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const Matrix<double> m = Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); });
    const Eigen::HouseholderQR<Matrix<double>> qr(m);
    return qr.householderQ() * Matrix<double>::Identity(rows, cols);
}

/// What a planted model is like unless a test says otherwise: attention only, no norms, no biases; float64, so that what is planted
/// is read.
inline ToyOptions plantedOptions()
{
    ToyOptions options;
    options.attnOnly = true;
    options.float64 = true;
    options.normalization = std::nullopt;
    options.qkvBias = options.outBias = options.unembedBias = false;
    return options;
}

/// Room for the subspaces of two heads beside one another.
inline ToyOptions widePlantedOptions()
{
    ToyOptions options = plantedOptions();
    options.dModel = 24;
    options.dHead = 5;
    options.nHeads = 2;
    return options;
}

/// A model whose weights are set by hand; nothing is processed unless it is asked for.
class PlantedModel {
public:
    explicit PlantedModel(const ToyOptions& options)
        : m_folder(std::filesystem::path(m_temporary.path().toStdString()) / "planted")
        , m_tensors(writeToyModel(m_folder, options).tensors)
    {
    }

    /// A copy of the model in `folder`, to be changed.
    explicit PlantedModel(const std::filesystem::path& folder)
        : m_folder(std::filesystem::path(m_temporary.path().toStdString()) / "planted")
        , m_tensors(readStoredTensors(folder))
    {
        std::filesystem::create_directory(m_folder);
        std::filesystem::copy_file(folder / "config.json", m_folder / "config.json");
    }

    /// \param name W_Q, W_K, W_V or W_O
    void set(const char* name, HeadId head, const Matrix<double>& values)
    {
        put(m_tensors.at("blocks." + std::to_string(head.layer) + ".attn." + name), head.head, values);
    }

    /// \param name as in the file: embed.W_E, pos_embed.W_pos, unembed.W_U
    void set(const char* name, const Matrix<double>& values) { put(m_tensors.at(name), 0, values); }

    /// Every number of every matrix of the heads, put into another order.
    void shuffle(unsigned seed)
    {
        std::mt19937 random(seed);
        for (auto& [name, tensor] : m_tensors) {
            if (name.find("attn.W_") != std::string::npos)
                std::shuffle(tensor.values.begin(), tensor.values.end(), random);
        }
    }

    Circuits circuits(const ProcessingWish& wish = noProcessing()) const
    {
        writeSafetensors(m_folder / "model.safetensors", m_tensors, true);
        return circuitsOf(m_folder, wish);
    }

private:
    static void put(StoredTensor& tensor, int matrix, const Matrix<double>& values)
    {
        const Eigen::Index at = matrix * values.size();
        if (static_cast<std::size_t>(at + values.size()) > tensor.values.size())
            qFatal("a planted matrix does not fit");
        for (Eigen::Index i = 0; i < values.rows(); ++i) {
            for (Eigen::Index j = 0; j < values.cols(); ++j)
                tensor.values[static_cast<std::size_t>(at + i * values.cols() + j)] = values(i, j);
        }
    }

    QTemporaryDir m_temporary;
    std::filesystem::path m_folder;
    std::map<std::string, StoredTensor> m_tensors;
};

} // namespace headwise::test
