#include "core/analysis/comparison/head_pair.h"

#include "core/analysis/comparison/all_pairs.h"
#include "core/base/parallel.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

double distanceOfShapes(const std::vector<double>& first, const std::vector<double>& second)
{
    using Values = Eigen::Map<const Eigen::VectorXd>;
    const Values a(first.data(), std::ssize(first));
    const Values b(second.data(), std::ssize(second));
    return (a / a.norm() - b / b.norm()).norm(); // 0/0: NaN
}

Error noHead(HeadId head)
{
    return {ErrorCode::InvalidArgument,
            fmt::format("There is no head {} in this model; choose one of its own.", dottedHead(head))};
}

bool isUnused(const std::vector<bool>& unused, Eigen::Index id)
{
    return static_cast<std::size_t>(id) < unused.size() && unused[static_cast<std::size_t>(id)];
}

int rankIn(const RowVector<double>& line, int token, const std::vector<bool>& unused)
{
    int before = 0;
    for (Eigen::Index id = 0; id < line.size(); ++id) {
        const bool standsBefore = line(id) > line(token) || (line(id) == line(token) && id < token);
        before += standsBefore && !isUnused(unused, id) ? 1 : 0;
    }
    return before;
}

} // namespace

Result<HeadPair> compareHeads(const Circuits& circuits, CircuitKind kind, HeadId first, HeadId second,
                              const Task& task)
{
    for (const HeadId head : {first, second})
        if (!circuits.contains(head))
            return Error{
                ErrorCode::InvalidArgument,
                fmt::format("There is no head {} in this model; choose one of its own.", dottedHead(head))};
    HeadPair pair;
    for (const auto& [head, sigma] : {std::pair(first, &pair.first), std::pair(second, &pair.second)}) {
        auto values = circuits.circuit<double>(kind, head, nullptr).singularValues();
        if (!values)
            return values.error();
        *sigma = std::move(values).value();
    }
    pair.spectrumDistance = distanceOfShapes(pair.first, pair.second);
    AnalysisContext context{circuits, nullptr, {}};
    context.options.precision = Precision::F64;
    context.options.heads = {first, second};
    // One head twice is asked for once.
    const Eigen::Index other = first == second ? 0 : 1;
    const auto cosines = circuitCosines(context, kind, task);
    if (!cosines)
        return cosines.error();
    pair.cosine = (*cosines)(0, other);
    const bool isQk = kind == CircuitKind::Qk;
    for (const auto& [part, kernel] : {std::pair(isQk ? HeadPart::Q : HeadPart::V, &pair.leftKernel),
                                       std::pair(isQk ? HeadPart::K : HeadPart::O, &pair.rightKernel)}) {
        const auto kernels = projectionKernels(context, part, task);
        if (!kernels)
            return kernels.error();
        *kernel = (*kernels)(0, other);
    }
    const double r = std::min(circuits.config().dModel, circuits.config().dHead);
    pair.kernelOfChance = r * r / circuits.config().dModel;
    return pair;
}

Result<std::vector<NearHead>> nearestHeads(const Circuits& circuits, CircuitKind kind, HeadId head, int count,
                                           const Task& task)
{
    if (!circuits.contains(head))
        return noHead(head);
    const ModelConfig& config = circuits.config();
    const FactoredMatrix<double> own = circuits.circuit<double>(kind, head, nullptr);
    const double norm = own.frobeniusNorm();
    std::vector<NearHead> heads(static_cast<std::size_t>(config.nLayers) * config.nHeads);
    const auto done = parallelFor(static_cast<int>(heads.size()), task, "heads", [&](int i) -> Result<Done> {
        const HeadId other{i / config.nHeads, i % config.nHeads};
        const FactoredMatrix<double> circuit = circuits.circuit<double>(kind, other, nullptr);
        const Matrix<double> left = own.left().transpose() * circuit.left();
        const Matrix<double> right = own.right() * circuit.right().transpose();
        heads[static_cast<std::size_t>(i)] = {
            other, left.cwiseProduct(right).sum() / (norm * circuit.frobeniusNorm())};
        return Done{};
    });
    if (!done)
        return done.error();
    std::erase_if(heads,
                  [&](const NearHead& near) { return near.head == head || !std::isfinite(near.cosine); });
    std::stable_sort(heads.begin(), heads.end(),
                     [](const NearHead& a, const NearHead& b) { return a.cosine > b.cosine; });
    heads.resize(std::min(heads.size(), static_cast<std::size_t>(std::max(0, count))));
    return heads;
}

TableDifference tableDifference(const RowVector<double>& first, const RowVector<double>& second, int k,
                                const std::vector<bool>& unused)
{
    TableDifference found;
    const auto entry = [&](int id) {
        return ChangedEntry{id, rankIn(first, id, unused), rankIn(second, id, unused), first(id), second(id)};
    };
    for (const TokenEntry& top : ends(first, k, unused).top) {
        const ChangedEntry changed = entry(top.id);
        (changed.secondRank < k ? found.both : found.onlyFirst).push_back(changed);
    }
    for (const TokenEntry& top : ends(second, k, unused).top) {
        const ChangedEntry changed = entry(top.id);
        if (changed.firstRank >= k)
            found.onlySecond.push_back(changed);
    }
    return found;
}

} // namespace headwise
