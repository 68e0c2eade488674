#include "core/results/color_vision.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise {

namespace {

using Row = std::array<double, 3>;
using ColorMatrix = std::array<Row, 3>;

constexpr ColorMatrix deuteranopia{Row{0.367322, 0.860646, -0.227968}, Row{0.280085, 0.672501, 0.047413},
                                   Row{-0.011820, 0.042940, 0.968881}};
constexpr ColorMatrix protanopia{Row{0.152286, 1.052583, -0.204868}, Row{0.114503, 0.786281, 0.099216},
                                 Row{-0.003882, -0.048116, 1.051998}};
constexpr ColorMatrix tritanopia{Row{1.255528, -0.076749, -0.178779}, Row{-0.078411, 0.930809, 0.147602},
                                 Row{0.004733, 0.691367, 0.303900}};

const std::array<double, 256>& linearTable()
{
    static const auto table = [] {
        std::array<double, 256> linear{};
        for (std::size_t i = 0; i < linear.size(); ++i) {
            const double x = static_cast<double>(i) / 255;
            linear[i] = x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
        }
        return linear;
    }();
    return table;
}

/// The byte whose linear value is nearest; a search is faster than a power.
Rgb byteOf(double linear)
{
    const std::array<double, 256>& table = linearTable();
    const auto above = std::ranges::lower_bound(table, linear);
    if (above == table.begin())
        return 0;
    if (above == table.end())
        return 255;
    const auto index = static_cast<Rgb>(above - table.begin());
    return *above - linear < linear - *(above - 1) ? index : index - 1;
}

} // namespace

Rgb simulated(Rgb color, ColorVision vision)
{
    if (vision == ColorVision::Normal)
        return color;
    const ColorMatrix& matrix = vision == ColorVision::Deuteranopia ? deuteranopia
        : vision == ColorVision::Protanopia                         ? protanopia
                                                                    : tritanopia;
    const std::array<double, 256>& linear = linearTable();
    const Row in{linear[color >> 16U & 0xFFU], linear[color >> 8U & 0xFFU], linear[color & 0xFFU]};
    const auto out = [&](std::size_t row) {
        return byteOf(matrix[row][0] * in[0] + matrix[row][1] * in[1] + matrix[row][2] * in[2]);
    };
    return 0xFF000000U | out(0) << 16U | out(1) << 8U | out(2);
}

} // namespace headwise
