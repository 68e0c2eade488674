#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/inputs/token_filter.h"
#include "core/model/architecture.h"
#include "core/session/session.h"
#include "core/tokenizer/tokenizer.h"
#include "ui/base/job.h"
#include "ui/document/file_stamp.h"
#include "ui/document/first_norms.h"
#include "ui/document/notebook.h"
#include "ui/document/revision.h"
#include "ui/document/runs.h"
#include "ui/document/selection.h"
#include "ui/figures/figure_export.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace headwise::ui {

/// The open model or session, the selection, and the results computed so far. Every page reads it and only it.
///
/// A model, a session, or both: a session opened without its model's files still has its results, notes and view.
/// Results are immutable and shared by pointer; a change of processing or embedding replaces them.
class Workspace : public QObject {
    Q_OBJECT

public:
    explicit Workspace(QObject* parent = nullptr);
    ~Workspace() override;

    Selection* selection() const { return m_selection.get(); }
    Notebook* notebook() const { return m_notebook.get(); }

    void openModel(const ModelSource& source);
    /// Reads the open model or session again; a model keeps its processing, embedding and selection as far as they still
    /// apply.
    void reload();
    void openSession(const std::filesystem::path& file);
    /// Opens a recovery copy as what it is a copy of, not saved yet.
    /// \param original  empty: it had never been saved
    /// \param stamp     of the original when it was opened
    void recoverSession(const std::filesystem::path& copy, const std::filesystem::path& original,
                        const FileStamp& stamp);
    /// Looks for the open session's model there; refused where its fingerprint differs. What `source` leaves open about its
    /// config is as the session was made with.
    void locateModel(ModelSource source);
    /// Shows tokens as the tokenizer in `path` (any kind that Tokenizer::open reads) has them, in place of the model's own.
    void addTokenizer(const std::filesystem::path& path);
    void close();
    /// The same model, results and selection but for the head, for pictures that nobody looks at; what is computed there stays
    /// there. Costs nothing: everything is shared.
    std::unique_ptr<Workspace> snapshot(HeadId head) const;
    enum class IfChanged { Ask, Overwrite };
    /// Writes beside and renames; `view` is the window's state as one JSON string. An open session that somebody else has
    /// written meanwhile is left alone with a sessionConflict(), unless it is to be overwritten.
    void saveSession(const std::filesystem::path& file, const QString& view,
                     IfChanged ifChanged = IfChanged::Ask);
    /// Takes in notes, bookmarks and results that the file of the open session has by now; what it was opened with says which
    /// side changed a note. Where both did, the note has both texts.
    void mergeSessionFile();

    /// Returns a function that puts together the session to be saved; it may be called on any thread.
    std::function<Session()> snapshot(const QString& view) const;

    bool isOpen() const { return m_card.has_value(); }
    bool hasModel() const { return m_circuits != nullptr; }
    bool lacksTokenizer() const { return isOpen() && !m_tokenizer; }
    bool isReadOnly() const { return m_readOnly; } ///< A session of a newer format.
    /// Notes or bookmarks not saved, or results that somebody asked for.
    bool isModified() const { return m_notebook->isUnsaved() || hasUnsavedResults(); }
    bool hasUnsavedResults() const
    {
        return m_resultRevision.isUnsaved();
    } ///< Beside those of the default analyses.

    const ModelCard& card() const { return *m_card; } ///< Only while something is open.
    const std::filesystem::path& sessionFile() const { return m_sessionFile; }
    const FileStamp& sessionStamp() const { return m_sessionStamp; } ///< As it was read or saved.
    const ModelSource& modelSource() const { return m_source; }
    std::shared_ptr<const Circuits> circuits() const
    {
        return m_circuits;
    } ///< Null without the model's files.
    std::shared_ptr<const ModelWeights> weights() const
    {
        return m_weights;
    }                                                             ///< As stored; null without the files.
    const FirstNorms& firstNorms() const { return m_firstNorms; } ///< Until the first scores are there.
    std::shared_ptr<const TokenSide> tokens() const { return m_tokens; }       ///< Null until computed.
    std::shared_ptr<const Tokenizer> tokenizer() const { return m_tokenizer; } ///< Null without one.
    std::shared_ptr<const ResultSet> results() const { return m_results; }     ///< Never null.
    QString sessionView() const { return m_sessionView; } ///< The saved window state, empty if none.
    QStringList warnings() const;
    Provenance provenance() const;  ///< For every figure and table: model, processing, embedding, version.
    QString processingText() const; ///< "norms folded, writing weights centred, …" or "raw weights".

    Embedding embedding() const { return m_embedding; }
    const ProcessingWish& processingWish() const { return m_wish; }
    Processing processing() const; ///< Steps applied to the weights in use.
    bool isProcessed() const;      ///< Whether any step was applied, whatever heads were changed.
    /// true: an id without a token, or one that the filter leaves out. What tables, ranks and searches are asked with.
    const std::vector<bool>& unusedTokens() const { return m_tokenFilter.isOn() ? m_leftOut : m_unused; }
    const TokenFilter& tokenFilter() const
    {
        return m_tokenFilter;
    } ///< In force; off without the model's files.
    const TokenFilter& wantedTokenFilter() const { return m_wantedFilter; } ///< Kept until there are files.
    int filteredOut() const; ///< How many tokens the filter leaves out.
    /// Its counts are those of the inputs. What it leaves out is found by a job.
    void setTokenFilter(const TokenFilter& filter);

