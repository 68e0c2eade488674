#pragma once

#include "core/model/architecture.h"

#include <QDialog>

class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace headwise::ui {

/// Asks what a model without a config is: the keys no tensor tells, any others, or a config file.
class ConfigDialog : public QDialog {
    Q_OBJECT

public:
    /// \param keys    to be answered, each a row
    /// \param message why the model did not open
    ConfigDialog(const ModelSource& source, const QStringList& keys, const QString& message,
                 QWidget* parent = nullptr);

    ModelSource source() const; ///< With what was said.

private:
    void chooseFile();
    void updateState();

    ModelSource m_source;
    QList<QLineEdit*> m_answers; ///< Their object names are the keys.
    QPlainTextEdit* m_others;
    QPushButton* m_open;
};

} // namespace headwise::ui
