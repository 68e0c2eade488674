#include "tests/bench/make_gpt2_small.h"

#include <bit>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <stdlib.h>

namespace headwise::bench {
namespace {

struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    float mean;
    float spread;

    std::int64_t size() const
    {
        std::int64_t product = 1;
        for (const std::int64_t dimension : shape)
            product *= dimension;
        return product;
    }
};

std::vector<Tensor> gpt2Tensors()
{
    std::vector<Tensor> list{{"wte.weight", {50257, 768}, 0, 0.14F}, {"wpe.weight", {1024, 768}, 0, 0.1F}};
    const auto norm = [&](const std::string& name) {
        list.push_back({name + ".weight", {768}, 1, 0.1F});
        list.push_back({name + ".bias", {768}, 0, 0.1F});
    };
    const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
        list.push_back({name + ".weight", {in, out}, 0, 0.1F});
        list.push_back({name + ".bias", {out}, 0, 0.1F});
    };
    for (int layer = 0; layer < 12; ++layer) {
        const std::string block = "h." + std::to_string(layer) + ".";
        norm(block + "ln_1");
        linear(block + "attn.c_attn", 768, 2304);
        linear(block + "attn.c_proj", 768, 768);
        norm(block + "ln_2");
        linear(block + "mlp.c_fc", 768, 3072);
        linear(block + "mlp.c_proj", 3072, 768);
    }
    norm("ln_f");
    return list;
}

constexpr ModelSizes llamaSizes{.keyHeads = 4, .inner = 2048};
constexpr int headSize = 64;

std::vector<Tensor> llamaTensors(const ModelSizes& sizes)
{
    const std::int64_t d = sizes.dModel, queries = headSize * sizes.heads;
    const std::int64_t keys = sizes.keyHeads > 0 ? headSize * sizes.keyHeads : queries;
    std::vector<Tensor> list{{"model.embed_tokens.weight", {sizes.vocabulary, d}, 0, 0.14F}};
    const auto norm = [&](const std::string& name) { list.push_back({name + ".weight", {d}, 1, 0.1F}); };
    const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
        list.push_back({name + ".weight", {out, in}, 0, 0.1F});
    };
    for (int layer = 0; layer < sizes.layers; ++layer) {
        const std::string block = "model.layers." + std::to_string(layer) + ".";
        norm(block + "input_layernorm");
        linear(block + "self_attn.q_proj", d, queries);
        linear(block + "self_attn.k_proj", d, keys);
        linear(block + "self_attn.v_proj", d, keys);
        linear(block + "self_attn.o_proj", queries, d);
        norm(block + "post_attention_layernorm");
        linear(block + "mlp.gate_proj", d, sizes.inner);
        linear(block + "mlp.up_proj", d, sizes.inner);
        linear(block + "mlp.down_proj", sizes.inner, d);
    }
    norm("model.norm");
    linear("lm_head", d, sizes.vocabulary);
    return list;
}

std::string llamaConfig(const ModelSizes& sizes)
{
    const auto entry = [](const char* key, int value) {
        return "\"" + std::string(key) + "\":" + std::to_string(value) + ",";
    };
    return R"({"model_type":"llama","architectures":["LlamaForCausalLM"],)"
        + entry("num_hidden_layers", sizes.layers) + entry("num_attention_heads", sizes.heads)
        + entry("num_key_value_heads", sizes.keyHeads > 0 ? sizes.keyHeads : sizes.heads)
        + entry("head_dim", headSize) + entry("hidden_size", sizes.dModel)
        + entry("intermediate_size", sizes.inner) + entry("vocab_size", sizes.vocabulary)
        + R"("max_position_embeddings":1024,"hidden_act":"silu","rms_norm_eps":1e-5,"rope_theta":10000,"tie_word_embeddings":false})";
}

constexpr const char* gpt2Config =
    R"({"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_layer":12,"n_head":12,"n_embd":768,"n_positions":1024,)"
    R"("n_ctx":1024,"vocab_size":50257,"activation_function":"gelu_new","layer_norm_epsilon":1e-5})";

