#pragma once

#include "tests/support/loaded.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>
#include <QTest>

namespace headwise::test {

/// Base of tests whose checkpoint is the reference's toy under other names and in other layouts.
class RenamedToyTest : public QObject {
protected:
    using Tensors = std::map<std::string, test::StoredTensor>;

    static inline const std::vector<int> namedPrompt{3, 1, 4, 1, 5, 0, 2, 6};

    static test::StoredTensor flipped(const test::StoredTensor& t)
    {
        test::StoredTensor out{{t.shape[1], t.shape[0]}, t.values};
        for (std::size_t i = 0; i < t.shape[0]; ++i)
            for (std::size_t j = 0; j < t.shape[1]; ++j)
                out.values[j * t.shape[0] + i] = t.values[i * t.shape[1] + j];
        return out;
    }
    /// Head i of [heads, a, b] as [a, b].
    static test::StoredTensor oneHead(const test::StoredTensor& t, std::size_t i)
    {
        const std::size_t size = t.shape[1] * t.shape[2];
        const auto first = t.values.begin() + static_cast<std::ptrdiff_t>(i * size);
        return {{t.shape[1], t.shape[2]}, {first, first + static_cast<std::ptrdiff_t>(size)}};
    }
    /// Below each other: [a, b] and [c, b] as [a + c, b].
    static test::StoredTensor below(const std::vector<test::StoredTensor>& parts)
    {
        test::StoredTensor out = parts[0];
        for (std::size_t i = 1; i < parts.size(); ++i) {
            out.shape[0] += parts[i].shape[0];
            out.values.insert(out.values.end(), parts[i].values.begin(), parts[i].values.end());
        }
        return out;
    }
    /// W_Q, W_K or W_V [heads, d_model, d_head] as nn.Linear's [heads·d_head, d_model].
    static test::StoredTensor linear(const test::StoredTensor& t)
    {
        std::vector<test::StoredTensor> heads;
        for (std::size_t i = 0; i < t.shape[0]; ++i)
            heads.push_back(flipped(oneHead(t, i)));
        return below(heads);
    }
    /// W_O [heads, d_head, d_model] as nn.Linear's [d_model, heads·d_head].
    static test::StoredTensor outputLinear(const test::StoredTensor& t)
    {
        return flipped({{t.shape[0] * t.shape[1], t.shape[2]}, t.values});
    }
    static test::StoredTensor flat(const test::StoredTensor& t) { return {{t.values.size()}, t.values}; }
    /// For each key/value head its queries, its key and its value. Biases [heads, d_head] as columns.
    static test::StoredTensor grouped(const test::StoredTensor& q, const test::StoredTensor& k,
                                      const test::StoredTensor& v)
    {
        const std::size_t each = q.shape[0] / k.shape[0];
        std::vector<test::StoredTensor> parts;
        for (std::size_t group = 0; group < k.shape[0]; ++group) {
            for (std::size_t i = 0; i < each; ++i)
                parts.push_back(flipped(oneHead(q, group * each + i)));
            parts.push_back(flipped(oneHead(k, group)));
            parts.push_back(flipped(oneHead(v, group)));
        }
        return below(parts);
    }
    static test::StoredTensor times(test::StoredTensor t, double factor)
    {
        for (double& value : t.values)
            value *= factor;
        return t;
    }
    /// [heads, d_head] as [heads, 1, d_head], so that a bias is fused as a matrix is.
    static test::StoredTensor asMatrix(const test::StoredTensor& t)
    {
        return {{t.shape[0], 1, t.shape[1]}, t.values};
    }

    void renew() { m_folder = std::make_unique<QTemporaryDir>(); }
    std::filesystem::path root() const { return m_folder->path().toStdString(); }

    static test::ToyOptions plain()
    {
        test::ToyOptions options;
        options.float64 = true;
        return options;
    }
    Tensors make(const test::ToyOptions& options)
    {
        m_options = options;
        return test::writeToyModel(root() / "reference", options).tensors;
    }
    std::filesystem::path save(const Tensors& tensors, const char* name = "model.safetensors") const
    {
        std::filesystem::create_directories(root() / "own");
        test::writeSafetensors(root() / "own" / name, tensors, true);
        return root() / "own";
    }

    static void norms(const Tensors& toy, const std::string& b, Tensors& own,
                      const std::vector<std::string>& names)
    {
        std::size_t at = 0;
        for (const char* part : {"ln1.w", "ln1.b", "ln2.w", "ln2.b"})
            own[names[at++]] = toy.at(b + part);
    }
    static void mlp(const Tensors& toy, const std::string& b, Tensors& own, const std::string& in,
                    const std::string& out)
    {
        own[in + ".weight"] = flipped(toy.at(b + "mlp.W_in"));
        own[in + ".bias"] = toy.at(b + "mlp.b_in");
        own[out + ".weight"] = flipped(toy.at(b + "mlp.W_out"));
        own[out + ".bias"] = toy.at(b + "mlp.b_out");
    }

    static Result<std::shared_ptr<const ModelWeights>>
    open(const std::filesystem::path& folder, const std::map<std::string, std::string>& said = {})
    {
        return loadModel({folder, std::nullopt, said}, Task{});
    }

    /// The circuits' matrices, against the reference's of the same numbers in TransformerLens' layout.
    void checkCircuits(const std::filesystem::path& folder,
                       const std::map<std::string, std::string>& said) const
    {
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        const ModelConfig& c = (*weights)->config();
        QCOMPARE(c.nHeads, m_options.nHeads);
        for (int layer = 0; layer < 2; ++layer)
            for (int head = 0; head < c.nHeads; ++head) {
                const int group = head / (c.nHeads / c.nKvHeads);
                const auto expected = test::referenceHead(
                    root() / "reference", static_cast<std::size_t>(layer), static_cast<std::size_t>(head));
                const auto read = [&](TensorKind kind, int index) {
                    return (*weights)->read<double>(kind, layer, index);
                };
                const Matrix<double> qk =
                    read(TensorKind::W_Q, head) * read(TensorKind::W_K, group).transpose();
                const Matrix<double> ov = read(TensorKind::W_V, group) * read(TensorKind::W_O, head);
                const Matrix<double> expectedQk =
                    test::matrixOf(expected.W_Q) * test::matrixOf(expected.W_K).transpose();
                const Matrix<double> expectedOv = test::matrixOf(expected.W_V) * test::matrixOf(expected.W_O);
                QVERIFY(test::isClose(qk, expectedQk, 1e-12));
                QVERIFY(test::isClose(ov, expectedOv, 1e-12));
            }
    }

    /// The circuits, and a forward pass.
    void check(const std::filesystem::path& folder, const std::map<std::string, std::string>& said) const
    {
        checkCircuits(folder, said);
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        const auto expected =
            test::matrixOf(test::referenceForward(root() / "reference", namedPrompt).logits);
        const auto run = test::ran<double>(test::raw(*weights), namedPrompt);
        QVERIFY(test::isClose(run.logits, expected, 1e-10));
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    test::ToyOptions m_options;
};

} // namespace headwise::test
