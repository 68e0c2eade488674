#include "ui/pages/parts/first_prompt.h"

#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/document/open_model.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <vector>

namespace headwise::ui {

namespace {

QString repeatedWords(const Tokenizer& tokenizer)
{
    std::vector<int> words = sampleOfWords(tokenizer, 8);
    const std::vector<int> once = words;
    words.insert(words.end(), once.begin(), once.end());
    return text(tokenizer.decode(words));
}

QString repeatedIds(const ModelCard& card)
{
    QStringList ids;
    const int context = card.nCtx > 0 ? card.nCtx : card.dVocab; // unknown: no limit
    const int repeated = std::min({4, card.dVocab - 1, context / 2});
    if (repeated < 2)
        for (int id = 0; id < std::min(card.dVocab, context); ++id)
            ids << QString::number(id);
    else
        for (int place = 0; place < 2 * repeated; ++place)
            ids << QString::number(1 + place % repeated);
    return ids.join(u' ');
}

} // namespace

QString firstPrompt(const OpenModel& model)
{
    return model.tokenizer() ? repeatedWords(*model.tokenizer()) : repeatedIds(model.card());
}

QString promptHint(const OpenModel& model)
{
    if (model.isOpen() && !model.tokenizer())
        return QCoreApplication::translate("headwise::ui::PromptPage", "Token ids from 0 to %1, as in 3 5 1")
            .arg(model.card().dVocab - 1);
    return QCoreApplication::translate("headwise::ui::PromptPage", "Text of the prompt");
}

} // namespace headwise::ui
