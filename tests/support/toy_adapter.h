#pragma once

#include "tests/support/toy_model.h"

#include <cmath>
#include <cstddef>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace headwise::test {

/// A PEFT adapter of a toy model.
struct ToyAdapter {
    std::vector<std::string> modules; ///< "model.layers.0.self_attn.q_proj"
    std::size_t rank = 2;
    double alpha = 6;
    bool rankStabilised = false;
    bool dora = false;
    bool inputsFirst = false; ///< The base stores [inputs, outputs]: fan_in_fan_out.
    std::string infix = {};   ///< ".default", as in a state dict that PEFT did not write.
    std::string more = {};    ///< Further keys of adapter_config.json, each after a comma.

    double scale() const
    {
        const auto r = static_cast<double>(rank);
        return alpha / (rankStabilised ? std::sqrt(r) : r);
    }
    std::string config() const
    {
        const auto flag = [](bool on) { return on ? "true" : "false"; };
        return R"({"peft_type": "LORA", "task_type": "CAUSAL_LM", "bias": "none", "r": )"
            + std::to_string(rank) + R"(, "lora_alpha": )" + std::to_string(alpha) + R"(, "use_rslora": )"
            + flag(rankStabilised) + R"(, "use_dora": )" + flag(dora) + R"(, "fan_in_fan_out": )"
            + flag(inputsFirst) + more + "}";
    }
};

/// Where a base keeps the matrix of a module: by its name, or without the first part of it.
inline std::string storedName(const ToyModel& base, const std::string& module)
{
    const std::string name = module + ".weight";
    return base.tensors.contains(name) ? name : name.substr(name.find('.') + 1);
}

/// The tensors of an adapter: normal numbers, and magnitudes near 1.
inline std::map<std::string, StoredTensor> tensorsOf(const ToyAdapter& adapter, const ToyModel& base)
{
    std::map<std::string, StoredTensor> tensors;
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    const auto add = [&](const std::string& name, std::vector<std::size_t> shape, float mean, float spread) {
        StoredTensor tensor{shape, {}};
        std::size_t count = 1;
        for (const std::size_t size : shape)
            count *= size;
        for (std::size_t i = 0; i < count; ++i)
            tensor.values.push_back(mean + spread * normal(random));
        tensors[name] = std::move(tensor);
    };
    for (const std::string& module : adapter.modules) {
        const std::vector<std::size_t> shape = base.tensors.at(storedName(base, module)).shape;
        const std::size_t outputs = shape[adapter.inputsFirst ? 1 : 0],
                          inputs = shape[adapter.inputsFirst ? 0 : 1];
        const std::string name = "base_model.model." + module;
        add(name + ".lora_A" + adapter.infix + ".weight", {adapter.rank, inputs}, 0, 0.3F);
        add(name + ".lora_B" + adapter.infix + ".weight", {outputs, adapter.rank}, 0, 0.3F);
        if (adapter.dora)
            add(name + ".lora_magnitude_vector" + adapter.infix, {outputs}, 1, 0.2F);
    }
    return tensors;
}

inline void writeAdapter(const std::filesystem::path& folder, const std::string& config,
                         const std::map<std::string, StoredTensor>& tensors)
{
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "adapter_config.json") << config;
    writeSafetensors(folder / "adapter_model.safetensors", tensors, false);
}

inline void writeAdapter(const std::filesystem::path& folder, const ToyAdapter& adapter, const ToyModel& base)
{
    writeAdapter(folder, adapter.config(), tensorsOf(adapter, base));
}

} // namespace headwise::test
