// Makers of checkpoints with Llama's names.

#include "tests/support/family_maker.h"

namespace headwise::test {

namespace {

enum class Norms { Rms, RmsAroundZero, LayerNorm, None };

/// 6 query heads over 2 key/value heads; d_model 7 and head_dim 4 if the family has a head_dim, else d_model 24.
struct LlamaNamed {
    std::string type, architecture;
    bool headDim = true;
    bool qkvBias = false, qkNorm = false, qkNormOfAllHeads = false;
    bool preNorms = true, postNorms = false, parallel = false;
    Norms norms = Norms::Rms; ///< around zero where the norm multiplies by 1 + w
    bool tied = false, fused = false;
    std::string root = "model.";
    std::size_t experts = 0;
    std::size_t layers = test::layers;
    std::size_t width = 4;
};

constexpr std::size_t heads = 6, kvHeads = 2;

/// One family's tensors during construction.
struct LlamaMaker {
    Maker& make;
    const LlamaNamed& family;
    std::size_t d;
    std::size_t width = family.width;

    void norm(const std::string& name, std::size_t size) const
    {
        if (family.norms == Norms::None)
            return;
        if (family.norms == Norms::LayerNorm)
            make.layerNorm(name, size);
        else
            make.write.normWeight(name + ".weight", size, family.norms == Norms::Rms ? 1 : 0);
    }
    void norms(const std::string& b) const
    {
        if (family.preNorms)
            norm(b + "input_layernorm", d);
        if (!family.parallel)
            norm(b + "post_attention_layernorm", d);
        if (family.postNorms) {
            if (family.preNorms)
                norm(b + "pre_feedforward_layernorm", d);
            norm(b + "post_feedforward_layernorm", d);
        }
        if (family.qkNorm) {
            norm(b + "self_attn.q_norm", family.qkNormOfAllHeads ? heads * width : width);
            norm(b + "self_attn.k_norm", family.qkNormOfAllHeads ? kvHeads * width : width);
        }
    }
    void attention(const std::string& b) const
    {
        if (family.fused) {
            make.linear(b + "qkv_proj", (heads + 2 * kvHeads) * width, d, false);
        } else {
            make.linear(b + "q_proj", heads * width, d, family.qkvBias);
            make.linear(b + "k_proj", kvHeads * width, d, family.qkvBias);
            make.linear(b + "v_proj", kvHeads * width, d, family.qkvBias);
        }
        make.linear(b + "o_proj", d, heads * width, false);
    }
    void mlp(const std::string& b) const
    {
        if (family.experts > 0)
            return;
        if (family.fused) {
            make.linear(b + "gate_up_proj", 2 * f, d, false);
        } else {
            make.linear(b + "gate_proj", f, d, false);
            make.linear(b + "up_proj", f, d, false);
        }
        make.linear(b + "down_proj", d, f, false);
    }
};

void llamaNamed(Maker& make, const LlamaNamed& family)
{
    const std::size_t width = family.width;
    const std::size_t d = family.headDim ? 7 : heads * width;
    make.config = {{"architectures", QJsonArray{QString::fromStdString(family.architecture)}},
                   {"model_type", QString::fromStdString(family.type)},
                   {"hidden_size", int(d)},
                   {"num_attention_heads", int(heads)},
                   {"num_key_value_heads", int(kvHeads)},
                   {"num_hidden_layers", int(family.layers)},
                   {"intermediate_size", int(f)},
                   {"vocab_size", int(V)},
                   {"max_position_embeddings", int(C)},
                   {"rms_norm_eps", 1e-5},
                   {"rope_theta", 523},
                   {"tie_word_embeddings", family.tied}};
    if (family.headDim)
        make.config["head_dim"] = int(width);
    const LlamaMaker maker{make, family, d};
    make.write.embedding(family.root + "embed_tokens.weight", {V, d});
    for (std::size_t layer = 0; layer < family.layers; ++layer) {
        const std::string b = block(family.root + "layers.", layer);
        maker.norms(b);
        maker.attention(b + "self_attn.");
        maker.mlp(b + "mlp.");
    }
    maker.norm(family.root + "norm", d);
    if (!family.tied)
        make.write.matrix("lm_head.weight", {V, d}, d);
}

constexpr std::size_t experts = 3;

LlamaNamed mixtralForm()
{
    return {.type = "mixtral", .architecture = "MixtralForCausalLM", .experts = experts};
}

} // namespace

void mistral(Maker& make)
{
    llamaNamed(make, {.type = "mistral", .architecture = "MistralForCausalLM"});
    make.config["sliding_window"] = 4;
}

void qwen2(Maker& make)
{
    llamaNamed(make,
               {.type = "qwen2",
                .architecture = "Qwen2ForCausalLM",
                .headDim = false,
                .qkvBias = true,
                .tied = true});
    make.config["use_sliding_window"] = false;
    make.config["sliding_window"] = 4;
    make.config["max_window_layers"] = 1;
}

void qwen3(Maker& make)
{
    llamaNamed(make, {.type = "qwen3", .architecture = "Qwen3ForCausalLM", .qkNorm = true});
    make.config["attention_bias"] = false;
}

void gemma(Maker& make)
{
    llamaNamed(
        make,
        {.type = "gemma", .architecture = "GemmaForCausalLM", .norms = Norms::RmsAroundZero, .tied = true});
    make.config["hidden_act"] = "gelu";
}

void gemma2(Maker& make)
{
    llamaNamed(make,
               {.type = "gemma2",
                .architecture = "Gemma2ForCausalLM",
                .postNorms = true,
                .norms = Norms::RmsAroundZero,
                .tied = true});
    make.config["hidden_activation"] = "gelu_pytorch_tanh";
    make.config["query_pre_attn_scalar"] = 9;
    make.config["sliding_window"] = 4;
    make.config["attn_logit_softcapping"] = 2.0;
    make.config["final_logit_softcapping"] = 3.0;
}

void llama3(Maker& make)
{
    llamaNamed(make, {.type = "llama", .architecture = "LlamaForCausalLM", .tied = true});
    make.config["rope_scaling"] = QJsonObject{{"rope_type", "llama3"},
                                              {"factor", 8.0},
                                              {"low_freq_factor", 1.0},
                                              {"high_freq_factor", 4.0},
                                              {"original_max_position_embeddings", 16}};
}

void mixtral(Maker& make)
{
    llamaNamed(make, mixtralForm());
    make.config["num_local_experts"] = int(experts);
    make.config["num_experts_per_tok"] = 2;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer) + "block_sparse_moe.";
        make.linear(b + "gate", experts, 7, false);
        for (std::size_t e = 0; e < experts; ++e) {
            const std::string one = b + "experts." + std::to_string(e) + ".";
            make.linear(one + "w1", f, 7, false);
            make.linear(one + "w2", 7, f, false);
            make.linear(one + "w3", f, 7, false);
        }
    }
}

