#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/file_change.h"
#include "core/checkpoint/number_formats.h"
#include "core/checkpoint/packed_weight.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/files/file_write.h"
#include "core/files/json.h"
#include "core/model/checkpoint_writer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace headwise {

namespace {

namespace fs = std::filesystem;
using enum TensorKind;
using Key = ModelWeights::Key;

constexpr std::int64_t blockNumbers = 1 << 21; // numbers at a time

/// Tensors that no processing touches; they are copied.
bool staysAsStored(TensorKind kind)
{
    switch (kind) {
    case ln1_post_w:
    case ln1_post_b:
    case ln2_post_w:
    case ln2_post_b:
    case q_norm_w:
    case k_norm_w:
    case ln_embed_w:
    case ln_embed_b:
    case b_E:
    case W_Eproj:
    case W_Uproj:
    case W_head:
    case b_head:
    case b_Eproj:
    case W_UK:
    case W_UV:
    case q_latent_w:
    case kv_latent_w:
    case b_rel:
    case router_correction:
    case ln_head_w:
    case ln_head_b:
    case sink_logit: return true;
    default: return false;
    }
}

/// The processed model's canonical tensors in the numbers a file of its family has.
template <typename Scalar>
class CanonicalTensors {
public:
    explicit CanonicalTensors(const ProcessedWeights& weights)
        : m_weights(weights)
        , m_file(weights.original())
    {
    }

    /// Returns a whole tensor in the numbers of the file. Not for W_E, W_pos and W_U, which are too large.
    Matrix<Scalar> operator()(TensorKind kind, int layer, int head)
    {
        return stored(kind, canonical(kind, layer, head));
    }

    /// Rows of W_E and W_pos, and of W_Uᵀ: a row a token or position.
    Matrix<Scalar> rows(TensorKind kind, Eigen::Index first, Eigen::Index count) const
    {
        if (kind == W_U && (m_file.has(W_Uproj) || m_file.form(W_U).hasUnitColumns))
            return m_file.readColumns<Scalar>(W_U, first, count).transpose();
        if (kind == W_U)
            return stored(W_U, m_weights.W_U<Scalar>(first, count).transpose());
        if (kind == W_pos && m_file.config().normsNarrowEmbeddings())
            return m_file.readRows<Scalar>(W_pos, first, count);
        if (kind == W_pos && m_file.config().positionsOverRoot)
            return (m_weights.W_pos<double>(first, count) * std::sqrt(m_file.config().dModel))
                .template cast<Scalar>();
        if (kind == W_pos)
            return m_weights.W_pos<Scalar>(first, count);
        // The family scales, projects and normalises the embedding itself.
        const ModelConfig& c = m_file.config();
        if (c.embeddingNorm != NormKind::None || m_file.has(W_Eproj) || m_file.has(b_E))
            return m_file.readRows<Scalar>(W_E, first, count);
        return (m_weights.W_E<double>(first, count) / c.embeddingScale).template cast<Scalar>();
    }

private:
    Matrix<Scalar> stored(TensorKind kind, Matrix<Scalar> numbers) const
    {
        const StoredForm form = m_file.form(kind);
        if (form != StoredForm{})
            numbers =
                ((numbers.array() - static_cast<Scalar>(form.addend)) / static_cast<Scalar>(form.factor))
                    .eval();
        return numbers;
    }

