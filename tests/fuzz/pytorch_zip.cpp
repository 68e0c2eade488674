#include "tests/fuzz/input_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    headwise::fuzz::readEverything(folder.write("pytorch_model.bin", data, size));
    return 0;
}
