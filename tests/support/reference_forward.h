#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headwise::test {

/// A stored tensor of any dtype. `values` is row-major, the last index fastest.
struct StoredTensor {
    std::vector<std::size_t> shape;
    std::vector<double> values;
};

/// Every tensor of the .safetensors files of `folder`, under its stored name. Stops the test program on anything unusual.
std::map<std::string, StoredTensor> readStoredTensors(const std::filesystem::path& folder);

/// Mistakes planted on purpose: a comparison with the reference must detect each of them.
enum class Fault {
    None,
    TransposedProjection, ///< the attention's output matrix is transposed
    TileInsteadOfRepeat,  ///< query head i reads key/value head i mod k instead of ⌊i / (n/k)⌋
    WrongRotaryPairing,   ///< adjacent pairs instead of half-split ones and the reverse
    ScaleOne,             ///< scores are not divided by √d_head
    GateAndUpSwapped,     ///< the activation is on the wrong factor of the gated MLP
    MissingOnePlusW,      ///< rmsnorm_uses_offset ignored
};

struct ReferenceRun {
    std::vector<std::vector<double>> logits; // [n, columns of W_U]
    std::vector<std::vector<std::vector<std::vector<double>>>>
        patterns; // [n_layers, n_heads, n, n], row = query
    /// Intermediates [n, width] under "L.NAME": ln1, q, k, v (the heads side by side), attention (before W_O), attention_out,
    /// resid_mid, ln2, mlp_out, resid_post; and "ln_final".
    std::map<std::string, std::vector<std::vector<double>>> steps;
};

/// The forward pass of a Hugging Face or TransformerLens folder as plain loops in double, only for comparison.
///
/// Shares nothing with core: it reads config.json and the tensors by their stored names itself. Slow and simple. Stops
/// the test program on a folder it does not understand.
ReferenceRun referenceForward(const std::filesystem::path& folder, const std::vector<int>& tokens,
                              Fault fault = Fault::None);

/// The matrices of one query head with the keys and values it reads, as stored; W_O times the factor of what attention adds.
struct ReferenceHead {
    std::vector<std::vector<double>> W_Q, W_K, W_V; // [d_model, d_head]
    std::vector<std::vector<double>> W_O;           // [d_head, d_model]
};
ReferenceHead referenceHead(const std::filesystem::path& folder, std::size_t layer, std::size_t head);

/// `tokens` followed by `count` greedily decoded ones, ties to the lower id.
std::vector<int> referenceGreedy(const std::filesystem::path& folder, std::vector<int> tokens, int count);

} // namespace headwise::test
