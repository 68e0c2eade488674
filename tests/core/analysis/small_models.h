#pragma once

#include "tests/support/analysed.h"

#include <QTest>

// The models that tests of the catalogue run over, and the numbers of one head.

namespace headwise::test {

/// The numbers of one head in an array [n_layers, n_heads, width].
inline std::vector<double> ofHead(const Circuits& circuits, const ResultSet& results, const std::string& path,
                                  HeadId head)
{
    const auto all = numbers(results, path);
    const ModelConfig& config = circuits.config();
    const std::size_t width = all.size() / (static_cast<std::size_t>(config.nLayers) * config.nHeads);
    const std::size_t at = (static_cast<std::size_t>(head.layer) * config.nHeads + head.head) * width;
    return {all.begin() + static_cast<std::ptrdiff_t>(at),
            all.begin() + static_cast<std::ptrdiff_t>(at + width)};
}

inline double number(const Circuits& circuits, const ResultSet& results, const std::string& path, HeadId head)
{
    return ofHead(circuits, results, path, head).at(0);
}

inline std::vector<HeadId> allHeads(const Circuits& circuits)
{
    std::vector<HeadId> heads;
    for (int layer = 0; layer < circuits.config().nLayers; ++layer) {
        for (int head = 0; head < circuits.config().nHeads; ++head)
            heads.push_back({layer, head});
    }
    return heads;
}

inline void addModels()
{
    QTest::addColumn<QString>("model");
    for (const char* model : {"toy", "llama toy", "two tokens", "gpt-nano-sort", "stories260k"})
        QTest::newRow(model) << model;
}

inline Circuits circuitsNamed(const QString& model)
{
    if (model == "toy")
        return toyCircuits({});
    if (model == "llama toy")
        return toyCircuits(llamaOptions());
    if (model == "two tokens") { // d_vocab < d_head
        ToyOptions options;
        options.dVocab = 2;
        return toyCircuits(options);
    }
    return circuitsOf(testData("models/" + model.toStdString()));
}

} // namespace headwise::test
