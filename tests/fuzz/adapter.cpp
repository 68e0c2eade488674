#include "core/model/adapters/adapter.h"
#include "tests/fuzz/input_folder.h"
#include "tests/fuzz/text_input.h"
#include "tests/fuzz/zero_weights.h"

#include <fstream>
#include <string>
#include <utility>

using namespace headwise;

namespace {

void write(const std::filesystem::path& path, const std::string& bytes)
{
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

/// Two matrices that are no model on their own, and adapters of them with the rank 2: LoRA's, and DoRA's.
void writeFiles(const std::filesystem::path& folder)
{
    static constexpr fuzz::ZeroTensor base[] = {{"l.q.weight", "[6,4]", 24}, {"l.k.weight", "[4,4]", 16}};
    static constexpr fuzz::ZeroTensor lora[] = {{"base_model.model.l.k.lora_A.weight", "[2,4]", 8},
                                                {"base_model.model.l.k.lora_B.weight", "[4,2]", 8},
                                                {"base_model.model.l.q.lora_A.weight", "[2,4]", 8},
                                                {"base_model.model.l.q.lora_B.weight", "[6,2]", 12}};
    static constexpr fuzz::ZeroTensor dora[] = {{"base_model.model.l.k.lora_A.weight", "[2,4]", 8},
                                                {"base_model.model.l.k.lora_B.weight", "[4,2]", 8},
                                                {"base_model.model.l.k.lora_magnitude_vector", "[4]", 4},
                                                {"base_model.model.l.q.lora_A.weight", "[2,4]", 8},
                                                {"base_model.model.l.q.lora_B.weight", "[6,2]", 12},
                                                {"base_model.model.l.q.lora_magnitude_vector", "[6]", 6}};
    write(folder / "base" / "model.safetensors", fuzz::zeroWeights(base));
    write(folder / "lora" / "adapter_model.safetensors", fuzz::zeroWeights(lora));
    write(folder / "dora" / "adapter_model.safetensors", fuzz::zeroWeights(dora));
}

} // namespace

/// An adapter's config, and what it makes of a small base.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const fuzz::InputFolder folder;
    static const bool isWritten = (writeFiles(folder.path()), true);
    static_cast<void>(isWritten);
    const auto config = readAdapterConfig(fuzz::textOf(data, size), adapterConfigName);
    if (!fuzz::isAnswered(config))
        return 0;
    fuzz::require(config->rank > 0 && config->rankOf("l.q") > 0);
    const std::string name = config->isDora ? "dora" : "lora";
    folder.write(name + "/" + adapterConfigName, data, size);
    ModelSource source{folder.path() / name, std::nullopt, {}};
    source.base = folder.path() / "base";
    source.adapterStrength = 0.5;
    const auto apart = takeAdapterApart(source);
    if (!fuzz::isAnswered(apart))
        return 0;
    const auto weights = openWeights(*apart);
    if (!fuzz::isAnswered(weights))
        return 0;
    fuzz::require(weights->changes().size() == 2);
    for (const auto& [tensor, change] : weights->changes()) {
        Matrix<float> numbers;
        const std::int64_t rows = change.isTransposed ? change.inputs : change.outputs;
        const std::int64_t cols = change.isTransposed ? change.outputs : change.inputs;
        weights->read({tensor, 0, cols, 1, rows, cols}, numbers);
        fuzz::require(numbers.rows() == rows && numbers.cols() == cols);
    }
    return 0;
}
