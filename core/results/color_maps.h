#pragma once

#include <array>
#include <cstdint>

namespace headwise {

enum class ColorMap;

/// 256 opaque colours, 0xFFRRGGBB, from the lowest value to the highest.
using ColorTable = std::array<std::uint32_t, 256>;

/// The entries of a map, as published or as computed once; the same table for the life of the program.
const ColorTable& colorTable(ColorMap map);

} // namespace headwise
