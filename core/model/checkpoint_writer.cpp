#include "core/model/checkpoint_writer.h"

#include "core/checkpoint/file_change.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/files/file_write.h"
#include "core/model/merges.h"
#include "core/model/model_folder.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

namespace headwise {

namespace {

namespace fs = std::filesystem;

constexpr Eigen::Index checkpointWriterBlockSize = 2048; // tokens at a time

/// Where the numbers of one tensor go.
struct Sink {
    SafetensorsWriter& writer;
    std::size_t entry;

    template <typename Scalar>
    Result<Done> put(std::int64_t first, const Matrix<Scalar>& m) const
    {
        const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = m;
        return writer.write(entry, first,
                            std::span<const Scalar>(rows.data(), static_cast<std::size_t>(rows.size())));
    }
};

/// A tensor and how its numbers come about; nothing is read before `write` is called.
struct Tensor {
    SafetensorsEntry entry;
    std::function<Result<Done>(const Sink&)> write;
};

/// All tensors of a model in TransformerLens' names, float or double.
template <typename Scalar>
class TensorList {
public:
    explicit TensorList(const ProcessedWeights& weights)
        : m_weights(weights)
        , m_config(weights.config())
    {
        addEmbeddings();
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            const std::string block = fmt::format("blocks.{}.", layer);
            addNorm(block + "ln1", m_config.norm, m_config.dModel,
                    [this, layer] { return m_weights.ln1<double>(layer); });
            if (m_config.hasPostNorms)
                addPostNorms(block, layer);
            addAttention(block + "attn.", layer);
            if (m_config.attentionOnly)
                continue;
            addNorm(block + "ln2", m_config.norm, m_config.dModel,
                    [this, layer] { return m_weights.ln2<double>(layer); });
            addMlp(block + "mlp.", layer);
        }
        addNorm("ln_final", m_config.finalNorm, m_config.dModel,
                [this] { return m_weights.lnFinal<double>(); });
        addUnembedding();
    }

    std::vector<Tensor> tensors;

private:
    using Heads = std::vector<HeadWeights<Scalar>>;
    using MlpPointer = std::shared_ptr<std::optional<MlpWeights<Scalar>>>;

    void add(std::string name, std::vector<std::int64_t> shape,
             std::function<Result<Done>(const Sink&)> write)
    {
        tensors.push_back({{std::move(name), std::move(shape)}, std::move(write)});
    }

    void addVector(std::string name, std::int64_t size, std::function<RowVector<Scalar>()> read)
    {
        add(std::move(name), {size},
            [read = std::move(read)](const Sink& sink) { return sink.put(0, Matrix<Scalar>(read())); });
    }

    void addRows(std::string name, std::int64_t count,
                 std::function<Matrix<Scalar>(Eigen::Index, Eigen::Index)> read)
    {
        const std::int64_t d = m_config.dModel;
        add(std::move(name), {count, d},
            [count, d, read = std::move(read)](const Sink& sink) -> Result<Done> {
                for (Eigen::Index first = 0; first < count; first += checkpointWriterBlockSize)
                    if (const auto done = sink.put(
                            first * d,
                            read(first, std::min<Eigen::Index>(checkpointWriterBlockSize, count - first)));
                        !done)
                        return done;
                return Done{};
            });
    }

    void addEmbeddings()
    {
        addRows("embed.W_E", m_config.dVocab, [this](Eigen::Index first, Eigen::Index count) {
            return m_weights.W_E<Scalar>(first, count);
        });
        if (m_config.positional == Positional::Learned)
            addRows("pos_embed.W_pos", m_config.nCtx, [this](Eigen::Index first, Eigen::Index count) {
                return m_weights.W_pos<Scalar>(first, count);
            });
    }

    void addUnembedding()
    {
        const std::int64_t d = m_config.dModel;
        const std::int64_t V = m_config.dVocabOut;
        add("unembed.W_U", {d, V}, [this, d, V](const Sink& sink) -> Result<Done> {
            for (Eigen::Index first = 0; first < V; first += checkpointWriterBlockSize) {
                const Eigen::Index count = std::min<Eigen::Index>(checkpointWriterBlockSize, V - first);
                const Matrix<Scalar> block = m_weights.W_U<Scalar>(first, count);
                for (Eigen::Index row = 0; row < d; ++row)
                    if (const auto done = sink.put(row * V + first, Matrix<Scalar>(block.row(row))); !done)
                        return done;
            }
            return Done{};
        });
        addVector("unembed.b_U", V, [this, V] { return m_weights.b_U<Scalar>(0, V); });
    }

    void addNorm(const std::string& name, NormKind kind, std::int64_t size,
                 const std::function<Norm<double>()>& read)
    {
        if (kind != NormKind::None && m_config.normHasParameters)
            addNormParameters(name, kind, size, read);
    }

