#include "core/session/session_file.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/document/imported_attention.h"
#include "ui/document/workspace.h"

// Copies that leave the workspace: one for pictures, and the session on disk.

namespace headwise::ui {

namespace {

ImportedAttention::Array importedInto(const Workspace& workspace)
{
    const auto* imported = workspace.findChild<ImportedAttention*>(QString(), Qt::FindDirectChildrenOnly);
    return imported ? imported->array() : nullptr;
}

} // namespace

std::unique_ptr<Workspace> Workspace::snapshot(HeadId head) const
{
    auto copy = std::make_unique<Workspace>();
    copy->m_card = m_card;
    copy->m_source = m_source;
    copy->m_sessionFile = m_sessionFile;
    copy->m_weights = m_weights;
    copy->m_processed = m_processed;
    copy->m_circuits = m_circuits;
    copy->m_tokens = m_tokens;
    copy->m_tokensHaveGrams = m_tokensHaveGrams;
    copy->m_tokenizer = m_tokenizer;
    copy->m_results = m_results;
    copy->m_session = m_session;
    copy->m_notebook->copyFrom(*m_notebook);
    copy->m_unused = m_unused;
    copy->m_sessionEmbedding = m_sessionEmbedding;
    copy->m_selection->copyFrom(*m_selection, head);
    copy->m_runs->copyFrom(*m_runs);
    copy->m_wantedFilter = m_wantedFilter;
    copy->m_tokenFilter = m_tokenFilter;
    copy->m_leftOut = m_leftOut;
    copy->m_embedding = m_embedding;
    copy->m_wish = m_wish;
    copy->m_readOnly = m_readOnly;
    ImportedAttention::of(copy.get())->keep(importedInto(*this));
    if (const auto* compared = findChild<ComparedModel*>(QString(), Qt::FindDirectChildrenOnly))
        ComparedModel::of(copy.get())->share(*compared);
    return copy;
}

std::function<Session()> Workspace::snapshot(const QString& view) const
{
    // Everything is held by pointer to const or by value: the window goes on while it is put together.
    return [card = *m_card, processed = m_processed, session = m_session, results = m_results,
            tokenizer = m_tokenizer, embedding = std::string(embeddingName(m_embedding)),
            notes = m_notebook->contents(), source = m_source, imported = importedInto(*this),
            view = view.toStdString()] {
        Session made = processed ? makeSession(*processed, embedding, tokenizer.get(), *results) : *session;
        if (!processed && tokenizer && made.tokens.empty()) {
            for (int id = 0; id < card.dVocab; ++id) {
                made.tokens.push_back(tokenizer->shown(id));
                made.tokenBytes.push_back(tokenizer->bytes(id));
            }
        }
        made.results = *results;
        ImportedAttention::putInto(made.results, imported);
        made.created = session ? session->created : std::string();
        made.notes = notes.notes;
        made.bookmarks = notes.bookmarks;
        made.view = view;
        if (made.model.source.empty())
            made.model.source = source.path.string();
        if (processed)
            setConfigSource(made, source);
        return made;
    };
}

void Workspace::saveSession(const std::filesystem::path& file, const QString& view, IfChanged ifChanged)
{
    if (!isOpen())
        return;
    if (m_readOnly)
        return emit failed(
            tr("This session was written by a newer Headwise and is open read-only; nothing was saved."));
    std::error_code code;
    const bool isOpenSession =
        file == m_sessionFile || std::filesystem::equivalent(file, m_sessionFile, code);
    const auto known =
        isOpenSession && ifChanged == IfChanged::Ask ? std::optional(m_sessionStamp) : std::nullopt;
    m_saveJob.start(
        tr("Saving %1").arg(text(file.filename().string())),
        [file, session = snapshot(view), known](const Task& task) -> Result<FileStamp> {
            // Nobody is asked about a file that is gone: nothing can be lost.
            if (known && stampOf(file).exists() && stampOf(file) != *known)
                return FileStamp{};
            if (const auto written = writeSession(file, session(), task); !written)
                return written.error();
            return stampOf(file);
        },
        [this, file, opening = m_opening, noteRevision = m_notebook->revision().made,
         resultRevision = m_resultRevision.made,
         notes = m_notebook->contents()](const Result<FileStamp>& result) {
            if (!result)
                return emit failed(text(result.error()));
            if (opening != m_opening) // another model or session is open by now
                return;
            if (!result->exists())
                return emit sessionConflict(text(file.string()));
            m_sessionFile = file;
            m_sessionStamp = *result;
            m_fileNotes = notes;
            m_notebook->revision().keep(noteRevision);
            m_resultRevision.keep(resultRevision);
            emit sessionSaved(text(file.string()));
        });
}

} // namespace headwise::ui
