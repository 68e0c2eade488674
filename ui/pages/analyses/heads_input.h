#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

class QComboBox;
class QLineEdit;

namespace headwise::ui {

/// The heads to analyse: all, the selected one, or a list.
class HeadsInput : public QWidget {
    Q_OBJECT

public:
    explicit HeadsInput(Workspace* workspace, QWidget* parent = nullptr);

    void setAnalysis(const Analysis& analysis); ///< Discards the list typed for another analysis.
    bool isAsked() const;                       ///< True if the current analysis accepts a choice of heads.
    void showChoice();                          ///< Shows the workspace's choice.
    void forget();                              ///< Discards the list, which is about another model.
    /// Copies the choice into the workspace. \returns false with a `problem` if the list cannot be read
    bool apply(QString& problem);

signals:
    void changed();

private:
    Workspace* m_workspace;
    QComboBox* m_which;
    QLineEdit* m_listed;
    const Analysis* m_analysis = nullptr;
};

} // namespace headwise::ui
