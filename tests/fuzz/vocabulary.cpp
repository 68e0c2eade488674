#include "tests/fuzz/input_folder.h"

// Every kind of tokenizer other than JSON; the content decides.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    headwise::fuzz::useTokenizer(folder.write("vocabulary", data, size));
    return 0;
}
