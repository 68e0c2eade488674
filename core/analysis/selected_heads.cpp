#include "core/analysis/selected_heads.h"

#include "core/base/parallel.h"
#include "core/circuits/shared_spectra.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <mutex>

namespace headwise {

namespace {

std::string labels(const std::vector<HeadId>& heads)
{
    std::string text;
    for (std::size_t i = 0; i < heads.size() && i < 8; ++i)
        text += (i == 0 ? "" : ", ") + headLabel(heads[i]);
    return heads.size() > 8 ? text + ", …" : text;
}

bool hasFiniteWeights(const HeadWeights<double>& w)
{
    return w.W_Q.allFinite() && w.W_K.allFinite() && w.W_V.allFinite() && w.W_O.allFinite()
        && w.b_Q.allFinite() && w.b_K.allFinite() && w.b_V.allFinite();
}

/// Returns whether W_E, W_U and W_pos are finite. Reads them in blocks.
bool hasFiniteTokens(const ProcessedWeights& weights)
{
    constexpr Eigen::Index block = 1024;
    const ModelConfig& config = weights.config();
    const auto isFiniteIn = [&](Eigen::Index count, const auto& read) {
        for (Eigen::Index first = 0; first < count; first += block) {
            if (!read(first, std::min(block, count - first)).allFinite())
                return false;
        }
        return true;
    };
    return isFiniteIn(config.dVocab,
                      [&](auto first, auto count) { return weights.W_E<double>(first, count); })
        && isFiniteIn(config.dVocabOut,
                      [&](auto first, auto count) { return weights.W_U<double>(first, count); })
        && (config.positional != Positional::Learned || isFiniteIn(config.nCtx, [&](auto first, auto count) {
                return weights.W_pos<double>(first, count);
            }));
}

} // namespace

std::vector<HeadId> selectedHeads(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<HeadId> heads = options.heads;
    if (heads.empty()) {
        for (int layer = 0; layer < config.nLayers; ++layer) {
            for (int head = 0; head < config.nHeads; ++head)
                heads.push_back({layer, head});
        }
    }
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    return heads;
}

std::vector<HeadId> ownHeads(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<HeadId> heads = selectedHeads(config, options);
    if (const auto& share = options.share)
        std::erase_if(heads, [&](HeadId head) {
            return std::find(share->begin(), share->end(), head) == share->end();
        });
    return heads;
}

std::shared_ptr<SharedSpectra> spectraOf(const AnalysisContext& context)
{
    return context.spectra
        ? context.spectra
        : std::make_shared<SharedSpectra>(context.circuits, context.tokens, SharedSpectra::Keep::Groups);
}

Results resultsOf(const AnalysisContext& context, std::vector<ArraySpec> specs)
{
    return {context.circuits.config(), context.options.precision, std::move(specs)};
}

Result<std::vector<std::string>> forEachHead(const AnalysisContext& context, const Task& task,
                                             std::string_view step,
                                             const std::function<Result<Done>(HeadId)>& body)
{
    using Left = std::vector<HeadId>;
    return forEachGroup(context, task, step, 1, [&](std::span<const HeadId> heads) -> Result<Left> {
        const Result<Done> result = body(heads.front());
        if (!result && result.error().code == ErrorCode::Corrupt)
            return Left(heads.begin(), heads.end());
        return result ? Result<Left>(Left{}) : result.error();
    });
}

Result<std::vector<std::string>>
forEachGroup(const AnalysisContext& context, const Task& task, std::string_view step, int size,
             const std::function<Result<std::vector<HeadId>>(std::span<const HeadId>)>& body)
{
    const std::vector<HeadId> heads = ownHeads(context.circuits.config(), context.options);
    const int groups = (static_cast<int>(heads.size()) + size - 1) / size;
    std::mutex mutex;
    std::vector<HeadId> left;
    const auto done = parallelFor(groups, task, step, [&](int index) -> Result<Done> {
        const auto first = static_cast<std::size_t>(index) * static_cast<std::size_t>(size);
        const auto count = std::min(static_cast<std::size_t>(size), heads.size() - first);
        const auto found = body(std::span(heads).subspan(first, count));
        if (!found)
            return found.error();
        const std::lock_guard lock(mutex);
        left.insert(left.end(), found->begin(), found->end());
        return Done{};
    });
    if (!done)
        return done.error();
    std::sort(left.begin(), left.end());
    return leftOutWarnings(context, step, left);
}

std::vector<std::string> leftOutWarnings(const AnalysisContext& context, std::string_view step,
                                         const std::vector<HeadId>& left)
{
    std::vector<HeadId> broken, tooLarge;
    const bool areTokensFinite = left.empty() || hasFiniteTokens(context.circuits.weights());
    for (const HeadId head : left)
        (areTokensFinite && hasFiniteWeights(context.circuits.weights().head<double>(head)) ? tooLarge
                                                                                            : broken)
            .push_back(head);
    std::vector<std::string> warnings;
    const auto warn = [&](const std::vector<HeadId>& heads, std::string_view reason,
                          std::string_view advice) {
        if (!heads.empty())
            warnings.push_back(fmt::format("{} head{} left out of the {} because {}: {}.{}", heads.size(),
                                           heads.size() == 1 ? " was" : "s were", step, reason, labels(heads),
                                           advice));
    };
    warn(broken, "a weight is NaN or infinite", "");
    warn(tooLarge, "a product of weights, all of them finite, is too large",
         context.options.precision == Precision::F64 ? "" : " --precision f64 holds larger ones.");
    return warnings;
}

Task withoutProgress(const Task& task)
{
    Task quiet = task;
    quiet.onProgress = nullptr;
    return quiet;
}

std::string appliesAlways(const ModelConfig&, const AnalysisOptions&)
{
    return {};
}

std::string whyNoCausalMask(const ModelConfig& config)
{
    return config.bidirectional
        ? "It needs a causal mask, and this model's attention is bidirectional (attention_dir)."
        : "";
}

} // namespace headwise
