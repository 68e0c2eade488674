#include "core/model/names/names_library.h"

#include <array>
#include <utility>

// One map a row, in the schema of CONTRACTS.md: data, no code but to fill in words. A new one needs a row here and one in
// tests/core/model/names_library_test.cpp.

namespace headwise {
namespace {

/// The tensors of one stack of fairseq's models. @side@, @attention@ and @ln@ stand for its words; see fairseqMaps().
/// Positions that are computed are not stored, and then nothing is known of them. Learned ones begin at row 2.
constexpr std::string_view fairseqTensors =
    R"json({"headwise_names": 1, "name": "@name@", "prefixes": ["", "model."], "tensors": [
  {"name": "@side@.embed_tokens.weight", "is": "embed.W_E"},
  {"name": "@side@.embed_positions.weight", "is": "pos_embed.W_pos", "skip": 2},
  {"name": "@side@.layers.{layer}.@attention@_layer_norm.weight", "is": "blocks.{layer}.ln1@ln@.w"},
  {"name": "@side@.layers.{layer}.@attention@_layer_norm.bias", "is": "blocks.{layer}.ln1@ln@.b"},
  {"name": "@side@.layers.{layer}.@attention@.q_proj.weight", "is": "blocks.{layer}.attn.W_Q"},
  {"name": "@side@.layers.{layer}.@attention@.q_proj.bias", "is": "blocks.{layer}.attn.b_Q"},
  {"name": "@side@.layers.{layer}.@attention@.k_proj.weight", "is": "blocks.{layer}.attn.W_K"},
  {"name": "@side@.layers.{layer}.@attention@.k_proj.bias", "is": "blocks.{layer}.attn.b_K"},
  {"name": "@side@.layers.{layer}.@attention@.v_proj.weight", "is": "blocks.{layer}.attn.W_V"},
  {"name": "@side@.layers.{layer}.@attention@.v_proj.bias", "is": "blocks.{layer}.attn.b_V"},
  {"name": "@side@.layers.{layer}.@attention@.in_proj_weight",
   "is": ["blocks.{layer}.attn.W_Q", "blocks.{layer}.attn.W_K", "blocks.{layer}.attn.W_V"],
   "axes": "parts*heads*d_head, d_model", "comment": "of versions before 0.9"},
  {"name": "@side@.layers.{layer}.@attention@.in_proj_bias",
   "is": ["blocks.{layer}.attn.b_Q", "blocks.{layer}.attn.b_K", "blocks.{layer}.attn.b_V"],
   "axes": "parts*heads*d_head", "comment": "of versions before 0.9"},
  {"name": "@side@.layers.{layer}.@attention@.out_proj.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "@side@.layers.{layer}.@attention@.out_proj.bias", "is": "blocks.{layer}.attn.b_O"},
  {"name": "@side@.layers.{layer}.final_layer_norm.weight", "is": "blocks.{layer}.ln2@ln@.w"},
  {"name": "@side@.layers.{layer}.final_layer_norm.bias", "is": "blocks.{layer}.ln2@ln@.b"},
  {"name": "@side@.layers.{layer}.fc1.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "@side@.layers.{layer}.fc1.bias", "is": "blocks.{layer}.mlp.b_in"},
  {"name": "@side@.layers.{layer}.fc2.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "@side@.layers.{layer}.fc2.bias", "is": "blocks.{layer}.mlp.b_out"}@more@],)json";

/// The rest of a map of its TransformerModel (translation).
constexpr std::string_view fairseqTranslation = R"json(
 "ignore": ["*version", "*embed_positions._float_tensor", "*@other@.*", "*.@unread@.*", "*.@unread@_layer_norm.*"],
 "facts": {"normalization_type": "LN", "norm_placement": "@placement@", "attention_dir": "@direction@", "open_stack": "@stack@"},
 "assumed": {"eps": 1e-5, "act_fn": "relu", "tie_word_embeddings": true, "embedding_times_root_d_model": true},
 "notes": ["The tensors are named as in fairseq's translation models; models trained with --no-scale-embedding need --set embedding_times_root_d_model=false."@note@]})json";

/// The rest of the map of its TransformerLanguageModel with norms before the blocks.
constexpr std::string_view fairseqLanguage = R"json(
 "ignore": ["*version"],
 "facts": {"normalization_type": "LN", "attention_dir": "causal"},
 "assumed": {"eps": 1e-5, "act_fn": "relu", "tie_word_embeddings": true, "embedding_times_root_d_model": true},
 "notes": ["The tensors are named as in fairseq's language models; models trained with --no-scale-embedding need --set embedding_times_root_d_model=false."]})json";

using Words = std::initializer_list<std::pair<std::string_view, std::string_view>>;

std::string filledIn(std::string text, Words words)
{
    for (const auto& [word, value] : words)
        for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + value.size()))
            text.replace(at, word.size(), value);
    return text;
}

