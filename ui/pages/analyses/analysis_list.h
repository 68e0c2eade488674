#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

class QLineEdit;
class QTreeWidget;
class QTreeWidgetItem;

namespace headwise::ui {

/// The catalogue's analyses by question, searchable, each marked as computed, possible or impossible on this model.
class AnalysisList : public QWidget {
    Q_OBJECT

public:
    explicit AnalysisList(Workspace* workspace, QWidget* parent = nullptr);

    void select(const Analysis& analysis); ///< Emits no signal.
    void selectQuestion(const QString& title);
    void updateMarks();

signals:
    void chosen(const headwise::Analysis* analysis);
    void questionChosen(const QString& title); ///< All analyses of it.

protected:
    void changeEvent(QEvent* event) override;

private:
    void fill();
    void filter(const QString& words);

    Workspace* m_workspace;
    QLineEdit* m_search;
    QTreeWidget* m_tree;
};

/// Returns "D7 in the catalogue"; empty for an analysis without a number.
QString explainedNumber(const Analysis& analysis);

/// Tells whether the inputs it was computed `with` differ from `now` in something it uses.
/// \param hasAllTokens the results cover all tokens, so that another token needs no new run
bool areAboutOthers(const Analysis& analysis, const AnalysisInputs& with, const AnalysisInputs& now,
                    bool hasAllTokens);

/// Explains why `analysis` cannot run now; empty if it can.
QString whyNotNow(const Analysis& analysis, const Workspace& workspace);

} // namespace headwise::ui
