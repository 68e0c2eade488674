#include "core/session/session.h"

#include "core/base/log.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace headwise {

ModelCard modelCard(const ModelWeights& weights)
{
    const ModelConfig& config = weights.config();
    ModelCard card;
    card.name = config.name;
    card.architecture = config.architecture;
    card.nLayers = config.nLayers;
    card.nHeads = config.nHeads;
    card.nKvHeads = config.nKvHeads;
    card.dModel = config.dModel;
    card.dHead = config.dHead;
    card.dMlp = config.dMlp;
    card.dVocab = config.dVocab;
    card.nCtx = config.nCtx;
    card.positional = positionalName(config.positional);
    card.normalization = normalizationName(config);
    std::error_code code;
    const std::filesystem::path path = std::filesystem::absolute(weights.file().path(), code);
    card.source = (code ? weights.file().path() : path).lexically_normal().string();
    card.sha256 = weights.file().sha256();
    return card;
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
         {&weights.original().warnings(), &weights.plan().warnings, &std::as_const(results).warnings})
        session.warnings.insert(session.warnings.end(), sentences->begin(), sentences->end());
    if (tokenizer)
        for (int id = 0; id < session.model.dVocab; ++id) {
            session.tokens.push_back(tokenizer->shown(id));
            session.tokenBytes.push_back(tokenizer->bytes(id));
        }
    results.warnings.clear();
    session.results = std::move(results);
    return session;
}

} // namespace headwise
