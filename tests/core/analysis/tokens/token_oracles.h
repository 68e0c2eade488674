#pragma once

#include "core/analysis/tokens/relation_lists.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/support/analysed.h"
#include "tests/support/toy_classes.h"

#include <QTest>

// Helpers for tests of own tokens, names and salient tokens: every toy class, and plain counting.

namespace headwise::test {

inline AnalysisOptions exactOptions()
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    return options;
}

inline std::size_t at(const Circuits& circuits, HeadId head)
{
    return static_cast<std::size_t>(head.layer) * circuits.config().nHeads + head.head;
}

inline std::vector<HeadId> headsOf(const Circuits& circuits)
{
    std::vector<HeadId> heads;
    for (int layer = 0; layer < circuits.config().nLayers; ++layer) {
        for (int head = 0; head < circuits.config().nHeads; ++head)
            heads.push_back({layer, head});
    }
    return heads;
}

/// Counts the entries of row i that are larger than entry (i, column), in `sign` times the matrix.
inline int rankIn(const Matrix<double>& m, Eigen::Index row, Eigen::Index column, double sign = 1)
{
    int rank = 0;
    for (Eigen::Index j = 0; j < m.cols(); ++j)
        rank += sign * m(row, j) > sign * m(row, column) ? 1 : 0;
    return rank;
}

inline void addClasses()
{
    QTest::addColumn<int>("index");
    const auto classes = toyClasses();
    for (std::size_t i = 0; i < classes.size(); ++i)
        QTest::newRow(classes[i].first) << static_cast<int>(i);
}

inline Circuits classCircuits(int index)
{
    return toyCircuits(toyClasses()[static_cast<std::size_t>(index)].second);
}

/// Returns E of all tokens in double for any embedding. \param layer of the head that reads it
inline Matrix<double> denseEmbedding(const Circuits& circuits, Embedding embedding, int layer)
{
    const auto tokens = tokensOf(circuits, embedding, Precision::F64);
    return *tokens->embeddingOf(layer).whole<double>();
}

/// A tokenizer of first names, followed by other words.
inline std::shared_ptr<const Tokenizer> nameVocabulary(int count, int names)
{
    std::vector<std::string> shown, bytes;
    for (int i = 0; i < count; ++i) {
        const std::string word =
            i < names ? firstNames()[static_cast<std::size_t>(i)] : "q" + std::to_string(i);
        shown.push_back("␣" + word);
        bytes.push_back(" " + word);
    }
    return std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(shown, bytes));
}

} // namespace headwise::test
