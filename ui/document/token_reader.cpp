#include "ui/document/token_reader.h"

#include "ui/base/text.h"
#include "ui/document/about_model.h"

#include <utility>

namespace headwise::ui {

void TokenReader::start(std::shared_ptr<const Circuits> circuits, Embedding embedding)
{
    m_circuits = std::move(circuits);
    m_embedding = embedding;
    startAgain();
}

void TokenReader::startAgain()
{
    read(TokenParts::MatricesAlone);
}

void TokenReader::stop()
{
    m_job.cancel();
    m_circuits.reset();
    freeLater(m_tokens);
    m_hasProducts = false;
}

void TokenReader::read(TokenParts parts)
{
    if (!m_circuits)
        return; // stopped meanwhile
    m_job.start(parts == TokenParts::MatricesAlone ? tr("Reading the embeddings")
                                                   : tr("Multiplying the embeddings"),
                aboutModel(m_circuits,
                           [circuits = m_circuits, embedding = m_embedding, parts](const Task& task) {
                               return tokenSide(*circuits, embedding, task, Precision::F32, parts);
                           }),
                [this, parts](const Result<std::shared_ptr<const TokenSide>>& result) {
                    if (!result)
                        return emit failed(text(result.error()));
                    m_tokens = *result;
                    m_hasProducts = parts == TokenParts::WithGrams;
                    if (m_hasProducts)
                        return emit productsReady();
                    emit matricesReady();
                    read(TokenParts::WithGrams);
                });
}

void TokenReader::copyFrom(const TokenReader& other)
{
    m_circuits = other.m_circuits;
    m_embedding = other.m_embedding;
    m_tokens = other.m_tokens;
    m_hasProducts = other.m_hasProducts;
}

} // namespace headwise::ui
