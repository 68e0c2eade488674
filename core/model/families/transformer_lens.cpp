#include "core/model/families/family_config.h"
#include "core/model/merges.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace headwise {
namespace {

using nlohmann::json;

void readSizes(ModelConfig& c, ConfigReader& reader)
{
    c.nLayers = reader.size({"n_layers"});
    c.dModel = reader.size({"d_model"});
    if (reader.isGiven("n_ctx"))
        c.nCtx = reader.size({"n_ctx"});
    else
        c.unknown.push_back({ConfigField::Context, "n_ctx"}); // the table of positions may tell it
    c.dVocab = reader.size({"d_vocab"});
    const std::optional<int> heads = reader.optionalSize({"n_heads"});
    const std::optional<int> headSize = reader.optionalSize({"d_head"});
    if (!heads && !headSize)
        reader.size({"n_heads"}); // notes that it is missing
    // One of the two follows from the other: the heads share the residual dimensions evenly.
    c.nHeads = std::max(1, heads.value_or(c.dModel / headSize.value_or(c.dModel)));
    c.dHead = std::max(1, headSize.value_or(c.dModel / c.nHeads));
    c.nKvHeads = reader.optionalSize({"n_key_value_heads"}).value_or(c.nHeads);
    c.dVocabOut = reader.optionalSize({"d_vocab_out"}).value_or(c.dVocab);
    c.attentionOnly = reader.flag({"attn_only"}, false);
    const int mlp = reader.optionalSize({"d_mlp"}).value_or(standardMlpWidth(c.dModel));
    c.dMlp = c.attentionOnly ? 0 : mlp;
}

void readNorms(ModelConfig& c, const json& config, ConfigReader& reader)
{
    // null is a value of its own here: no norms at all. Old files call the key "normalization".
    std::string_view key = "normalization_type";
    if (!config.contains(key) && config.contains("normalization"))
        key = "normalization";
    const bool isNull = config.contains(key) && !reader.isGiven(key);
    const std::string type = reader.text({key}, isNull ? "none" : "LN");
    if (isNull)
        reader.forget({key}); // the file says null
    reader.ignore(Names{"normalization_type", "normalization"});
    c.normHasParameters = type == "LN" || type == "RMS";
    if (type == "LN" || type == "LNPre")
        c.norm = NormKind::LayerNorm;
    else if (type == "RMS" || type == "RMSPre")
        c.norm = NormKind::Rms;
    else if (isNull)
        c.norm = NormKind::None;
    else
        reader.refuse(key, "LN, LNPre, RMS, RMSPre or null");
    const bool finalRms = reader.flag({"final_rms"}, false);
    c.finalNorm = finalRms && c.norm != NormKind::None ? NormKind::Rms : c.norm;
    c.rmsUsesOffset = reader.flag({"rmsnorm_uses_offset"}, false);
    c.normEps = reader.number({"eps"}, 1e-5);
    if (c.norm == NormKind::None)
        reader.forget({"eps"});
    if (c.norm == NormKind::None || c.normHasParameters)
        reader.forget({"final_rms"}); // the tensors tell
    if (c.norm != NormKind::Rms)
        reader.forget({"rmsnorm_uses_offset"});
}

void readPositions(ModelConfig& c, ConfigReader& reader)
{
    const std::string type = reader.text({"positional_embedding_type"}, "standard");
    if (type == "standard")
        c.positional = Positional::Learned;
    else if (type == "rotary")
        c.positional = Positional::Rotary;
    else if (type == "none")
        c.positional = Positional::None;
    else if (type == "alibi")
        c.positional = Positional::Alibi;
    else if (type == "shortformer")
        c.positional = Positional::Other;
    else
        reader.refuse("positional_embedding_type", "standard, rotary, alibi, shortformer or none");
    // Positions that only queries and keys read.
    if (reader.flag({"shortformer_pos"}, false))
        c.positional = Positional::Other;
    c.positionsInQueriesAndKeys = c.positional == Positional::Other;
    c.rotary.dim = reader.optionalSize({"rotary_dim"}).value_or(c.dHead);
    c.rotary.base = reader.number({"rotary_base"}, 10000);
    c.rotary.adjacentPairs = reader.flag({"rotary_adjacent_pairs"}, false);
    const bool isScaled = reader.flag({"use_NTK_by_parts_rope"}, false);
    const RotaryScaling scaling{.kind = RotaryScaling::Kind::Llama3,
                                .factor = reader.number({"NTK_by_parts_factor"}, 8),
                                .lowFactor = reader.number({"NTK_by_parts_low_freq_factor"}, 1),
                                .highFactor = reader.number({"NTK_by_parts_high_freq_factor"}, 4),
                                .originalContext = reader.number({"NTK_original_ctx_len"}, 8192),
                                .divisors = {}};
    if (isScaled)
        c.rotary.scaling = scaling;
    else
        reader.forget({"NTK_by_parts_factor", "NTK_by_parts_low_freq_factor", "NTK_by_parts_high_freq_factor",
                       "NTK_original_ctx_len"});
    if (c.positional == Positional::Rotary)
        return;
    c.rotary = {};
    reader.forget({"rotary_base", "rotary_adjacent_pairs", "use_NTK_by_parts_rope"});
}

/// attn_types names the layers that look back no further than window_size.
void readTransformerLensWindows(ModelConfig& c, const json& config, ConfigReader& reader)
{
    const bool isLocal = reader.flag({"use_local_attn"}, false);
    const int window = reader.optionalSize({"window_size"}).value_or(0);
    reader.ignore(Names{"attn_types"});
    if (!isLocal)
        return;
    const json types = config.value("attn_types", json());
    const auto isKnown = [](const json& type) { return type == "local" || type == "global"; };
    if (window == 0 || !types.is_array() || types.size() != static_cast<std::size_t>(c.nLayers)
        || !std::all_of(types.begin(), types.end(), isKnown))
        return reader.refuse("use_local_attn",
                             "with a window_size, and local or global in attn_types for each layer");
    for (const json& type : types)
        c.windows.push_back(type == "local" ? window : 0);
}

void readScores(ModelConfig& c, ConfigReader& reader)
{
    const double divisor = reader.number({"attn_scale"}, -1);
    if (divisor <= 0 && divisor != -1)
        reader.contradiction("'attn_scale' must be positive, or -1 for the root of d_head");
    c.attentionScale = divisor > 0 ? 1 / divisor : 1 / std::sqrt(c.dHead);
    if (!reader.flag({"use_attn_scale"}, true))
        c.attentionScale = 1;
    c.scaleByInverseLayer = reader.flag({"scale_attn_by_inverse_layer_idx"}, false);
    c.qkNorm = reader.flag({"use_qk_norm"}, false) ? NormKind::Rms : NormKind::None;
    c.hasPostNorms = reader.flag({"use_normalization_before_and_after"}, false);
    if (c.hasPostNorms && c.norm != NormKind::Rms)
        reader.refuse("use_normalization_before_and_after", "with an RMSNorm that keeps its weights");
    // A key of ours: TransformerLens has norms behind the additions in its BERT alone.
    const std::string placement = reader.text({"norm_placement"}, "pre");
    if (placement != "pre" && placement != "post" && placement != "both")
        reader.refuse("norm_placement", "pre, post or both");
    c.hasSumNorms = placement != "pre";
    c.hasPreNorms = placement != "post";
    if (c.norm == NormKind::None || c.normHasParameters)
        reader.forget({"norm_placement", "use_normalization_before_and_after"}); // the tensors tell
    c.attentionSoftCap = std::max(0.0, reader.number({"attn_scores_soft_cap"}, 0));
    c.outputSoftCap = std::max(0.0, reader.number({"output_logits_soft_cap"}, 0));
}

void readMlp(ModelConfig& c, ConfigReader& reader)
{
    const bool gated = reader.flag({"gated_mlp"}, false),
               parallel = reader.flag({"parallel_attn_mlp"}, false);
    c.gatedMlp = gated && !c.attentionOnly;
    c.parallelBlocks = parallel && !c.attentionOnly;
    reader.forget({"gated_mlp"}); // its matrix tells
    if (c.attentionOnly) {
        reader.ignore(Names{"act_fn"});
        reader.forget({"parallel_attn_mlp"});
    } else if (reader.isGiven("act_fn")) {
        c.activation = reader.activation({"act_fn"}, "relu");
    } else {
        c.unknown.push_back({ConfigField::Activation, "act_fn"});
    }
    if (c.activation == Activation::SoluLn && c.gatedMlp)
        reader.refuse("act_fn", "not in a gated MLP");
}

/// Keys of ours: a model without skip connections, and the pair of its matrices that is merged into their neighbours.
void readSkipless(ModelConfig& c, ConfigReader& reader)
{
    c.skipless = reader.flag({"skipless"}, false);
    if (c.skipless && (c.norm != NormKind::None || !c.hasPreNorms || c.hasSumNorms || c.hasPostNorms))
        reader.refuse("skipless", "only with normalization_type null");
    const std::string pair = reader.text({"merged"}, "");
    reader.ignore(Names{"merged_from", "merged_from_sha256"});
    if (pair.empty())
        return;
    const std::optional<MergePair> merged = parseMerge(pair);
    if (!merged)
        return reader.refuse("merged", "qp, kp, vp or null");
    if (!c.skipless || c.parallelBlocks || c.attentionOnly || c.positionsInQueriesAndKeys)
        return reader.refuse("merged", "only of a skipless model whose MLPs read what attention writes");
    const MergedMatrix matrix = mergedMatrix(*merged, c);
    if (static_cast<std::int64_t>(matrix.heads) * c.dHead != c.dModel)
        return reader.contradiction("'merged' is " + pair + ", but " + std::string(matrix.letter)
                                    + " was never square: " + std::to_string(matrix.heads) + " heads of "
                                    + std::to_string(c.dHead) + " dimensions are not "
                                    + std::to_string(c.dModel));
    c.merged = merged;
}

/// A key of ours: the stack of an encoder-decoder that a names map reads.
void readOpenStack(ModelConfig& c, ConfigReader& reader)
{
    if (!reader.isGiven("open_stack"))
        return;
    const std::string open = reader.text({"open_stack"}, "");
    std::string others;
    c.stacks = {open};
    for (const char* stack : {"decoder", "encoder", "cross"}) {
        if (stack == open)
            continue;
        others += (others.empty() ? "" : " or ") + std::string(stack);
        c.stacks.emplace_back(stack);
    }
    if (c.stacks.size() > 3)
        return reader.refuse("open_stack", "decoder, encoder or cross");
    c.needsEncoder = open != "encoder";
    c.crossAttention = open == "cross";
    reader.note("The " + open + " stack is open; --set stack=" + others
                + " opens another one of this model.");
}

/// Every other key of a HookedTransformerConfig: those that change the function must be as if they were absent.
void readTheRest(ConfigReader& reader)
{
    for (const std::string_view off : {"post_embedding_ln", "use_yarn_rope", "load_in_4bit", "load_in_8bit"})
        reader.onlySupports(off, {"false"});
    reader.onlySupports("num_experts", {"0"});
    reader.onlySupports("rotary_base_local", {});
    reader.onlySupports("rotary_scaling_factor", {"1"});
    reader.onlySupports("clip_qkv", {});
    const std::string original = reader.text({"original_architecture"}, "");
    if (original.starts_with("Olmo2") || original.starts_with("Olmo3"))
        reader.refuse("original_architecture", "TransformerLens puts this family's norms after its blocks");
    static constexpr std::string_view harmless[] = {
        // names, origin and training
        "architecture", "from_checkpoint", "checkpoint_index", "checkpoint_label_type", "checkpoint_value",
        "tokenizer_name", "init_mode", "init_weights", "initializer_range", "seed", "device", "n_devices",
        "dtype", "n_params", "trust_remote_code", "default_prepend_bos", "tokenizer_prepends_bos",
        "eos_token_id", "pad_token_id", "attn_implementation", "attention_implementation",
        "output_attentions", "processing", "headwise_version", "weight_init_mode", "n_batches", "batch_size",
        "max_tokens", "lr", "weight_decay",
        // hooks and the order of the same sums
        "use_attn_result", "use_split_qkv_input", "use_hook_mlp_in", "use_attn_in", "use_hook_tokens",
        "ungroup_grouped_query_attention", "layer_norm_folding", "uses_rms_norm", "norm_topk_prob",
        "model_type",
        // parameters of what is refused above when it is switched on
        "experts_per_token", "relative_attention_max_distance", "relative_attention_num_buckets",
        "decoder_start_token_id", "yarn_factor", "yarn_attention_factor", "yarn_beta_fast", "yarn_beta_slow",
        "yarn_original_max_position_embeddings"};
    reader.ignore(harmless);
}

} // namespace

