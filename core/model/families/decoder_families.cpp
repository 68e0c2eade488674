#include "core/model/families/family_config.h"

namespace headwise {
namespace {

using enum NormKind;

constexpr BiasRule attentionBiases{.key = "attention_bias", .standard = false};
constexpr FamilyKeys cohereKeys{.normEps = {"layer_norm_eps"}, .activation = {"hidden_act"}};
constexpr FamilySizes cohereSizes{40, 64, 0, 8192, 0, 22528, 256000, 8192};
constexpr FamilyNorms cohereNorms{
    .kind = LayerNorm, .eps = 1e-5, .oneIfParallel = true, .bias = StoredBias::Absent};

// More rows of the table, of decoders alone. Sizes without names are as in families.cpp.
constexpr Family decoders[] = {
    {.name = "starcoder2",
     .classes = {"Starcoder2ForCausalLM", "Starcoder2Model"},
     .keys = {.normEps = {"norm_epsilon"}},
     .sizes = {30, 24, 2, 3072, 0, 12288, 49152, 4096},
     .norms = {.kind = LayerNorm, .eps = 1e-5},
     .windows = {.any = true, .listed = false},
     .biases = {.attention = {.key = "use_bias", .standard = true},
                .mlp = {.key = "use_bias", .standard = true}},
     .activation = "gelu_pytorch_tanh",
     .isTied = true,
     .fixed = {{{"mlp_type", "\"default\""}, {"norm_type", "\"layer_norm\""}}},
     .ignored = {"residual_dropout"},
     .tensors = {.mlp = {.in = "mlp.c_fc", .gate = {}, .out = "mlp.c_proj"}}},
    // Command-R. One norm without a bias, and adjacent pairs rotate.
    {.name = "cohere",
     .classes = {"CohereForCausalLM", "CohereModel"},
     .keys = cohereKeys,
     .sizes = cohereSizes,
     .norms = cohereNorms,
     .positions = {.adjacent = true},
     .biases = {.attention = attentionBiases},
     .isParallel = true,
     .isTied = true,
     .ignored = {"model_max_length"},
     .tensors = {.attention = {.norms = HeadNorms::Rows}},
     .code = {.read = readCohere}},
    // Command-R7B and Aya Expanse's successors. Layers without a window have no positions.
    {.name = "cohere2",
     .classes = {"Cohere2ForCausalLM", "Cohere2Model"},
     .keys = cohereKeys,
     .sizes = cohereSizes,
     .norms = cohereNorms,
     .positions = {.adjacent = true, .onlyWhereSliding = true},
     .windows = {.any = true,
                 .absent = 4096,
                 .pattern = 4,
                 .patternKeys = {"sliding_window_pattern", "_sliding_window_pattern", "layer_switch"}},
     .biases = {.attention = attentionBiases},
     .isParallel = true,
     .isTied = true,
     .fixed = {{{"use_qk_norm", "false"},
                {"use_parallel_block", "true"},
                {"use_gated_activation", "true"},
                {"order_of_interleaved_layers", "\"local_attn_first\""},
                {"position_embedding_type", "\"rope_gptj\""}}},
     .ignored = {"model_max_length", "use_embedding_sharing", "use_parallel_embedding",
                 "cache_implementation"},
     .code = {.read = readCohereLogits}},
    // Llama with four factors. Granite's mixtures and hybrids are other types.
    {.name = "granite",
     .classes = {"GraniteForCausalLM", "GraniteModel"},
     .biases = {.attention = attentionBiases, .mlp = {.key = "mlp_bias", .standard = false}},
     .code = {.read = readGranite}},
    {.name = "qwen3_moe",
     .classes = {"Qwen3MoeForCausalLM", "Qwen3MoeModel"},
     .keys = {.dMlp = {"moe_intermediate_size"}},
     .sizes = {24, 32, 4, 2048, 0, 768, 151936, 32768},
     .norms = {.qk = Rms},
     .biases = {.attention = attentionBiases},
     .fixed = {{{"use_sliding_window", "false"}, {"decoder_sparse_step", "1"}, {"mlp_only_layers", "[]"}}},
     .ignored = {"sliding_window", "max_window_layers", "intermediate_size", "router_aux_loss_coef",
                 "output_router_logits"},
     .code = {.read = readQwen3Moe, .addMlp = addQwenExperts}},
    // V2-Lite and Coder-V2-Lite. The large V2 chooses among groups of experts, and V3 by other scores.
    {.name = "deepseek_v2",
     .classes = {"DeepseekV2ForCausalLM", "DeepseekV2Model"},
     .keys = {.dHead = {}},
     .positions = {.adjacent = true},
     .fixed = {{{"attention_bias", "false"},
                {"mlp_bias", "false"},
                {"moe_layer_freq", "1"},
                {"topk_method", "\"greedy\""},
                {"scoring_func", "\"softmax\""},
                {"routed_scaling_factor", "1"}}},
     .ignored = {"aux_loss_alpha", "seq_aux", "ep_size", "n_group", "topk_group", "head_dim"},
     .code = {.read = readDeepSeekV2, .addAttention = addLatentAttention, .addMlp = addDeepSeekMlp}},
    // Nemotron-3, Nemotron-4 and Minitron. Its LayerNorm multiplies by 1 + w.
    {.name = "nemotron",
     .classes = {"NemotronForCausalLM", "NemotronModel"},
     .keys = {.normEps = {"norm_eps"}},
     .sizes = {32, 48, 0, 6144, 0, 24576, 256000, 4096},
     .norms = {.kind = LayerNorm, .eps = 1e-5, .weightAddend = 1},
     .positions = {.part = 0.5},
     .biases = {.attention = attentionBiases, .mlp = {.key = "mlp_bias", .standard = false}},
     .activation = "relu2",
     .tensors = {.mlp = {.gate = {}}}},
    {.name = "internlm2",
     .classes = {"InternLM2ForCausalLM", "InternLM2Model"},
     .sizes = {.vocabulary = 103168},
     .biases = {.attention = {.key = "bias", .standard = true}},
     .tensors = {.embedding = "tok_embeddings",
                 .output = "output",
                 .norms = {.ln1 = "attention_norm", .ln2 = "ffn_norm"},
                 .attention = {.o = "attention.wo", .qkv = "attention.wqkv", .order = FusedOrder::PerGroup},
                 .mlp = {.in = "feed_forward.w3", .gate = "feed_forward.w1", .out = "feed_forward.w2"}}},
    // Baichuan 7B and 13B. Their files' names of the class differ in one capital letter, which tells nothing.
    {.name = "baichuan",
     .classes = {"BaichuanForCausalLM", "BaiChuanForCausalLM"},
     .keys = {.kvHeads = {}, .dHead = {}, .context = {"max_position_embeddings", "model_max_length"}},
     .sizes = {.vocabulary = 64000, .context = 4096},
     .ignored = {"_from_model_config", "user_token_id", "assistant_token_id"},
     .tensors = {.attention = {.qkv = "self_attn.W_pack"}},
     .code = {.read = readBaichuan}},
    {.name = "mpt",
     .classes = {"MptForCausalLM", "MPTForCausalLM", "MptModel"},
     .keys = {.layers = {"n_layers"},
              .heads = {"n_heads"},
              .kvHeads = {},
              .dModel = {"d_model"},
              .dHead = {},
              .dMlp = {},
              .context = {"max_seq_len"},
              .normEps = {"layer_norm_epsilon"},
              .activation = {}},
     .sizes = {24, 16, 0, 2048, 0, 0, 50368, 2048},
     .norms = {.kind = LayerNorm, .eps = 1e-5, .bias = StoredBias::Absent},
     .positions = {.kind = Positional::Alibi},
     .activation = "gelu",
     .isTied = true,
     .nestedKey = "attn_config",
     .fixed = {{{"no_bias", "true"}, {"logit_scale", ""}}},
     .ignored = {"learned_pos_emb", "init_device", "init_config", "verbose", "embedding_fraction",
                 "emb_pdrop", "tokenizer_name", "resid_pdrop"},
     .tensors = {.prefixes = {"", "transformer."},
                 .embedding = "wte",
                 .layers = "blocks.",
                 .norms = {.ln1 = "norm_1", .ln2 = "norm_2", .last = "norm_f"},
                 .attention = {.o = "attn.out_proj", .qkv = "attn.Wqkv"},
                 .mlp = {.in = "ffn.up_proj", .gate = {}, .out = "ffn.down_proj"}},
     .code = {.read = readMpt}},
};

} // namespace

std::span<const Family> decoderFamilies()
{
    return decoders;
}

} // namespace headwise
