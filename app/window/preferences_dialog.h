#pragma once

#include "app/window/settings.h"

#include <QDialog>

class QVBoxLayout;

namespace headwise::app {

/// What the user decides once: looks, safety, threads, where figures go. Every choice holds at once; there is no OK.
class PreferencesDialog : public QDialog {
    Q_OBJECT

public:
    explicit PreferencesDialog(const Settings& settings, QWidget* parent = nullptr);

    const Settings& settings() const { return m_settings; }

signals:
    void changed(const Settings& settings);

private:
    QVBoxLayout* addSection(const QString& title);
    /// A name at the left, its control at the right, what it means under the name.
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
