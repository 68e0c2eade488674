#pragma once

#include <span>
#include <string_view>

namespace headwise {

/// A name in a GGUF file and the one it had in the checkpoint that was converted. Empty: there is no such name.
struct GgufRename {
    std::string_view from, to;
};

/// Changes of the converter to rows of the matrices for queries and keys.
enum class GgufRows {
    AsStored,
    AdjacentPairs, ///< attn_q, attn_k: row 2j + s of a head was row s·h/2 + j.
    Thirds,        ///< attn_qkv: all queries, all keys, all values; they alternated by head.
};

/// An architecture of GGUF as the Hugging Face family that was converted.
struct GgufArchitecture {
    std::string_view name; ///< general.architecture
    std::string_view type; ///< model_type of the config
    bool hasLayerNorm = false;
    bool rotatesPart = false;    ///< rope.dimension_count is read; elsewhere it must be a head's size.
    bool normsWithOne = false;   ///< The converter added 1 to the weights of the norms.
    bool scalesLinearly = false; ///< rope.scaling.factor is read.
    /// Above 0: the config has query_pre_attn_scalar. It is d_model / n_heads in models of this many layers, else d_head.
    int layersOfWideScores = 0;
    /// The config states key/value heads and the size of a head even where the file does not: the family's defaults differ from
    /// llama.cpp's.
    bool statesHeads = true;
    bool hasGroupedForm =
        false; ///< Falcon's new_decoder_architecture, where several key/value heads share attn_qkv.
    bool stacksHeadNorms = false; ///< The norms of queries and keys, one a head, are one tensor.
    GgufRows rows = GgufRows::AsStored;
    std::string_view layers = "model.layers.";
    std::span<const GgufRename> keys = {};  ///< Further keys after "NAME.", and their names in the config.
    std::span<const GgufRename> flags = {}; ///< Tensors, and the keys that say whether a model has them.
    std::span<const GgufRename> model = {}; ///< Tensors outside the blocks that are not named as Llama's.
    std::span<const GgufRename> block = {}; ///< Tensors of a block that are not named as Llama's.
    /// Keys of a Llama's config, and the family's spelling.
    std::span<const GgufRename> config = {};
    std::string_view constants = "{}"; ///< Keys that GGUF does not store, as JSON.
};

/// All architectures that are read.
std::span<const GgufArchitecture> ggufArchitectures();

/// Nothing for other names.
const GgufArchitecture* ggufArchitecture(std::string_view name);

} // namespace headwise
