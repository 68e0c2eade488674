#pragma once

#include "tests/support/family_model.h"

#include "core/model/forward.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"

#include <QTest>

#include <cmath>

/// \file Rows of data with the families of models that have a forward pass, and the comparison of ours with the reference's.

namespace headwise::test {

/// A column `name`, and a row for every family with a forward pass. \param first, step which of them
inline void addFamilies(std::size_t first = 0, std::size_t step = 1)
{
    QTest::addColumn<QString>("name");
    std::vector<std::string> names = familyNames();
    std::erase_if(names, [](const std::string& name) { return !hasForward(name); });
    for (std::size_t i = first; i < names.size(); i += step)
        QTest::newRow(names[i].c_str()) << QString::fromStdString(names[i]);
}

inline double largestDifference(const Matrix<double>& a, const Matrix<double>& b)
{
    if (a.rows() != b.rows() || a.cols() != b.cols())
        return INFINITY;
    const Matrix<double> difference = (a - b).cwiseAbs();
    return difference.allFinite() ? difference.maxCoeff() : INFINITY;
}

inline double logitDifference(const ReferenceRun& reference, const ForwardResult<double>& run)
{
    return largestDifference(run.logits, matrixOf(reference.logits));
}

/// Logits, patterns and the residual stream after every layer.
template <typename Scalar>
double largestDifference(const ReferenceRun& reference, const ForwardResult<Scalar>& run)
{
    double largest = largestDifference(run.logits.template cast<double>(), matrixOf(reference.logits));
    for (std::size_t layer = 0; layer < run.patterns.size(); ++layer) {
        for (std::size_t head = 0; head < run.patterns[layer].size(); ++head)
            largest = std::fmax(largest,
                                largestDifference(run.patterns[layer][head].template cast<double>(),
                                                  matrixOf(reference.patterns[layer][head])));
        const auto& after = reference.steps.at(std::to_string(layer) + ".resid_post");
        largest = std::fmax(
            largest, largestDifference(run.residuals[layer + 1].template cast<double>(), matrixOf(after)));
    }
    return largest;
}

/// Tokens for the family of that name. A model that reads images gets its class token at every position: without an image its positions alone differ.
inline std::vector<int> promptOf(const QString& name)
{
    return readsImages(name.toStdString()) ? std::vector<int>(9, 0)
                                           : std::vector<int>{3, 1, 4, 1, 5, 0, 2, 6, 5};
}

} // namespace headwise::test
