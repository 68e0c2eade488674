#include "core/model/families/families.h"
#include "core/model/families/llama_names.h"
#include "core/model/hf_config.h"

#include <nlohmann/json.hpp>

namespace headwise {
namespace {

using nlohmann::json;

Result<ModelDescription> readMixtralConfig(const json& config, std::string_view file)
{
    ConfigReader reader(config, file);
    ModelConfig c = readLlamaNames(config, reader,
                                   {.architecture = "mixtral",
                                    .nKvHeads = 8,
                                    .dMlp = 14336,
                                    .nCtx = 4096 * 32,
                                    .normEps = 1e-5,
                                    .rotaryBase = 1e6});
    c.nExperts = reader.size({"num_local_experts"}, 8);
    c.expertsPerToken = reader.size({"num_experts_per_tok"}, 2);
    const int window = reader.optionalSize({"sliding_window"}).value_or(0);
    c.windows = windowsOf(std::vector<bool>(believedLayers(c), true), window);
    reader.onlySupports("attention_bias", {"false"});
    static constexpr std::string_view training[] = {"router_aux_loss_coef", "router_jitter_noise",
                                                    "output_router_logits"};
    reader.ignore(training);
    return describe(std::move(c), reader, {});
}

/// One expert out of matrices that hold all of them: gate_up_proj [E, 2f, m] and down_proj [E, m, f].
void addFusedExperts(RecipeBook& book, const std::string& experts, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const std::string gateUp = experts + "gate_up_proj", down = experts + "down_proj";
    const bool hasGateUp = book.require(gateUp, {c.nExperts, 2 * f, m});
    const bool hasDown = book.require(down, {c.nExperts, m, f});
    for (int expert = 0; expert < c.nExperts; ++expert) {
        if (hasGateUp) {
            const Eigen::Index first = 2 * f * m * expert;
            book.add(W_gate, layer, expert, gateUp, {first, m, f, 1, m});
            book.add(W_in, layer, expert, gateUp, {first + f * m, m, f, 1, m});
        }
        if (hasDown)
            book.add(W_out, layer, expert, down, {expert * m * f, f, m, 1, f});
    }
}

void addExperts(RecipeBook& book, const std::string& block, int layer)
{
    using enum TensorKind;
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    // Files saved by newer versions have the second name, and may have all experts in one tensor.
    const std::string moe = block + (book.isStored(block + "mlp.gate.weight") ? "mlp." : "block_sparse_moe.");
    const std::string router = moe + "gate.weight";
    if (book.require(router, {c.nExperts, m}))
        book.add(W_router, layer, 0, router, layout::transposed(m, c.nExperts));
    if (book.isStored(moe + "experts.gate_up_proj"))
        return addFusedExperts(book, moe + "experts.", layer);
    for (int expert = 0; expert < c.nExperts; ++expert) {
        const std::string one = moe + "experts." + std::to_string(expert) + ".";
        const auto add = [&](const char* name, TensorKind kind, Eigen::Index in, Eigen::Index out) {
            if (book.require(one + name, {out, in}))
                book.add(kind, layer, expert, one + name, layout::transposed(in, out));
        };
        add("w1.weight", W_gate, m, f);
        add("w3.weight", W_in, m, f);
        add("w2.weight", W_out, f, m);
    }
}

Result<ModelWeights> loadMixtral(const ModelConfig& config, std::shared_ptr<const WeightMap> file)
{
    return loadLlamaNames(config, std::move(file),
                          {.qkv = StoredBias::Absent, .output = StoredBias::Absent, .addMlp = addExperts});
}

} // namespace

const Architecture& mixtral()
{
    static constexpr Architecture row{"mixtral", nullptr, readMixtralConfig, loadMixtral};
    return row;
}

} // namespace headwise
