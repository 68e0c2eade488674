#pragma once

#include "app/window/settings.h"

#include <QDialog>

class QVBoxLayout;

namespace headwise::app {

/// Dialog for appearance, recovery copies, threads and the export folder. Every change applies at once; there is no OK button.
class PreferencesDialog : public QDialog {
    Q_OBJECT

public:
    explicit PreferencesDialog(const Settings& settings, QWidget* parent = nullptr);

    const Settings& settings() const { return m_settings; }

signals:
    void changed(const Settings& settings);

private:
    QVBoxLayout* addSection(const QString& title);
    /// Adds a name at the left, its control at the right and the explanation under the name.
    void addRow(QVBoxLayout* section, const QString& name, const QString& meaning, QWidget* control);
    QWidget* themeChoice();
    QWidget* sequentialChoice();
    QWidget* signedChoice();
    QWidget* fontChoice();
    QWidget* autosaveChoice();
    QWidget* threadsChoice();
    QWidget* folderChoice();
    void tell() { emit changed(m_settings); }

    Settings m_settings;
};

} // namespace headwise::app