constexpr std::string_view fairseqOutputs =
    R"json(,
  {"name": "decoder.output_projection.weight", "is": "unembed.W_U"},
  {"name": "decoder.embed_out", "is": "unembed.W_U"})json";
constexpr std::string_view fairseqLastNorm = R"json(,
  {"name": "@side@.layer_norm.weight", "is": "ln_final.w"},
  {"name": "@side@.layer_norm.bias", "is": "ln_final.b"})json";
constexpr std::string_view encoderNote =
    R"json(, "The encoder predicts no tokens. Outputs are the last residual stream times the embedding matrix.")json";

/// The three stacks of a model whose norms stand before its blocks, or behind the additions as in the paper. A last norm tells
/// which: no row of the second kind explains it. The decoder's self-attention comes first.
std::vector<std::string> fairseqMaps(bool isPre)
{
    const auto map = [&](std::string_view more, Words words) {
        const std::string rows = std::string(more) + std::string(isPre ? fairseqLastNorm : "");
        const std::string text = filledIn(std::string(fairseqTensors) + std::string(fairseqTranslation),
                                          {{"@name@", "fairseq"},
                                           {"@more@", rows},
                                           {"@ln@", isPre ? "" : "_post"},
                                           {"@placement@", isPre ? "pre" : "post"}});
        return filledIn(text, words);
    };
    return {map(fairseqOutputs,
                {{"@side@", "decoder"},
                 {"@other@", "encoder"},
                 {"@attention@", "self_attn"},
                 {"@unread@", "encoder_attn"},
                 {"@direction@", "causal"},
                 {"@stack@", "decoder"},
                 {"@note@", ""}}),
            map("",
                {{"@side@", "encoder"},
                 {"@other@", "decoder"},
                 {"@attention@", "self_attn"},
                 {"@unread@", "encoder_attn"},
                 {"@direction@", "bidirectional"},
                 {"@stack@", "encoder"},
                 {"@note@", encoderNote}}),
            map(fairseqOutputs,
                {{"@side@", "decoder"},
                 {"@other@", "encoder"},
                 {"@attention@", "encoder_attn"},
                 {"@unread@", "self_attn"},
                 {"@direction@", "bidirectional"},
                 {"@stack@", "cross"},
                 {"@note@", ""}})};
}

std::string fairseqLanguageMap()
{
    return filledIn(std::string(fairseqTensors) + std::string(fairseqLanguage),
                    {{"@name@", "fairseq-lm"},
                     {"@more@", std::string(fairseqLastNorm) + std::string(fairseqOutputs)},
                     {"@ln@", ""},
                     {"@side@", "decoder"},
                     {"@attention@", "self_attn"}});
}

