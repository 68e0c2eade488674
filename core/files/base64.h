#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// The bytes of padded base64 text (RFC 4648, section 4); nothing if it is not that.
std::optional<std::string> fromBase64(std::string_view text);

} // namespace headwise
