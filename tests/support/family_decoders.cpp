// Makers of checkpoints of the families in decoder_families.cpp.

#include "tests/support/family_maker.h"

namespace headwise::test {

QJsonObject decoderConfig(const char* type, const char* architecture)
{
    return {{"architectures", QJsonArray{architecture}},
            {"model_type", type},
            {"hidden_size", int(residual)},
            {"num_attention_heads", int(queryHeads)},
            {"num_key_value_heads", int(sharedHeads)},
            {"num_hidden_layers", int(layers)},
            {"intermediate_size", int(f)},
            {"vocab_size", int(V)},
            {"max_position_embeddings", int(C)},
            {"rope_theta", 523}};
}

namespace {

void decoderAttention(Maker& make, const std::string& b, bool bias, std::size_t width = headWidth)
{
    make.linear(b + "self_attn.q_proj", queryHeads * width, residual, bias);
    make.linear(b + "self_attn.k_proj", sharedHeads * width, residual, bias);
    make.linear(b + "self_attn.v_proj", sharedHeads * width, residual, bias);
    make.linear(b + "self_attn.o_proj", residual, queryHeads * width, bias);
}

} // namespace

void starCoder2(Maker& make)
{
    make.config = decoderConfig("starcoder2", "Starcoder2ForCausalLM");
    make.config["hidden_act"] = "gelu_pytorch_tanh";
    make.config["norm_epsilon"] = 1e-5;
    make.config["sliding_window"] = 4;
    make.config["use_bias"] = true;
    make.write.embedding("model.embed_tokens.weight", {V, residual});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        make.layerNorm(b + "input_layernorm", residual);
        make.layerNorm(b + "post_attention_layernorm", residual);
        decoderAttention(make, b, true);
        make.linear(b + "mlp.c_fc", f, residual, true);
        make.linear(b + "mlp.c_proj", residual, f, true);
    }
    make.layerNorm("model.norm", residual);
}

void gatedMlp(Maker& make, const std::string& b, std::size_t width)
{
    make.linear(b + "gate_proj", width, residual, false);
    make.linear(b + "up_proj", width, residual, false);
    make.linear(b + "down_proj", residual, width, false);
}

namespace {

void cohereLayers(Maker& make, const char* type, const char* architecture)
{
    make.config = decoderConfig(type, architecture);
    make.config["layer_norm_eps"] = 1e-5;
    make.config["logit_scale"] = 0.25;
    make.write.embedding("model.embed_tokens.weight", {V, residual});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        make.write.normWeight(b + "input_layernorm.weight", residual);
        decoderAttention(make, b, false);
        gatedMlp(make, b + "mlp.");
    }
    make.write.normWeight("model.norm.weight", residual);
}

} // namespace

void cohere(Maker& make)
{
    cohereLayers(make, "cohere", "CohereForCausalLM");
}

void cohereWithHeadNorms(Maker& make)
{
    cohere(make);
    make.config["use_qk_norm"] = true;
    const auto norm = [&](const std::string& name, std::size_t heads) {
        make.write.normWeight(name, heads * headWidth);
        make.write.tensors[name].shape = {heads, headWidth};
    };
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer) + "self_attn.";
        norm(b + "q_norm.weight", queryHeads);
        norm(b + "k_norm.weight", sharedHeads);
    }
}

void cohere2(Maker& make)
{
    cohereLayers(make, "cohere2", "Cohere2ForCausalLM");
    make.config["sliding_window"] = 4;
    make.config["sliding_window_pattern"] = 2;
    make.config["use_parallel_block"] = true;
}

void rmsLayers(Maker& make)
{
    make.config["rms_norm_eps"] = 1e-5;
    make.write.embedding("model.embed_tokens.weight", {V, residual});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        make.write.normWeight(b + "input_layernorm.weight", residual);
        make.write.normWeight(b + "post_attention_layernorm.weight", residual);
    }
    make.write.normWeight("model.norm.weight", residual);
}

