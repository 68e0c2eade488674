#pragma once

#include "core/analysis/catalogue.h"
#include "ui/document/filtered_tokens.h"
#include "ui/document/first_norms.h"
#include "ui/document/notebook.h"
#include "ui/document/open_model.h"
#include "ui/document/opener.h"
#include "ui/document/runs.h"
#include "ui/document/selection.h"
#include "ui/document/session_file.h"
#include "ui/figures/figure_export.h"

#include <QObject>

#include <memory>

namespace headwise::ui {

/// Owns the parts of an open document, and tells each of them what it needs to know of the others. Every page reads it and only
/// it.
class Workspace : public QObject {
    Q_OBJECT

public:
    explicit Workspace(QObject* parent = nullptr);
    ~Workspace() override;

    OpenModel* model() const { return m_model.get(); }
    Selection* selection() const { return m_selection.get(); }
    Notebook* notebook() const { return m_notebook.get(); }
    FilteredTokens* filteredTokens() const { return m_filteredTokens.get(); }
    Runs* runs() const { return m_runs.get(); }
    SessionFile* session() const { return m_session.get(); }
    Opener* opener() const { return m_opener.get(); }
    /// Colours of the heads until the first scores are there.
    FirstNorms* firstNorms() const { return m_firstNorms.get(); }

    /// Returns a workspace with the same model, results and selection except for the head, for off-screen pictures. Results
    /// computed there stay there. Costs nothing: everything is shared.
    std::unique_ptr<Workspace> snapshot(HeadId head) const;
    Provenance provenance() const; ///< For every figure and table: model, processing, embedding, version.

signals:
    void failed(const QString& message); ///< A failure in any part that has no page of its own.

private:
    void connectModel();
    void startAnalyses();

    const std::unique_ptr<OpenModel> m_model;
    const std::unique_ptr<Selection> m_selection;
    const std::unique_ptr<Notebook> m_notebook;
    const std::unique_ptr<FilteredTokens> m_filteredTokens;
    const std::unique_ptr<Runs> m_runs;
    const std::unique_ptr<SessionFile> m_session;
    const std::unique_ptr<Opener> m_opener;
    const std::unique_ptr<FirstNorms> m_firstNorms;
};

} // namespace headwise::ui
