#pragma once

#include "core/circuits/circuits.h"
#include "core/model/architecture.h"
#include "core/model/processing.h"
#include "core/session/session.h"
#include "core/tokenizer/tokenizer.h"
#include "ui/base/job.h"
#include "ui/document/opened_model.h"
#include "ui/document/opened_session.h"
#include "ui/document/revision.h"
#include "ui/document/token_reader.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// The steps of a change of the open model, for the parts of the workspace, which are told before the pages.
class ModelSteps : public QObject {
    Q_OBJECT

signals:
    void computingStopped();  ///< Running answers about the weights or the embedding are now outdated.
    void circuitsReplaced();  ///< Before OpenModel::circuitsChanged().
    void tokenizerReplaced(); ///< After OpenModel::circuitsChanged().
    void resultsDropped();    ///< Before the empty results.
    void computingStarts();   ///< Before the results that a session has for the current inputs.
    void computingStarted();  ///< The default analyses can begin.
};

/// The open model or session: its card, weights, circuits, token side, tokenizer and results.
///
/// A model, a session, or both: a session opened without its model's files still has its results. Everything large is immutable
/// and shared by pointer; a change of processing or embedding replaces it.
class OpenModel : public QObject {
    Q_OBJECT

public:
    OpenModel();

    bool isOpen() const { return m_card.has_value(); }
    bool hasModel() const { return m_circuits != nullptr; }
    /// True if a series is open but none of its checkpoints: there are heads with scores, but no weights or tokens.
    bool isSeries() const { return m_isSeries; }
    const ModelCard& card() const { return *m_card; }    ///< Only while something is open.
    const OpenedModel& files() const { return m_files; } ///< A session without them: the tokenizer alone.
    /// The session as it was read; null for a fresh model.
    std::shared_ptr<const Session> session() const { return m_session; }
    /// As stored; null without the files.
    std::shared_ptr<const ModelWeights> weights() const { return m_files.weights; }
    std::shared_ptr<const Circuits> circuits() const { return m_circuits; } ///< Null without the files.
    std::shared_ptr<const TokenSide> tokens() const { return m_tokenReader.tokens(); } ///< Null until read.
    TokenReader* tokenReader() { return &m_tokenReader; }
    std::shared_ptr<const Tokenizer> tokenizer() const { return m_files.tokenizer; } ///< Null without one.
    QString tokenText(int token) const; ///< The token as shown; "#17" without a tokenizer.

    Embedding embedding() const { return m_embedding; }
    void setEmbedding(Embedding embedding);
    const ProcessingWish& processingWish() const { return m_wish; }
    void setProcessingWish(const ProcessingWish& wish);
    Processing processing() const; ///< Steps applied to the weights in use.

    std::shared_ptr<const ResultSet> results() const { return m_results; } ///< Never null.
    void setResults(ResultSet results);
    Revision& revision() { return m_revision; } ///< Results that the user asked for, unsaved or not.

    Job* processJob() { return &m_processJob; }
    ModelSteps* steps() { return &m_steps; }

    // For the opener, which also emits opened(), closed() and the first resultsChanged() of a session.

    void setModel(const OpenedModel& opened, const ProcessingWish& wish, Embedding embedding);
    void setSession(const OpenedSession& opened);
    /// Shows tokens as `tokenizer` has them. Results go if it has other ids.
    void setTokenizer(std::shared_ptr<const Tokenizer> tokenizer);
    void forgetSession(); ///< And the results, without a signal: another model comes.
    /// Drops everything. Returns the owner of the memory, which takes a while to free.
    std::shared_ptr<const void> clear();
    void announceCircuits();
    /// Starts the token side and the default analyses. A session's results for the current inputs are taken first.
    void compute();
    void copyFrom(const OpenModel& other);

signals:
    void opened(); ///< Another model or session; everything else may have changed.
    void closed(); ///< Nothing is open any more.
    /// Another model takes this one's place, or none. Comes before the other signals; text typed about the last one is cleared.
    void replaced();
    void circuitsChanged(); ///< Other weights or another processing.
    void tokensChanged();   ///< The token side is there, or gone.
    void resultsChanged();
    void embeddingChanged();
    void failed(const QString& message);

private:
    std::optional<ModelCard> m_card;
    OpenedModel m_files;
    std::shared_ptr<const Circuits> m_circuits;
    std::shared_ptr<const ResultSet> m_results = std::make_shared<ResultSet>();
    std::shared_ptr<const Session> m_session;
    Embedding m_embedding = Embedding::Raw;
    bool m_isSeries = false;
    ProcessingWish m_wish;
    Revision m_revision;
    Job m_processJob;
    TokenReader m_tokenReader;
    ModelSteps m_steps;
};

/// Text of the banner above the pages: "The model's files were not found…"; empty: nothing.
QString bannerText(const OpenModel& model);

/// Sentences about the model's files, its processing and its results.
QStringList warningsOf(const OpenModel& model);

/// "norms folded, writing weights centred, …" or "raw weights".
QString processingText(const Processing& applied);
bool isProcessed(const Processing& applied); ///< Whether any step was applied, whatever heads were changed.

} // namespace headwise::ui
