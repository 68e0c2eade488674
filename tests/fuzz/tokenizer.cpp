#include "tests/fuzz/input_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    headwise::fuzz::useTokenizer(folder.write("tokenizer.json", data, size));
    return 0;
}