Result<ModelDescription> readTransformerLens(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c;
    c.architecture = "transformer-lens";
    c.name = reader.text({"model_name"}, "");
    readSizes(c, reader);
    readNorms(c, config, reader);
    readPositions(c, reader);
    readScores(c, reader);
    readMlp(c, reader);
    c.tiedEmbeddings = reader.flag({"tie_word_embeddings"}, false);
    // Keys of our own, for layouts whose code has these factors.
    if (reader.flag({"embedding_times_root_d_model"}, false))
        c.embeddingScale = std::sqrt(c.dModel);
    c.positionsOverRoot = reader.flag({"positions_over_root_d_model"}, false);
    reader.forget({"embedding_times_root_d_model", "positions_over_root_d_model"});
    c.bosTokenId = reader.optionalId({"bos_token_id"});
    reader.forget({"tie_word_embeddings", "attn_only", "use_qk_norm"}); // the tensors tell
    readDirection(c, reader);
    readTransformerLensWindows(c, config, reader);
    readSkipless(c, reader);
    readOpenStack(c, reader);
    readTheRest(reader);
    if (!reader.unknownActivation().empty())
        c.unknown.push_back({ConfigField::Activation, reader.unknownActivation()});
    Result<std::vector<std::string>> warnings = reader.finish();
    if (!warnings)
        return warnings.error();
    return ModelDescription{std::move(c),
                            *std::move(warnings),
                            {.attention = true, .mlp = true, .unembed = true, .gate = false},
                            reader.assumed()};
}

