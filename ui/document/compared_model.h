#pragma once

#include "core/circuits/circuits.h"
#include "core/results/result_set.h"
#include "ui/base/job.h"
#include "ui/document/opened_model.h"

#include <QObject>

#include <memory>
#include <optional>

namespace headwise::ui {

class Workspace;
template <typename Part>
Part* partOf(Workspace* workspace);

/// Name of the newer model that results compare with; empty if they compare none.
QString comparedWith(const ResultSet& results);

/// The newer model that the open one is compared with. It is open too, so that pages can show both.
///
/// It belongs to the workspace and is found through it. A comparison opens it; after a session was opened it is read from the
/// place that the results name. It follows the workspace's processing and embedding and is forgotten with the open model.
class ComparedModel : public QObject {
    Q_OBJECT

public:
    static ComparedModel* of(Workspace* workspace); ///< Made when first asked for.

    /// The newer model as prepared from its files; immutable, replaced as a whole.
    struct Ready {
        OpenedModel model;
        ProcessingWish wish;
        std::shared_ptr<const Circuits> circuits;
        std::shared_ptr<const TokenSide> tokens; ///< Null until asked for.
        bool hasSameVocabulary = false;          ///< An id means one token in both.
    };

    /// Compares the open model with a newer one and adds the changes as results under "comparison/". An adapter without a base
    /// of its own changes the open model.
    void compare(const ModelSource& newer);
    /// The strength of an adapter, 0 to 1; empty if the newer model is not an adapter.
    std::optional<double> adapterStrength() const;
    void setAdapterStrength(double strength); ///< Compares again; a newer request replaces an unfinished one.
    Job* comparisonJob() { return &m_comparison; }

    QString name() const;                                ///< Empty: there is none.
    std::shared_ptr<const Ready> ready() const;          ///< Null until prepared.
    const QString& problem() const { return m_problem; } ///< Why it could not be prepared.
    Job* job() { return &m_job; }

    /// Whether the selected head is compared with that of this model rather than with the reference head.
    bool isReference() const { return m_isReference; }
    void setReference(bool on);

    void share(const ComparedModel& other); ///< Takes the same model, for off-screen pictures.

    enum class Parts { Circuits, TokensToo };
    /// Opens, processes and reads what is missing; `changed` says when it is there or why it cannot be.
    void prepare(Parts parts);

signals:
    void changed();
    void failed(const QString& message);

private:
    friend ComparedModel* partOf<ComparedModel>(Workspace* workspace);
    explicit ComparedModel(Workspace* workspace);
    void addChanges(const ResultSet& found);
    /// Takes over what a comparison has opened with the workspace's processing.
    void keep(const OpenedModel& model, const ProcessingWish& wish);
    void follow();     ///< Follows a change of the workspace's circuits or model.
    void startAgain(); ///< Drops everything computed from the weights and recomputes it.
    void forget();
    std::optional<ModelSource> source() const;
    ModelSource onOpenBase(const ModelSource& newer) const;

    Workspace* m_workspace;
    std::weak_ptr<const ModelWeights> m_open; // the workspace's
    bool m_isOpen = false;
    std::shared_ptr<const Ready> m_known; // without circuits: its files are open, nothing is computed yet
    QString m_problem;
    bool m_isReference = false;
    Parts m_parts = Parts::Circuits; // requested of the running job
    Job m_job, m_comparison;
};

} // namespace headwise::ui