    void addNormParameters(const std::string& name, NormKind kind, std::int64_t size,
                           const std::function<Norm<double>()>& read)
    {
        const double offset = kind == NormKind::Rms && m_config.rmsUsesOffset ? 1 : 0;
        addVector(name + ".w", size, [read, size, offset]() -> RowVector<Scalar> {
            RowVector<double> w = read().w;
            if (w.size() == 0)
                w = RowVector<double>::Ones(size);
            return (w.array() - offset).matrix().template cast<Scalar>();
        });
        if (kind != NormKind::LayerNorm)
            return;
        addVector(name + ".b", size, [read, size]() -> RowVector<Scalar> {
            const RowVector<double> b = read().b;
            return b.size() == 0 ? RowVector<Scalar>::Zero(size) : RowVector<Scalar>(b.cast<Scalar>());
        });
    }

    /// Adds a norm of queries or keys. It is never folded, so it is always written.
    void addQkNorm(std::string name, std::function<RowVector<double>()> read)
    {
        const double offset = m_config.rmsUsesOffset ? 1 : 0;
        addVector(std::move(name), m_config.dHead, [read = std::move(read), offset]() -> RowVector<Scalar> {
            return (read().array() - offset).matrix().template cast<Scalar>();
        });
    }

    void addPostNorms(const std::string& block, int layer)
    {
        addNorm(block + "ln1_post", m_config.norm, m_config.dModel,
                [this, layer] { return m_weights.ln1Post<double>(layer); });
        addNorm(block + "ln2_post", m_config.norm, m_config.dModel,
                [this, layer] { return m_weights.ln2Post<double>(layer); });
    }

    /// A tensor of `shape` [heads, …] made of one matrix or vector per head. The heads of a layer are read once, for its first tensor,
    /// and forgotten with its last.
    void addHeads(std::string name, int layer, std::vector<std::int64_t> shape, bool last,
                  std::function<Matrix<Scalar>(const HeadWeights<Scalar>&)> part)
    {
        const int heads = static_cast<int>(shape[0]);
        const int perHead = m_config.nHeads / heads;
        const std::int64_t size = shape.size() == 2 ? shape[1] : shape[1] * shape[2];
        add(std::move(name), std::move(shape),
            [this, layer, heads, perHead, size, last,
             part = std::move(part)](const Sink& sink) -> Result<Done> {
                readHeads(layer);
                for (int head = 0; head < heads; ++head)
                    if (const auto done = sink.put(
                            head * size,
                            part(
                                m_heads[static_cast<std::size_t>(head) * static_cast<std::size_t>(perHead)]));
                        !done)
                        return done;
                if (last)
                    m_heads.clear();
                return Done{};
            });
    }

    void readHeads(int layer)
    {
        for (int head = static_cast<int>(m_heads.size()); head < m_config.nHeads; ++head)
            m_heads.push_back(m_weights.head<Scalar>(HeadId{layer, head}));
    }

    void addAttention(const std::string& name, int layer)
    {
        using Head = HeadWeights<Scalar>;
        const std::int64_t d = m_config.dModel;
        const std::int64_t r = m_config.dHead;
        const int n = m_config.nHeads;
        const int k = m_config.nKvHeads;
        const std::string kv = name + (isGrouped(m_weights) ? "_" : "");
        const bool hasQ = m_config.merged != MergePair::QP, hasK = m_config.merged != MergePair::KP,
                   hasV = m_config.merged != MergePair::VP;
        if (hasQ)
            addHeads(name + "W_Q", layer, {n, d, r}, false, [](const Head& h) { return h.W_Q; });
        if (hasK)
            addHeads(kv + "W_K", layer, {k, d, r}, false, [](const Head& h) { return h.W_K; });
        if (hasV)
            addHeads(kv + "W_V", layer, {k, d, r}, false, [](const Head& h) { return h.W_V; });
        if (!m_config.merged)
            addHeads(name + "W_O", layer, {n, r, d}, false, [](const Head& h) { return h.W_O; });
        if (hasQ)
            addHeads(name + "b_Q", layer, {n, r}, false, [](const Head& h) { return Matrix<Scalar>(h.b_Q); });
        if (hasK)
            addHeads(kv + "b_K", layer, {k, r}, !hasV, [](const Head& h) { return Matrix<Scalar>(h.b_K); });
        if (hasV)
            addHeads(kv + "b_V", layer, {k, r}, true, [](const Head& h) { return Matrix<Scalar>(h.b_V); });
        if (!m_config.merged)
            addVector(name + "b_O", d, [this, layer] { return m_weights.b_O<Scalar>(layer); });
        if (m_config.qkNorm == NormKind::None)
            return;
        addQkNorm(name + "q_norm.w", [this, layer] { return m_weights.head<double>({layer, 0}).qNorm.w; });
        addQkNorm(name + "k_norm.w", [this, layer] { return m_weights.head<double>({layer, 0}).kNorm.w; });
    }

    void addMlpPart(std::string name, std::vector<std::int64_t> shape, const MlpPointer& mlp, int layer,
                    std::function<Matrix<Scalar>(const MlpWeights<Scalar>&)> part)
    {
        add(std::move(name), std::move(shape), [this, mlp, layer, part = std::move(part)](const Sink& sink) {
            if (!*mlp)
                *mlp = m_weights.mlp<Scalar>(layer);
            return sink.put(0, part(**mlp));
        });
    }

