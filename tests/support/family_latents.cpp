// Makers of checkpoints of DeepSeek-V2 and V3.

#include "tests/support/family_maker.h"

namespace headwise::test {

namespace {

// A head compares 4 rotated and 5 other components, and reads values of 3.
constexpr std::size_t rotated = 4, unrotated = 5, valueWidth = 3, latentWidth = 7, queryLatent = 10;

void latentAttention(Maker& make, const std::string& attention, bool hasQueryLatent)
{
    const std::size_t compared = queryHeads * (rotated + unrotated);
    if (hasQueryLatent) {
        make.linear(attention + "q_a_proj", queryLatent, residual, false);
        make.write.normWeight(attention + "q_a_layernorm.weight", queryLatent);
        make.linear(attention + "q_b_proj", compared, queryLatent, false);
    } else {
        make.linear(attention + "q_proj", compared, residual, false);
    }
    make.linear(attention + "kv_a_proj_with_mqa", latentWidth + rotated, residual, false);
    make.write.normWeight(attention + "kv_a_layernorm.weight", latentWidth);
    make.linear(attention + "kv_b_proj", queryHeads * (unrotated + valueWidth), latentWidth, false);
    make.linear(attention + "o_proj", residual, queryHeads * valueWidth, false);
}

void deepSeek(Maker& make, bool hasQueryLatent, std::size_t denseLayers, std::size_t experts = 3)
{
    constexpr std::size_t shared = 2, denseWidth = 17;
    make.config = decoderConfig("deepseek_v2", "DeepseekV2ForCausalLM");
    rmsLayers(make);
    make.config["num_key_value_heads"] = int(queryHeads);
    make.config["qk_rope_head_dim"] = int(rotated);
    make.config["qk_nope_head_dim"] = int(unrotated);
    make.config["v_head_dim"] = int(valueWidth);
    make.config["kv_lora_rank"] = int(latentWidth);
    make.config["q_lora_rank"] = hasQueryLatent ? QJsonValue(int(queryLatent)) : QJsonValue::Null;
    make.config["intermediate_size"] = int(denseWidth);
    make.config["moe_intermediate_size"] = int(f);
    make.config["n_routed_experts"] = int(experts);
    make.config["n_shared_experts"] = int(shared);
    make.config["num_experts_per_tok"] = 2;
    make.config["first_k_dense_replace"] = int(denseLayers);
    make.config["topk_method"] = "greedy";
    make.config["routed_scaling_factor"] = 1.0;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        latentAttention(make, b + "self_attn.", hasQueryLatent);
        if (layer < denseLayers) {
            gatedMlp(make, b + "mlp.", denseWidth);
            continue;
        }
        make.linear(b + "mlp.gate", experts, residual, false);
        gatedMlp(make, b + "mlp.shared_experts.", shared * f);
        for (std::size_t e = 0; e < experts; ++e)
            gatedMlp(make, b + "mlp.experts." + std::to_string(e) + ".", f);
    }
    make.write.matrix("lm_head.weight", {V, residual}, residual);
}

} // namespace

void deepSeekV2(Maker& make)
{
    deepSeek(make, true, 0);
    make.config["norm_topk_prob"] = true;
}

void deepSeekV2Lite(Maker& make)
{
    deepSeek(make, false, 1);
    make.config["num_experts_per_tok"] =
        3; // so that each expert is chosen for one token of a prompt at least
    make.config["rope_scaling"] =
        QJsonObject{{"type", "yarn"},       {"factor", 4.0},   {"original_max_position_embeddings", int(C)},
                    {"mscale", 0.7},        {"beta_fast", 32}, {"beta_slow", 1},
                    {"mscale_all_dim", 0.9}};
}

void deepSeekV2InGroups(Maker& make)
{
    deepSeek(make, true, 1, 6);
    make.config["topk_method"] = "group_limited_greedy";
    make.config["n_group"] = 3;
    make.config["topk_group"] = 2;
    make.config["num_experts_per_tok"] = 3;
    make.config["routed_scaling_factor"] = 1.6;
}

void deepSeekV3(Maker& make)
{
    constexpr std::size_t experts = 9;
    deepSeek(make, true, 1, experts);
    make.config["model_type"] = "deepseek_v3";
    make.config["architectures"] = QJsonArray{"DeepseekV3ForCausalLM"};
    make.config["topk_method"] = "noaux_tc";
    make.config["scoring_func"] = "sigmoid";
    make.config["n_group"] = 3;
    make.config["topk_group"] = 2;
    make.config["num_experts_per_tok"] = 5;
    make.config["norm_topk_prob"] = true;
    make.config["routed_scaling_factor"] = 2.5;
    make.config["num_nextn_predict_layers"] = 1;
    for (std::size_t layer = 1; layer < layers; ++layer) {
        const std::string correction = block("model.layers.", layer) + "mlp.gate.e_score_correction_bias";
        make.write.bias(correction, {experts});
        for (double& value : make.write.tensors[correction].values)
            value /= 10; // so that each expert is chosen for one token of a prompt at least
    }
    // The layer behind the last one, in part.
    const std::string b = block("model.layers.", layers);
    make.linear(b + "eh_proj", residual, 2 * residual, false);
    make.write.normWeight(b + "enorm.weight", residual);
    make.linear(b + "self_attn.o_proj", residual, queryHeads * valueWidth, false);
}

} // namespace headwise::test
