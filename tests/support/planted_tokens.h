#pragma once

#include "tests/support/planted.h"

#include <random>

namespace headwise::test {

/// Numbers spread evenly from −1 to 1, [rows, cols], the same on every machine.
inline Matrix<double> evenNumbers(Eigen::Index rows, Eigen::Index cols, unsigned seed)
{
    std::mt19937 random(seed);
    return Matrix<double>::NullaryExpr(rows, cols,
                                       [&] { return static_cast<double>(random()) / 2147483648.0 - 1; });
}

/// plantedOptions() of these sizes and two heads.
inline ToyOptions plantedSizes(int dModel, int dHead, int dVocab)
{
    ToyOptions options = plantedOptions();
    options.dModel = dModel;
    options.dHead = dHead;
    options.dVocab = dVocab;
    options.nHeads = 2;
    return options;
}

} // namespace headwise::test
