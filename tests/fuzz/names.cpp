#include "core/analysis/inputs/token_counts.h"
#include "tests/fuzz/input_folder.h"
#include "tests/fuzz/text_input.h"

#include <set>
#include <string>

using namespace headwise;

/// Word lists, as lines and as CSV.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const fuzz::InputFolder folder;
    for (const char* name : {"names.txt", "names.csv"}) {
        const auto words = readWords(folder.write(name, data, size));
        if (!fuzz::isAnswered(words))
            continue;
        const std::set<std::string> unique(words->begin(), words->end());
        fuzz::require(!words->empty() && unique.size() == words->size() && !unique.contains(""));
    }
    return 0;
}