    Matrix<Scalar> canonical(TensorKind kind, int layer, int head)
    {
        switch (kind) {
        case W_Q: return heads(layer)[index(head)].W_Q;
        case b_Q: return heads(layer)[index(head)].b_Q;
        case W_O: return heads(layer)[index(head)].W_O;
        case W_K: return heads(layer)[grouped(head)].W_K;
        case b_K: return heads(layer)[grouped(head)].b_K;
        case W_V: return heads(layer)[grouped(head)].W_V;
        case b_V: return heads(layer)[grouped(head)].b_V;
        case b_O: return m_weights.b_O<Scalar>(layer);
        case W_DQ: return m_weights.latents<Scalar>(layer).W_DQ;
        case W_DKV: return m_weights.latents<Scalar>(layer).W_DKV;
        case W_KR: return heads(layer)[0].W_K.leftCols(m_file.config().rotary.dim);
        case W_UQ:
        case W_QR: return queries(kind, layer, head);
        case W_in: return expert(layer, head).W_in;
        case b_in: return expert(layer, head).b_in;
        case W_gate: return expert(layer, head).W_gate;
        case b_gate: return expert(layer, head).b_gate;
        case b_up: return expert(layer, head).b_up;
        case W_out: return expert(layer, head).W_out;
        case b_out: return expert(layer, head).b_out;
        case W_router: return mlp(layer).W_router;
        case b_router: return mlp(layer).b_router;
        case b_U:
            return m_file.has(W_Uproj) ? m_file.read<Scalar>(b_U)
                                       : Matrix<Scalar>(m_weights.b_U<Scalar>(0, m_file.config().dVocabOut));
        default: return normTensor(kind, layer);
        }
    }

    /// The columns of W_Q where queries read the residual stream; with a latent, what is behind its norm stays.
    Matrix<Scalar> queries(TensorKind kind, int layer, int head)
    {
        if (m_file.has(W_DQ, layer))
            return m_file.read<Scalar>(kind, layer, head);
        const Eigen::Index rotated = m_file.config().rotary.dim;
        const Matrix<Scalar>& W = heads(layer)[index(head)].W_Q;
        return kind == W_QR ? Matrix<Scalar>(W.leftCols(rotated))
                            : Matrix<Scalar>(W.rightCols(W.cols() - rotated));
    }

    static std::size_t index(int head) { return static_cast<std::size_t>(head); }
    std::size_t grouped(int head) const
    {
        return index(head * (m_file.config().nHeads / m_file.config().nKvHeads));
    }

    const std::vector<HeadWeights<Scalar>>& heads(int layer)
    {
        if (m_headsLayer != layer) {
            m_heads.clear();
            for (int head = 0; head < m_file.config().nHeads; ++head)
                m_heads.push_back(m_weights.head<Scalar>({layer, head}));
            m_headsLayer = layer;
        }
        return m_heads;
    }

    const MlpWeights<Scalar>& mlp(int layer)
    {
        if (m_mlpLayer != layer)
            m_mlp = m_weights.mlp<Scalar>(layer);
        m_mlpLayer = layer;
        return m_mlp;
    }

    /// The MLP itself, or one of its experts.
    const MlpWeights<Scalar>& expert(int layer, int number)
    {
        const MlpWeights<Scalar>& whole = mlp(layer);
        return whole.experts.empty() ? whole : whole.experts[index(number)];
    }

    Norm<double> norm(TensorKind kind, int layer)
    {
        if (kind == ln1_w || kind == ln1_b)
            return m_weights.ln1<double>(layer);
        if (kind == ln2_w || kind == ln2_b)
            return m_weights.ln2<double>(layer);
        if (kind == ln_final_w || kind == ln_final_b)
            return m_weights.lnFinal<double>();
        return m_weights.mlp<double>(layer).ln;
    }

    /// A folded norm is the identity: its factor 1 is stored as 1, or as 0 where the family adds 1.
    Matrix<Scalar> normTensor(TensorKind kind, int layer)
    {
        const Norm<double> left = norm(kind, layer);
        const bool isBias = kind == ln1_b || kind == ln2_b || kind == ln_final_b || kind == mlp_ln_b;
        const Eigen::Index size =
            kind == mlp_ln_w || kind == mlp_ln_b ? m_file.config().dMlp : m_file.config().dModel;
        if (isBias)
            return left.b.size() > 0 ? Matrix<Scalar>(left.b.cast<Scalar>())
                                     : Matrix<Scalar>(Matrix<Scalar>::Zero(1, size));
        const double offset = left.kind == NormKind::Rms && m_file.config().rmsUsesOffset ? 1 : 0;
        const RowVector<double> w =
            left.w.size() > 0 ? left.w : RowVector<double>(RowVector<double>::Ones(size));
        return (w.array() - offset).matrix().template cast<Scalar>();
    }

