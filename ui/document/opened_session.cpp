#include "ui/document/opened_session.h"

#include "core/session/session_file.h"
#include "core/tokenizer/token_search.h"
#include "core/tokenizer/token_text.h"
#include "ui/document/opened_model.h"

#include <utility>

namespace headwise::ui {

namespace {

/// Makes controls visible, those of the writing direction too, so that names in a file cannot reorder the text beside them.
void showControls(ResultSet& results)
{
    for (ResultArray& array : results.arrays) {
        for (std::string* words : {&array.path, &array.title, &array.definition, &array.unit})
            *words = shownSpecialToken(*words);
        for (ArrayAxis& axis : array.axes)
            axis = ArrayAxis::named(shownSpecialToken(axis.name()));
    }
    for (std::string& warning : results.warnings)
        warning = shownSpecialToken(warning);
}

} // namespace

Result<std::shared_ptr<const OpenedSession>> openSessionFile(const std::filesystem::path& file,
                                                             const Task& task)
{
    const FileStamp stamp = stampOf(file); // Before: a write during the reading counts as a change.
    auto session = readSession(file, task);
    if (!session)
        return session.error();
    auto opened = std::make_shared<OpenedSession>();
    opened->stamp = stamp;
    opened->session = std::make_shared<const Session>(std::move(session).value());
    ResultSet results = opened->session->results;
    showControls(results);
    opened->results = std::make_shared<const ResultSet>(std::move(results));
    if (!opened->session->tokens.empty()) {
        opened->tokenizer = std::make_shared<const Tokenizer>(
            Tokenizer::fromVocabulary(opened->session->tokens, opened->session->tokenBytes));
        opened->unused = unusedIds(*opened->tokenizer, opened->session->model.dVocab);
    }
    return std::shared_ptr<const OpenedSession>(std::move(opened));
}

} // namespace headwise::ui
