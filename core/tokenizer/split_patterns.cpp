#include "core/tokenizer/split_patterns.h"

namespace headwise {

std::vector<PreTokenizerStep> splitAndByteLevel(std::string_view pattern)
{
    std::vector<PreTokenizerStep> steps(2);
    steps[0].kind = PreTokenizerStep::Kind::Split;
    steps[0].pattern = {true, std::string(pattern)};
    steps[1].useRegex = false;
    return steps;
}

std::vector<PreTokenizerStep> gpt2ByteLevel()
{
    return std::vector<PreTokenizerStep>(1);
}

} // namespace headwise
