#include "core/io/tokenizer.h"
#include "tests/fuzz/input_folder.h"

#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    const auto tokenizer = headwise::Tokenizer::open(folder.write("tokenizer.json", data, size));
    if (!tokenizer)
        return 0;
    for (const int id : {-1, 0, 1, 255, tokenizer->size() - 1, tokenizer->size()}) {
        static_cast<void>(tokenizer->shown(id));
        static_cast<void>(tokenizer->bytes(id));
    }
    for (const char* text :
         {"", "Hello, world", " a\r\n\t 1234 <s>", "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x91\xa9\xe2\x80\x8d"})
        if (const auto ids = tokenizer->encode(text))
            static_cast<void>(tokenizer->decode(*ids));
    static_cast<void>(tokenizer->find("Hello"));
    return 0;
}
