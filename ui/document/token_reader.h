#pragma once

#include "core/circuits/circuits.h"
#include "ui/base/job.h"

#include <QObject>

#include <functional>
#include <memory>

namespace headwise::ui {

/// Reads the token side of the open model: first the matrices, which rows, tables and pictures need, long before their Gram
/// products.
class TokenReader : public QObject {
    Q_OBJECT

public:
    void start(std::shared_ptr<const Circuits> circuits, Embedding embedding);
    void startAgain(); ///< The same, after the job was cancelled.
    void stop();       ///< Forgets what was read.
    std::shared_ptr<const TokenSide> tokens() const { return m_tokens; } ///< Null until read.
    bool hasProducts() const { return m_hasProducts; } ///< Whether tokens() has its Gram products.
    Job* job() { return &m_job; }
    void copyFrom(const TokenReader& other);

signals:
    void matricesReady();
    void productsReady();
    void failed(const QString& message);

private:
    using Reading = std::function<Result<std::shared_ptr<const TokenSide>>(const Task&)>;

    /// Keeps what `reading` returns, then calls `then`.
    void read(const QString& title, Reading reading, std::function<void()> then);
    void multiply(); ///< Adds the Gram products of the matrices that were read.

    std::shared_ptr<const Circuits> m_circuits;
    Embedding m_embedding = Embedding::Raw;
    std::shared_ptr<const TokenSide> m_tokens;
    bool m_hasProducts = false;
    Job m_job;
};

} // namespace headwise::ui
