#pragma once

#include "core/base/result.h"
#include "core/tokenizer/tokenizer_file.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace headwise {

/// Translates a pattern from Oniguruma's syntax, which tokenizer files use, to PCRE2's. Returns nothing if PCRE2 has no
/// equivalent.
///
/// Differences: \s and \w follow the Unicode properties, \h is a hexadecimal digit, \p{Han} a script and \p{Letter} a
/// category, and a class may contain classes.
std::optional<std::string> pcre2Syntax(std::string_view oniguruma);

/// A compiled pattern. Immutable; any thread may use it.
class TokenPattern {
public:
    struct Match {
        std::size_t begin; // bytes
        std::size_t end;
    };

    /// Errors: Unsupported or Corrupt with the compiler's reason; the sentence does not name the file.
    static Result<TokenPattern> compile(const TokenPatternText& pattern);

    /// Returns all matches, in order, without overlaps.
    /// \param text well-formed UTF-8
    /// Errors: Corrupt if the pattern needs unreasonably many steps or much memory.
    Result<std::vector<Match>> matches(std::string_view text) const;

private:
    explicit TokenPattern(std::shared_ptr<const pcre2_real_code_8> code);

    std::shared_ptr<const pcre2_real_code_8> m_code; // null: matches nothing
};

} // namespace headwise