    const ProcessedWeights& m_weights;
    const ModelWeights& m_file;
    std::vector<HeadWeights<Scalar>> m_heads;
    MlpWeights<Scalar> m_mlp;
    int m_headsLayer = -1, m_mlpLayer = -1;
};

/// One tensor of the new file.
struct Target {
    SafetensorsEntry entry;
    int stored = -1; ///< The tensor it is copied from before `parts` are written over it; -1: none.
    std::vector<std::pair<Key, TensorView>> parts = {};
};

/// All tensors of floating-point numbers the original has, and W_U where it had none of its own.
std::vector<Target> targetsOf(const ModelWeights& file)
{
    std::map<int, std::vector<std::pair<Key, TensorView>>> parts;
    for (const auto& [key, view] : file.views())
        if (!staysAsStored(std::get<0>(key)))
            parts[view.tensor].emplace_back(key, view);
    const auto embedding = file.views().find(Key{W_E, 0, 0});
    const auto unembedding = file.views().find(Key{W_U, 0, 0});
    const bool hasBoth = embedding != file.views().end() && unembedding != file.views().end();
    const bool shared = hasBoth && embedding->second.tensor == unembedding->second.tensor;

    std::vector<Target> targets;
    for (int i = 0; i < static_cast<int>(file.file().tensors().size()); ++i) {
        const StoredTensor& tensor = file.file().tensors()[static_cast<std::size_t>(i)];
        if (!isReadableFloat(tensor.dtype) && blockSize(tensor.dtype).numbers == 0 && !isPacked(tensor.dtype))
            continue;
        Target target{{tensor.name, tensor.shape}, i, parts[i]};
        if (shared && i == embedding->second.tensor) {
            target.entry.name = file.embeddingNames().input;
            std::erase_if(target.parts, [](const auto& part) { return std::get<0>(part.first) == W_U; });
        }
        targets.push_back(std::move(target));
    }
    if (!shared)
        return targets;
    const TensorView& view = unembedding->second;
    targets.push_back({{file.embeddingNames().output, {view.cols, view.rows}},
                       -1,
                       {{Key{W_U, 0, 0}, {-1, 0, 1, view.rows, view.rows, view.cols}}}});
    return targets;
}

template <typename Scalar>
class OriginalFile {
public:
    OriginalFile(const ProcessedWeights& weights, SafetensorsWriter& writer)
        : m_file(weights.original())
        , m_tensors(weights)
        , m_writer(writer)
    {
    }

    Result<Done> write(std::size_t entry, const Target& target)
    {
        const auto isTable = [](const auto& part) {
            const TensorKind kind = std::get<0>(part.first);
            return kind == W_E || kind == W_pos || kind == W_U;
        };
        if (std::ranges::any_of(target.parts, isTable))
            return writeTable(entry, target);
        if (target.parts.empty())
            return copy(entry, target, 0, elements(target));
        return writeWhole(entry, target);
    }

private:
    static std::int64_t elements(const Target& target)
    {
        std::int64_t count = 1;
        for (const std::int64_t size : target.entry.shape)
            count *= size;
        return count;
    }

    Result<Done> put(std::size_t entry, std::int64_t first, const Scalar* numbers, std::int64_t count)
    {
        return m_writer.write(entry, first,
                              std::span<const Scalar>(numbers, static_cast<std::size_t>(count)));
    }

    /// Copies the numbers [first, end) from the original.
    Result<Done> copy(std::size_t entry, const Target& target, std::int64_t first, std::int64_t end)
    {
        Matrix<Scalar> numbers;
        for (; first < end; first += blockNumbers) {
            const std::int64_t count = std::min(blockNumbers, end - first);
            m_file.file().read({target.stored, first, count, 1, 1, count}, numbers);
            if (const auto done = put(entry, first, numbers.data(), count); !done)
                return done;
        }
        return Done{};
    }