void mixtralInOneTensor(Maker& make)
{
    llamaNamed(make, mixtralForm());
    make.config["num_local_experts"] = int(experts);
    make.config["num_experts_per_tok"] = 2;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer) + "mlp.";
        make.linear(b + "gate", experts, 7, false);
        make.write.matrix(b + "experts.gate_up_proj", {experts, 2 * f, 7}, 7);
        make.write.matrix(b + "experts.down_proj", {experts, 7, f}, f);
    }
}

void gemma3(Maker& make)
{
    llamaNamed(make,
               {.type = "gemma3_text",
                .architecture = "Gemma3ForCausalLM",
                .qkNorm = true,
                .postNorms = true,
                .norms = Norms::RmsAroundZero,
                .tied = true});
    make.config["hidden_activation"] = "gelu_pytorch_tanh";
    make.config["query_pre_attn_scalar"] = 9;
    make.config["sliding_window"] = 4;
    make.config["sliding_window_pattern"] = 3;
    make.config["rope_local_base_freq"] = 29;
    make.config["rope_scaling"] = QJsonObject{{"rope_type", "linear"}, {"factor", 8.0}};
    make.config["attn_logit_softcapping"] = QJsonValue::Null;
    make.config["final_logit_softcapping"] = QJsonValue::Null;
}

