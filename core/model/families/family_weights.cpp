#include "core/model/families/family.h"

namespace headwise {
namespace {

using enum TensorKind;

/// The recipes of one model, by the row of its family.
class FamilyRecipes {
public:
    FamilyRecipes(const Family& family, RecipeBook& book)
        : m_family(family)
        , m_names(family.tensors)
        , m_book(book)
        , m_config(book.config())
        , m_prefix(prefix())
    {
    }

    /// \returns why the file is none of this family, a sentence; else ""
    std::string add()
    {
        if (m_family.code.obstacle)
            if (std::string obstacle = m_family.code.obstacle(m_book, m_prefix); !obstacle.empty())
                return obstacle;
        addOnes();
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            const std::string block = m_prefix + std::string(m_names.layers) + std::to_string(layer) + ".";
            addNorms(block, layer);
            if (m_family.code.addAttention)
                m_family.code.addAttention(m_book, block, layer);
            else
                addAttention(block, layer);
            if (m_family.code.addMlp)
                m_family.code.addMlp(m_book, block, layer);
            else
                addMlp(block, layer);
        }
        addNorm(m_prefix, m_names.norms.last, m_config.finalNorm, {ln_final_w, ln_final_b});
        return {};
    }

private:
    bool hasStem(const std::string& prefix) const
    {
        const std::string first = prefix + std::string(m_names.layers) + "0.";
        return (!m_names.embedding.empty()
                && m_book.isStored(prefix + std::string(m_names.embedding) + ".weight"))
            || m_book.isStored(first + std::string(m_names.attention.o) + ".weight");
    }

    std::string prefix() const
    {
        for (const std::string_view prefix : m_names.prefixes)
            if (hasStem(std::string(prefix)))
                return std::string(prefix);
        return std::string(m_names.prefixes[m_names.prefixes.size() - 1]);
    }

    /// NAME.weight and, for a LayerNorm, NAME.bias; nothing if this model's norms have no parameters.
    void addNorm(const std::string& before, std::string_view name, NormKind kind, LinearTarget target)
    {
        if (name.empty() || kind == NormKind::None || !m_config.normHasParameters)
            return;
        const Names& suffixes = m_names.norms.suffixes;
        const std::string stem = before + std::string(name);
        const bool isOld = suffixes.size() == 4 && m_book.isStored(stem + std::string(suffixes[2]));
        const std::string weight = stem + std::string(suffixes[isOld ? 2 : 0]);
        const std::string bias = stem + std::string(suffixes[isOld ? 3 : 1]);
        m_book.requireVector(target.weight, target.layer, weight, m_config.dModel);
        if (kind == NormKind::LayerNorm && m_family.norms.bias == StoredBias::Present)
            m_book.requireVector(target.bias, target.layer, bias, m_config.dModel);
        else if (kind == NormKind::LayerNorm && m_family.norms.bias == StoredBias::AsStored)
            m_book.acceptVector(target.bias, target.layer, bias, m_config.dModel);
    }

    /// Embeddings, positions, and what else a model has once.
    void addOnes()
    {
        // Saved as a part of a multimodal model by older versions, the output has a prefix too.
        const std::string before = m_prefix.starts_with("language_model.") ? "language_model." : "";
        const std::string output = before + std::string(m_names.output);
        if (!m_names.embedding.empty())
            m_book.addTiedEmbeddings(m_prefix + std::string(m_names.embedding) + ".weight",
                                     output + ".weight");
        if (!m_names.positions.empty())
            m_book.addPositions(m_prefix + std::string(m_names.positions) + ".weight",
                                m_names.skippedPositions);
        if (m_family.biases.unembed)
            m_book.requireVector(b_U, 0, output + ".bias", m_config.dVocabOut);
        addNorm(m_prefix, m_names.norms.embedding, m_config.embeddingNorm, {ln_embed_w, ln_embed_b});
        if (m_family.code.addToModel)
            m_family.code.addToModel(m_book, m_prefix);
    }

