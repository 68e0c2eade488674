#include "core/checkpoint/block_formats.h"
#include "core/checkpoint/gguf.h"
#include "core/checkpoint/gguf_architectures.h"
#include "core/checkpoint/gguf_config.h"

#include <optional>
#include <utility>

namespace headwise {
namespace {

/// Names of a block's tensors, without ".weight" or ".bias".
constexpr GgufRename blockNames[] = {
    {"attn_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"},
    {"attn_q", "self_attn.q_proj"},   {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},   {"attn_output", "self_attn.o_proj"},
    {"ffn_gate", "mlp.gate_proj"},    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

constexpr GgufRename modelNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};

std::optional<std::string> firstNewName(std::span<const GgufRename> own, std::span<const GgufRename> usual,
                                        std::string_view name)
{
    const auto found = newName(own, name);
    return found ? found : newName(usual, name);
}

/// Returns "model.layers.3.self_attn.q_proj.weight" for "blk.3.attn_q.weight", and any unknown name unchanged.
std::string originalName(const GgufArchitecture& architecture, const std::string& name)
{
    const auto dot = name.rfind('.');
    const std::string stem = name.substr(0, dot), kind = dot == std::string::npos ? "" : name.substr(dot);
    if (const auto whole = firstNewName(architecture.model, modelNames, stem))
        return *whole + kind;
    if (!stem.starts_with("blk."))
        return name;
    const auto end = stem.find('.', 4);
    if (end == std::string::npos)
        return name;
    const auto part = firstNewName(architecture.block, blockNames, std::string_view(stem).substr(end + 1));
    return part ? std::string(architecture.layers) + stem.substr(4, end - 4) + "." + *part + kind : name;
}

/// Puts the tensors of one file back into the form they had before they were converted.
class GgufTensors {
public:
    GgufTensors(std::string_view fileName, const GgufArchitecture& architecture, const GgufConfig& config)
        : m_file(fileName)
        , m_architecture(architecture)
        , m_config(config)
    {
    }

    Result<Done> undoRows(StoredTensor& tensor) const;
    std::vector<StoredTensor> originals(const StoredTensor& tensor) const;

private:
    static bool isFused(const StoredTensor& tensor)
    {
        return tensor.name.find(".attn_qkv.") != std::string::npos;
    }
    std::vector<StoredTensor> apart(const StoredTensor& fused) const;
    Result<Done> undoPermutation(StoredTensor& tensor) const;
    Result<Done> undoThirds(StoredTensor& tensor) const;
    Error misshapen(const StoredTensor& tensor, const std::string& parts) const;

