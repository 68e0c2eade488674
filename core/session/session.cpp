#include "core/session/session.h"

#include "core/base/log.h"
#include "core/model/adapters/adapter.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace headwise {

void addResults(Session& session, ResultSet results)
{
    session.warnings.insert(session.warnings.end(), results.warnings.begin(), results.warnings.end());
    results.warnings.clear();
    session.results = std::move(results);
}

void setConfigSource(Session& session, const ModelSource& source)
{
    const auto whole = [](const std::optional<std::filesystem::path>& file) {
        std::error_code code;
        const std::filesystem::path path =
            file ? std::filesystem::absolute(*file, code) : std::filesystem::path();
        return file ? (code ? *file : path).lexically_normal().string() : std::string();
    };
    session.configFile = whole(source.configFile);
    session.namesFile = whole(source.namesFile);
    session.ignoredTensors = source.ignored;
    session.adapterBase.clear();
    session.adapterStrength = 1;
    if (const auto apart = takeAdapterApart(source); apart && apart->adapter) {
        session.adapterBase = whole(apart->base.path);
        session.adapterStrength = apart->strength;
    }
    session.overrides.clear();
    for (const auto& [key, value] : source.overrides) {
        std::string& said = session.overrides.emplace_back(key);
        said += '=';
        said += value;
    }
}

ModelSource modelSource(const Session& session)
{
    ModelSource source{session.model.source, std::nullopt, {}, session.ignoredTensors};
    std::error_code code;
    if (!session.configFile.empty() && std::filesystem::exists(session.configFile, code))
        source.configFile = session.configFile;
    if (!session.namesFile.empty() && std::filesystem::exists(session.namesFile, code))
        source.namesFile = session.namesFile;
    if (!session.adapterBase.empty() && std::filesystem::exists(session.adapterBase, code))
        source.base = session.adapterBase;
    source.adapterStrength = session.adapterStrength;
    for (const std::string& said : session.overrides)
        if (const auto equals = said.find('='); equals != std::string::npos)
            source.overrides[said.substr(0, equals)] = said.substr(equals + 1);
    return source;
}

Session makeSession(const ProcessedWeights& weights, std::string_view embedding, const Tokenizer* tokenizer,
                    ResultSet results)
{
    Session session;
    session.headwiseVersion = versionText();
    session.model = modelCard(weights.original());
    session.processing = weights.plan().applied;
    session.embedding = embedding;
    for (const std::vector<std::string>* sentences :
         {&weights.original().warnings(), &weights.plan().warnings})
        session.warnings.insert(session.warnings.end(), sentences->begin(), sentences->end());
    if (tokenizer)
        for (int id = 0; id < session.model.dVocab; ++id) {
            session.tokens.push_back(tokenizer->shown(id));
            session.tokenBytes.push_back(tokenizer->bytes(id));
        }
    addResults(session, std::move(results));
    return session;
}

} // namespace headwise
