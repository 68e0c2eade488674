#include "core/model/load_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace headwise {
namespace {

/// Whether a model has one tensor of this kind, so that no layer needs to be named.
bool isOnePerModel(TensorKind kind)
{
    using enum TensorKind;
    static constexpr std::array kinds{W_E, W_pos, W_U, b_U, ln_final_w, ln_final_b, ln_embed_w, ln_embed_b};
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

/// Canonical tensors that are read from one stored tensor, by kind and layer.
struct Readers {
    std::set<TensorKind> kinds;
    std::set<int> layers;
};

std::vector<Readers> readersOf(const ModelWeights& weights)
{
    std::vector<Readers> readers(weights.file().tensors().size());
    for (const auto& [key, view] : weights.views()) {
        Readers& of = readers[static_cast<std::size_t>(view.tensor)];
        of.kinds.insert(std::get<0>(key));
        if (!isOnePerModel(std::get<0>(key)))
            of.layers.insert(std::get<1>(key));
    }
    return readers;
}

std::string useText(const Readers& readers)
{
    std::string text;
    for (const TensorKind kind : readers.kinds)
        text += (text.empty() ? "" : ", ") + std::string(tensorKindName(kind));
    if (readers.layers.empty())
        return text;
    text += readers.layers.size() == 1 ? " of layer " : " of layers ";
    text += std::to_string(*readers.layers.begin());
    if (readers.layers.size() > 1)
        text += "–" + std::to_string(*readers.layers.rbegin());
    return text;
}

/// Whether a name is that of a part of a layer behind the last one.
bool isBehindLayers(std::string_view name, int nLayers)
{
    constexpr std::string_view stem = "model.layers.";
    int layer = 0;
    return name.starts_with(stem)
        && std::from_chars(name.data() + stem.size(), name.data() + name.size(), layer).ec == std::errc()
        && layer >= nLayers;
}

/// The families say which names carry no weight; this says what such a tensor is, by the part of the name that tells.
std::string reasonToIgnore(std::string_view name)
{
    struct Row {
        std::string_view part, why;
    };
    static constexpr Row rows[] = {
        {"rotary_emb.inv_freq", "rotary frequencies, which follow from the config"},
        {"rope.freqs", "rotary frequencies, which follow from the config"},
        {"rope_freqs", "rotary frequencies, which follow from the config"},
        {"freqs_cis", "rotary tables, which follow from the config"},
        {"cos_cached", "rotary tables, which follow from the config"},
        {"sin_cached", "rotary tables, which follow from the config"},
        {"rotary_sin", "rotary tables, which follow from the config"},
        {"rotary_cos", "rotary tables, which follow from the config"},
        {"masked_bias", "the value of masked scores, which the forward pass sets itself"},
        {"IGNORE", "the value of masked scores, which the forward pass sets itself"},
        {"attn.bias", "causal mask, which the forward pass builds itself"},
        {"attention.bias", "causal mask, which the forward pass builds itself"},
        {"attn.mask", "causal mask, which the forward pass builds itself"},
        {"att.mask", "causal mask, which the forward pass builds itself"},
        {"tril", "causal mask, which the forward pass builds itself"},
        {"position_ids", "position indices, which the forward pass counts itself"},
        {"pooler", "head of a classifier, which the language model does not use"},
        {"seq_relationship", "head of a classifier, which the language model does not use"},
        {"expert", "experts of the MLP, which attention circuits do not need"},
        {"score.weight", "head of a classifier, which the language model does not use"},
    };
    for (const Row& row : rows)
        if (name.find(row.part) != std::string_view::npos)
            return std::string(row.why);
    return "a buffer without weights of the model";
}

class Checker {
public:
    explicit Checker(const ModelWeights& weights)
        : m_weights(weights)
    {
    }

    std::vector<ConfigCheck> checks()
    {
        using enum TensorKind;
        const ModelConfig& c = m_weights.config();
        addSize("vocabulary", c.dVocab, W_E, 0, "rows");
        if (c.dVocabOut != c.dVocab)
            addSize("output vocabulary", c.dVocabOut, W_U, 1, "columns");
        addSize("d_model", c.dModel, W_E, 1, "columns");
        addLayers();
        addHeads("heads", c.latentAttention ? W_UQ : W_Q, c.nHeads);
        addHeads("key/value heads", c.latentAttention ? W_UK : W_K, c.nKvHeads);
        addSize("d_head", c.dHead, W_Q, 1, "columns");
        if (!c.attentionOnly && (c.nExperts == 0 || find(W_router))) // else it is the width of an expert
            addSize("d_mlp", c.dMlp, W_in, 1, "columns");
        addContext();
        addBiases("attention biases", c.attentionBiases, {b_Q, b_K, b_V, b_O});
        addBiases("MLP biases", c.mlpBiases, {b_in, b_up, b_gate, b_out});
        return std::move(m_checks);
    }

private:
    std::string nameOf(const TensorView& view) const
    {
        return "'" + m_weights.file().tensors()[static_cast<std::size_t>(view.tensor)].name + "'";
    }

    const TensorView* find(TensorKind kind) const
    {
        const auto found = m_weights.views().find({kind, 0, 0});
        return found == m_weights.views().end() ? nullptr : &found->second;
    }

    void add(std::string what, std::string config, std::string tensors, bool agrees)
    {
        m_checks.push_back({std::move(what), std::move(config), std::move(tensors), agrees});
    }

    void addSize(const char* what, int config, TensorKind kind, int axis, const char* axisName)
    {
        const TensorView* view = find(kind);
        if (!view)
            return;
        const Eigen::Index size = axis == 0 ? view->rows : view->cols;
        add(what, std::to_string(config),
            std::to_string(size) + " " + axisName + " of " + std::string(tensorKindName(kind)) + ", in "
                + nameOf(*view),
            size == config);
    }

    void addLayers()
    {
        std::set<int> layers;
        for (const auto& [key, view] : m_weights.views())
            if (!isOnePerModel(std::get<0>(key)))
                layers.insert(std::get<1>(key));
        const auto count = static_cast<int>(layers.size());
        add("layers", std::to_string(m_weights.config().nLayers),
            std::to_string(count) + " that have tensors", count == m_weights.config().nLayers);
    }

    void addHeads(const char* what, TensorKind kind, int config)
    {
        int count = 0;
        for (const auto& [key, view] : m_weights.views())
            count += std::get<0>(key) == kind && std::get<1>(key) == 0 ? 1 : 0;
        add(what, std::to_string(config),
            std::to_string(count) + " of " + std::string(tensorKindName(kind)) + " in a layer",
            count == config);
    }

    /// Tables may be longer than the context, and begin with rows that stand for no position.
    void addContext()
    {
        const TensorView* view = find(TensorKind::W_pos);
        if (!view)
            return;
        const auto& shape = m_weights.file().tensors()[static_cast<std::size_t>(view->tensor)].shape;
        const std::int64_t rows = shape.empty() ? 0 : shape.front();
        add("context", std::to_string(m_weights.config().nCtx),
            std::to_string(rows) + " rows in " + nameOf(*view), rows == m_weights.config().nCtx);
    }

    void addBiases(const char* what, std::optional<bool> config, std::initializer_list<TensorKind> kinds)
    {
        std::string present;
        for (const TensorKind kind : kinds)
            if (find(kind))
                present += (present.empty() ? "" : ", ") + std::string(tensorKindName(kind));
        const bool isThere = !present.empty();
        add(what,
            !config       ? ""
                : *config ? "yes"
                          : "none",
            isThere ? present : "none", !config || *config == isThere);
    }

    const ModelWeights& m_weights;
    std::vector<ConfigCheck> m_checks;
};

std::string embeddingsText(const ModelWeights& weights)
{
    const auto& views = weights.views();
    const auto in = views.find({TensorKind::W_E, 0, 0}), out = views.find({TensorKind::W_U, 0, 0});
    if (in == views.end() || out == views.end())
        return {};
    const auto name = [&](const TensorView& view) {
        return "'" + weights.file().tensors()[static_cast<std::size_t>(view.tensor)].name + "'";
    };
    if (in->second.tensor == out->second.tensor)
        return "Tied: W_E and W_U are both " + name(in->second) + ".";
    return (weights.config().tiedEmbeddings ? "Tied, but stored twice: W_E is " : "Not tied: W_E is ")
        + name(in->second) + ", W_U is " + name(out->second) + ".";
}

} // namespace

LoadReport loadReport(const ModelWeights& weights)
{
    LoadReport report;
    const std::vector<Readers> readers = readersOf(weights);
    const std::vector<StoredTensor>& tensors = weights.file().tensors();
    std::map<std::string, IgnoredTensors> ignored;
    const std::set<std::string> leftOut(weights.leftOut().begin(), weights.leftOut().end());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto bytes = static_cast<std::int64_t>(tensors[i].byteCount);
        if (!readers[i].kinds.empty()) {
            report.uses.push_back({useText(readers[i]), {}});
            report.usedBytes += bytes;
            ++report.usedCount;
            continue;
        }
        const std::string& name = tensors[i].name;
        const std::string why = leftOut.contains(name)       ? "unknown, left out on request"
            : isBehindLayers(name, weights.config().nLayers) ? "layers that predict further tokens"
                                                             : reasonToIgnore(name);
        report.uses.push_back({{}, why});
        report.ignoredBytes += bytes;
        IgnoredTensors& group = ignored[why];
        group.why = why;
        group.names.push_back(tensors[i].name);
        group.bytes += bytes;
    }
    for (auto& [why, group] : ignored)
        report.ignored.push_back(std::move(group));
    report.embeddings = embeddingsText(weights);
    report.checks = Checker(weights).checks();
    return report;
}