void gemma3InAMultimodalModel(Maker& make)
{
    llamaNamed(make,
               {.type = "gemma3_text",
                .architecture = "Gemma3ForConditionalGeneration",
                .qkNorm = true,
                .postNorms = true,
                .norms = Norms::RmsAroundZero,
                .tied = true,
                .root = "language_model.model."});
    QJsonObject text = make.config;
    text.remove("architectures");
    text["query_pre_attn_scalar"] = 9;
    text["sliding_window"] = 4;
    text["rope_local_base_freq"] = 29;
    text["layer_types"] = QJsonArray{"full_attention", "sliding_attention", "sliding_attention"};
    make.config = {{"architectures", QJsonArray{"Gemma3ForConditionalGeneration"}},
                   {"model_type", "gemma3"},
                   {"tie_word_embeddings", false}, // the inner one counts
                   {"text_config", text},
                   {"vision_config", QJsonObject{{"hidden_size", 5}}}};
    make.write.matrix("vision_tower.weight", {3, 5}, 5);
    make.write.matrix("multi_modal_projector.weight", {3, 5}, 5);
}

void phi3(Maker& make)
{
    llamaNamed(
        make,
        {.type = "phi3", .architecture = "Phi3ForCausalLM", .headDim = false, .fused = true, .width = 8});
    make.config["partial_rotary_factor"] = 0.5;
    make.config["sliding_window"] = 4;
}

void stableLm(Maker& make)
{
    llamaNamed(make,
               {.type = "stablelm",
                .architecture = "StableLmForCausalLM",
                .headDim = false,
                .qkvBias = true,
                .norms = Norms::LayerNorm,
                .width = 8});
    make.config["layer_norm_eps"] = 1e-5;
    make.config["use_qkv_bias"] = true;
    make.config["partial_rotary_factor"] = 0.5;
}

void stableLmParallel(Maker& make)
{
    llamaNamed(make,
               {.type = "stablelm",
                .architecture = "StableLmForCausalLM",
                .headDim = false,
                .parallel = true,
                .norms = Norms::LayerNorm,
                .width = 8});
    make.config["layer_norm_eps"] = 1e-5;
    make.config["use_parallel_residual"] = true;
    make.config["qk_layernorm"] = true;
    make.config["partial_rotary_factor"] = 0.5;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer) + "self_attn.";
        for (std::size_t head = 0; head < heads; ++head)
            make.write.normWeight(b + "q_layernorm.norms." + std::to_string(head) + ".weight", 8);
        for (std::size_t head = 0; head < kvHeads; ++head)
            make.write.normWeight(b + "k_layernorm.norms." + std::to_string(head) + ".weight", 8);
    }
}

void olmo(Maker& make)
{
    llamaNamed(make,
               {.type = "olmo", .architecture = "OlmoForCausalLM", .headDim = false, .norms = Norms::None});
}

void olmo2(Maker& make)
{
    llamaNamed(make,
               {.type = "olmo2",
                .architecture = "Olmo2ForCausalLM",
                .headDim = false,
                .qkNorm = true,
                .qkNormOfAllHeads = true,
                .preNorms = false,
                .postNorms = true});
}

void olmo3(Maker& make)
{
    llamaNamed(make,
               {.type = "olmo3",
                .architecture = "Olmo3ForCausalLM",
                .headDim = false,
                .qkNorm = true,
                .qkNormOfAllHeads = true,
                .preNorms = false,
                .postNorms = true,
                .layers = 4});
    make.config["sliding_window"] = 4;
    make.config["rope_scaling"] =
        QJsonObject{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 300}};
}

void smolLm3(Maker& make)
{
    llamaNamed(make,
               {.type = "smollm3", .architecture = "SmolLM3ForCausalLM", .headDim = false, .tied = true});
    make.config["no_rope_layer_interval"] = 2;
}

} // namespace headwise::test
