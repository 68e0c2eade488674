#include "core/analysis/comparison/token_overlap.h"

#include "core/analysis/comparison/token_profile.h"
#include "core/base/parallel.h"
#include "core/circuits/random_matrix.h"

#include <algorithm>
#include <numeric>

namespace headwise {

namespace {

std::vector<int> sampleOf(const AnalysisContext& context)
{
    std::vector<int> usable(static_cast<std::size_t>(context.tokens->E.count()));
    std::iota(usable.begin(), usable.end(), 0);
    const std::vector<bool>& unused = context.options.unusedTokens;
    std::erase_if(usable, [&](int id) {
        return static_cast<std::size_t>(id) < unused.size() && unused[static_cast<std::size_t>(id)];
    });
    return drawnFrom(std::move(usable), overlapTokens, context.options.inputs.seed);
}

/// Returns the expected Jaccard index of two random sets of k outputs.
double jaccardOfChance(const ProfiledTokens& tokens)
{
    const double k = static_cast<double>(tokens.k);
    const double common = k * k / static_cast<double>(tokens.W_U.count());
    return common / (2 * k - common);
}

Sample ckaOfChance(const AnalysisContext& context, const Matrix<double>& E)
{
    const Eigen::Index r = context.circuits.config().dHead;
    std::vector<Eigen::VectorXd> columns;
    columns.reserve(overlapGaussianHeads);
    for (int i = 0; i < overlapGaussianHeads; ++i) {
        const std::uint64_t seed =
            context.options.inputs.seed * overlapGaussianHeads + static_cast<std::uint64_t>(i);
        const Matrix<double> factors = gaussianMatrix(E.cols(), 2 * r, seed);
        columns.push_back(similarityColumn(E * factors.leftCols(r), factors.rightCols(r).transpose()));
    }
    std::vector<double> found;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
            found.push_back(columns[i].dot(columns[j]));
    }
    return Sample(found);
}

} // namespace

Result<TokenOverlap> tokenOverlap(const AnalysisContext& context, const Task& task)
{
    const TokenSide& side = *context.tokens;
    const std::vector<int> ids = sampleOf(context);
    const ProfiledTokens tokens{
        side.E.of<double>(ids), side.isLayer0Special(0) ? side.layer0E.of<double>(ids) : Matrix<double>(),
        side.W_U, context.options.unusedTokens,
        static_cast<std::size_t>(std::min<Eigen::Index>(context.options.tableSize, side.W_U.count()))};
    const std::vector<HeadId> heads = selectedHeads(context.circuits.config(), context.options);
    const auto profiles = tokenProfiles(context.circuits, heads, tokens, task);
    if (!profiles)
        return profiles.error();
    const auto count = static_cast<Eigen::Index>(heads.size());
    TokenOverlap found{Matrix<double>(count, count),
                       profiles->similarities.transpose() * profiles->similarities, jaccardOfChance(tokens),
                       ckaOfChance(context, tokens.E)};
    const auto compared = parallelFor(static_cast<int>(count), withoutProgress(task), "", [&](int i) {
        for (Eigen::Index j = 0; j < count; ++j)
            found.jaccard(i, j) =
                profiles->jaccard(static_cast<std::size_t>(i), *profiles, static_cast<std::size_t>(j));
        return Result<Done>(Done{});
    });
    if (!compared)
        return compared.error();
    return found;
}

} // namespace headwise
