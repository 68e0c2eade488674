#pragma once

#include "core/model/architecture.h"
#include "ui/base/job.h"
#include "ui/document/file_stamp.h"
#include "ui/document/opened_model.h"
#include "ui/document/opened_session.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace headwise::ui {

class Workspace;
struct OpenedSeries;

/// Opens, reloads and closes models and sessions, and tells every part of the workspace in turn.
class Opener : public QObject {
    Q_OBJECT

public:
    explicit Opener(Workspace* workspace);

    void openModel(const ModelSource& source);
    /// Reads the open model or session again. A model keeps its processing, embedding and selection as far as they still apply.
    void reload();
    /// Reads the open model again with other answers of its user; that of a session is looked for with them.
    void reopen(const ModelSource& source);
    void openSession(const std::filesystem::path& file);
    /// Opens a series of checkpoints. A model with as many heads stays open.
    void openSeries(const std::filesystem::path& file);
    void showSeries(const std::shared_ptr<const OpenedSeries>& opened); ///< The same for one that was read.
    /// Opens a recovery copy under the name of its original, as not saved yet.
    /// \param original  empty: it had never been saved
    /// \param stamp     of the original when it was opened
    void recoverSession(const std::filesystem::path& copy, const std::filesystem::path& original,
                        const FileStamp& stamp);
    /// Looks for the open session's model there; refused if its fingerprint differs. Config values that `source` does not say are
    /// those the session was made with.
    void locateModel(ModelSource source);
    /// Shows tokens as the tokenizer in `path` (any kind that Tokenizer::open reads) has them, in place of the model's own.
    void addTokenizer(const std::filesystem::path& path);
    void close();
    void completeConfig(); ///< Asks for what no file of the open model states (configIncomplete).
    /// The keys that may stay unknown in the question configMissing or locatedConfigMissing.
    const QStringList& optionalKeys() const { return m_optionalKeys; }

    /// Returns the model that is being read, or that was read and is not announced by OpenModel::opened() yet; null: none. A
    /// session or series is a path alone.
    const ModelSource* coming() const;
    Job* job() { return &m_job; }

signals:
    void openFailed(const QString& message);
    /// There are weights and no config; `message` says what was tried. Opened with the answers, it may come again.
    void configMissing(const ModelSource& source, const QStringList& keys, const QString& message);
    /// The same for a model that was to be located.
    void locatedConfigMissing(const ModelSource& source, const QStringList& keys, const QString& message);
    /// The model is open, and no file states these keys, which only some answers need.
    void configIncomplete(const ModelSource& source, const QStringList& keys);
    /// The source is an adapter, and nobody knows where its base is. It opens with ModelSource::base.
    void baseMissing(const ModelSource& source, const QString& message);
    /// The model would open without these tensors; opened with them as ModelSource::ignored, it does.
    void tensorsUnknown(const ModelSource& source, const QStringList& names, const QString& message);
    void failed(const QString& message);

private:
    void startOpening(const ModelSource& source, bool again);
    void applyNewModel(const OpenedModel& opened);
    void applySameModel(const OpenedModel& opened);
    void applyModel(const OpenedModel& opened, const ProcessingWish& wish, Embedding embedding);
    void applySession(const OpenedSession& opened);
    void forgetQuestion(); ///< Inputs, filter and choices, without a signal: another model comes, or none.
    void announceModel();
    void announceSession();
    void announceOpened(const std::function<bool()>& isStillOpen, const std::function<void()>& showRest);

    Workspace* m_workspace;
    QStringList m_optionalKeys;
    Job m_job;
    std::optional<ModelSource> m_newest; // asked for; none after a job of another kind
    int m_unannounced = 0;
};

} // namespace headwise::ui