void granite(Maker& make)
{
    make.config = decoderConfig("granite", "GraniteForCausalLM");
    rmsLayers(make);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        decoderAttention(make, b, true);
        gatedMlp(make, b + "mlp.");
    }
    make.config["attention_bias"] = true;
    make.config["embedding_multiplier"] = 3.0;
    make.config["attention_multiplier"] = 0.3;
    make.config["residual_multiplier"] = 0.4;
    make.config["logits_scaling"] = 2.0;
    make.config["tie_word_embeddings"] = true;
}

namespace {

constexpr std::size_t qwenExperts = 4;

void qwen3MoeWithoutExperts(Maker& make)
{
    make.config = decoderConfig("qwen3_moe", "Qwen3MoeForCausalLM");
    rmsLayers(make);
    make.config["head_dim"] = int(headWidth);
    make.config["intermediate_size"] = 5; // of layers without experts, which there are none of
    make.config["moe_intermediate_size"] = int(f);
    make.config["num_experts"] = int(qwenExperts);
    make.config["num_experts_per_tok"] = 2;
    make.config["norm_topk_prob"] = true;
    make.config["mlp_only_layers"] = QJsonArray{};
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        decoderAttention(make, b, false);
        make.write.normWeight(b + "self_attn.q_norm.weight", headWidth);
        make.write.normWeight(b + "self_attn.k_norm.weight", headWidth);
        make.linear(b + "mlp.gate", qwenExperts, residual, false);
    }
    make.write.matrix("lm_head.weight", {V, residual}, residual);
}

} // namespace

void qwen3Moe(Maker& make)
{
    qwen3MoeWithoutExperts(make);
    for (std::size_t layer = 0; layer < layers; ++layer)
        for (std::size_t e = 0; e < qwenExperts; ++e)
            gatedMlp(make, block("model.layers.", layer) + "mlp.experts." + std::to_string(e) + ".");
}

void qwen3MoeInOneTensor(Maker& make)
{
    qwen3MoeWithoutExperts(make);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer) + "mlp.experts.";
        make.write.matrix(b + "gate_up_proj", {qwenExperts, 2 * f, residual}, residual);
        make.write.matrix(b + "down_proj", {qwenExperts, residual, f}, f);
    }
}

void gptOss(Maker& make)
{
    constexpr std::size_t experts = 4, width = 2 * headWidth; // 4 pairs rotate
    make.config = decoderConfig("gpt_oss", "GptOssForCausalLM");
    rmsLayers(make);
    make.config["head_dim"] = int(width);
    make.config["attention_bias"] = true;
    make.config["hidden_act"] = "silu";
    make.config["num_local_experts"] = int(experts);
    make.config["num_experts_per_tok"] = 2;
    make.config["sliding_window"] = 4;
    make.config["layer_types"] = QJsonArray{"full_attention", "sliding_attention", "full_attention"};
    make.config["swiglu_limit"] = 7.0;
    make.config["rope_scaling"] = QJsonObject{{"rope_type", "yarn"},
                                              {"factor", 4.0},
                                              {"truncate", false},
                                              {"original_max_position_embeddings", 300}};
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer), e = b + "mlp.experts.";
        decoderAttention(make, b, true, width);
        make.write.bias(b + "self_attn.sinks", {queryHeads});
        make.linear(b + "mlp.router", experts, residual, true);
        make.write.matrix(e + "gate_up_proj", {experts, residual, 2 * f}, 2); // some pass the limit
        make.write.bias(e + "gate_up_proj_bias", {experts, 2 * f});
        make.write.matrix(e + "down_proj", {experts, f, residual}, 16 * f);
        make.write.bias(e + "down_proj_bias", {experts, residual});
    }
    make.write.matrix("lm_head.weight", {V, residual}, residual);
}