constexpr std::array<std::string_view, 8> builtInTexts{
    // Source: A. Karpathy, "Let's build GPT", ng-video-lecture/gpt.py.
    R"json({"headwise_names": 1, "name": "lets-build-gpt", "tensors": [
  {"name": "token_embedding_table.weight", "is": "embed.W_E"},
  {"name": "position_embedding_table.weight", "is": "pos_embed.W_pos"},
  {"name": "blocks.{layer}.ln1.weight", "is": "blocks.{layer}.ln1.w"},
  {"name": "blocks.{layer}.ln1.bias", "is": "blocks.{layer}.ln1.b"},
  {"name": "blocks.{layer}.sa.heads.{head}.query.weight", "is": "blocks.{layer}.attn.W_Q"},
  {"name": "blocks.{layer}.sa.heads.{head}.key.weight", "is": "blocks.{layer}.attn.W_K"},
  {"name": "blocks.{layer}.sa.heads.{head}.value.weight", "is": "blocks.{layer}.attn.W_V"},
  {"name": "blocks.{layer}.sa.heads.{head}.query.bias", "is": "blocks.{layer}.attn.b_Q"},
  {"name": "blocks.{layer}.sa.heads.{head}.key.bias", "is": "blocks.{layer}.attn.b_K"},
  {"name": "blocks.{layer}.sa.heads.{head}.value.bias", "is": "blocks.{layer}.attn.b_V"},
  {"name": "blocks.{layer}.sa.proj.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "blocks.{layer}.sa.proj.bias", "is": "blocks.{layer}.attn.b_O"},
  {"name": "blocks.{layer}.ln2.weight", "is": "blocks.{layer}.ln2.w"},
  {"name": "blocks.{layer}.ln2.bias", "is": "blocks.{layer}.ln2.b"},
  {"name": "blocks.{layer}.ffwd.net.0.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "blocks.{layer}.ffwd.net.0.bias", "is": "blocks.{layer}.mlp.b_in"},
  {"name": "blocks.{layer}.ffwd.net.2.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "blocks.{layer}.ffwd.net.2.bias", "is": "blocks.{layer}.mlp.b_out"},
  {"name": "ln_f.weight", "is": "ln_final.w"},
  {"name": "ln_f.bias", "is": "ln_final.b"},
  {"name": "lm_head.weight", "is": "unembed.W_U"},
  {"name": "lm_head.bias", "is": "unembed.b_U"}],
 "ignore": ["*.tril"],
 "facts": {"normalization_type": "LN", "eps": 1e-5, "attention_dir": "causal"},
 "assumed": {"act_fn": "relu"},
 "notes": ["The tensors are named as in 'Let's build GPT', whose scores are divided by the root of d_head; the code shown first in the lecture divides by the root of d_model, which --set attn_scale=… says."]})json",
    // Source: N. Nanda et al., "Progress measures for grokking via mechanistic interpretability", transformers.py.
    R"json({"headwise_names": 1, "name": "progress-measures", "tensors": [
  {"name": "embed.W_E", "is": "embed.W_E", "axes": "d_model, vocab"},
  {"name": "pos_embed.W_pos", "is": "pos_embed.W_pos"},
  {"name": "blocks.{layer}.attn.W_Q", "is": "blocks.{layer}.attn.W_Q", "axes": "heads, d_head, d_model"},
  {"name": "blocks.{layer}.attn.W_K", "is": "blocks.{layer}.attn.W_K", "axes": "heads, d_head, d_model"},
  {"name": "blocks.{layer}.attn.W_V", "is": "blocks.{layer}.attn.W_V", "axes": "heads, d_head, d_model"},
  {"name": "blocks.{layer}.attn.W_O", "is": "blocks.{layer}.attn.W_O"},
  {"name": "blocks.{layer}.mlp.W_in", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "blocks.{layer}.mlp.b_in", "is": "blocks.{layer}.mlp.b_in"},
  {"name": "blocks.{layer}.mlp.W_out", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "blocks.{layer}.mlp.b_out", "is": "blocks.{layer}.mlp.b_out"},
  {"name": "unembed.W_U", "is": "unembed.W_U", "axes": "d_model, vocab"}],
 "ignore": ["*.attn.mask"],
 "facts": {"normalization_type": null, "attention_dir": "causal"},
 "assumed": {"act_fn": "relu"},
 "notes": ["The tensors are named and shaped as in 'Progress measures for grokking'."]})json",
    // Source: S. Raschka, "Build a Large Language Model (From Scratch)", chapter 4.
    R"json({"headwise_names": 1, "name": "llms-from-scratch", "tensors": [
  {"name": "tok_emb.weight", "is": "embed.W_E"},
  {"name": "pos_emb.weight", "is": "pos_embed.W_pos"},
  {"name": "trf_blocks.{layer}.norm1.scale", "is": "blocks.{layer}.ln1.w"},
  {"name": "trf_blocks.{layer}.norm1.shift", "is": "blocks.{layer}.ln1.b"},
  {"name": "trf_blocks.{layer}.att.W_query.weight", "is": "blocks.{layer}.attn.W_Q"},
  {"name": "trf_blocks.{layer}.att.W_key.weight", "is": "blocks.{layer}.attn.W_K"},
  {"name": "trf_blocks.{layer}.att.W_value.weight", "is": "blocks.{layer}.attn.W_V"},
  {"name": "trf_blocks.{layer}.att.W_query.bias", "is": "blocks.{layer}.attn.b_Q"},
  {"name": "trf_blocks.{layer}.att.W_key.bias", "is": "blocks.{layer}.attn.b_K"},
  {"name": "trf_blocks.{layer}.att.W_value.bias", "is": "blocks.{layer}.attn.b_V"},
  {"name": "trf_blocks.{layer}.att.out_proj.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "trf_blocks.{layer}.att.out_proj.bias", "is": "blocks.{layer}.attn.b_O"},
  {"name": "trf_blocks.{layer}.norm2.scale", "is": "blocks.{layer}.ln2.w"},
  {"name": "trf_blocks.{layer}.norm2.shift", "is": "blocks.{layer}.ln2.b"},
  {"name": "trf_blocks.{layer}.ff.layers.0.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "trf_blocks.{layer}.ff.layers.0.bias", "is": "blocks.{layer}.mlp.b_in"},
  {"name": "trf_blocks.{layer}.ff.layers.2.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "trf_blocks.{layer}.ff.layers.2.bias", "is": "blocks.{layer}.mlp.b_out"},
  {"name": "final_norm.scale", "is": "ln_final.w"},
  {"name": "final_norm.shift", "is": "ln_final.b"},
  {"name": "out_head.weight", "is": "unembed.W_U"}],
 "ignore": ["*.att.mask"],
 "facts": {"normalization_type": "LN", "eps": 1e-5, "attention_dir": "causal"},
 "assumed": {"act_fn": "gelu_new"},
 "notes": ["The tensors are named as in 'Build a Large Language Model (From Scratch)'."]})json",
    // Source: Meta's llama/model.py and llama2.c's model.py. Their rotary pairs are adjacent.
    R"json({"headwise_names": 1, "name": "meta-llama", "tensors": [
  {"name": "tok_embeddings.weight", "is": "embed.W_E"},
  {"name": "layers.{layer}.attention_norm.weight", "is": "blocks.{layer}.ln1.w"},
  {"name": "layers.{layer}.attention.wq.weight", "is": "blocks.{layer}.attn.W_Q"},
  {"name": "layers.{layer}.attention.wk.weight", "is": "blocks.{layer}.attn.W_K"},
  {"name": "layers.{layer}.attention.wv.weight", "is": "blocks.{layer}.attn.W_V"},
  {"name": "layers.{layer}.attention.wo.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "layers.{layer}.ffn_norm.weight", "is": "blocks.{layer}.ln2.w"},
  {"name": "layers.{layer}.feed_forward.w1.weight", "is": "blocks.{layer}.mlp.W_gate"},
  {"name": "layers.{layer}.feed_forward.w3.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "layers.{layer}.feed_forward.w2.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "norm.weight", "is": "ln_final.w"},
  {"name": "output.weight", "is": "unembed.W_U"}],
 "ignore": ["rope.freqs", "freqs_cos", "freqs_sin", "layers.*.attention.mask", "layers.*.attention.inner_attention.rope.freqs"],
 "facts": {"normalization_type": "RMS", "positional_embedding_type": "rotary", "rotary_adjacent_pairs": true,
           "act_fn": "silu", "attention_dir": "causal"},
 "assumed": {"eps": 1e-5, "rotary_base": 10000},
 "config": {"file": "params.json", "keys": {"n_heads": "n_heads", "n_key_value_heads": "n_kv_heads", "eps": "norm_eps",
            "rotary_base": "rope_theta", "n_ctx": "max_seq_len"}, "none": ["use_scaled_rope"]},
 "notes": ["The tensors are named as in Meta's Llama and llama2.c's training checkpoints."]})json",
    // Source: litgpt/model.py since version 0.5.4: LLaMAMLP and CausalSelfAttention.qkv.
    R"json({"headwise_names": 1, "name": "litgpt-llama", "tensors": [
  {"name": "transformer.wte.weight", "is": "embed.W_E"},
  {"name": "transformer.h.{layer}.norm_1.weight", "is": "blocks.{layer}.ln1.w"},
  {"name": "transformer.h.{layer}.attn.qkv.weight",
   "is": ["blocks.{layer}.attn.W_Q", "blocks.{layer}.attn.W_K", "blocks.{layer}.attn.W_V"],
   "axes": "parts*heads*d_head, d_model"},
  {"name": "transformer.h.{layer}.attn.qkv.bias",
   "is": ["blocks.{layer}.attn.b_Q", "blocks.{layer}.attn.b_K", "blocks.{layer}.attn.b_V"],
   "axes": "parts*heads*d_head"},
  {"name": "transformer.h.{layer}.attn.attn.weight",
   "is": ["blocks.{layer}.attn.W_Q", "blocks.{layer}.attn.W_K", "blocks.{layer}.attn.W_V"],
   "axes": "heads*parts*d_head, d_model", "comment": "before 0.5.4, one group of heads after the other"},
  {"name": "transformer.h.{layer}.attn.attn.bias",
   "is": ["blocks.{layer}.attn.b_Q", "blocks.{layer}.attn.b_K", "blocks.{layer}.attn.b_V"],
   "axes": "heads*parts*d_head"},
  {"name": "transformer.h.{layer}.attn.proj.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "transformer.h.{layer}.attn.proj.bias", "is": "blocks.{layer}.attn.b_O"},
  {"name": "transformer.h.{layer}.norm_2.weight", "is": "blocks.{layer}.ln2.w"},
  {"name": "transformer.h.{layer}.mlp.fc_1.weight", "is": "blocks.{layer}.mlp.W_gate"},
  {"name": "transformer.h.{layer}.mlp.fc_2.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "transformer.h.{layer}.mlp.proj.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "transformer.ln_f.weight", "is": "ln_final.w"},
  {"name": "lm_head.weight", "is": "unembed.W_U"}],
 "facts": {"normalization_type": "RMS", "positional_embedding_type": "rotary", "act_fn": "silu",
           "attention_dir": "causal"},
 "assumed": {"eps": 1e-5, "rotary_base": 10000},
 "notes": ["The tensors are named as in LitGPT's Llama models; their model_config.yaml is not read, so say with --set what differs from Llama 2 (rotary_base, eps)."]})json",
    // Source: Megatron-LM, checkpoint version 2 and later: the heads one after the other, each with its query, key and value.
    R"json({"headwise_names": 1, "name": "megatron", "prefixes": ["language_model.", ""], "tensors": [
  {"name": "embedding.word_embeddings.weight", "is": "embed.W_E"},
  {"name": "embedding.position_embeddings.weight", "is": "pos_embed.W_pos"},
  {"name": "encoder.layers.{layer}.input_layernorm.weight", "is": "blocks.{layer}.ln1.w"},
  {"name": "encoder.layers.{layer}.input_layernorm.bias", "is": "blocks.{layer}.ln1.b"},
  {"name": "encoder.layers.{layer}.self_attention.query_key_value.weight",
   "is": ["blocks.{layer}.attn.W_Q", "blocks.{layer}.attn.W_K", "blocks.{layer}.attn.W_V"],
   "axes": "heads*parts*d_head, d_model"},
  {"name": "encoder.layers.{layer}.self_attention.query_key_value.bias",
   "is": ["blocks.{layer}.attn.b_Q", "blocks.{layer}.attn.b_K", "blocks.{layer}.attn.b_V"],
   "axes": "heads*parts*d_head"},
  {"name": "encoder.layers.{layer}.self_attention.dense.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "encoder.layers.{layer}.self_attention.dense.bias", "is": "blocks.{layer}.attn.b_O"},
  {"name": "encoder.layers.{layer}.post_attention_layernorm.weight", "is": "blocks.{layer}.ln2.w"},
  {"name": "encoder.layers.{layer}.post_attention_layernorm.bias", "is": "blocks.{layer}.ln2.b"},
  {"name": "encoder.layers.{layer}.mlp.dense_h_to_4h.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "encoder.layers.{layer}.mlp.dense_h_to_4h.bias", "is": "blocks.{layer}.mlp.b_in"},
  {"name": "encoder.layers.{layer}.mlp.dense_4h_to_h.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "encoder.layers.{layer}.mlp.dense_4h_to_h.bias", "is": "blocks.{layer}.mlp.b_out"},
  {"name": "encoder.final_layernorm.weight", "is": "ln_final.w"},
  {"name": "encoder.final_layernorm.bias", "is": "ln_final.b"},
  {"name": "output_layer.weight", "is": "unembed.W_U"}],
 "ignore": ["*._extra_state"],
 "facts": {"normalization_type": "LN", "attention_dir": "causal"},
 "assumed": {"eps": 1e-5, "act_fn": "gelu_new", "tie_word_embeddings": true},
 "notes": ["The tensors are named as in Megatron-LM's GPT; checkpoints before its version 2 order the queries, keys and values differently, which the tensors do not show."]})json",
    // Source: Megatron-Core's GPTModel with Transformer Engine's layers, whose norms belong to the matrices behind them.
    R"json({"headwise_names": 1, "name": "megatron-core", "prefixes": ["", "model."], "tensors": [
  {"name": "embedding.word_embeddings.weight", "is": "embed.W_E"},
  {"name": "embedding.position_embeddings.weight", "is": "pos_embed.W_pos"},
  {"name": "decoder.layers.{layer}.self_attention.linear_qkv.layer_norm_weight", "is": "blocks.{layer}.ln1.w"},
  {"name": "decoder.layers.{layer}.self_attention.linear_qkv.layer_norm_bias", "is": "blocks.{layer}.ln1.b"},
  {"name": "decoder.layers.{layer}.self_attention.linear_qkv.weight",
   "is": ["blocks.{layer}.attn.W_Q", "blocks.{layer}.attn.W_K", "blocks.{layer}.attn.W_V"],
   "axes": "heads*parts*d_head, d_model"},
  {"name": "decoder.layers.{layer}.self_attention.linear_qkv.bias",
   "is": ["blocks.{layer}.attn.b_Q", "blocks.{layer}.attn.b_K", "blocks.{layer}.attn.b_V"],
   "axes": "heads*parts*d_head"},
  {"name": "decoder.layers.{layer}.self_attention.linear_proj.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "decoder.layers.{layer}.self_attention.linear_proj.bias", "is": "blocks.{layer}.attn.b_O"},
  {"name": "decoder.layers.{layer}.mlp.linear_fc1.layer_norm_weight", "is": "blocks.{layer}.ln2.w"},
  {"name": "decoder.layers.{layer}.mlp.linear_fc1.layer_norm_bias", "is": "blocks.{layer}.ln2.b"},
  {"name": "decoder.layers.{layer}.mlp.linear_fc1.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "decoder.layers.{layer}.mlp.linear_fc1.bias", "is": "blocks.{layer}.mlp.b_in"},
  {"name": "decoder.layers.{layer}.mlp.linear_fc2.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "decoder.layers.{layer}.mlp.linear_fc2.bias", "is": "blocks.{layer}.mlp.b_out"},
  {"name": "decoder.final_layernorm.weight", "is": "ln_final.w"},
  {"name": "decoder.final_layernorm.bias", "is": "ln_final.b"},
  {"name": "output_layer.weight", "is": "unembed.W_U"}],
 "ignore": ["*._extra_state"],
 "facts": {"normalization_type": "LN", "attention_dir": "causal"},
 "assumed": {"eps": 1e-5, "act_fn": "gelu_new", "tie_word_embeddings": true},
 "notes": ["The tensors are named as in Megatron-Core's GPT."]})json",
    // Source: lucidrains/x-transformers, a TransformerWrapper around a Decoder: attention and MLP are layers in turn.
    R"json({"headwise_names": 1, "name": "x-transformers", "prefixes": ["", "net.", "module.", "model."], "tensors": [
  {"name": "token_emb.emb.weight", "is": "embed.W_E"},
  {"name": "pos_emb.emb.weight", "is": "pos_embed.W_pos"},
  {"name": "attn_layers.layers.{2*layer}.0.0.gamma", "is": "blocks.{layer}.ln1.w"},
  {"name": "attn_layers.layers.{2*layer+1}.0.0.gamma", "is": "blocks.{layer}.ln2.w"},
  {"name": "attn_layers.layers.{2*layer}.0.0.weight", "is": "blocks.{layer}.ln1.w"},
  {"name": "attn_layers.layers.{2*layer+1}.0.0.weight", "is": "blocks.{layer}.ln2.w"},
  {"name": "attn_layers.layers.{2*layer}.0.0.bias", "is": "blocks.{layer}.ln1.b"},
  {"name": "attn_layers.layers.{2*layer+1}.0.0.bias", "is": "blocks.{layer}.ln2.b"},
  {"name": "attn_layers.layers.{2*layer}.1.to_q.weight", "is": "blocks.{layer}.attn.W_Q"},
  {"name": "attn_layers.layers.{2*layer}.1.to_k.weight", "is": "blocks.{layer}.attn.W_K"},
  {"name": "attn_layers.layers.{2*layer}.1.to_v.weight", "is": "blocks.{layer}.attn.W_V"},
  {"name": "attn_layers.layers.{2*layer}.1.to_out.weight", "is": "blocks.{layer}.attn.W_O"},
  {"name": "attn_layers.layers.{2*layer+1}.1.ff.0.0.weight", "is": "blocks.{layer}.mlp.W_in"},
  {"name": "attn_layers.layers.{2*layer+1}.1.ff.0.0.bias", "is": "blocks.{layer}.mlp.b_in"},
  {"name": "attn_layers.layers.{2*layer+1}.1.ff.2.weight", "is": "blocks.{layer}.mlp.W_out"},
  {"name": "attn_layers.layers.{2*layer+1}.1.ff.2.bias", "is": "blocks.{layer}.mlp.b_out"},
  {"name": "attn_layers.final_norm.gamma", "is": "ln_final.w"},
  {"name": "attn_layers.final_norm.weight", "is": "ln_final.w"},
  {"name": "attn_layers.final_norm.bias", "is": "ln_final.b"},
  {"name": "norm.weight", "is": "ln_final.w"},
  {"name": "norm.bias", "is": "ln_final.b"},
  {"name": "to_logits.weight", "is": "unembed.W_U"}],
 "ignore": ["*rotary_pos_emb.inv_freq"],
 "facts": {"normalization_type": "LN", "positions_over_root_d_model": true},
 "assumed": {"eps": 1e-5, "act_fn": "gelu", "attention_dir": "causal"},
 "notes": ["The tensors are named as in x-transformers, whose options leave no trace in the names: an Encoder needs --set attention_dir=bidirectional, rotary positions need --set positional_embedding_type=rotary with rotary_dim, and rotary_adjacent_pairs=true for versions that rotate adjacent pairs."]})json",
};

} // namespace

std::span<const std::string> builtInNamesTexts()
{
    static const std::vector<std::string> all = [] {
        std::vector<std::string> texts(builtInTexts.begin(), builtInTexts.end());
        texts.push_back(fairseqLanguageMap());
        for (const bool isPre : {false, true})
            for (std::string& map : fairseqMaps(isPre))
                texts.push_back(std::move(map));
        return texts;
    }();
    return all;
}

} // namespace headwise
