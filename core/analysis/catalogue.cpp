#include "core/analysis/catalogue.h"

#include "core/analysis/analyses.h"

#include <algorithm>
#include <array>

namespace headwise {

namespace {

constexpr std::array catalogueRows{
#define HEADWISE_ANALYSIS(name) name##Analysis,
#include "core/analysis/analyses.def"
#undef HEADWISE_ANALYSIS
};

} // namespace

std::span<const Analysis> catalogue()
{
    static const std::vector<Analysis> table = [] {
        std::vector<Analysis> made;
        made.reserve(catalogueRows.size());
        for (Analysis (*row)() : catalogueRows)
            made.push_back(row());
        return made;
    }();
    return table;
}

const Analysis* findAnalysis(std::string_view id)
{
    const auto table = catalogue();
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Analysis& row) { return row.id == id; });
    return found == table.end() ? nullptr : &*found;
}

std::string whyNotOf(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options)
{
    const InputNeeds& needs = analysis.needs;
    const auto dependsOn = [&](ConfigField field) {
        return std::find(needs.config.begin(), needs.config.end(), field) != needs.config.end();
    };
    // The activation matters to a forward pass alone.
    const bool runs = needs.prompt || dependsOn(ConfigField::Activation);
    const bool readsTokens = analysis.needsTokens && !analysis.takesClassToken;
    if (readsTokens || runs || needs.token || needs.tokenizer)
        if (std::string none = whyNoVocabulary(config); !none.empty())
            return none;
    if (runs)
        if (std::string none = whyNoForward(config); !none.empty())
            return none;
    if (config.crossAttention && !analysis.crossesStreams)
        return "It compares what heads read with what they write, and cross-attention reads keys and values in the encoder and writes to the decoder.";
    std::string unknown = whyUnknown(config, needs.config);
    return unknown.empty() ? analysis.whyNot(config, options) : unknown;
}

} // namespace headwise
