#pragma once

#include "core/model/architecture.h"

#include <QDialog>

class QFormLayout;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace headwise::ui {

/// Asks about a model without a config: the keys that no tensor tells, any others, or a config file. An open model is asked about
/// the keys that no file states.
class ConfigDialog : public QDialog {
    Q_OBJECT

public:
    /// \param keys     one row each
    /// \param optional keys that may stay unknown, one row each
    /// \param message  why the model did not open, or what it lacks
    ConfigDialog(const ModelSource& source, const QStringList& keys, const QStringList& optional,
                 const QString& message, QWidget* parent = nullptr);

    ModelSource source() const; ///< The source with the user's answers.

signals:
    void describeWanted(); ///< The user wants to say which tensor is which.
    void tensorsWanted();  ///< The user asks to see the file before answering.

private:
    QFormLayout* createRows(const QStringList& keys, const QStringList& optional);
    void chooseFile();
    void updateState();

    ModelSource m_source;
    QList<QLineEdit*> m_answers; ///< The keys are the object names; those that are needed come first.
    qsizetype m_needed;          ///< How many are needed.
    QPlainTextEdit* m_others;
    QPushButton* m_open;
};

} // namespace headwise::ui
