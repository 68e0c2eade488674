#include "core/analysis/composition/pair_parts.h"

#include "core/circuits/subspace.h"
#include "core/model/head_id.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <numeric>

namespace headwise {

namespace {

Result<Done> addPairPartsAngles(PairParts& pair, const Matrix<double>& writing, const Matrix<double>& reading,
                                const Task& task)
{
    const auto written = columnSpace(writing);
    if (!written)
        return written.error();
    const auto read = columnSpace(reading);
    if (!read)
        return read.error();
    auto angles = anglesBetween(*written, *read, task);
    if (!angles)
        return angles.error();
    pair.angles = angles->angles;
    pair.anglesOfChance = angles->ofChance;
    return Done{};
}

} // namespace

double PairParts::score() const
{
    return std::sqrt(std::inner_product(parts.begin(), parts.end(), parts.begin(), 0.0));
}

Result<PairParts> pairParts(const Circuits& circuits, ReadBy by, HeadId earlier, HeadId later,
                            const Task& task)
{
    if (!circuits.contains(earlier) || !circuits.contains(later) || earlier.layer >= later.layer)
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "{} and {} are not an earlier and a later head of this model; choose two heads in different layers.",
                dottedHead(earlier), dottedHead(later))};
    const HeadWeights<double> from = circuits.weights().head<double>(earlier);
    const HeadWeights<double> to = circuits.weights().head<double>(later);
    PairParts pair;
    const Matrix<double>& reading = by == ReadBy::Queries ? to.W_Q : by == ReadBy::Keys ? to.W_K : to.W_V;
    if (const auto done = addPairPartsAngles(pair, from.W_O.transpose(), reading, task); !done)
        return done.error();
    const FactoredMatrix<double> first = circuits.ov(earlier);
    const FactoredMatrix<double> second = by == ReadBy::Queries ? circuits.qk(later)
        : by == ReadBy::Keys                                    ? circuits.qk(later).transposed()
                                                                : circuits.ov(later);
    const auto product = first.times(second);
    if (!product)
        return product.error();
    auto parts = product->singularValues();
    if (!parts)
        return parts.error();
    pair.parts = std::move(parts).value();
    for (double& part : pair.parts)
        part /= first.frobeniusNorm() * second.frobeniusNorm(); // 0/0: NaN
    return pair;
}

} // namespace headwise