namespace {

bool isTransformerLensBuffer(std::string_view name, std::size_t /*rank*/)
{
    return name.ends_with(".attn.mask") || name.ends_with(".attn.IGNORE") || name.ends_with(".rotary_sin")
        || name.ends_with(".rotary_cos");
}

void addNorm(RecipeBook& book, const std::string& name, NormKind kind, LinearTarget target)
{
    if (kind == NormKind::None || !book.config().normHasParameters)
        return;
    book.requireVector(target.weight, target.layer, name + ".w", book.config().dModel);
    if (kind == NormKind::LayerNorm)
        book.requireVector(target.bias, target.layer, name + ".b", book.config().dModel);
}

void addMatrix(RecipeBook& book, const std::string& name, TensorKind kind, Eigen::Index rows,
               Eigen::Index cols)
{
    if (book.require(name, {rows, cols}))
        book.add(kind, 0, 0, name, layout::plain(rows, cols));
}

/// W_X of a layer's heads: [heads, d_model, d_head], but W_O [heads, d_head, d_model].
void addHeads(RecipeBook& book, const std::string& name, int layer, int heads, TensorKind kind)
{
    Eigen::Index rows = book.config().dModel, cols = book.config().dHead;
    if (kind == TensorKind::W_O)
        std::swap(rows, cols);
    if (book.require(name, {heads, rows, cols}))
        for (int head = 0; head < heads; ++head)
            book.add(kind, layer, head, name, layout::stacked(head, rows, cols));
}

void addHeadBiases(RecipeBook& book, const std::string& name, int layer, int heads, TensorKind kind)
{
    const Eigen::Index h = book.config().dHead;
    if (book.accept(name, {heads, h}))
        for (int head = 0; head < heads; ++head)
            book.add(kind, layer, head, name, layout::part(head * h, h));
}

/// One weight for all heads.
void addTransformerLensQkNorm(RecipeBook& book, const std::string& name, int layer, int heads,
                              TensorKind kind)
{
    const Eigen::Index h = book.config().dHead;
    if (book.require(name, {h}) && !book.hasFaults()) // Its shape does not bound the number of heads.
        for (int head = 0; head < heads; ++head)
            book.add(kind, layer, head, name, layout::part(0, h));
}

void addTransformerLensAttention(RecipeBook& book, const std::string& attention, int layer)
{
    const ModelConfig& c = book.config();
    // Grouped keys and values carry an underscore; which of the two it is, the file says.
    const auto grouped = [&](const std::string& name) {
        return attention + (book.isStored(attention + "_" + name) ? "_" : "") + name;
    };
    // A merged pair leaves neither matrices nor biases behind.
    const auto addPart = [&](const std::string& weight, const std::string& bias, int heads,
                             MergedMatrix part) {
        if (c.merged && mergedMatrix(*c.merged, c).weight == part.weight)
            return;
        addHeads(book, weight, layer, heads, part.weight);
        addHeadBiases(book, bias, layer, heads, part.bias);
    };
    addPart(attention + "W_Q", attention + "b_Q", c.nHeads, mergedMatrix(MergePair::QP, c));
    addPart(grouped("W_K"), grouped("b_K"), c.nKvHeads, mergedMatrix(MergePair::KP, c));
    addPart(grouped("W_V"), grouped("b_V"), c.nKvHeads, mergedMatrix(MergePair::VP, c));
    if (!c.merged) {
        addHeads(book, attention + "W_O", layer, c.nHeads, TensorKind::W_O);
        book.acceptVector(TensorKind::b_O, layer, attention + "b_O", c.dModel);
    }
    if (c.qkNorm != NormKind::None) {
        addTransformerLensQkNorm(book, attention + "q_norm.w", layer, c.nHeads, TensorKind::q_norm_w);
        addTransformerLensQkNorm(book, attention + "k_norm.w", layer, c.nKvHeads, TensorKind::k_norm_w);
    }
}

/// [attentionWidth, d_mlp], but W_out [d_mlp, d_model].
void addMlpMatrix(RecipeBook& book, const std::string& name, int layer, TensorKind kind)
{
    const ModelConfig& c = book.config();
    const bool isOut = kind == TensorKind::W_out;
    const Eigen::Index rows = isOut ? c.dMlp : c.attentionWidth(), cols = isOut ? c.dModel : c.dMlp;
    if (book.require(name, {rows, cols}))
        book.add(kind, layer, 0, name, layout::plain(rows, cols));
}

void addTransformerLensMlp(RecipeBook& book, const std::string& mlp, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    addMlpMatrix(book, mlp + "W_in", layer, TensorKind::W_in);
    addMlpMatrix(book, mlp + "W_out", layer, TensorKind::W_out);
    book.acceptVector(TensorKind::b_in, layer, mlp + "b_in", f);
    book.acceptVector(TensorKind::b_out, layer, mlp + "b_out", m);
    if (c.gatedMlp) {
        addMlpMatrix(book, mlp + "W_gate", layer, TensorKind::W_gate);
        book.acceptVector(TensorKind::b_gate, layer, mlp + "b_gate", f);
        book.acceptVector(TensorKind::b_up, layer, mlp + "b_up", f);
    }
    if (c.activation == Activation::SoluLn) {
        // Only "LN" gives this norm parameters; a file may keep them when its other norms were folded.
        if (c.normHasParameters && c.norm == NormKind::LayerNorm) {
            book.requireVector(TensorKind::mlp_ln_w, layer, mlp + "ln.w", f);
            book.requireVector(TensorKind::mlp_ln_b, layer, mlp + "ln.b", f);
        } else {
            book.acceptVector(TensorKind::mlp_ln_w, layer, mlp + "ln.w", f);
            book.acceptVector(TensorKind::mlp_ln_b, layer, mlp + "ln.b", f);
        }
    }
}

void addTransformerLensLayer(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    if (c.hasPreNorms)
        addNorm(book, block + "ln1", c.norm, {TensorKind::ln1_w, TensorKind::ln1_b, layer});
    addTransformerLensAttention(book, block + "attn.", layer);
    if (c.hasPostNorms || c.hasSumNorms) {
        addNorm(book, block + "ln1_post", c.norm, {TensorKind::ln1_post_w, TensorKind::ln1_post_b, layer});
        if (!c.attentionOnly || c.hasPostNorms)
            addNorm(book, block + "ln2_post", c.norm,
                    {TensorKind::ln2_post_w, TensorKind::ln2_post_b, layer});
    }
    if (c.attentionOnly)
        return;
    // A parallel block may have one norm for both its halves.
    if (c.hasPreNorms && (!c.parallelBlocks || book.isStored(block + "ln2.w")))
        addNorm(book, block + "ln2", c.norm, {TensorKind::ln2_w, TensorKind::ln2_b, layer});
    addTransformerLensMlp(book, block + "mlp.", layer);
}

} // namespace

