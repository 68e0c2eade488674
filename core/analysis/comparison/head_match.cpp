#include "core/analysis/comparison/head_match.h"

#include "core/analysis/comparison/token_overlap.h"
#include "core/analysis/comparison/token_profile.h"
#include "core/analysis/head_pairs.h"
#include "core/base/parallel.h"
#include "core/tokenizer/tokenizer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t fewestTokens = 8;

bool isLeftOut(const std::vector<bool>& unused, int id)
{
    return static_cast<std::size_t>(id) < unused.size() && unused[static_cast<std::size_t>(id)];
}

/// Returns the ids that both models have and can output.
SharedTokens sharedBy(const MatchedModel& a, const MatchedModel& b)
{
    const auto size = [](const MatchedModel& model) {
        return std::min(model.circuits.config().dVocab, model.circuits.config().dVocabOut);
    };
    SharedTokens shared;
    if (a.tokenizer && b.tokenizer) {
        shared = sharedTokens(*a.tokenizer, a.unusedTokens, *b.tokenizer, b.unusedTokens);
    } else if (!a.tokenizer && !b.tokenizer) {
        for (int id = 0; id < std::min(size(a), size(b)); ++id) {
            if (!isLeftOut(a.unusedTokens, id) && !isLeftOut(b.unusedTokens, id)) {
                shared.a.push_back(id);
                shared.b.push_back(id);
            }
        }
    }
    SharedTokens known;
    for (std::size_t i = 0; i < shared.size(); ++i) {
        if (shared.a[i] < size(a) && shared.b[i] < size(b)) {
            known.a.push_back(shared.a[i]);
            known.b.push_back(shared.b[i]);
        }
    }
    return known;
}

/// Returns W_U of these ids, [d, ids].
Result<Matrix<float>> unembeddingOf(const Circuits& circuits, const std::vector<int>& ids, const Task& task)
{
    constexpr int block = 1024;
    const ModelConfig& config = circuits.config();
    std::vector<std::pair<int, Eigen::Index>> places; // by id
    for (std::size_t i = 0; i < ids.size(); ++i)
        places.emplace_back(ids[i], static_cast<Eigen::Index>(i));
    std::sort(places.begin(), places.end());
    Matrix<float> out(config.dModel, static_cast<Eigen::Index>(ids.size()));
    const int blocks = (config.dVocabOut + block - 1) / block;
    const auto done = parallelFor(blocks, task, "unembedding", [&](int index) -> Result<Done> {
        const int first = index * block;
        const int count = std::min(block, config.dVocabOut - first);
        auto place = std::lower_bound(places.begin(), places.end(), std::pair(first, Eigen::Index{0}));
        if (place == places.end() || place->first >= first + count)
            return Done{};
        const Matrix<float> columns = circuits.weights().W_U<float>(first, count);
        for (; place != places.end() && place->first < first + count; ++place)
            out.col(place->second) = columns.col(place->first - first);
        return Done{};
    });
    if (!done)
        return done.error();
    return out;
}

/// Returns W_E of these ids, [ids, d].
Matrix<double> embeddingOf(const Circuits& circuits, const std::vector<int>& ids)
{
    Matrix<double> out(static_cast<Eigen::Index>(ids.size()), circuits.config().dModel);
    for (std::size_t i = 0; i < ids.size(); ++i)
        out.row(static_cast<Eigen::Index>(i)) = circuits.weights().W_E<double>(ids[i], 1);
    return out;
}

std::vector<int> picked(const std::vector<int>& ids, const std::vector<int>& places)
{
    std::vector<int> out;
    out.reserve(places.size());
    for (const int place : places)
        out.push_back(ids[static_cast<std::size_t>(place)]);
    return out;
}

Result<TokenProfiles> profilesOf(const Circuits& circuits, const std::vector<int>& ids,
                                 const std::vector<int>& sample, std::size_t k, const Task& task)
{
    auto W_U = unembeddingOf(circuits, ids, task);
    if (!W_U)
        return W_U.error();
    const ProfiledTokens tokens{embeddingOf(circuits, picked(ids, sample)),
                                {},
                                TokenMatrix(TokenMatrix::Vectors::Columns, *std::move(W_U)),
                                {},
                                k};
    return tokenProfiles(circuits, selectedHeads(circuits.config(), {}), tokens, task);
}

/// Every head of A with every head of B.
struct Matches {
    Matrix<double> jaccard, shifted, cka; // [heads of A, heads of B]
};

Result<Matches> matchesOf(const TokenProfiles& a, const TokenProfiles& b, std::size_t shift, const Task& task)
{
    const auto rows = std::ssize(a.outputs), cols = std::ssize(b.outputs);
    Matches found{Matrix<double>(rows, cols), Matrix<double>(rows, cols),
                  a.similarities.transpose() * b.similarities};
    const auto done = parallelFor(static_cast<int>(rows), task, "pairs of heads", [&](int i) -> Result<Done> {
        for (Eigen::Index j = 0; j < cols; ++j) {
            const auto first = static_cast<std::size_t>(i), second = static_cast<std::size_t>(j);
            found.jaccard(i, j) = a.jaccard(first, b, second);
            found.shifted(i, j) = a.jaccard(first, b, second, shift);
        }
        return Done{};
    });
    if (!done)
        return done.error();
    return found;
}

/// Returns the column of the largest entry of a row; ties go to the lower one. Returns −1 for a row of NaN.
Eigen::Index bestOf(const Matrix<double>& matches, Eigen::Index row)
{
    Eigen::Index best = -1;
    for (Eigen::Index j = 0; j < matches.cols(); ++j)
        if (std::isfinite(matches(row, j)) && (best < 0 || matches(row, j) > matches(row, best)))
            best = j;
    return best;
}

