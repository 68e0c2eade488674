#include "tests/fuzz/input_folder.h"

#include <string>

namespace {

/// A shard with one tensor of two numbers.
std::string shard(const std::string& tensor)
{
    const std::string header =
        "{\"" + tensor + R"(":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})" + std::string(6, ' ');
    std::string size(8, '\0');
    size[0] = static_cast<char>(header.size());
    return size + header + std::string(8, '\1');
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    for (const char* tensor : {"a", "b"}) {
        const std::string bytes = shard(tensor);
        folder.write(std::string(tensor) + ".safetensors", bytes.data(), bytes.size());
    }
    folder.write("model.safetensors.index.json", data, size);
    headwise::fuzz::readEverything(folder.path());
    return 0;
}