    /// Writes a table by blocks of rows. Rows that the model does not use stay as they were.
    Result<Done> writeTable(std::size_t entry, const Target& target)
    {
        const auto& [key, view] = target.parts.front();
        const TensorKind kind = std::get<0>(key);
        const std::int64_t width = kind == W_U ? view.rows : view.cols;
        const std::int64_t rows = kind == W_U ? view.cols : view.rows;
        if (target.stored >= 0) {
            if (const auto done = copy(entry, target, 0, view.offset); !done)
                return done;
            if (const auto done = copy(entry, target, view.offset + rows * width, elements(target)); !done)
                return done;
        }
        const std::int64_t step = std::max<std::int64_t>(1, blockNumbers / width);
        for (std::int64_t first = 0; first < rows; first += step) {
            const std::int64_t count = std::min(step, rows - first);
            const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> block =
                m_tensors.rows(kind, first, count);
            if (const auto done = put(entry, view.offset + first * width, block.data(), block.size()); !done)
                return done;
        }
        return Done{};
    }

    Result<Done> writeWhole(std::size_t entry, const Target& target)
    {
        const std::int64_t count = elements(target);
        Matrix<Scalar> numbers;
        m_file.file().read({target.stored, 0, count, 1, 1, count}, numbers);
        for (const auto& [key, view] : target.parts) {
            const Matrix<Scalar> part = m_tensors(std::get<0>(key), std::get<1>(key), std::get<2>(key));
            for (Eigen::Index col = 0; col < view.cols; ++col)
                for (Eigen::Index row = 0; row < view.rows; ++row)
                    numbers.data()[view.offset + row * view.rowStride + col * view.colStride] =
                        part(row, col);
        }
        return put(entry, 0, numbers.data(), count);
    }

    const ModelWeights& m_file;
    CanonicalTensors<Scalar> m_tensors;
    SafetensorsWriter& m_writer;
};

template <typename Scalar>
Result<Done> writeOriginalTensors(const ProcessedWeights& weights, const fs::path& file, const Task& task)
{
    const std::vector<Target> targets = targetsOf(weights.original());
    std::vector<SafetensorsEntry> entries;
    entries.reserve(targets.size());
    for (const Target& target : targets)
        entries.push_back(target.entry);
    auto created = SafetensorsWriter::create(
        file, entries, sizeof(Scalar) == 8 ? SafetensorsWriter::Dtype::F64 : SafetensorsWriter::Dtype::F32);
    if (!created)
        return created.error();
    SafetensorsWriter writer = std::move(created).value();
    OriginalFile<Scalar> original(weights, writer);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        if (task.cancelled())
            return stopped();
        if (const auto done = original.write(i, targets[i]); !done)
            return done;
        task.report(static_cast<int>(i + 1), static_cast<int>(targets.size()), "tensors");
    }
    return writer.close();
}

std::string untiedConfig(const ModelWeights& file)
{
    nlohmann::json config = jsonValue(file.configText());
    config["tie_word_embeddings"] = false;
    config.erase("quantization_config"); // the numbers are written out
    config["torch_dtype"] = file.config().isFloat64 ? "float64" : "float32";
    return jsonText(config, 2) + "\n";
}

} // namespace

Result<Done> writeOriginalFolder(const ProcessedWeights& weights, const OriginalFiles& original,
                                 const fs::path& folder, ExistingFolder existing, const Task& task)
{
    const ModelWeights& model = weights.original();
    // A TransformerLens file stores the canonical tensors themselves: it has no names of its own for W_E and W_U.
    if (model.embeddingNames().input.empty())
        return writeTransformerLensFolder(weights, original, folder, existing, task);
    return writeModelFolder(original, folder, existing, [&](const fs::path& beside) -> Result<Done> {
        const fs::path file = beside / "model.safetensors";
        const auto tensors = model.config().isFloat64 ? writeOriginalTensors<double>(weights, file, task)
                                                      : writeOriginalTensors<float>(weights, file, task);
        if (!tensors)
            return tensors;
        if (const Result<Done> unchanged = checkUnchanged(model.file()); !unchanged)
            return unchanged;
        return replaceFile(beside / "config.json", untiedConfig(model));
    });
}

} // namespace headwise
