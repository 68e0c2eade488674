#include "core/base/processor.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace headwise {

namespace {

/// An instruction set and the flags that it takes.
struct Unit {
    std::string_view name;
    std::string_view flags; // separated by spaces
};

constexpr std::array<Unit, 9> knownUnits{{{"AVX2", "avx2"},
                                          {"FMA", "fma"},
                                          {"AVX-512", "avx512f avx512dq avx512bw avx512vl avx512cd"},
                                          {"AVX-512 VNNI", "avx512_vnni"},
                                          {"AVX-512 BF16", "avx512_bf16"},
                                          {"AVX-VNNI", "avx_vnni"},
                                          {"AMX", "amx_tile"},
                                          {"NEON", "asimd"},
                                          {"SVE", "sve"}}};

std::set<std::string> wordsOf(std::string_view text)
{
    std::istringstream stream{std::string(text)};
    std::set<std::string> words;
    for (std::string word; stream >> word;)
        words.insert(word);
    return words;
}

/// Returns the text after the colon of a line "key : text" with this key; empty for another line.
std::string valueOf(const std::string& line, std::string_view key)
{
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)
        || line.find_first_not_of(" \t", key.size()) != colon)
        return {};
    const std::size_t first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? std::string() : line.substr(first);
}

} // namespace

Processor processorHere(const std::string& file)
{
    Processor processor;
    std::set<std::string> flags;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line) && (processor.name.empty() || flags.empty());) {
        if (const std::string name = valueOf(line, "model name"); !name.empty() && processor.name.empty())
            processor.name = name;
        for (const char* key : {"flags", "Features"})
            if (const std::string words = valueOf(line, key); !words.empty())
                flags = wordsOf(words);
    }
    for (const Unit& unit : knownUnits)
        if (std::ranges::includes(flags, wordsOf(unit.flags)))
            processor.units.emplace_back(unit.name);
    return processor;
}

} // namespace headwise