void putMatchedPairs(Results& results, const Matches& matches, const ModelConfig& a, const ModelConfig& b)
{
    const std::vector<std::size_t> shape{
        static_cast<std::size_t>(a.nLayers), static_cast<std::size_t>(a.nHeads),
        static_cast<std::size_t>(b.nLayers), static_cast<std::size_t>(b.nHeads)};
    for (const auto& [values, name] : {std::pair(&matches.jaccard, "jaccard"), {&matches.cka, "cka"}}) {
        const Matrix<double> byRow = values->transpose(); // column-major: rows one after the other
        results.put(std::string("comparison/match/") + name, shape,
                    std::vector<double>(byRow.data(), byRow.data() + byRow.size()));
    }
}

void putBestMatches(Results& results, const Matches& matches, const ModelConfig& a, const ModelConfig& b)
{
    RealNumbers best = RealNumbers::perHead(a);
    WholeNumbers heads = WholeNumbers::perHead(a, 2);
    std::vector<double> byChance;
    for (Eigen::Index i = 0; i < matches.jaccard.rows(); ++i) {
        const auto j = static_cast<int>(bestOf(matches.jaccard, i));
        if (j < 0)
            continue;
        const HeadId head{static_cast<int>(i) / a.nHeads, static_cast<int>(i) % a.nHeads};
        heads.of(head)[0] = j / b.nHeads;
        heads.of(head)[1] = j % b.nHeads;
        best.set(head, matches.jaccard(i, j));
        byChance.push_back(matches.shifted(i, bestOf(matches.shifted, i)));
    }
    const Sample chance(std::move(byChance));
    ResultArray& array = results.put("comparison/match/best", std::move(best));
    if (chance.size() > 0)
        array.nullMean = chance.mean();
    if (chance.size() > 1)
        array.nullDeviation = chance.deviation();
    results.put("comparison/match/best_head", std::move(heads));
}

} // namespace

SharedTokens sharedTokens(const Tokenizer& a, const std::vector<bool>& unusedA, const Tokenizer& b,
                          const std::vector<bool>& unusedB)
{
    std::unordered_map<std::string, int> inB;
    for (int id = 0; id < b.size(); ++id)
        if (!isLeftOut(unusedB, id))
            inB.emplace(b.bytes(id), id);
    SharedTokens shared;
    for (int id = 0; id < a.size(); ++id) {
        if (isLeftOut(unusedA, id))
            continue;
        const auto found = inB.find(a.bytes(id));
        if (found == inB.end() || found->first.empty())
            continue;
        shared.a.push_back(id);
        shared.b.push_back(found->second);
        inB.erase(found);
    }
    return shared;
}

std::vector<ArraySpec> matchArrays()
{
    const std::pair share(0.0, 1.0);
    const std::vector<ArrayAxis> pairs{Axis::Layer, Axis::Head, Axis::OtherModelLayer, Axis::OtherModelHead};
    return {
        {"comparison/match/best", headAxes(), "Best match in the other model",
         "largest of comparison/match/jaccard over the heads of B; null: with B's tokens shifted by half the sample",
         "", share},
        {.path = "comparison/match/best_head",
         .axes = headAxes({Axis::OtherModelPlace}),
         .title = "Head of the other model that matches best",
         .definition =
             "argmax of comparison/match/jaccard over the heads of B; −1 for a head that writes nothing",
         .type = NumberType::Whole},
        {"comparison/match/jaccard", pairs, "Shared outputs of the heads of two models",
         "mean over tokens of both vocabularies of |S_A ∩ S_B| / |S_A ∪ S_B|, S = the k largest outputs of E W_V W_O W_U among the shared tokens",
         "", share},
        {"comparison/match/cka", pairs, "CKA of the heads of two models",
         "⟨K_A, K_B⟩_F / (‖K_A‖_F ‖K_B‖_F), K = X Xᵀ, X = E W_OV of the shared tokens less its mean row", "",
         share}};
}

Result<ResultSet> matchHeads(const MatchedModel& a, const MatchedModel& b, const ComparisonOptions& options,
                             const Task& task)
{
    const SharedTokens shared = sharedBy(a, b);
    if (shared.size() < fewestTokens) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "The two vocabularies share only {} tokens that both models write, too few to match their heads. Give both models their tokenizer.",
                shared.size())};
    }
    std::vector<int> places(shared.size());
    std::iota(places.begin(), places.end(), 0);
    const std::vector<int> sample = drawnFrom(std::move(places), overlapTokens, options.seed);
    const std::size_t k =
        std::min<std::size_t>(static_cast<std::size_t>(std::max(options.tableSize, 1)), shared.size());
    const auto ofA = profilesOf(a.circuits, shared.a, sample, k, task);
    if (!ofA)
        return ofA.error();
    const auto ofB = profilesOf(b.circuits, shared.b, sample, k, task);
    if (!ofB)
        return ofB.error();
    const auto matches = matchesOf(*ofA, *ofB, sample.size() / 2, task);
    if (!matches)
        return matches.error();
    Results results(a.circuits.config(), options.precision, matchArrays());
    putBestMatches(results, *matches, a.circuits.config(), b.circuits.config());
    putMatchedPairs(results, *matches, a.circuits.config(), b.circuits.config());
    results.groupAttributes("comparison/match") = {{"shared_tokens", static_cast<double>(shared.size())},
                                                   {"sampled_tokens", static_cast<double>(sample.size())},
                                                   {"seed", static_cast<double>(options.seed)}};
    return std::move(results).finish();
}

} // namespace headwise
