#include "ui/workspace.h"

namespace headwise::ui {

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
    copy->m_notes = m_notes;
    copy->m_bookmarks = m_bookmarks;
    copy->m_unused = m_unused;
    copy->m_sessionEmbedding = m_sessionEmbedding;
    copy->m_head = head;
    copy->m_token = m_token;
    copy->m_reference = m_reference;
    copy->m_inputs = m_inputs;
    copy->m_inputsOf = m_inputsOf;
    copy->m_embedding = m_embedding;
    copy->m_wish = m_wish;
    copy->m_readOnly = m_readOnly;
    return copy;
}

} // namespace headwise::ui
