#pragma once

#include "ui/document/workspace.h"

#include <QWidget>

class QComboBox;
class QLineEdit;
class QPushButton;

namespace headwise::ui {

/// Returns the id of a text that is one token, or of #id; −1 for none and for several tokens.
int tokenOf(const Workspace& workspace, const QString& words);

/// Input of a residual direction: one token minus another, or a name that readDirection() knows.
class DirectionInput : public QWidget {
    Q_OBJECT

public:
    explicit DirectionInput(Workspace* workspace, QWidget* parent = nullptr);

    /// [d_model]; empty if it is invalid (with a `problem`), and while a name is being read.
    std::vector<double> read(QString& problem);
    QString name() const;              ///< The name as readDirection() reads it; empty if nothing is typed.
    void setName(const QString& name); ///< Sets a name that readDirection() reads, instead of two tokens.
    void suggest();                    ///< Proposes the selected token, unless something was typed.
    void forget();                     ///< Clears the fields, without a signal.

signals:
    void changed();
    void nameRead(); ///< The name was read, or cannot be.

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
        std::shared_ptr<const Circuits> circuits; // the model it belongs to
        std::vector<double> numbers;
        QString problem;
    };
    Named m_named; // the last name read
    Job m_job;     // reads a file, an MLP or a decomposition
};

} // namespace headwise::ui
