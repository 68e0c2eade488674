#include "ui/document/token_reader.h"

#include "ui/base/text.h"
#include "ui/document/about_model.h"

#include <utility>

namespace headwise::ui {

void TokenReader::start(std::shared_ptr<const Circuits> circuits, Embedding embedding)
{
    stop();
    m_circuits = std::move(circuits);
    m_embedding = embedding;
    startAgain();
}

void TokenReader::startAgain()
{
    if (!m_circuits)
        return; // stopped meanwhile
    if (m_tokens && !m_hasProducts)
        return multiply();
    read(
        tr("Reading the embeddings"),
        [circuits = m_circuits, embedding = m_embedding](const Task& task) {
            return tokenSide(*circuits, embedding, task, Precision::F32, TokenParts::MatricesAlone);
        },
        [this] {
            m_hasProducts = false;
            emit matricesReady();
            multiply();
        });
}

void TokenReader::stop()
{
    m_job.cancel();
    m_circuits.reset();
    freeLater(m_tokens);
    m_hasProducts = false;
}

void TokenReader::multiply()
{
    if (!m_circuits || !m_tokens)
        return; // stopped meanwhile, or begun anew
    read(
        tr("Multiplying the embeddings"),
        [circuits = m_circuits, matrices = m_tokens](const Task& task) {
            return withGrams(*matrices, *circuits, task);
        },
        [this] {
            m_hasProducts = true;
            emit productsReady();
        });
}

void TokenReader::read(const QString& title, Reading reading, std::function<void()> then)
{
    m_job.start(title, aboutModel(m_circuits, std::move(reading)),
                [this, then = std::move(then)](const Result<std::shared_ptr<const TokenSide>>& result) {
                    if (!result)
                        return emit failed(text(result.error()));
                    m_tokens = *result;
                    then();
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
