#include "core/analysis/comparison/head_pair.h"

#include "core/base/parallel.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

/// Returns ⟨A, B⟩_F, from [r, r] products.
double innerProduct(const FactoredMatrix<double>& a, const FactoredMatrix<double>& b)
{
    const Matrix<double> left = a.left().transpose() * b.left();
    const Matrix<double> right = a.right() * b.right().transpose();
    return left.cwiseProduct(right).sum();
}

/// Computes the kernel and the principal angles between the column spaces of one side of two circuits. \param a, b [d, r]
Result<Done> addSide(double& kernel, PrincipalAngles& angles, const Matrix<double>& a,
                     const Matrix<double>& b, const Task& task)
{
    const auto first = columnSpace(a);
    if (!first)
        return first.error();
    const auto second = columnSpace(b);
    if (!second)
        return second.error();
    auto found = anglesBetween(*first, *second, task);
    if (!found)
        return found.error();
    angles = std::move(found).value();
    const bool isZero = first->rank == 0 || second->rank == 0;
    kernel = isZero ? std::nan("") : (first->basis.transpose() * second->basis).squaredNorm();
    return Done{};
}

/// Returns the distance of two normalised spectra. Pads the shorter one (smaller d_head) with zeros.
double distanceOfShapes(const std::vector<double>& first, const std::vector<double>& second)
{
    const Eigen::Index length = std::max(std::ssize(first), std::ssize(second));
    const auto shape = [&](const std::vector<double>& sigma) -> Eigen::VectorXd {
        Eigen::VectorXd padded = Eigen::VectorXd::Zero(length);
        std::copy(sigma.begin(), sigma.end(), padded.begin());
        return padded / padded.norm(); // 0/0: NaN
    };
    return (shape(first) - shape(second)).norm();
}

Error noHead(HeadId head)
{
    return {ErrorCode::InvalidArgument,
            fmt::format("There is no head {} in this model; choose one of its heads.", dottedHead(head))};
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

Result<HeadPair> compareHeads(const HeadOfModel& first, const HeadOfModel& second, CircuitKind kind,
                              const Task& task)
{
    for (const HeadOfModel* side : {&first, &second})
        if (!side->circuits.contains(side->head))
            return noHead(side->head);
    const int d = first.circuits.config().dModel;
    if (d != second.circuits.config().dModel)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("d_model is {} and {}; only circuits of the same size have a cosine.", d,
                                 second.circuits.config().dModel)};
    const auto a = first.circuits.circuit<double>(kind, first.head, nullptr);
    const auto b = second.circuits.circuit<double>(kind, second.head, nullptr);
    HeadPair pair;
    for (const auto& [circuit, sigma] : {std::pair(&a, &pair.first), std::pair(&b, &pair.second)}) {
        auto values = circuit->singularValues();
        if (!values)
            return values.error();
        *sigma = std::move(values).value();
    }
    pair.spectrumDistance = distanceOfShapes(pair.first, pair.second);
    pair.cosine = innerProduct(a, b) / (a.frobeniusNorm() * b.frobeniusNorm()); // 0/0: NaN
    if (const auto done = addSide(pair.leftKernel, pair.left, a.left(), b.left(), task); !done)
        return done.error();
    if (const auto done =
            addSide(pair.rightKernel, pair.right, a.right().transpose(), b.right().transpose(), task);
        !done)
        return done.error();
    const double ranks = static_cast<double>(pair.first.size()) * static_cast<double>(pair.second.size());
    pair.kernelOfChance = ranks / d;
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
        heads[static_cast<std::size_t>(i)] = {other,
                                              innerProduct(own, circuit) / (norm * circuit.frobeniusNorm())};
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
