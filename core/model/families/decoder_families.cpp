#include "core/model/families/family_config.h"

namespace headwise {
namespace {

using enum NormKind;

constexpr BiasRule attentionBiases{.key = "attention_bias", .standard = false};

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
};

} // namespace

std::span<const Family> decoderFamilies()
{
    return decoders;
}

} // namespace headwise