void nemotron(Maker& make)
{
    make.config = decoderConfig("nemotron", "NemotronForCausalLM");
    make.config["norm_eps"] = 1e-5;
    make.config["hidden_act"] = "relu2";
    make.config["partial_rotary_factor"] = 0.5;
    make.config["head_dim"] = int(2 * headWidth); // so that there are two pairs
    const auto norm = [&](const std::string& name) {
        make.write.normWeight(name + ".weight", residual, 0);
        make.write.bias(name + ".bias", {residual});
    };
    make.write.embedding("model.embed_tokens.weight", {V, residual});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        norm(b + "input_layernorm");
        norm(b + "post_attention_layernorm");
        decoderAttention(make, b, false, 2 * headWidth);
        make.linear(b + "mlp.up_proj", f, residual, false);
        make.linear(b + "mlp.down_proj", residual, f, false);
    }
    norm("model.norm");
    make.write.matrix("lm_head.weight", {V, residual}, residual);
}

void internLm2(Maker& make)
{
    make.config = decoderConfig("internlm2", "InternLM2ForCausalLM");
    make.config["rms_norm_eps"] = 1e-5;
    make.config["bias"] = false;
    make.config["rope_scaling"] = QJsonObject{{"type", "dynamic"}, {"factor", 2.0}};
    make.write.embedding("model.tok_embeddings.weight", {V, residual});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        make.write.normWeight(b + "attention_norm.weight", residual);
        make.write.normWeight(b + "ffn_norm.weight", residual);
        make.linear(b + "attention.wqkv", (queryHeads + 2 * sharedHeads) * headWidth, residual, false);
        make.linear(b + "attention.wo", residual, residual, false);
        make.linear(b + "feed_forward.w1", f, residual, false);
        make.linear(b + "feed_forward.w3", f, residual, false);
        make.linear(b + "feed_forward.w2", residual, f, false);
    }
    make.write.normWeight("model.norm.weight", residual);
    make.write.matrix("output.weight", {V, residual}, residual);
}

void baichuan7b(Maker& make)
{
    make.config = decoderConfig("baichuan", "BaiChuanForCausalLM");
    make.config.remove("num_key_value_heads");
    make.config.remove("rope_theta");
    rmsLayers(make);
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("model.layers.", layer);
        make.linear(b + "self_attn.W_pack", 3 * residual, residual, false);
        make.linear(b + "self_attn.o_proj", residual, residual, false);
        gatedMlp(make, b + "mlp.");
    }
    make.write.matrix("lm_head.weight", {V, residual}, residual);
}

void baichuan13b(Maker& make)
{
    baichuan7b(make);
    make.config["architectures"] = QJsonArray{"BaichuanForCausalLM"};
    make.config["model_max_length"] = int(C);
    make.config.remove("max_position_embeddings");
}

void mpt(Maker& make)
{
    constexpr std::size_t heads = 4, width = heads * 12; // other numbers of heads divide it too
    make.config = {
        {"architectures", QJsonArray{"MPTForCausalLM"}},
        {"model_type", "mpt"},
        {"d_model", int(width)},
        {"n_heads", int(heads)},
        {"n_layers", int(layers)},
        {"expansion_ratio", 2},
        {"vocab_size", int(V)},
        {"max_seq_len", int(C)},
        {"no_bias", true},
        {"norm_type", "low_precision_layernorm"},
        {"logit_scale", QJsonValue::Null},
        {"attn_config",
         QJsonObject{{"alibi", true}, {"alibi_bias_max", 8}, {"attn_impl", "torch"}, {"qk_ln", false}}}};
    make.write.embedding("transformer.wte.weight", {V, width});
    for (std::size_t layer = 0; layer < layers; ++layer) {
        const std::string b = block("transformer.blocks.", layer);
        make.write.normWeight(b + "norm_1.weight", width);
        make.write.normWeight(b + "norm_2.weight", width);
        make.linear(b + "attn.Wqkv", 3 * width, width, false);
        make.linear(b + "attn.out_proj", width, width, false);
        make.linear(b + "ffn.up_proj", 2 * width, width, false);
        make.linear(b + "ffn.down_proj", width, 2 * width, false);
    }
    make.write.normWeight("transformer.norm_f.weight", width);
}

} // namespace headwise::test
