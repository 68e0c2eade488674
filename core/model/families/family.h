#pragma once

#include "core/model/architecture.h"
#include "core/model/config_reader.h"
#include "core/model/families/linear_recipes.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headwise {

// A family of models as a row of a table. The defaults of every field are Llama's.

/// Spellings of the config's keys. An empty list: the family has no such key.
struct FamilyKeys {
    Names layers{"num_hidden_layers"};
    Names heads{"num_attention_heads"};
    Names kvHeads{"num_key_value_heads"};
    Names dModel{"hidden_size"};
    Names dHead{"head_dim"};
    Names dMlp{"intermediate_size"};
    Names vocabulary{"vocab_size"};
    Names context{"max_position_embeddings"};
    Names normEps{"rms_norm_eps"};
    Names activation{"hidden_activation", "hidden_act"};
};

/// Sizes of a config without their keys. 0: the key is required, or the size follows from the others.
struct FamilySizes {
    int layers = 32, heads = 32;
    int kvHeads = 0; ///< 0: as many as query heads. A key that is null means the same.
    int dModel = 4096;
    int dHead = 0;    ///< 0: d_model / n_heads
    int dMlp = 11008; ///< 0: 4 · d_model
    int vocabulary = 32000;
    int context = 2048;
};

struct FamilyNorms {
    NormKind kind = NormKind::Rms;
    double eps = 1e-6;
    bool before = true;         ///< ModelConfig::hasPreNorms
    bool behind = false;        ///< ModelConfig::hasPostNorms
    bool ofSums = false;        ///< ModelConfig::hasSumNorms
    bool oneIfParallel = false; ///< In parallel blocks ln1 serves attention and MLP.
    bool hasParameters = true;
    bool addsOne = false; ///< ModelConfig::rmsUsesOffset
    bool hasFinal = true;
    NormKind embedding = NormKind::None;
    NormKind qk = NormKind::None;
    bool qkOverAllHeads = false;
    StoredBias bias = StoredBias::Present; ///< The bias of a LayerNorm.
    double weightAddend = 0;               ///< Added to the stored weight of a LayerNorm (Nemotron: 1).
};

struct FamilyPositions {
    Positional kind = Positional::Rotary;
    double base = 10000, part = 1; ///< The base of the rotary embedding and the part of a head that rotates.
    int dim = 0; ///< Above 0: the key rotary_dim says how many components rotate, in adjacent pairs.
    bool adjacent = false;          ///< Adjacent pairs rotate, as with rotary_dim.
    int originalContext = 0;        ///< original_max_position_embeddings of a config without it; 0: none.
    bool onlyWhereSliding = false;  ///< Layers without a window have no positions.
    bool apartWhereSliding = false; ///< Layers that slide have a rotary embedding of their own.
    /// The key of its base (10000); empty: the base of the other layers.
    std::string_view slidingBaseKey = {};
};

/// The layers whose attention has a window, `sliding_window`, and its width.
struct FamilyWindows {
    bool any = false;
    int absent = 0;                  ///< The width without the key; 0: no window.
    int null = 0;                    ///< The width where the key is null.
    bool listed = true;              ///< The key layer_types says which layers slide.
    std::string_view switchKey = {}; ///< No layer slides unless this flag is set.
    int pattern = 0; ///< Without a list every layer slides but the last of each `pattern`; 0: all slide.
    Names patternKeys = {};
    std::string_view firstKey = {}; ///< Layers before this number (28) do not slide.
};

/// Whether a linear map has a bias.
struct BiasRule {
    StoredBias stored = StoredBias::Absent; ///< Without a key.
    std::string_view key = {};
    std::optional<bool> standard = {}; ///< The value of an absent key; nothing: the file decides.
    bool isUsual = false;              ///< Counted as there where the file would decide and is not at hand.
};

inline constexpr BiasRule noBias{};
inline constexpr BiasRule hasBias{StoredBias::Present};

struct FamilyBiases {
    BiasRule attention = noBias;
    std::optional<BiasRule> output = {}; ///< b_O; nothing: as attention.
    BiasRule mlp = noBias;
    bool unembed = false;
};

/// The key must be absent, null or have this value, a JSON text; "": absent or null.
struct FixedKey {
    std::string_view key, value;
};

/// How the rows of one matrix for queries, keys and values are ordered.
enum class FusedOrder {
    Thirds,   ///< All queries, all keys, all values.
    PerGroup, ///< For each key/value head its queries, then the key, then the value.
};

/// How the norms of queries and keys are stored.
enum class HeadNorms {
    One,     ///< One weight for all heads, or one over all heads side by side.
    Tensors, ///< A tensor a head: NAME.norms.3.weight.
    Rows,    ///< A row a head: [heads, d_head].
};

/// Stored names without ".weight" and ".bias". Empty: the family has no such tensor.
struct FamilyTensors {
    /// Before every name but the output's: the first under which tensors are stored, else the last.
    Names prefixes{"", "language_model.model.", "model.language_model.", "model."};
    std::string_view embedding = "embed_tokens", positions = {}, output = "lm_head", layers = "layers.";
    int skippedPositions = 0; ///< Rows of the table of positions that belong to none.

    struct NormNames {
        std::string_view ln1 = "input_layernorm", ln2 = "post_attention_layernorm", ln1Post = {},
                         ln2Post = {};
        std::string_view last = "norm", embedding = {};
        Names parallel = {}; ///< ln1 and ln2 of parallel blocks where they are stored under these names.
        Names suffixes{".weight", ".bias"}; ///< Then older spellings of both.
    } norms = {};

