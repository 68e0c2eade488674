#pragma once

#include "tests/support/reference_forward.h"

#include <QByteArray>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headwise::test {

enum class ToyLayout { Gpt2, Llama, TransformerLens };

/// Options of a toy checkpoint; config.json and the tensors follow from them. Sizes are different primes if the layout
/// allows it, and d_model ≠ n_heads · d_head, so that a swapped dimension or a missing transpose is detected.
struct ToyOptions {
    ToyLayout layout = ToyLayout::TransformerLens;
    unsigned seed = 1;
    int nLayers = 2;
    int dModel = 7;
    int nHeads = 3;
    int nKvHeads = 0; ///< 0: as many as heads, and no key in config.json
    int dHead = 5;    ///< in the GPT-2 layout always dModel / nHeads
    int dMlp = 13;
    int dVocab = 11;
    int nCtx = 17;
    double eps = 1e-5;
    std::string activation = "gelu_new";
    std::string prefix = "transformer."; ///< of the GPT-2 layout; empty as in the official gpt2 file
    bool tied = false;                   ///< no lm_head in the GPT-2 and Llama layouts
    bool float64 = false;

    bool qkvBias = true;
    bool outBias = true;     ///< b_O
    bool mlpBias = true;     ///< b_in and b_out
    bool unembedBias = true; ///< b_U, TransformerLens alone

    std::optional<std::string> normalization = "LN"; ///< LN, LNPre, RMS, RMSPre; nullopt: null, no norms
    bool finalRms = false;
    bool normOffset = false; ///< rmsnorm_uses_offset
    bool gatedMlp = false;
    bool gateBias = false;   ///< mlp.b_gate and mlp.b_up, inside the gated product
    bool parallel = false;   ///< parallel_attn_mlp
    bool sharedNorm = false; ///< no ln2: a parallel block's MLP reads ln1
    bool attnOnly = false;
    bool bidirectional = false;          ///< attention_dir, TransformerLens alone
    std::string positional = "standard"; ///< standard, rotary, none
    int rotaryDim = 0;                   ///< 0: d_head
    double rotaryBase = 10000;
    bool rotaryAdjacent = false;
    double attnScale = 0;    ///< divisor of scores; 0: √d_head, and no key in config.json
    double scoreSoftCap = 0; ///< 0: none
    double logitSoftCap = 0; ///< 0: none
};

/// 2 layers, 3 heads, d_model 15 = 3 · 5: the GPT-2 layout has no head size of its own.
ToyOptions gpt2Options();
/// 2 layers, 6 heads over 2 key/value heads, d_model 7, head_dim 4, rope_theta 523: grouped, and d_model ≠ 24 = 6 · 4.
ToyOptions llamaOptions();
/// The usual toy with rotary positions on 4 of a head's 6 components, so that each head has content and two frequencies.
ToyOptions rotaryOptions();

struct ToyModel {
    std::filesystem::path folder;
    std::map<std::string, StoredTensor> tensors; ///< the numbers of the file, exactly
    ToyOptions options;
};

/// Writes config.json and model.safetensors into `folder`, which is created. Norm weights are 1 with a visible spread,
/// biases are not small, logits are of order 1. The same options give the same bytes on every machine.
ToyModel writeToyModel(const std::filesystem::path& folder, const ToyOptions& options = {});

/// Writes tensors as one .safetensors file of F32 or F64, in name order, for checkpoints that are changed after creation.
void writeSafetensors(const std::filesystem::path& file, const std::map<std::string, StoredTensor>& tensors,
                      bool float64);

/// The bytes of a tensor, row-major and little endian, with the name of their dtype: "BF16".
struct RawTensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    QByteArray bytes;
};

/// Writes tensors of any dtypes as one .safetensors file, in name order.
void writeSafetensors(const std::filesystem::path& file, const std::map<std::string, RawTensor>& tensors);

} // namespace headwise::test
