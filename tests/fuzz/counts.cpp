#include "core/analysis/inputs/token_counts.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/fuzz/input_folder.h"
#include "tests/fuzz/text_input.h"

#include <cmath>

using namespace headwise;

namespace {

constexpr int vocabularySize = 8;
constexpr std::string_view fewTokens =
    R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"c":3,"\u0120a":4},"merges":["a b"]},"decoder":{"type":"ByteLevel"}})";

} // namespace

/// Counts of tokens and of token pairs, in every format, by ids and by a tokenizer's words.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const fuzz::InputFolder folder;
    static const Result<Tokenizer> tokenizer =
        Tokenizer::open(folder.write("tokenizer.json", fewTokens.data(), fewTokens.size()));
    fuzz::require(tokenizer.has_value());
    for (const char* name : {"counts.csv", "counts.json", "counts.npy"}) {
        const auto file = folder.write(name, data, size);
        for (const Tokenizer* words : {static_cast<const Tokenizer*>(nullptr), &*tokenizer}) {
            const Vocabulary vocabulary{words, vocabularySize};
            if (const auto read = readTokenCounts(file, vocabulary); fuzz::isAnswered(read)) {
                const TokenCounts& counts = *read->counts;
                fuzz::require(counts.all().size() == vocabularySize && std::isfinite(counts.total()));
                for (const int id : {-1, 0, vocabularySize - 1, vocabularySize})
                    fuzz::require(counts.of(id) >= 0 && std::isfinite(counts.of(id)));
            }
            if (const auto read = readBigramCounts(file, vocabulary); fuzz::isAnswered(read))
                for (const int second : read->counts->seconds())
                    for (const auto& prefix : read->counts->before(second))
                        fuzz::require(read->counts->of(prefix.token, second) == prefix.count
                                      && second < vocabularySize);
        }
    }
    return 0;
}