    void addMlp(const std::string& name, int layer)
    {
        using Mlp = MlpWeights<Scalar>;
        const std::int64_t d = m_config.dModel, width = m_config.attentionWidth();
        const std::int64_t f = m_config.dMlp;
        const auto mlp = std::make_shared<std::optional<Mlp>>();
        if (m_config.activation == Activation::SoluLn && m_config.norm == NormKind::LayerNorm)
            addNorm(name + "ln", NormKind::LayerNorm, f,
                    [this, layer] { return m_weights.mlp<double>(layer).ln; });
        else if (m_weights.original().has(TensorKind::mlp_ln_w, layer)
                 && !m_weights.plan().applied.foldLayerNorm)
            addNormParameters(name + "ln", NormKind::LayerNorm, f,
                              [this, layer] { return m_weights.mlp<double>(layer).ln; });
        addMlpPart(name + "W_in", {width, f}, mlp, layer, [](const Mlp& m) { return m.W_in; });
        addMlpPart(name + "b_in", {f}, mlp, layer, [](const Mlp& m) { return Matrix<Scalar>(m.b_in); });
        if (m_config.gatedMlp) {
            addMlpPart(name + "W_gate", {width, f}, mlp, layer, [](const Mlp& m) { return m.W_gate; });
            addGateBiases(name, layer);
        }
        addMlpPart(name + "b_out", {d}, mlp, layer, [](const Mlp& m) { return Matrix<Scalar>(m.b_out); });
        add(name + "W_out", {f, d}, [this, mlp, layer](const Sink& sink) {
            const Mlp last = *mlp ? std::move(**mlp) : m_weights.mlp<Scalar>(layer);
            mlp->reset();
            return sink.put(0, last.W_out);
        });
    }

    /// Adds our two keys, for which TransformerLens has no parameters. Omits them if the model has no such bias.
    void addGateBiases(const std::string& name, int layer)
    {
        using enum TensorKind;
        const ModelWeights& file = m_weights.original();
        const Processing& applied = m_weights.plan().applied;
        const bool folded =
            applied.foldLayerNorm && applied.foldBiases && m_config.norm == NormKind::LayerNorm;
        const std::int64_t f = m_config.dMlp;
        // A merged b_O, which may have taken b_V up, goes through W_gate and W_in.
        const bool takesUp = m_config.merged && !file.config().merged
            && (file.has(TensorKind::b_O, layer) || (applied.foldValueBiases && file.has(b_V, layer)));
        if (folded || takesUp || file.has(b_gate, layer))
            addVector(name + "b_gate", f, [this, layer] { return m_weights.mlp<Scalar>(layer).b_gate; });
        if (folded || takesUp || file.has(b_up, layer))
            addVector(name + "b_up", f, [this, layer] { return m_weights.mlp<Scalar>(layer).b_up; });
    }

    const ProcessedWeights& m_weights;
    const ModelConfig& m_config;
    Heads m_heads; ///< Heads of the layer being written.
};

template <typename Scalar>
Result<Done> writeCheckpointTensors(const ProcessedWeights& weights, const fs::path& file, const Task& task)
{
    const TensorList<Scalar> list(weights);
    std::vector<SafetensorsEntry> entries;
    for (const Tensor& tensor : list.tensors)
        entries.push_back(tensor.entry);
    auto writer = SafetensorsWriter::create(
        file, entries, sizeof(Scalar) == 8 ? SafetensorsWriter::Dtype::F64 : SafetensorsWriter::Dtype::F32);
    if (!writer)
        return writer.error();
    SafetensorsWriter open = std::move(writer).value();
    const auto count = list.tensors.size();
    for (std::size_t i = 0; i < count; ++i) {
        if (task.cancelled())
            return stopped();
        if (const auto done = list.tensors[i].write({open, i}); !done)
            return done;
        task.report(static_cast<int>(i + 1), static_cast<int>(count), "tensors");
    }
    return open.close();
}

Result<Done> writeFiles(const ProcessedWeights& weights, const fs::path& folder, const Task& task)
{
    const ProcessedWeights stored = weights.asStored();
    const fs::path file = folder / "model.safetensors";
    const auto tensors = weights.config().isFloat64 ? writeCheckpointTensors<double>(stored, file, task)
                                                    : writeCheckpointTensors<float>(stored, file, task);
    if (!tensors)
        return tensors;
    if (const Result<Done> unchanged = checkUnchanged(weights.original().file()); !unchanged)
        return unchanged;
    const MergeSource source = weights.config().merged ? mergeSource(weights.original()) : MergeSource();
    return replaceFile(folder / "config.json",
                       transformerLensConfig(weights.config(), isGrouped(weights), source));
}

} // namespace

Result<Done> writeTransformerLensFolder(const ProcessedWeights& weights, const OriginalFiles& original,
                                        const fs::path& folder, ExistingFolder existing, const Task& task)
{
    if (std::string reason = whyNotTransformerLens(weights.config()); !reason.empty())
        return Error{ErrorCode::Unsupported, std::move(reason)};
    return writeModelFolder(original, folder, existing,
                            [&](const fs::path& beside) { return writeFiles(weights, beside, task); });
}

} // namespace headwise