    void setEmbedding(Embedding embedding);
    void setProcessingWish(const ProcessingWish& wish);

    Runs* runs() const { return m_runs.get(); } ///< The analyses with their inputs and their queue.
    /// Replaces the results of an analysis.
    /// \param wasAsked  by the user, so that they count as unsaved
    void replaceResults(const Analysis& analysis, ResultSet results, bool wasAsked);
    void startTokens();                                         ///< Begins the token side anew.
    bool hasTokenProducts() const { return m_tokensHaveGrams; } ///< Whether tokens() has its Gram products.

    /// Compares the open model with a newer one; adds the changes as results under "comparison/". `failed` says why not.
    void compareWith(const ModelSource& newer);
    QString comparedWith() const; ///< The newer model's name; empty if the results compare none.

    /// The token as shown, "#17" without a tokenizer.
    QString tokenText(int token) const;

    Job* openJob() { return &m_openJob; }
    Job* tokensJob() { return &m_tokensJob; }
    Job* filterJob() { return &m_filterJob; }
    Job* comparisonJob() { return &m_comparisonJob; }

signals:
    void opened(); ///< Another model or session; everything else may have changed.
    void closed(); ///< Nothing is open any more.
    void openFailed(const QString& message);
    /// There are weights and no config; `message` says what was tried. Opened with the answers, it may come again.
    void configMissing(const ModelSource& source, const QStringList& keys, const QString& message);
    /// The same of a model that was to be located.
    void locatedConfigMissing(const ModelSource& source, const QStringList& keys, const QString& message);
    void circuitsChanged(); ///< Other weights or another processing.
    void tokensChanged();   ///< The token side is there, or gone.
    void resultsChanged();
    void tokenFilterChanged(); ///< And what it leaves out.
    void embeddingChanged();
    void sessionSaved(const QString& file);
    void sessionConflict(const QString& file); ///< Not saved: somebody else has written it.
    void sessionMerged();
    void failed(
        const QString& message); ///< A failure that has no page of its own: saving or a background analysis.
    void bannerChanged(
        const QString&
            text); ///< Text of the banner above the pages: "The model's files are not here…"; empty: nothing.

private:
    struct Opened; // what a job of opening brings back
    static Result<std::shared_ptr<const Opened>> read(const ModelSource& source, const ProcessingWish& wish,
                                                      const Task& task);
    static Result<std::shared_ptr<const ProcessedWeights>>
    processedWeights(std::shared_ptr<const ModelWeights> weights, const ProcessingWish& wish,
                     const Task& task);
    void startOpening(const ModelSource& source, bool again);
    void forgetSession(); ///< Its notes and results too: another model comes.
    void openedModel(const std::shared_ptr<const Opened>& opened);
    void openedAgain(const std::shared_ptr<const Opened>& opened);
    void applyModel(const std::shared_ptr<const Opened>& opened);
    void announceOpened();
    void applyTokenizer(std::shared_ptr<const Tokenizer> tokenizer);
    enum class Origin { File, Recovery };
    void readAndApply(const std::filesystem::path& from, const std::filesystem::path& file, Origin origin);
    void merge(const Session& other, const FileStamp& stamp);
    void applySession(std::shared_ptr<const Session> session, const std::filesystem::path& file,
                      Origin origin);
    void stopComputing();
    int firstWord() const; ///< A token worth looking at first; 0 where there is no tokenizer.
    void computeAgain();   ///< Token side and the default analyses, from nothing.
    void findLeftOut();    ///< By the wanted filter; what is asked waits for it.
    void setLeftOut(const TokenFilter& filter, std::vector<bool> leftOut);
    void readTokens(TokenParts parts);
    void queueDefaultAnalyses();
    void forgetInputs(); ///< Without a signal: another model comes, or none.
    void setResults(ResultSet results);
    void updateBanner();

    std::optional<ModelCard> m_card;
    ModelSource m_source;
    std::filesystem::path m_sessionFile;
    FileStamp m_recoveredStamp;   // of the original of the copy that is being opened
    FileStamp m_sessionStamp;     // of m_sessionFile, as it was read or saved
    NotebookContents m_fileNotes; // in it then
    std::shared_ptr<const ModelWeights> m_weights;
    std::shared_ptr<const ProcessedWeights> m_processed;
    std::shared_ptr<const Circuits> m_circuits;
    std::shared_ptr<const TokenSide> m_tokens;
    bool m_tokensHaveGrams = false;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::shared_ptr<const ResultSet> m_results = std::make_shared<ResultSet>();
    std::shared_ptr<const Session> m_session; // as it was read; null for a fresh model
    QString m_sessionView;
    std::vector<bool> m_unused; // ids without a token
    TokenFilter m_wantedFilter, m_tokenFilter;
    std::vector<bool> m_leftOut; // by m_tokenFilter, with m_unused; empty while it is off
    std::string m_sessionEmbedding;

    const std::unique_ptr<Selection> m_selection;
    const std::unique_ptr<Notebook> m_notebook;
    Embedding m_embedding = Embedding::Raw;
    ProcessingWish m_wish;
    bool m_readOnly = false;
    Revision m_resultRevision; // results that somebody asked for
    quint64 m_opening = 0;     // grows with everything that is opened or closed

    const std::unique_ptr<Runs> m_runs;
    FirstNorms m_firstNorms;
    Job m_openJob, m_processJob, m_tokensJob, m_filterJob, m_comparisonJob, m_saveJob;
};

} // namespace headwise::ui
