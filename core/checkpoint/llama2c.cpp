#include "core/checkpoint/llama2c.h"

#include "core/files/json.h"
#include "core/files/little_endian.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <optional>

namespace headwise {
namespace {

/// The seven numbers of the header.
struct Sizes {
    std::int64_t dim = 0, hidden = 0, layers = 0, heads = 0, kvHeads = 0, vocab = 0, context = 0;
    bool isTied = true;
};

/// Limits small enough that no product of three sizes overflows.
bool arePlausible(const Sizes& s)
{
    const auto within = [](std::int64_t value, std::int64_t most) { return value > 0 && value <= most; };
    return within(s.dim, 1 << 16) && within(s.hidden, 1 << 18) && within(s.layers, 1000)
        && within(s.heads, s.dim) && within(s.kvHeads, s.heads) && within(s.vocab, 1 << 20)
        && within(s.context, 1 << 20) && s.dim % (2 * s.heads) == 0 && s.heads % s.kvHeads == 0;
}

std::optional<Sizes> readSizes(LittleEndianReader& in)
{
    std::array<std::int64_t, 7> n{};
    for (std::int64_t& number : n) {
        const auto next = in.next<std::int32_t>();
        if (!next)
            return std::nullopt;
        number = *next;
    }
    const Sizes sizes{n[0], n[1], n[2], n[3], n[4], std::llabs(n[5]), n[6], n[5] > 0};
    return arePlausible(sizes) ? std::optional(sizes) : std::nullopt;
}

/// Assigns tensors to consecutive bytes, in the order of the file.
class Placer {
public:
    Placer(const Sizes& sizes, std::size_t begin)
        : m_sizes(sizes)
        , m_end(begin)
    {
    }

    void add(const std::string& name, std::vector<std::int64_t> shape, std::int64_t rotaryHeads = 0)
    {
        StoredTensor tensor{.name = name, .dtype = DType::F32, .shape = std::move(shape), .begin = m_end};
        tensor.byteCount = static_cast<std::size_t>(elementCount(tensor)) * 4;
        if (rotaryHeads > 0) {
            const std::int64_t half = tensor.shape[0] / rotaryHeads / 2, width = tensor.shape[1];
            tensor.axes = {{rotaryHeads, 2 * half * width}, {2, width}, {half, 2 * width}, {width, 1}};
        }
        m_end += tensor.byteCount;
        m_tensors.push_back(std::move(tensor));
    }

    /// Adds one tensor for every layer.
    void addLayers(const std::string& name, const std::vector<std::int64_t>& shape,
                   std::int64_t rotaryHeads = 0)
    {
        for (std::int64_t layer = 0; layer < m_sizes.layers; ++layer)
            add("model.layers." + std::to_string(layer) + "." + name + ".weight", shape, rotaryHeads);
    }

    void addAttention()
    {
        const std::int64_t d = m_sizes.dim, kv = d / m_sizes.heads * m_sizes.kvHeads;
        addLayers("self_attn.q_proj", {d, d}, m_sizes.heads);
        addLayers("self_attn.k_proj", {kv, d}, m_sizes.kvHeads);
        addLayers("self_attn.v_proj", {kv, d});
        addLayers("self_attn.o_proj", {d, d});
    }

    void addMlp()
    {
        addLayers("mlp.gate_proj", {m_sizes.hidden, m_sizes.dim});
        addLayers("mlp.down_proj", {m_sizes.dim, m_sizes.hidden});
        addLayers("mlp.up_proj", {m_sizes.hidden, m_sizes.dim});
    }

    void skip(std::int64_t numbers) { m_end += static_cast<std::size_t>(numbers) * 4; }
    std::size_t end() const { return m_end; }
    std::vector<StoredTensor> tensors() && { return std::move(m_tensors); }

private:
    Sizes m_sizes;
    std::size_t m_end;
    std::vector<StoredTensor> m_tensors;
};

Placer placedVersion0(const Sizes& s)
{
    Placer placer(s, 28);
    placer.add("model.embed_tokens.weight", {s.vocab, s.dim});
    placer.addLayers("input_layernorm", {s.dim});
    placer.addAttention();
    placer.addLayers("post_attention_layernorm", {s.dim});
    placer.addMlp();
    placer.add("model.norm.weight", {s.dim});
    placer.skip(s.context * (s.dim / s.heads)); // cosines and sines of the rotary angles
    if (!s.isTied)
        placer.add("lm_head.weight", {s.vocab, s.dim});
    return placer;
}

Placer placedVersion1(const Sizes& s)
{
    Placer placer(s, 256);
    placer.addLayers("input_layernorm", {s.dim});
    placer.addLayers("post_attention_layernorm", {s.dim});
    placer.add("model.norm.weight", {s.dim});
    placer.add("model.embed_tokens.weight", {s.vocab, s.dim});
    placer.addAttention();
    placer.addMlp();
    if (!s.isTied)
        placer.add("lm_head.weight", {s.vocab, s.dim});
    return placer;
}

std::string configText(const Sizes& s)
{
    return jsonText(nlohmann::json{{"model_type", "llama"},
                                   {"hidden_size", s.dim},
                                   {"intermediate_size", s.hidden},
                                   {"num_hidden_layers", s.layers},
                                   {"num_attention_heads", s.heads},
                                   {"num_key_value_heads", s.kvHeads},
                                   {"vocab_size", s.vocab},
                                   {"max_position_embeddings", s.context},
                                   {"rms_norm_eps", 1e-5},
                                   {"rope_theta", 10000.0},
                                   {"hidden_act", "silu"},
                                   {"bos_token_id", 1},
                                   {"tie_word_embeddings", s.isTied}});
}

} // namespace

bool isLlama2cVersion0(std::span<const std::byte> file)
{
    LittleEndianReader in(file);
    const std::optional<Sizes> sizes = readSizes(in);
    return sizes && placedVersion0(*sizes).end() == file.size();
}

Result<Llama2cModel> readLlama2c(std::span<const std::byte> file, std::string_view fileName)
{
    constexpr std::uint32_t mark = 0x616b3432;
    const std::string name = "File '" + std::string(fileName) + "' ";
    const bool isMarked = LittleEndianReader(file).next<std::uint32_t>() == mark;
    LittleEndianReader in(file, isMarked ? 8 : 0);
    if (isMarked && LittleEndianReader(file, 4).next<std::int32_t>() != 1)
        return Error{
            ErrorCode::Unsupported,
            name
                + "is a llama2.c checkpoint of version 2 or later (8-bit numbers); export it again as version 0 or 1."};
    std::optional<Sizes> sizes = readSizes(in);
    const auto isShared = isMarked ? in.next<std::uint8_t>() : std::optional<std::uint8_t>(1);
    if (!sizes || !isShared)
        return Error{ErrorCode::Corrupt,
                     name + "is a damaged llama2.c checkpoint: its header holds impossible sizes."};
    if (isMarked)
        sizes->isTied = *isShared != 0;
    Placer placer = isMarked ? placedVersion1(*sizes) : placedVersion0(*sizes);
    if (placer.end() != file.size())
        return Error{ErrorCode::Corrupt,
                     name + "is a damaged llama2.c checkpoint: it has " + std::to_string(file.size())
                         + " bytes where its header asks for " + std::to_string(placer.end())
                         + ". Downloading it again usually helps."};
    return Llama2cModel{configText(*sizes), std::move(placer).tensors()};
}

} // namespace headwise