/// Sizes of Llama 3's models, 32 heads in 8 groups and a vocabulary of 128,256.
struct LlamaSizes {
    int layers, dModel, inner;
    bool tied;
    std::size_t shards;
};
constexpr int llamaVocabulary = 128256;

std::string configOf(const LlamaSizes& sizes)
{
    return R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":)"
        + std::to_string(sizes.layers) + R"(,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":)"
        + std::to_string(sizes.dModel) + R"(,"intermediate_size":)" + std::to_string(sizes.inner)
        + R"(,"max_position_embeddings":131072,"vocab_size":)" + std::to_string(llamaVocabulary)
        + R"(,"hidden_act":"silu","rms_norm_eps":1e-5,"rope_theta":500000,"tie_word_embeddings":)"
        + (sizes.tied ? "true}" : "false}");
}

/// Tensors of spread 0 are zeros.
std::vector<Tensor> tensorsOf(const LlamaSizes& sizes)
{
    const int d = sizes.dModel;
    std::vector<Tensor> list{{"model.embed_tokens.weight", {llamaVocabulary, d}, 0, 0.05F}};
    const auto norm = [&](const std::string& name) { list.push_back({name + ".weight", {d}, 1, 0.1F}); };
    const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out, float spread) {
        list.push_back({name + ".weight", {out, in}, 0, spread});
    };
    for (int layer = 0; layer < sizes.layers; ++layer) {
        const std::string block = "model.layers." + std::to_string(layer) + ".";
        norm(block + "input_layernorm");
        linear(block + "self_attn.q_proj", d, d, 0.05F);
        linear(block + "self_attn.k_proj", d, d / 4, 0.05F);
        linear(block + "self_attn.v_proj", d, d / 4, 0.05F);
        linear(block + "self_attn.o_proj", d, d, 0.05F);
        norm(block + "post_attention_layernorm");
        linear(block + "mlp.gate_proj", d, sizes.inner, 0);
        linear(block + "mlp.up_proj", d, sizes.inner, 0);
        linear(block + "mlp.down_proj", sizes.inner, d, 0);
    }
    norm("model.norm");
    if (!sizes.tied)
        linear("lm_head", d, llamaVocabulary, 0.05F);
    return list;
}

/// \param bytes of a number: 4 is float32, 2 bfloat16
std::string header(const std::vector<Tensor>& list, std::int64_t bytes)
{
    std::string text = "{";
    std::int64_t offset = 0;
    for (const Tensor& tensor : list) {
        std::string shape;
        for (const std::int64_t dimension : tensor.shape)
            shape += (shape.empty() ? "" : ",") + std::to_string(dimension);
        const std::int64_t end = offset + bytes * tensor.size();
        text += (text.size() > 1 ? ",\"" : "\"") + tensor.name + R"(":{"dtype":)"
            + (bytes == 4 ? R"("F32")" : R"("BF16")") + R"(,"shape":[)" + shape + R"(],"data_offsets":[)"
            + std::to_string(offset) + "," + std::to_string(end) + "]}";
        offset = end;
    }
    text += "}";
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

void writeHeader(std::ofstream& file, const std::string& text)
{
    const std::uint64_t length = text.size(); // little-endian, as every machine we build on
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// Sums of two uniform numbers from xorshift64*: quick, and the same everywhere.
class Random {
public:
    float next()
    {
        m_state ^= m_state >> 12;
        m_state ^= m_state << 25;
        m_state ^= m_state >> 27;
        const std::uint64_t bits = m_state * 2685821657736338717ULL;
        const auto low = static_cast<float>(bits >> 40);
        const auto high = static_cast<float>((bits >> 16) & 0xffffff);
        return (low + high) * 0x1p-24F - 1; // [−1, 1), a triangle
    }

private:
    std::uint64_t m_state = 88172645463325252ULL;
};

bool makeFloats(const std::filesystem::path& folder, const std::string& configText,
                const std::vector<Tensor>& list)
{
    std::ofstream config(folder / "config.json");
    config << configText << '\n';
    std::ofstream file(folder / "model.safetensors", std::ios::binary);
    writeHeader(file, header(list, 4));
    Random random;
    std::vector<float> values;
    for (const Tensor& tensor : list) {
        values.resize(static_cast<std::size_t>(tensor.size()));
        for (float& value : values)
            value = tensor.mean + tensor.spread * random.next();
        file.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(4 * values.size()));
    }
    config.flush();
    file.flush();
    return config.good() && file.good();
}

/// Writes one file of bfloat16 numbers.
bool makeShard(const std::filesystem::path& path, const std::vector<Tensor>& list, Random& random)
{
    std::ofstream file(path, std::ios::binary);
    const std::string text = header(list, 2);
    writeHeader(file, text);
    std::uintmax_t size = sizeof(std::uint64_t) + text.size();
    std::vector<std::uint16_t> values;
    for (const Tensor& tensor : list) {
        size += static_cast<std::uintmax_t>(2 * tensor.size());
        if (tensor.spread == 0) { // a hole
            file.seekp(2 * tensor.size(), std::ios::cur);
            continue;
        }
        values.resize(static_cast<std::size_t>(tensor.size()));
        for (std::uint16_t& value : values)
            value = static_cast<std::uint16_t>(
                std::bit_cast<std::uint32_t>(tensor.mean + tensor.spread * random.next()) >> 16);
        file.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(2 * values.size()));
    }
    file.close();
    std::error_code error; // the last tensor may be a hole
    std::filesystem::resize_file(path, size, error);
    return file.good() && !error;
}

