#include "core/analysis/shared/cards.h"

#include "core/base/parallel.h"
#include "core/circuits/row_moments.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <mutex>

namespace headwise {

namespace {

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
            const bool isOfOutputs = request.end == LineEnd::Outputs;
            const auto lines = timesTokens(X, isOfOutputs ? tokens.W_U : tokens.embeddingOf(layer), task);
            if (!lines)
                return lines.error();
            for (std::size_t i = 0; i < heads.size(); ++i) {
                if (task.cancelled())
                    return stopped();
                const RowVector<double> line = lines->row(static_cast<Eigen::Index>(i));
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