    void addNorms(const std::string& block, int layer)
    {
        const FamilyTensors::NormNames& names = m_names.norms;
        const bool isApart = m_config.parallelBlocks && !names.parallel.empty()
            && m_book.isStored(block + std::string(names.parallel[0]) + ".weight");
        const bool isShared = m_config.parallelBlocks && m_family.norms.oneIfParallel && !isApart;
        if (m_config.hasPreNorms) {
            addNorm(block, isApart ? names.parallel[0] : names.ln1, m_config.norm, {ln1_w, ln1_b, layer});
            if (!isShared)
                addNorm(block, isApart ? names.parallel[1] : names.ln2, m_config.norm, {ln2_w, ln2_b, layer});
        }
        if (m_config.hasPostNorms || m_config.hasSumNorms) {
            addNorm(block, names.ln1Post, m_config.norm, {ln1_post_w, ln1_post_b, layer});
            addNorm(block, names.ln2Post, m_config.norm, {ln2_post_w, ln2_post_b, layer});
        }
    }

    static StoredBias biasOf(const BiasRule& rule, std::optional<bool> announced)
    {
        return rule.key.empty() ? rule.stored : storedBias(announced);
    }

    StoredLinear linear(const std::string& block, std::string_view name, const LinearForm& form)
    {
        return requireLinear(m_book, block + std::string(name), form);
    }

    void addAttention(const std::string& block, int layer)
    {
        const FamilyTensors::AttentionNames& names = m_names.attention;
        const Eigen::Index m = m_config.dModel, h = m_config.dHead;
        const Eigen::Index q = m_config.nHeads * h, kv = m_config.nKvHeads * h;
        const FamilyBiases& biases = m_family.biases;
        const StoredBias bias = biasOf(biases.attention, m_config.attentionBiases);
        const StoredBias outputBias = biases.output ? biases.output->stored : bias;
        const bool isConv1d = m_names.isConv1d;
        // A GGUF has the parts of a Falcon with groups apart.
        const bool areApart = m_book.isStored(block + std::string(names.q) + ".weight");
        if (!names.qkv.empty() && !areApart) {
            addFused(linear(block, names.qkv, {q + 2 * kv, m, bias, isConv1d}), layer);
        } else {
            const auto add = [&](std::string_view name, int heads, LinearTarget target) {
                addHeads(m_book, linear(block, name, {heads * h, m, bias, isConv1d}), target, heads);
            };
            add(names.q, m_config.nHeads, {W_Q, b_Q, layer});
            add(names.k, m_config.nKvHeads, {W_K, b_K, layer});
            add(names.v, m_config.nKvHeads, {W_V, b_V, layer});
        }
        addOutputHeads(m_book, linear(block, names.o, {m, q, outputBias, isConv1d}), layer);
        // Nothing in the norms bounds the number of heads; the matrices did not have it.
        if (m_book.hasFaults() || m_config.qkNorm == NormKind::None)
            return;
        addQkNorm(block + std::string(names.qNorm), layer, m_config.nHeads, q_norm_w);
        addQkNorm(block + std::string(names.kNorm), layer, m_config.nKvHeads, k_norm_w);
    }

    void addFused(const StoredLinear& fused, int layer)
    {
        const Eigen::Index h = m_config.dHead;
        const LinearTarget q{W_Q, b_Q, layer}, k{W_K, b_K, layer}, v{W_V, b_V, layer};
        if (!fused.hasWeight && !fused.hasBias)
            return;
        if (m_names.attention.order == FusedOrder::Thirds) {
            addHeads(m_book, fused, q, m_config.nHeads);
            addHeads(m_book, fused, k, m_config.nKvHeads, m_config.nHeads * h);
            addHeads(m_book, fused, v, m_config.nKvHeads, (m_config.nHeads + m_config.nKvHeads) * h);
            return;
        }
        const int perGroup = m_config.nHeads / m_config.nKvHeads;
        const auto addHead = [&](LinearTarget target, int head, Eigen::Index place) {
            target.head = head;
            addOutputs(m_book, fused, target, place * h, h);
        };
        for (int group = 0; group < m_config.nKvHeads; ++group) {
            const Eigen::Index first = Eigen::Index(group) * (perGroup + 2);
            for (int i = 0; i < perGroup; ++i)
                addHead(q, group * perGroup + i, first + i);
            addHead(k, group, first + perGroup);
            addHead(v, group, first + perGroup + 1);
        }
    }