bool makeLlama(const std::filesystem::path& folder, const LlamaSizes& sizes)
{
    std::ofstream config(folder / "config.json");
    config << configOf(sizes) << '\n';
    const std::vector<Tensor> all = tensorsOf(sizes);
    const std::size_t each = (all.size() + sizes.shards - 1) / sizes.shards;
    Random random;
    std::string index;
    for (std::size_t shard = 0; shard < sizes.shards; ++shard) {
        const std::string name = sizes.shards == 1 ? "model.safetensors"
                                                   : "model-0000" + std::to_string(shard + 1) + "-of-0000"
                + std::to_string(sizes.shards) + ".safetensors";
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(shard * each);
        const auto count = static_cast<std::ptrdiff_t>(std::min(each, all.size() - shard * each));
        const std::vector<Tensor> list(first, first + count);
        if (!makeShard(folder / name, list, random))
            return false;
        for (const Tensor& tensor : list) {
            index += index.empty() ? "\"" : ",\"";
            index += tensor.name + "\":\"" + name + "\"";
        }
    }
    if (sizes.shards > 1) {
        std::ofstream map(folder / "model.safetensors.index.json");
        map << "{\"metadata\":{},\"weight_map\":{" << index << "}}\n";
        if (!map.flush())
            return false;
    }
    return config.flush().good();
}

} // namespace

bool makeGpt2Small(const std::filesystem::path& folder, Layout layout)
{
    return layout == Layout::Gpt2 ? makeFloats(folder, gpt2Config, gpt2Tensors())
                                  : makeRandom(folder, llamaSizes);
}

bool makeRandom(const std::filesystem::path& folder, const ModelSizes& sizes)
{
    return makeFloats(folder, llamaConfig(sizes), llamaTensors(sizes));
}

bool makeLlama1B(const std::filesystem::path& folder)
{
    return makeLlama(folder, {.layers = 16, .dModel = 2048, .inner = 8192, .tied = true, .shards = 1});
}

bool makeLlama8B(const std::filesystem::path& folder)
{
    return makeLlama(folder, {.layers = 32, .dModel = 4096, .inner = 14336, .tied = false, .shards = 4});
}

Gpt2Small::Gpt2Small(Layout layout)
{
    std::string name = (std::filesystem::temp_directory_path() / "headwise-bench-XXXXXX").string();
    if (!mkdtemp(name.data()))
        return;
    m_folder = name;
    m_isThere = makeGpt2Small(m_folder, layout);
}

Gpt2Small::~Gpt2Small()
{
    std::error_code ignored;
    if (!m_folder.empty())
        std::filesystem::remove_all(m_folder, ignored);
}

} // namespace headwise::bench
