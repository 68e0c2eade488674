#include "core/checkpoint/foreign_weights.h"

#include <algorithm>
#include <array>
#include <string>

namespace headwise {
namespace {

/// A part of a tensor's name that occurs in only one kind of file.
struct Sign {
    std::string_view part;
    bool atEnd;
    std::string_view what;   ///< "… holds a model quantised by …"
    std::string_view advice; ///< what the user can do
};

constexpr std::string_view original = "; open the model it was made from, in F32, F16 or BF16.";
constexpr std::string_view withBase =
    "; open the folder that holds it as adapter_model.safetensors beside its adapter_config.json.";

constexpr std::array signs{
    Sign{".qweight", true, "a model quantised by GPTQ or AWQ", original},
    Sign{".quant_state.bitsandbytes__", false, "a model quantised to 4 bits by bitsandbytes", original},
    Sign{".SCB", true, "a model quantised to 8 bits by bitsandbytes", original},
    Sign{".weight_packed", true, "a model quantised by compressed-tensors", original},
    Sign{".weight_scale_inv", true, "8-bit floats that mean nothing without their scales", original},
    Sign{".weight_scale", true, "quantised numbers that mean nothing without their scales", original},
    Sign{".lora_A.", false, "a LoRA adapter, not a model", withBase},
    Sign{".lora_embedding_A", false, "a LoRA adapter, not a model", withBase},
};

} // namespace

std::optional<Error> foreignWeights(std::span<const StoredTensor> tensors, std::string_view fileName)
{
    for (const Sign& sign : signs) {
        const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const StoredTensor& tensor) {
            return sign.atEnd ? tensor.name.ends_with(sign.part)
                              : tensor.name.find(sign.part) != std::string::npos;
        });
        if (found != tensors.end())
            return Error{ErrorCode::Unsupported,
                         "File '" + std::string(fileName) + "' holds " + std::string(sign.what) + " (tensor '"
                             + found->name + "')" + std::string(sign.advice)};
    }
    return std::nullopt;
}

} // namespace headwise
