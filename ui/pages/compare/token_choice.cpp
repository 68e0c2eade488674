#include "ui/pages/compare/token_choice.h"

#include "core/tokenizer/token_search.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <numeric>

namespace headwise::ui {

std::vector<int> tokensToShow(const Workspace& workspace, const QString& text, int sampleSize)
{
    std::vector<int> tokens;
    if (!workspace.model()->isOpen())
        return tokens;
    const int vocabulary = workspace.model()->card().dVocab;
    const auto tokenizer = workspace.model()->tokenizer();
    if (tokenizer && !text.isEmpty()) {
        const auto ids = tokenizer->encode(text.toStdString(), Tokenizer::SpecialTokens::None);
        for (const int id : ids ? *ids : std::vector<int>())
            if (std::find(tokens.begin(), tokens.end(), id) == tokens.end())
                tokens.push_back(id);
    }
    if (tokens.empty() && tokenizer)
        tokens = sampleOfWords(*tokenizer, sampleSize);
    std::erase_if(tokens, [&](int id) { return id >= vocabulary; });
    if (tokens.empty()) {
        tokens.resize(static_cast<std::size_t>(std::min(sampleSize, vocabulary)));
        std::iota(tokens.begin(), tokens.end(), 0);
    }
    return tokens;
}

} // namespace headwise::ui
