#pragma once

#include "core/base/result.h"
#include "core/tokenizer/character_map.h"
#include "core/tokenizer/token_pattern.h"
#include "core/tokenizer/tokenizer_file.h"

#include <string>
#include <vector>

namespace headwise {

/// Changes text before a tokenizer splits it: Unicode normalization forms, replacements, prefixes.
class TokenNormalizer {
public:
    /// Errors: Corrupt or Unsupported if a pattern does not compile or a character map is damaged; the sentence does not
    /// name the file.
    static Result<TokenNormalizer> create(const std::vector<NormalizerStep>& steps);

    /// \param text well-formed UTF-8
    /// Errors: Corrupt if a pattern exceeds its limits or the steps lengthen the text too much; OutOfMemory.
    Result<std::string> normalized(std::string text) const;

private:
    struct Step {
        NormalizerStep step;
        TokenPattern pattern;
        CharacterMap map;
    };
    TokenNormalizer() = default;

    std::vector<Step> m_steps;
};

} // namespace headwise
