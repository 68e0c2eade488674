#pragma once

#include <QObject>

#include <functional>

namespace headwise {
struct ModelSource;
}

namespace headwise::ui {

class ConfigDialog;
class Workspace;

/// Asks what a model that is being opened lacks, and opens it again with the answer.
class OpenQuestions : public QObject {
    Q_OBJECT

public:
    /// \param askForFolder returns the folder that the user chose; empty: none
    OpenQuestions(QWidget* parent, Workspace* workspace,
                  std::function<QString(const QString& title)> askForFolder);

signals:
    void completed(const headwise::ModelSource& source); ///< With the values that no file of it states.
    void declined(const QString& message);               ///< No answer: the model does not open, and why.
    void failed(const QString& message);                 ///< While a question is still open.

private:
    /// Shows a dialog that asks for the keys. The caller connects its end.
    ConfigDialog* ask(const ModelSource& source, const QStringList& keys, const QStringList& optional,
                      const QString& message);
    void askForConfig(const ModelSource& source, const QStringList& keys, const QString& message);
    void askForLocatedConfig(const ModelSource& source, const QStringList& keys, const QString& message);
    void askToComplete(const ModelSource& source, const QStringList& keys);
    void askForBase(const ModelSource& source, const QString& message);
    void askToLeaveOut(const ModelSource& source, const QStringList& tensors, const QString& message);
    void describe(ConfigDialog* question); ///< Lets the user say which tensor is which.

    QWidget* m_parent;
    Workspace* m_workspace;
    std::function<QString(const QString& title)> m_askForFolder;
};

} // namespace headwise::ui