    void addQkNorm(const std::string& name, int layer, int heads, TensorKind kind)
    {
        const Eigen::Index h = m_config.dHead;
        const HeadNorms stored = m_names.attention.norms;
        const bool isRows = stored == HeadNorms::Rows, areTogether = m_config.qkNormOverAllHeads;
        const std::string whole = name + ".weight";
        if (isRows ? !m_book.require(whole, {heads, h})
                   : stored == HeadNorms::One && !m_book.require(whole, {areTogether ? heads * h : h}))
            return;
        for (int head = 0; head < heads; ++head) {
            if (stored != HeadNorms::Tensors) {
                m_book.add(kind, layer, head, whole, layout::part(isRows || areTogether ? head * h : 0, h));
                continue;
            }
            const std::string own = name + ".norms." + std::to_string(head) + ".weight";
            if (m_book.require(own, {h}))
                m_book.add(kind, layer, head, own, layout::part(0, h));
        }
    }

    void addMlp(const std::string& block, int layer)
    {
        const FamilyTensors::MlpNames& names = m_names.mlp;
        const Eigen::Index m = m_config.dModel, f = m_config.dMlp;
        const StoredBias bias = biasOf(m_family.biases.mlp, m_config.mlpBiases);
        const LinearForm in{f, m, bias, m_names.isConv1d};
        const auto add = [&](std::string_view name, const LinearForm& form, LinearTarget target) {
            addLinear(m_book, block + std::string(name), form, target);
        };
        // b_up stands inside the product: another place than the b_in of TransformerLens.
        const LinearTarget gate{W_gate, b_gate, layer}, up{W_in, b_up, layer};
        if (!names.gateAndIn.empty()) {
            const StoredLinear both = linear(block, names.gateAndIn, {2 * f, m, bias, m_names.isConv1d});
            addOutputs(m_book, both, gate, 0, f);
            addOutputs(m_book, both, up, f, f);
        } else if (m_config.gatedMlp) {
            add(names.gate, in, gate);
            add(names.in, in, up);
        } else {
            add(names.in, in, {W_in, b_in, layer});
        }
        add(names.out, {m, f, bias, m_names.isConv1d}, {W_out, b_out, layer});
    }

    const Family& m_family;
    const FamilyTensors& m_names;
    RecipeBook& m_book;
    const ModelConfig& m_config;
    std::string m_prefix;
};

/// \param pattern as FamilyTensors::buffers
bool isBuffer(std::string_view pattern, std::string_view name, std::size_t rank)
{
    if (pattern.ends_with("[]")) {
        if (rank < 2)
            return false;
        pattern.remove_suffix(2);
    }
    const bool open = pattern.starts_with('*'), openEnd = pattern.ends_with('*');
    pattern.remove_prefix(open ? 1 : 0);
    pattern.remove_suffix(openEnd ? 1 : 0);
    if (open)
        return openEnd ? name.find(pattern) != std::string_view::npos : name.ends_with(pattern);
    return openEnd ? name.starts_with(pattern) : name == pattern;
}

} // namespace

Result<ModelWeights> loadFamily(const Family& family, const ModelDescription& description,
                                std::shared_ptr<const WeightMap> file,
                                const std::vector<std::string>& ignored)
{
    RecipeBook book(description.config, std::move(file));
    book.leaveOut(ignored);
    if (family.code.loadAll)
        return family.code.loadAll(std::move(book));
    if (const std::string obstacle = FamilyRecipes(family, book).add(); !obstacle.empty())
        return Error{ErrorCode::Unsupported, obstacle};
    book.ignore([&](std::string_view name, std::size_t rank) {
        for (const std::string_view pattern : family.tensors.buffers)
            if (isBuffer(pattern, name, rank))
                return true;
        return false;
    });
    Result<ModelWeights> finished = book.finish();
    if (!finished)
        return finished;
    ModelWeights weights = *std::move(finished);
    weights.setForms(description.forms);
    return weights;
}

} // namespace headwise