    std::string m_file;
    const GgufArchitecture& m_architecture;
    const GgufConfig& m_config;
};

Error GgufTensors::misshapen(const StoredTensor& tensor, const std::string& parts) const
{
    return {ErrorCode::Corrupt,
            "Tensor '" + tensor.name + "' of '" + m_file + "' has shape " + shapeText(tensor.shape)
                + ", which does not split into " + parts + "."};
}

/// Reorders the rows of a matrix or of its bias. \param axes of the rows, in rows
void orderRows(StoredTensor& tensor, std::vector<StoredAxis> axes)
{
    const std::int64_t width = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    for (StoredAxis& axis : axes)
        axis.stride *= width;
    if (tensor.shape.size() == 2)
        axes.push_back({width, 1});
    tensor.axes = std::move(axes);
}

bool isMatrixOrBias(const StoredTensor& tensor)
{
    const std::size_t rank = tensor.shape.size();
    return rank == 2 || (rank == 1 && blockSize(tensor.dtype).numbers == 0);
}

Result<Done> GgufTensors::undoPermutation(StoredTensor& tensor) const
{
    const bool isQuery = tensor.name.find(".attn_q.") != std::string::npos;
    if (!isQuery && tensor.name.find(".attn_k.") == std::string::npos)
        return Done{};
    const std::int64_t heads = isQuery ? m_config.heads : m_config.kvHeads;
    const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    if (heads <= 0 || !isMatrixOrBias(tensor) || rows <= 0 || rows % 2 != 0 || rows / 2 % heads != 0)
        return misshapen(tensor, std::to_string(heads) + " heads of rotary pairs");
    const std::int64_t half = rows / heads / 2;
    orderRows(tensor, {{heads, 2 * half}, {2, 1}, {half, 2}});
    return Done{};
}

/// Alternates queries, keys and values by head again. With one key/value head for all queries nothing was changed, and
/// groups are split (`apart`).
Result<Done> GgufTensors::undoThirds(StoredTensor& tensor) const
{
    const std::int64_t heads = m_config.heads, kv = m_config.kvHeads;
    if (!isFused(tensor) || kv == 1)
        return Done{};
    const std::int64_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    if (heads <= 0 || kv <= 0 || !isMatrixOrBias(tensor) || rows <= 0 || rows % (heads + 2 * kv) != 0)
        return misshapen(tensor,
                         "queries, keys and values of " + std::to_string(heads) + " heads"
                             + (kv == heads ? "" : " over " + std::to_string(kv)));
    const std::int64_t size = rows / (heads + 2 * kv);
    if (kv == heads)
        orderRows(tensor, {{heads, size}, {3, heads * size}, {size, 1}});
    return Done{};
}

Result<Done> GgufTensors::undoRows(StoredTensor& tensor) const
{
    switch (m_architecture.rows) {
    case GgufRows::AdjacentPairs: return undoPermutation(tensor);
    case GgufRows::Thirds: return undoThirds(tensor);
    case GgufRows::AsStored: break;
    }
    return Done{};
}

/// One tensor of queries, one of keys and one of values: no strides let them alternate by groups again.
std::vector<StoredTensor> GgufTensors::apart(const StoredTensor& fused) const
{
    constexpr std::string_view whole = "query_key_value";
    const std::string name = originalName(m_architecture, fused.name);
    const auto at = name.find(whole);
    if (at == std::string::npos)
        return {fused}; // in no block
    const std::int64_t heads = m_config.heads, kv = m_config.kvHeads;
    const std::size_t bytes = fused.byteCount / static_cast<std::size_t>(heads + 2 * kv); // of a head
    const std::int64_t size = fused.shape[0] / (heads + 2 * kv);
    std::vector<StoredTensor> parts;
    std::size_t begin = fused.begin;
    for (const auto& [letter, count] : {std::pair("q", heads), std::pair("k", kv), std::pair("v", kv)}) {
        StoredTensor part = fused;
        part.name = name;
        part.name.replace(at, whole.size(), std::string(letter) + "_proj");
        part.shape[0] = count * size;
        part.begin = begin;
        part.byteCount = static_cast<std::size_t>(count) * bytes;
        begin += part.byteCount;
        parts.push_back(std::move(part));
    }
    return parts;
}

/// The tensors that one was before the conversion, with their names: one a head of the norms that the converter of StableLM
/// stacked, three of a Falcon with groups, and of any other tensor itself.
std::vector<StoredTensor> GgufTensors::originals(const StoredTensor& tensor) const
{
    if (m_architecture.hasGroupedForm && isFused(tensor) && m_config.kvHeads != 1
        && m_config.kvHeads != m_config.heads)
        return apart(tensor);
    constexpr std::int64_t mostHeads = 1 << 16;
    StoredTensor named = tensor;
    named.name = originalName(m_architecture, tensor.name);
    if (const auto at = named.name.find(".input_layernorm.");
        m_config.hasSecondNorm && at != std::string::npos)
        named.name.replace(at, std::string_view(".input_layernorm.").size(), ".ln_mlp.");
    const auto end = named.name.find("_layernorm.weight");
    const bool isStacked = m_architecture.stacksHeadNorms && end != std::string::npos
        && named.name.find("self_attn.") != std::string::npos && tensor.shape.size() == 2
        && tensor.shape[0] > 0 && tensor.shape[0] <= mostHeads && dtypeBits(tensor.dtype) > 0;
    if (!isStacked)
        return {named};
    std::vector<StoredTensor> heads;
    const std::size_t size = tensor.byteCount / static_cast<std::size_t>(tensor.shape[0]);
    for (std::int64_t head = 0; head < tensor.shape[0]; ++head) {
        StoredTensor one = named;
        one.name = named.name.substr(0, end) + "_layernorm.norms." + std::to_string(head) + ".weight";
        one.shape = {tensor.shape[1]};
        one.begin += static_cast<std::size_t>(head) * size;
        one.byteCount = size;
        heads.push_back(std::move(one));
    }
    return heads;
}

Error otherArchitecture(std::string_view fileName, const std::string& name)
{
    std::string known;
    for (const GgufArchitecture& one : ggufArchitectures())
        known.append(known.empty() ? "" : ", ").append(one.name);
    return {ErrorCode::Unsupported,
            "File '" + std::string(fileName) + "' holds a model of the architecture '" + name
                + "'; of GGUF files, this version reads " + known
                + ". Open the model it was converted from."};
}

} // namespace

Result<GgufModel> huggingFaceModel(const GgufHeader& header, std::string_view fileName)
{
    const auto named = header.metadata.find("general.architecture");
    const auto* name = named == header.metadata.end() ? nullptr : std::get_if<std::string>(&named->second);
    const GgufArchitecture* architecture = name ? ggufArchitecture(*name) : nullptr;
    if (!architecture)
        return otherArchitecture(fileName, name ? *name : "");
    Result<GgufConfig> config = ggufConfig(header, fileName, *architecture);
    if (!config)
        return config.error();
    GgufModel model{.config = config->text, .tensors = {}, .warnings = {}};
    if (!config->warning.empty())
        model.warnings.push_back(config->warning);
    const GgufTensors tensors(fileName, *architecture, *config);
    for (StoredTensor tensor : header.tensors) {
        if (const Result<Done> undone = tensors.undoRows(tensor); !undone)
            return undone.error();
        for (StoredTensor& one : tensors.originals(tensor))
            model.tensors.push_back(std::move(one));
    }
    return model;
}

} // namespace headwise
