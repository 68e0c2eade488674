#include "app/commands/session_command.h"

#include "app/commands/support.h"
#include "core/analysis/inputs/token_filter.h"
#include "core/files/hdf5.h"
#include "core/tokenizer/model_tokenizer.h"

#include <spdlog/fmt/fmt.h>

#include <system_error>

namespace headwise::app {
namespace {

std::string processingOptions(const Processing& applied)
{
    std::string options;
    if (!applied.foldLayerNorm)
        options += " --no-fold-layer-norm";
    if (!applied.centerWritingWeights)
        options += " --no-center-writing-weights";
    if (!applied.centerUnembed)
        options += " --no-center-unembed";
    if (!applied.foldValueBiases)
        options += " --no-fold-value-biases";
    if (applied.refactorAttention)
        options += " --refactor-factored-attention";
    for (const HeadChange& change : applied.headChanges)
        options += " --" + headChangeName(change);
    return options;
}

/// True if the model exists without a tokenizer, so the session's tokens came from a file of their own.
bool hasForeignTokens(const Session& session)
{
    if (session.tokens.empty())
        return false;
    const auto weights =
        WeightMap::open(session.adapterBase.empty() ? session.model.source : session.adapterBase);
    if (!weights)
        return false;
    const auto own = openModelTokenizer(*weights);
    return !own && own.error().code == ErrorCode::NotFound;
}

} // namespace

bool namesSession(const std::filesystem::path& path)
{
    std::error_code code;
    return isHdf5(path) || (path.extension() == ".h5" && std::filesystem::is_regular_file(path, code));
}

std::string remakingOptions(const Session& session, const Processing& applied, std::string_view embedding)
{
    std::string options;
    if (!session.configFile.empty())
        options += " --config " + shellWord(session.configFile);
    if (!session.namesFile.empty())
        options += " --names " + shellWord(session.namesFile);
    if (!session.adapterBase.empty())
        options += fmt::format(" --base {} --adapter-scale {}", shellWord(session.adapterBase),
                               session.adapterStrength);
    for (const std::string& said : session.overrides)
        options += " --set " + shellWord(said);
    for (const std::string& pattern : session.ignoredTensors)
        options += " --ignore " + shellWord(pattern);
    if (hasForeignTokens(session))
        options += " --tokenizer FILE";
    if (embedding != "raw")
        options.append(" --embedding ").append(embedding);
    options += processingOptions(applied);
    if (const std::string filter = filterOfTables(session); !filter.empty()) {
        options += " " + filter;
        if (filter.find("--min-count") != std::string::npos)
            options += " --token-counts FILE";
    }
    return options;
}

std::string remakingOptions(const Session& session)
{
    return remakingOptions(session, session.processing, session.embedding);
}

std::string filterOfTables(const Session& session)
{
    for (const ResultArray& array : session.results.arrays)
        if (std::string filter = filterOf(array); !filter.empty())
            return filter;
    return {};
}

} // namespace headwise::app