Result<ModelWeights> loadTransformerLens(RecipeBook book)
{
    if (const auto table = book.shapeOf("pos_embed.W_pos"); table.size() == 2 && table[0] > 0
        && table[0] <= mostTokens && !book.config().isKnown(ConfigField::Context)) {
        book.config().nCtx = static_cast<int>(table[0]);
        std::erase_if(book.config().unknown,
                      [](const UnknownField& one) { return one.field == ConfigField::Context; });
    }
    const ModelConfig config = book.config();
    const Eigen::Index m = config.dModel;
    addMatrix(book, "embed.W_E", TensorKind::W_E, config.dVocab, m);
    if (config.positional == Positional::Learned || config.positionsInQueriesAndKeys)
        addMatrix(book, "pos_embed.W_pos", TensorKind::W_pos, config.nCtx, m);
    for (int layer = 0; layer < config.nLayers; ++layer)
        addTransformerLensLayer(book, "blocks." + std::to_string(layer) + ".", layer);
    addNorm(book, "ln_final", config.finalNorm, {TensorKind::ln_final_w, TensorKind::ln_final_b, 0});
    // TransformerLens writes W_U even where it equals W_Eᵀ; only a file without it relies on the tie.
    const bool relies = config.tiedEmbeddings && !book.isStored("unembed.W_U");
    book.config().tiedEmbeddings = relies;
    if (!relies)
        addMatrix(book, "unembed.W_U", TensorKind::W_U, m, config.dVocabOut);
    else if (book.accept("embed.W_E", {config.dVocabOut, m}))
        book.add(TensorKind::W_U, 0, 0, "embed.W_E", layout::transposed(m, config.dVocabOut));
    book.acceptVector(TensorKind::b_U, 0, "unembed.b_U", config.dVocabOut);
    book.ignore(isTransformerLensBuffer);
    return book.finish();
}

bool matchesTransformerLens(const json& config)
{
    // One is enough: reading then lists those that are missing.
    static constexpr std::array keys{"d_model",  "n_heads", "d_head",
                                     "n_layers", "d_vocab", "normalization_type"};
    return familyName(config).empty()
        && std::any_of(keys.begin(), keys.end(), [&](const char* key) { return config.contains(key); });
}

} // namespace headwise
