#pragma once

#include "ui/figures/figure_presets.h"

#include <QToolButton>

#include <functional>

namespace headwise::ui {

/// Button with a menu that saves, renames, deletes and shares the user's own presets.
class PresetMenu : public QToolButton {
    Q_OBJECT

public:
    /// \param presets  must live as long as the button  \param settings  returns the settings to save
    PresetMenu(FigurePresets* presets, std::function<FigureSettings()> settings, QWidget* parent);

    void
    setCurrent(const QString& name); ///< Renames and deletes this preset, if it is one of the user's own.
    void saveAs(const QString& name);
    void renameTo(const QString& name);
    void removeCurrent();
    void exportTo(const QString& fileName);
    void importFrom(const QString& fileName); ///< Takes all presets of a file or, if it is damaged, none.

signals:
    void changed(const QString& chosen); ///< The presets changed; `chosen` is to be the current one.
    void said(const QString& message, bool isError);

private:
    void fill();
    void askName(const QString& title, const QString& name, void (PresetMenu::*use)(const QString&));
    void askFile(const QString& title, bool toWrite);
    void tell(const Result<Done>& done, const QString& chosen, const QString& message);

    FigurePresets* m_presets;
    std::function<FigureSettings()> m_settings;
    QString m_current;
    QAction* m_rename;
    QAction* m_remove;
    QAction* m_export;
};

} // namespace headwise::ui
