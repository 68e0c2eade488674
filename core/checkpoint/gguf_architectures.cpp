#include "core/checkpoint/gguf_architectures.h"

#include <algorithm>

namespace headwise {
namespace {

// Names of tensors, without ".weight" or ".bias".

constexpr GgufRename normsAroundBoth[] = {{"post_attention_norm", "post_attention_layernorm"},
                                          {"ffn_norm", "pre_feedforward_layernorm"},
                                          {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr GgufRename gemma3Block[] = {{"post_attention_norm", "post_attention_layernorm"},
                                      {"ffn_norm", "pre_feedforward_layernorm"},
                                      {"post_ffw_norm", "post_feedforward_layernorm"},
                                      {"attn_q_norm", "self_attn.q_norm"},
                                      {"attn_k_norm", "self_attn.k_norm"}};
constexpr GgufRename qkNormBlock[] = {{"attn_q_norm", "self_attn.q_norm"},
                                      {"attn_k_norm", "self_attn.k_norm"}};
constexpr GgufRename olmo2Block[] = {{"attn_q_norm", "self_attn.q_norm"},
                                     {"attn_k_norm", "self_attn.k_norm"},
                                     {"post_attention_norm", "post_attention_layernorm"},
                                     {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr GgufRename phi2Model[] = {{"output_norm", "model.final_layernorm"}};
constexpr GgufRename phi2Block[] = {
    {"attn_output", "self_attn.dense"}, {"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}};
constexpr GgufRename phi3Block[] = {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}};
constexpr GgufRename gpt2Model[] = {{"token_embd", "transformer.wte"},
                                    {"position_embd", "transformer.wpe"},
                                    {"output_norm", "transformer.ln_f"}};
constexpr GgufRename gpt2Block[] = {{"attn_norm", "ln_1"},       {"ffn_norm", "ln_2"},
                                    {"attn_qkv", "attn.c_attn"}, {"attn_output", "attn.c_proj"},
                                    {"ffn_up", "mlp.c_fc"},      {"ffn_down", "mlp.c_proj"}};
constexpr GgufRename neoxModel[] = {{"token_embd", "gpt_neox.embed_in"},
                                    {"output_norm", "gpt_neox.final_layer_norm"},
                                    {"output", "embed_out"}};
constexpr GgufRename neoxBlock[] = {{"attn_qkv", "attention.query_key_value"},
                                    {"attn_output", "attention.dense"},
                                    {"ffn_up", "mlp.dense_h_to_4h"},
                                    {"ffn_down", "mlp.dense_4h_to_h"}};
constexpr GgufRename falconModel[] = {{"token_embd", "transformer.word_embeddings"},
                                      {"output_norm", "transformer.ln_f"}};
constexpr GgufRename falconBlock[] = {{"attn_norm_2", "ln_attn"},
                                      {"attn_qkv", "self_attention.query_key_value"},
                                      {"attn_output", "self_attention.dense"},
                                      {"ffn_up", "mlp.dense_h_to_4h"},
                                      {"ffn_down", "mlp.dense_4h_to_h"}};
constexpr GgufRename starcoder2Block[] = {{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}};
constexpr GgufRename stablelmBlock[] = {{"attn_q_norm", "self_attn.q_layernorm"},
                                        {"attn_k_norm", "self_attn.k_layernorm"}};

// Keys of the metadata.

constexpr GgufRename windowKey[] = {{"attention.sliding_window", "sliding_window"}};
constexpr GgufRename gemma2Keys[] = {{"attention.sliding_window", "sliding_window"},
                                     {"attn_logit_softcapping", "attn_logit_softcapping"},
                                     {"final_logit_softcapping", "final_logit_softcapping"}};
constexpr GgufRename gemma3Keys[] = {{"attention.sliding_window", "sliding_window"},
                                     {"attention.sliding_window_pattern", "sliding_window_pattern"},
                                     {"rope.freq_base_swa", "rope_local_base_freq"},
                                     {"final_logit_softcapping", "final_logit_softcapping"}};
constexpr GgufRename parallelKey[] = {{"use_parallel_residual", "use_parallel_residual"}};

constexpr GgufRename stablelmFlags[] = {{"blk.0.attn_q.bias", "use_qkv_bias"},
                                        {"blk.0.attn_q_norm.weight", "qk_layernorm"}};
constexpr GgufRename falconFlags[] = {{"blk.0.attn_qkv.bias", "bias"}};

// Keys of the config.

constexpr GgufRename normEpsilon[] = {{"rms_norm_eps", "norm_epsilon"}};
constexpr GgufRename layerNormEps[] = {{"rms_norm_eps", "layer_norm_eps"}};
constexpr GgufRename neoxConfig[] = {
    {"rms_norm_eps", "layer_norm_eps"}, {"num_key_value_heads", {}}, {"head_dim", {}}};
constexpr GgufRename falconConfig[] = {{"rms_norm_eps", "layer_norm_epsilon"},
                                       {"intermediate_size", "ffn_hidden_size"},
                                       {"num_key_value_heads", "num_kv_heads"},
                                       {"head_dim", {}}};
constexpr GgufRename gpt2Config[] = {{"rms_norm_eps", "layer_norm_epsilon"},
                                     {"num_hidden_layers", "n_layer"},
                                     {"num_attention_heads", "n_head"},
                                     {"hidden_size", "n_embd"},
                                     {"intermediate_size", "n_inner"},
                                     {"max_position_embeddings", "block_size"},
                                     {"num_key_value_heads", {}},
                                     {"head_dim", {}},
                                     {"rope_theta", {}}};

/// Source: llama.cpp `convert_hf_to_gguf.py`, and `src/llama-model.cpp` for what a key without a value means.
constexpr GgufArchitecture ggufTable[] = {
    {.name = "llama",
     .type = "llama",
     .statesHeads = false,
     .rows = GgufRows::AdjacentPairs,
     .constants = R"({"hidden_act":"silu"})"},
    {.name = "qwen2", .type = "qwen2"},
    {.name = "qwen3", .type = "qwen3", .block = qkNormBlock},
    {.name = "gemma", .type = "gemma", .normsWithOne = true},
    {.name = "gemma2",
     .type = "gemma2",
     .normsWithOne = true,
     .layersOfWideScores = 46,
     .keys = gemma2Keys,
     .block = normsAroundBoth},
    {.name = "gemma3",
     .type = "gemma3",
     .normsWithOne = true,
     .scalesLinearly = true,
     .layersOfWideScores = 62,
     .keys = gemma3Keys,
     .block = gemma3Block},
    {.name = "phi2",
     .type = "phi",
     .hasLayerNorm = true,
     .rotatesPart = true,
     .model = phi2Model,
     .block = phi2Block,
     .config = layerNormEps},
    {.name = "phi3", .type = "phi3", .rotatesPart = true, .keys = windowKey, .block = phi3Block},
    // The converter transposes the matrices of Conv1D. That is nanoGPT's form of a GPT-2.
    {.name = "gpt2",
     .type = "nanogpt",
     .hasLayerNorm = true,
     .layers = "transformer.h.",
     .model = gpt2Model,
     .block = gpt2Block,
     .config = gpt2Config,
     .constants = R"({"activation_function":"gelu_new"})"},
    {.name = "gptneox",
     .type = "gpt_neox",
     .hasLayerNorm = true,
     .rotatesPart = true,
     .rows = GgufRows::Thirds,
     .layers = "gpt_neox.layers.",
     .keys = parallelKey,
     .model = neoxModel,
     .block = neoxBlock,
     .config = neoxConfig},
    {.name = "falcon",
     .type = "falcon",
     .hasLayerNorm = true,
     .hasGroupedForm = true,
     .rows = GgufRows::Thirds,
     .layers = "transformer.h.",
     .flags = falconFlags,
     .model = falconModel,
     .block = falconBlock,
     .config = falconConfig},
    // The converter drops its window, and so does llama.cpp.
    {.name = "starcoder2",
     .type = "starcoder2",
     .hasLayerNorm = true,
     .block = starcoder2Block,
     .config = normEpsilon},
    {.name = "stablelm",
     .type = "stablelm",
     .hasLayerNorm = true,
     .rotatesPart = true,
     .stacksHeadNorms = true,
     .keys = parallelKey,
     .flags = stablelmFlags,
     .block = stablelmBlock,
     .config = layerNormEps},
    {.name = "olmo2", .type = "olmo2", .block = olmo2Block},
};

} // namespace

std::span<const GgufArchitecture> ggufArchitectures()
{
    return ggufTable;
}

const GgufArchitecture* ggufArchitecture(std::string_view name)
{
    const auto* found =
        std::find_if(std::begin(ggufTable), std::end(ggufTable),
                     [name](const GgufArchitecture& architecture) { return architecture.name == name; });
    return found == std::end(ggufTable) ? nullptr : found;
}

} // namespace headwise
