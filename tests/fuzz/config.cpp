#include "core/model/architecture.h"
#include "tests/fuzz/input_folder.h"

#include <string>

// The config alone, and the search for its tensors in a file that has one of them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    static const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    static const std::string weights =
        static_cast<char>(header.size()) + std::string(7, '\0') + header + std::string(8, '\1');
    folder.write("config.json", data, size);
    const headwise::ModelSource source{folder.path(), std::nullopt, {}};
    if (!headwise::readModelConfig(source))
        return 0;
    folder.write("model.safetensors", weights.data(), weights.size());
    static_cast<void>(headwise::loadModel(source, headwise::Task{}));
    std::filesystem::remove(folder.path() / "model.safetensors");
    return 0;
}
