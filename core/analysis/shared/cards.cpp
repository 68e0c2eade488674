#include "core/analysis/shared/cards.h"

#include "core/base/parallel.h"
#include "core/circuits/row_moments.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <mutex>

namespace headwise {

namespace {

constexpr Eigen::Index cardsTokensPerBlock = 512;

/// Returns X · Eᵀ, block by block. \param X [n, d] \param E [V, d] \param exact E before rounding, or empty
Matrix<double> againstRows(const Matrix<double>& X, const Matrix<float>& E, const Matrix<double>& exact)
{
    if (exact.size() > 0)
        return X * exact.transpose();
    Matrix<double> out(X.rows(), E.rows());
    for (Eigen::Index first = 0; first < E.rows(); first += cardsTokensPerBlock) {
        const Eigen::Index count = std::min(cardsTokensPerBlock, E.rows() - first);
        const Matrix<double> block = E.middleRows(first, count).cast<double>();
        out.middleCols(first, count).noalias() = X * block.transpose();
    }
    return out;
}

/// Returns X · W_U block by block, [n, V out].
Matrix<double> againstColumns(const Matrix<double>& X, const Matrix<float>& W_U, const Matrix<double>& exact)
{
    if (exact.size() > 0)
        return X * exact;
    Matrix<double> out(X.rows(), W_U.cols());
    for (Eigen::Index first = 0; first < W_U.cols(); first += cardsTokensPerBlock) {
        const Eigen::Index count = std::min(cardsTokensPerBlock, W_U.cols() - first);
        const Matrix<double> block = W_U.middleCols(first, count).cast<double>();
        out.middleCols(first, count).noalias() = X * block;
    }
    return out;
}

const Matrix<double>& exactEmbeddingOf(const TokenSide& tokens, int layer)
{
    return tokens.isLayer0Special(layer) ? tokens.layer0E64 : tokens.E64;
}

std::vector<std::vector<HeadId>> headsByLayer(const AnalysisContext& context)
{
    std::vector<std::vector<HeadId>> layers;
    for (const HeadId head : selectedHeads(context.circuits.config(), context.options)) {
        if (layers.empty() || layers.back().front().layer != head.layer)
            layers.emplace_back();
        layers.back().push_back(head);
    }
    return layers;
}

} // namespace

Result<std::vector<std::string>> forEachLine(const AnalysisContext& context, const Task& task,
                                             const LineRequest& request)
{
    const TokenSide& tokens = *context.tokens;
    const auto layers = headsByLayer(context);
    std::mutex mutex;
    std::vector<HeadId> left;
    const auto done =
        parallelFor(static_cast<int>(layers.size()), task, request.step, [&](int index) -> Result<Done> {
            const std::vector<HeadId>& heads = layers[static_cast<std::size_t>(index)];
            const int layer = heads.front().layer;
            Matrix<double> X(static_cast<Eigen::Index>(heads.size()), context.circuits.config().dModel);
            for (std::size_t i = 0; i < heads.size(); ++i)
                X.row(static_cast<Eigen::Index>(i)) =
                    request.vector(heads[i], context.circuits.weights().head<double>(heads[i]));
            const Matrix<double> lines = request.end == LineEnd::Outputs
                ? againstColumns(X, tokens.W_U, tokens.W_U64)
                : againstRows(X, tokens.embeddingOf(layer), exactEmbeddingOf(tokens, layer));
            for (std::size_t i = 0; i < heads.size(); ++i) {
                if (task.cancelled())
                    return stopped();
                const RowVector<double> line = lines.row(static_cast<Eigen::Index>(i));
                if (line.allFinite()) {
                    request.use(heads[i], line);
                } else {
                    const std::lock_guard lock(mutex);
                    left.push_back(heads[i]);
                }
            }
            return Done{};
        });
    if (!done)
        return done.error();
    std::sort(left.begin(), left.end());
    return leftOutWarnings(context, request.step, left);
}

Matrix<double> embeddingRows(const TokenSide& tokens, int layer, Eigen::Index first, Eigen::Index count)
{
    const Matrix<double>& exact = exactEmbeddingOf(tokens, layer);
    if (exact.size() > 0)
        return exact.middleRows(first, count);
    return tokens.embeddingOf(layer).middleRows(first, count).cast<double>();
}

RowVector<double> embeddingRow(const TokenSide& tokens, int layer, int token)
{
    return embeddingRows(tokens, layer, token, 1);
}

std::string whyNoToken(const ModelConfig& config, int token)
{
    if (token >= 0 && token < config.dVocab)
        return {};
    return fmt::format("There is no token {}: the ids of this model are 0 to {}.", token, config.dVocab - 1);
}

std::vector<ArraySpec> headListSpecs(const std::string& path, const std::string& title,
                                     const std::string& definition, const std::string& condition)
{
    const std::vector<ArrayAxis> axes = headAxes({Axis::Rank});
    return {{.path = path + "_ids",
             .axes = axes,
             .title = title,
             .definition = "ids of " + definition + ", ties to the lower id; -1 where there is none",
             .unit = "token",
             .type = NumberType::Whole,
             .condition = condition},
            {.path = path + "_values",
             .axes = axes,
             .title = title + ": value",
             .definition = definition,
             .condition = condition}};
}

std::vector<ArraySpec> topListSpecs(const std::string& path, const std::string& title,
                                    const std::string& line)
{
    std::vector<ArraySpec> specs = headListSpecs(path, title, "the largest entries of " + line);
    specs.push_back({path + "_null", headAxes({Axis::Rank}), "Gaussian numbers",
                     "μ + σ Φ⁻¹(1 − (rank − ½)/n), μ and σ of the n tokens in use of " + line
                         + ": where the largest would lie if its numbers were independent and Gaussian"});
    return specs;
}

void putTop(EntryLists& lists, RealNumbers& null, HeadId head, const RowVector<double>& line,
            const AnalysisOptions& options)
{
    const std::vector<bool> unused = unusedOf(options, line.size());
    const std::vector<TokenEntry> top = ends(line, static_cast<int>(lists.length()), unused).top;
    lists.set(head, top);
    const LineStatistics statistics = lineStatistics(line, unused);
    const auto used = static_cast<Eigen::Index>(usedIds(unused, line.size()).size());
    const std::vector<double> places = gaussianPlaces(static_cast<int>(top.size()), used);
    for (std::size_t i = 0; i < top.size(); ++i)
        null.of(head)[i] = statistics.mean + statistics.deviation * places[i];
}

void putLists(Results& results, const std::string& path, const EntryLists& lists)
{
    results.put(path + "_ids", lists.ids);
    results.put(path + "_values", lists.values);
}

int listSize(const AnalysisOptions& options, int dVocab)
{
    return std::min(options.tableSize, dVocab);
}

std::vector<bool> unusedOf(const AnalysisOptions& options, Eigen::Index count)
{
    std::vector<bool> unused = options.unusedTokens;
    if (!unused.empty())
        unused.resize(static_cast<std::size_t>(count), true);
    return unused;
}

} // namespace headwise
