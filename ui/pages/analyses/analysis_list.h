#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

class QLineEdit;
class QTreeWidget;
class QTreeWidgetItem;

namespace headwise::ui {

/// The catalogue's analyses by their groups, searchable, each marked as computed, possible or not possible on this model.
class AnalysisList : public QWidget {
    Q_OBJECT

public:
    explicit AnalysisList(Workspace* workspace, QWidget* parent = nullptr);

    void select(const Analysis& analysis); ///< Without a signal.
    void updateMarks();

signals:
    void chosen(const headwise::Analysis* analysis);

private:
    void fill();
    void filter(const QString& words);

    Workspace* m_workspace;
    QLineEdit* m_search;
    QTreeWidget* m_tree;
};

/// "Circuits and tokens", of the letter an analysis' number begins with.
QString groupTitle(QChar letter);
/// Explanation of the "D7" beside a title.
QString explainedNumber(const Analysis& analysis);
/// The groups in their order, each with its analyses.
std::vector<std::pair<QString, std::vector<const Analysis*>>> analysisGroups();

/// Inputs that the user is asked for: those an analysis needs, and those it takes where there are some.
InputNeeds askedInputs(const Analysis& analysis);

/// Files of the user's that an analysis makes use of if given: token counts, bigram counts, names.
struct TextNeeds {
    bool tokenCounts = false, bigramCounts = false, names = false;
};
TextNeeds askedTexts(const Analysis& analysis);
/// Whether it is about a query and a key, two positions of the prompt.
bool asksForPositions(const Analysis& analysis);
/// Whether what it was computed `with` differs from `now` in something it looks at.
/// \param hasAllTokens so that another token is another part of what is there
bool areAboutOthers(const Analysis& analysis, const AnalysisInputs& with, const AnalysisInputs& now,
                    bool hasAllTokens);

/// Why `analysis` cannot be run now, in the window's words; empty if it can.
QString whyNotNow(const Analysis& analysis, const Workspace& workspace);

} // namespace headwise::ui