    struct AttentionNames {
        std::string_view q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj";
        std::string_view o = "self_attn.o_proj";
        std::string_view qkv = {}; ///< In place of q, k and v.
        FusedOrder order = FusedOrder::Thirds;
        std::string_view qNorm = "self_attn.q_norm", kNorm = "self_attn.k_norm";
        HeadNorms norms = HeadNorms::One;
    } attention = {};

    struct MlpNames {
        /// An empty `gate` means that the MLP is not gated.
        std::string_view in = "mlp.up_proj", gate = "mlp.gate_proj", out = "mlp.down_proj";
        std::string_view gateAndIn = {}; ///< In place of gate and in, the rows of gate first.
    } mlp = {};

    bool isConv1d = false; ///< Matrices are stored [inputs, outputs], as GPT-2's Conv1D does.
    /// Tensors that carry no weight of the model: "*end", "begin*", "*part*"; with "[]" behind it only those of several
    /// dimensions.
    Names buffers{"*rotary_emb.inv_freq", "*.cos_cached",    "*.sin_cached",
                  "score.weight",         "*vision_tower.*", "*multi_modal_projector.*",
                  "rope_freqs.weight"};
};

/// A config while it is read.
struct FamilyReading {
    ModelConfig& config;
    const nlohmann::json& json;
    ConfigReader& reader;
    BiasPresence& biases;
    StoredForms& forms;
    std::string_view file;
    std::string_view stack;     ///< Family::stack
    bool hasSecondNorm = false; ///< Parallel blocks have ln2 although the row says that they share ln1.
};

struct Family;

/// Functions for rules that the table cannot express; null where there are none.
struct FamilyCode {
    /// Reads further keys, after those of the table and before the windows.
    void (*read)(FamilyReading& reading) = nullptr;
    /// A sentence if the file has the names of another family or version; else "".
    std::string (*obstacle)(const RecipeBook& book, const std::string& prefix) = nullptr;
    /// Tensors that exist once per model.
    void (*addToModel)(RecipeBook& book, const std::string& prefix) = nullptr;
    /// Q, K, V and their output. \param block "model.layers.3."
    void (*addAttention)(RecipeBook& book, const std::string& block, int layer) = nullptr;
    /// The MLP. \param block as of addAttention
    void (*addMlp)(RecipeBook& book, const std::string& block, int layer) = nullptr;

    // For a format without a row in the table: TransformerLens' own.
    bool (*matches)(const nlohmann::json& config) = nullptr;
    Result<ModelDescription> (*readAll)(const nlohmann::json& config, std::string_view file) = nullptr;
    Result<ModelWeights> (*loadAll)(RecipeBook book) = nullptr;
};

struct Family {
    std::string_view name; ///< The model_type, and ModelConfig::architecture.
    Names classes = {};    ///< Values of architectures[0].
    Names otherTypes = {}; ///< Other names that the model_type has or had.
    FamilyKeys keys = {};
    FamilySizes sizes = {};
    FamilyNorms norms = {};
    FamilyPositions positions = {};
    FamilyWindows windows = {};
    FamilyBiases biases = {};
    std::string_view activation = "silu"; ///< Without a key.
    std::string_view parallelKey = {};
    bool isParallel = false;      ///< Parallel blocks: the value of an absent parallelKey, or without one.
    bool isTied = false;          ///< The value of an absent tie_word_embeddings.
    bool scalesEmbedding = false; ///< Embeddings are multiplied by √d_model.
    bool hasTextConfig = false;   ///< May be a part of a multimodal model, under text_config.
    /// A model of several stacks and the one that this row reads; --set stack=NAME chooses another row of the same model.
    std::string_view whole = {}, stack = {};
    std::string_view part =
        {}; ///< The key under which the whole model's config has this stack's; empty: none.
    std::string_view nestedKey = {}; ///< An object whose entries are read as KEY.ENTRY.
    std::array<FixedKey, 6> fixed = {};
    Names ignored = {}; ///< Keys that do not change the function.
    FamilyTensors tensors = {};
    FamilyCode code = {};
};

/// All families, in the order they are tried.
std::span<const Family> families();

/// The rows of GPT and its kin: LayerNorm and MLPs without a gate.
std::span<const Family> gptFamilies();

/// The rows of decoders that are neither Llama's kin nor GPT's.
std::span<const Family> decoderFamilies();

/// The model_type a Hugging Face config means: of `architectures[0]` if we know it, else the key itself; "" if neither.
std::string familyName(const nlohmann::json& config);

/// The family of a config.
/// \param file named in the sentences
/// Errors: Unsupported, listing the families there are.
Result<const Family*> findFamily(const nlohmann::json& config, const std::string& file);

/// Every key and its default. A key whose value changes the function and is not supported is refused, named with its value.
/// \param file named in the sentences
/// Errors: Corrupt (a required key is missing or of the wrong kind), Unsupported.
Result<ModelDescription> readFamilyConfig(const Family& family, const nlohmann::json& config,
                                          std::string_view file);

/// A recipe for every canonical tensor, each shape checked against the config; reads no numbers.
/// \param ignored names or patterns of unexpected tensors to leave out
/// Errors: NotFound (missing tensors), Corrupt (misshapen ones), Unsupported (unexpected ones), all of a kind in one sentence.
Result<ModelWeights> loadFamily(const Family& family, const ModelDescription& description,
                                std::shared_ptr<const WeightMap> file,
                                const std::vector<std::string>& ignored = {});

} // namespace headwise
