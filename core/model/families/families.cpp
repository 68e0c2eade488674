#include "core/model/families/encoder_families.h"
#include "core/model/families/family_config.h"

#include <vector>

namespace headwise {
namespace {

using enum NormKind;

constexpr FamilyKeys llamaLayerNormKeys{.normEps = {"layer_norm_eps", "norm_eps"}};
constexpr BiasRule attentionBiasKey{.key = "attention_bias", .standard = false};
constexpr FamilyTensors::NormNames normsAround{.ln2 = "pre_feedforward_layernorm",
                                               .ln1Post = "post_attention_layernorm",
                                               .ln2Post = "post_feedforward_layernorm"};

// Llama and its kin. A new family is a row in the table of its kin and a form of it in tests/support/family_model.cpp. A row
// says how a family differs from Llama.
// Sizes without names are layers, heads, key/value heads, d_model, d_head, d_mlp, vocabulary and context.
constexpr Family familyTable[] = {
    {.name = "gemma",
     .classes = {"GemmaForCausalLM"},
     .sizes = {28, 16, 0, 3072, 256, 24576, 256000, 8192},
     .norms = {.addsOne = true},
     .activation = "gelu_pytorch_tanh",
     .isTied = true,
     .scalesEmbedding = true,
     .fixed = {{{"attention_bias", "false"}, {"use_bidirectional_attention", "false"}}},
     .code = {.read = readGemma}},
    {.name = "gemma2",
     .classes = {"Gemma2ForCausalLM"},
     .sizes = {26, 8, 4, 2304, 256, 9216, 256000, 8192},
     .norms = {.behind = true, .addsOne = true},
     .windows = {.any = true, .absent = 4096, .null = 4096, .pattern = 2},
     .activation = "gelu_pytorch_tanh",
     .isTied = true,
     .scalesEmbedding = true,
     .fixed = {{{"attention_bias", "false"}, {"use_bidirectional_attention", "false"}}},
     .ignored = {"sliding_window_size", "cache_implementation"},
     .tensors = {.norms = normsAround},
     .code = {.read = readGemma2}},
    {.name = "gemma3",
     .classes = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
     .otherTypes = {"gemma3_text"},
     .sizes = {26, 8, 4, 2304, 256, 9216, 262208, 131072},
     .norms = {.behind = true, .addsOne = true, .qk = Rms},
     .positions = {.base = 1e6, .apartWhereSliding = true, .slidingBaseKey = "rope_local_base_freq"},
     .windows = {.any = true,
                 .absent = 4096,
                 .null = 4096,
                 .pattern = 6,
                 .patternKeys = {"sliding_window_pattern", "_sliding_window_pattern"}},
     .activation = "gelu_pytorch_tanh",
     .isTied = true,
     .scalesEmbedding = true,
     .hasTextConfig = true,
     .fixed = {{{"attention_bias", "false"}, {"use_bidirectional_attention", "false"}}},
     .ignored = {"cache_implementation"},
     .tensors = {.norms = normsAround},
     .code = {.read = readGemma3}},
    // A bias of Llama's is there if the config says so, and if it says nothing, if the file has it: some configs have no key.
    {.name = "llama",
     .classes = {"LlamaForCausalLM", "LlamaModel"},
     .biases = {.attention = {.key = "attention_bias"}, .mlp = {.key = "mlp_bias"}},
     .fixed = {{{"sliding_window", ""}, {"use_sliding_window", "false"}}}},
    // A window that is written as null is none (v0.2 and later); the class's own is for files that do not speak of it.
    {.name = "mistral",
     .classes = {"MistralForCausalLM"},
     .sizes = {.kvHeads = 8, .dMlp = 14336, .context = 4096 * 32},
     .windows = {.any = true, .absent = 4096},
     .biases = {.attention = {StoredBias::AsStored}, .mlp = {StoredBias::AsStored}}},
    {.name = "mixtral",
     .classes = {"MixtralForCausalLM"},
     .sizes = {.kvHeads = 8, .dMlp = 14336, .context = 4096 * 32},
     .norms = {.eps = 1e-5},
     .positions = {.base = 1e6},
     .windows = {.any = true, .listed = false},
     .fixed = {{{"attention_bias", "false"}}},
     .ignored = {"router_aux_loss_coef", "router_jitter_noise", "output_router_logits"},
     .code = {.read = readMixtral, .addMlp = addMixtralExperts}},
    // The biases of q, k and v belong to the architecture: no key speaks of them.
    {.name = "qwen2",
     .classes = {"Qwen2ForCausalLM"},
     .sizes = {.dMlp = 22016, .vocabulary = 151936, .context = 32768},
     .windows =
         {.any = true, .absent = 4096, .switchKey = "use_sliding_window", .firstKey = "max_window_layers"},
     .biases = {.attention = hasBias, .output = noBias}},
    {.name = "qwen3",
     .classes = {"Qwen3ForCausalLM"},
     .sizes = {.dHead = 128, .dMlp = 22016, .vocabulary = 151936, .context = 32768},
     .norms = {.qk = Rms},
     .windows =
         {.any = true, .absent = 4096, .switchKey = "use_sliding_window", .firstKey = "max_window_layers"},
     .biases = {.attention = attentionBiasKey}},
    // Phi-1, 1.5 and 2.
    {.name = "phi",
     .classes = {"PhiForCausalLM"},
     .keys = {.layers = {"num_hidden_layers", "n_layer"},
              .heads = {"num_attention_heads", "n_head"},
              .dModel = {"hidden_size", "n_embd"},
              .context = {"max_position_embeddings", "n_positions"},
              .normEps = {"layer_norm_eps"},
              .activation = {"hidden_act"}},
     .sizes = {.layers = 24, .dModel = 2048, .dMlp = 8192, .vocabulary = 51200},
     .norms = {.kind = LayerNorm, .eps = 1e-5, .oneIfParallel = true},
     .positions = {.part = 0.5},
     .biases = {.attention = hasBias, .mlp = hasBias, .unembed = true},
     .activation = "gelu_new",
     .isParallel = true,
     .fixed = {{{"qk_layernorm", "false"}}},
     .tensors = {.prefixes = {"", "model."},
                 .norms = {.last = "final_layernorm"},
                 .attention = {.o = "self_attn.dense"},
                 .mlp = {.in = "mlp.fc1", .gate = {}, .out = "mlp.fc2"},
                 .buffers = {"*rotary_emb.inv_freq", "score.weight"}},
     .code = {.obstacle = phiObstacle}},
    // Phi-3, 3.5 and 4.
    {.name = "phi3",
     .classes = {"Phi3ForCausalLM"},
     .sizes = {.dModel = 3072, .dMlp = 8192, .vocabulary = 32064, .context = 4096},
     .norms = {.eps = 1e-5},
     .positions = {.originalContext = 4096},
     .windows = {.any = true, .listed = false},
     .fixed = {{{"attention_bias", "false"}, {"mlp_bias", "false"}, {"lm_head_bias", "false"}}},
     .ignored = {"full_attn_mod", "interpolate_factor", "use_mup"},
     .tensors = {.attention = {.qkv = "self_attn.qkv_proj"}, .mlp = {.gateAndIn = "mlp.gate_up_proj"}}},
    // StableLM 3B and 2; stablelm-base-alpha is a GPT-NeoX.
    {.name = "stablelm",
     .classes = {"StableLmForCausalLM", "StableLMEpochForCausalLM"},
     .otherTypes = {"stablelm_epoch"},
     .keys = llamaLayerNormKeys,
     .sizes = {.kvHeads = 32, .dModel = 2560, .dMlp = 6912, .vocabulary = 50304, .context = 4096},
     .norms = {.kind = LayerNorm, .eps = 1e-5, .oneIfParallel = true},
     .positions = {.part = 0.25},
     .biases = {.attention = {.key = "use_qkv_bias", .standard = false}, .output = noBias},
     .parallelKey = "use_parallel_residual",
     .tensors = {.attention = {.qNorm = "self_attn.q_layernorm",
                               .kNorm = "self_attn.k_layernorm",
                               .norms = HeadNorms::Tensors}},
     .code = {.read = readStablelm}},
    // OLMo's norms have w = 1 and b = 0, and no key changes their eps.
    {.name = "olmo",
     .classes = {"OlmoForCausalLM"},
     .keys = {.normEps = {}},
     .sizes = {.vocabulary = 50304},
     .norms = {.kind = LayerNorm, .eps = 1e-5, .hasParameters = false},
     .biases = {.attention = attentionBiasKey},
     .ignored = {"layer_norm_eps", "norm_eps"},
     .code = {.read = readOlmo}},
    {.name = "olmo2",
     .classes = {"Olmo2ForCausalLM"},
     .sizes = {.vocabulary = 50304},
     .norms = {.eps = 1e-5, .before = false, .behind = true, .qk = Rms, .qkOverAllHeads = true},
     .biases = {.attention = attentionBiasKey},
     .tensors = {.norms = normsAround}},
    {.name = "olmo3",
     .classes = {"Olmo3ForCausalLM"},
     .sizes = {.vocabulary = 50304},
     .norms = {.eps = 1e-5, .before = false, .behind = true, .qk = Rms, .qkOverAllHeads = true},
     .positions = {.apartWhereSliding = true},
     .windows = {.any = true, .absent = 4096, .null = 4096, .pattern = 4},
     .biases = {.attention = attentionBiasKey},
     .tensors = {.norms = normsAround}},
    {.name = "smollm3",
     .classes = {"SmolLM3ForCausalLM"},
     .sizes =
         {.layers = 36, .heads = 16, .kvHeads = 4, .dModel = 2048, .vocabulary = 128256, .context = 32768},
     .positions = {.base = 2e6},
     .windows = {.any = true, .switchKey = "use_sliding_window"},
     .biases = {.attention = attentionBiasKey, .mlp = {.key = "mlp_bias", .standard = false}},
     .isTied = true,
     .ignored = {"max_window_layers"},
     .code = {.read = readSmollm3}},
    {.name = "transformer-lens",
     .code = {.matches = matchesTransformerLens,
              .readAll = readTransformerLens,
              .loadAll = loadTransformerLens}},
};

} // namespace

std::span<const Family> families()
{
    static const std::vector<Family> all = [] {
        std::vector<Family> rows(std::begin(familyTable), std::end(familyTable));
        for (const std::span<const Family> others :
             {gptFamilies(), decoderFamilies(), encoderFamilies(), encoderDecoderFamilies()})
            rows.insert(rows.end(), others.begin(), others.end());
        return rows;
    }();
    return all;
}

} // namespace headwise
