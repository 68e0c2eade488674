#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

class QComboBox;
class QLineEdit;

namespace headwise::ui {

/// The heads that an analysis is asked about: all, the selected one, or a list.
class HeadsInput : public QWidget {
    Q_OBJECT

public:
    explicit HeadsInput(Workspace* workspace, QWidget* parent = nullptr);

    void setAnalysis(const Analysis& analysis); ///< Forgets the list that was typed for another.
    bool isAsked() const;                       ///< Whether the analysis of the open model takes named heads.
    void showChoice();                          ///< The workspace's.
    /// Takes the choice over into the workspace. \returns false, and says why, where the list cannot be read
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