std::vector<NormFactors> normFactors(const ModelWeights& weights)
{
    using enum TensorKind;
    const ModelConfig& c = weights.config();
    const std::array<std::pair<TensorKind, NormKind>, 11> norms{{{ln_embed_w, c.embeddingNorm},
                                                                 {ln1_w, c.norm},
                                                                 {q_norm_w, c.qkNorm},
                                                                 {k_norm_w, c.qkNorm},
                                                                 {q_latent_w, NormKind::Rms},
                                                                 {kv_latent_w, NormKind::Rms},
                                                                 {ln1_post_w, c.norm},
                                                                 {ln2_w, c.norm},
                                                                 {mlp_ln_w, NormKind::LayerNorm},
                                                                 {ln2_post_w, c.norm},
                                                                 {ln_final_w, c.finalNorm}}};
    std::vector<NormFactors> all;
    for (const auto& [kind, norm] : norms) {
        const bool hasOffset = norm == NormKind::Rms && c.rmsUsesOffset;
        NormFactors factors{std::string(tensorKindName(kind)),
                            std::string(norm == NormKind::Rms ? "RMS" : "LN") + ", times "
                                + (hasOffset || weights.form(kind).addend == 1 ? "1 + w" : "w"),
                            0,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            0};
        factors.name.resize(factors.name.size() - 2); // without ".w"
        double sum = 0;
        Eigen::Index size = 0;
        for (const auto& [key, view] : weights.views()) {
            if (std::get<0>(key) != kind)
                continue;
            const Matrix<double> w =
                weights.read<double>(kind, std::get<1>(key), std::get<2>(key)).array() + (hasOffset ? 1 : 0);
            ++factors.count;
            factors.minimum = std::min(factors.minimum, w.minCoeff());
            factors.maximum = std::max(factors.maximum, w.maxCoeff());
            sum += w.sum();
            size += w.size();
        }
        factors.mean = sum / static_cast<double>(size);
        if (factors.count > 0)
            all.push_back(std::move(factors));
    }
    return all;
}

} // namespace headwise
