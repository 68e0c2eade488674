#include "tests/fuzz/input_folder.h"

#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace headwise::fuzz {

namespace {

constexpr std::int64_t numbersLookedAt = 4096;

} // namespace

InputFolder::InputFolder()
    : m_path(std::filesystem::temp_directory_path() / ("headwise-fuzz-" + std::to_string(getpid())))
{
    std::filesystem::create_directories(m_path);
}

InputFolder::~InputFolder()
{
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
}

std::filesystem::path InputFolder::write(std::string_view name, const void* bytes, std::size_t size) const
{
    const std::filesystem::path file = m_path / name;
    std::FILE* out = std::fopen(file.c_str(), "wb");
    if (out == nullptr || std::fwrite(bytes, 1, size, out) != size || std::fclose(out) != 0) {
        std::perror(file.c_str());
        std::_Exit(1);
    }
    return file;
}

void readEverything(const std::filesystem::path& path)
{
    const Result<WeightMap> map = WeightMap::open(path);
    if (!map)
        return;
    for (int i = 0; i < static_cast<int>(map->tensors().size()); ++i) {
        const std::int64_t count = elementCount(map->tensors()[static_cast<std::size_t>(i)]);
        const TensorView view{i, 0, 1, 1, 1, std::min(count, numbersLookedAt)};
        if (!map->checkView(view))
            continue;
        Matrix<float> numbers;
        map->read(view, numbers);
        const TensorView last{i, std::max<std::int64_t>(0, count - 1), 1, 1,
                              1, std::min<std::int64_t>(count, 1)};
        if (map->checkView(last))
            map->read(last, numbers);
    }
}

void useTokenizer(const std::filesystem::path& path)
{
    const Result<Tokenizer> tokenizer = Tokenizer::open(path);
    if (!tokenizer)
        return;
    for (const int id : {-1, 0, 1, 255, tokenizer->size() - 1, tokenizer->size()}) {
        static_cast<void>(tokenizer->shown(id));
        static_cast<void>(tokenizer->bytes(id));
    }
    for (const char* text :
         {"", "Hello, world", " a\r\n\t 1234 <s>", "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x91\xa9\xe2\x80\x8d"})
        if (const auto ids = tokenizer->encode(text))
            static_cast<void>(tokenizer->decode(*ids));
    static_cast<void>(tokenizer->find("Hello"));
}

} // namespace headwise::fuzz
