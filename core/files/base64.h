#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Decodes padded base64 text (RFC 4648, section 4); returns nothing if the text is malformed.
std::optional<std::string> fromBase64(std::string_view text);

} // namespace headwise
