#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headwise {

/// Unpacks a raw deflate stream (RFC 1951) that must give exactly `size` bytes; nothing if it does not.
///
/// Memory grows with the unpacked bytes, not with the claimed size.
std::optional<std::vector<std::byte>> inflated(std::span<const std::byte> packed, std::uint64_t size);

} // namespace headwise
