#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headwise {

/// The bytes of a raw deflate stream (RFC 1951) that unpacks to exactly `size` bytes; nothing if it does not.
///
/// Memory grows with what was unpacked, not with what is claimed.
std::optional<std::vector<std::byte>> inflated(std::span<const std::byte> packed, std::uint64_t size);

} // namespace headwise
