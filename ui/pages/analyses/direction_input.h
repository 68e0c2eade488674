#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

class QComboBox;
class QLineEdit;
class QPushButton;

namespace headwise::ui {

/// The id of words that are one token, or of #id; −1 for none and for several tokens.
int tokenOf(const Workspace& workspace, const QString& words);

/// A direction of the residual stream: one token minus another, or what readDirection() knows by name.
class DirectionInput : public QWidget {
    Q_OBJECT

public:
    explicit DirectionInput(Workspace* workspace, QWidget* parent = nullptr);

    /// [d_model]; empty where it cannot be told, `problem` then says why, and for a name while it is being read.
    std::vector<double> read(QString& problem);
    QString name() const;              ///< As readDirection() reads it; empty where nothing is typed.
    void setName(const QString& name); ///< In place of two tokens: a name that readDirection() reads.
    void suggest();                    ///< The selected token, unless something was typed.

signals:
    void changed();
    void nameRead(); ///< It is known now, or why it cannot be.

private:
    std::vector<double> readNamed(QString& problem);
    void chooseFile();

    Workspace* m_workspace;
    QLineEdit* m_to;
    QLineEdit* m_from;
    QComboBox* m_space;
    QPushButton* m_file;
    QString m_suggested;
    struct Named {
        std::string name;
        std::shared_ptr<const Circuits> circuits; // whose it is
        std::vector<double> numbers;
        QString problem;
    };
    Named m_named; // the last that was read
    Job m_job;     // of a file, an MLP or a decomposition
};

} // namespace headwise::ui
