#pragma once

#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"

namespace headwise::test {

/// Defaults of a planted model: attention only, no norms, no biases; float64, so that planted values are read exactly.
ToyOptions plantedOptions();

/// Large enough for the subspaces of two heads side by side.
ToyOptions widePlantedOptions();

/// A model whose weights are set by hand; unprocessed by default.
class PlantedModel {
public:
    explicit PlantedModel(const ToyOptions& options);

    /// A copy of the model in `folder`, to be changed.
    explicit PlantedModel(const std::filesystem::path& folder);

    /// \param name W_Q, W_K, W_V or W_O
    void set(const char* name, HeadId head, const Matrix<double>& values);

    /// \param name as in the file: embed.W_E, pos_embed.W_pos, unembed.W_U
    void set(const char* name, const Matrix<double>& values) { put(m_tensors.at(name), 0, values); }

    /// Shuffles the numbers of every matrix of the heads.
    void shuffle(unsigned seed);

    Circuits circuits(const ProcessingWish& wish = noProcessing()) const;

    /// Writes the model into a folder, which is created.
    void write(const std::filesystem::path& folder) const;

private:
    static void put(StoredTensor& tensor, int matrix, const Matrix<double>& values);

    QTemporaryDir m_temporary;
    std::filesystem::path m_folder;
    std::map<std::string, StoredTensor> m_tensors;
};

} // namespace headwise::test
