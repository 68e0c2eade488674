#pragma once

#include "ui/figures/figure_export.h"

#include <QMap>

#include <vector>

namespace headwise::ui {

/// Settings under a name that the user gave them.
struct OwnFigurePreset {
    QString name;
    FigureSettings settings;

    bool operator==(const OwnFigurePreset&) const = default;
};

/// The presets of the export dialog: the standard ones, the user's own, and the last settings used with each.
class FigurePresets {
public:
    static constexpr auto custom = "custom"; ///< Name of the sizes that no preset has.

    const std::vector<OwnFigurePreset>& own() const { return m_own; }
    QStringList names() const; ///< Standard presets first, then the user's own.
    bool has(const QString& name) const { return names().contains(name); }
    bool isOwn(const QString& name) const;
    static QString titleOf(const QString& name); ///< In the dialog.

    /// Finds the preset of settings: `wanted` if its size is theirs, else the first of that size, else custom.
    QString nameFor(const FigureSettings& settings, const QString& wanted) const;
    /// Returns the last settings used with a preset; if there are none, `now` in its size and type.
    FigureSettings settingsOf(const QString& name, const FigureSettings& now) const;
    const QMap<QString, FigureSettings>& last() const { return m_last; } ///< Last settings by preset.
    const QString& current() const { return m_current; }                 ///< The preset used last.
    void choose(const QString& name) { m_current = name; }
    /// Makes a preset the current one and keeps its last settings.
    void remember(const QString& name, const FigureSettings& settings);

    /// Adds a preset of the user, or replaces the one of that name.
    /// Errors: InvalidArgument for an empty name or that of a standard preset.
    Result<Done> save(const QString& name, const FigureSettings& settings);
    /// Errors: InvalidArgument, also if another preset has the new name.
    Result<Done> rename(const QString& name, const QString& newName);
    void remove(const QString& name); ///< One of the user's own.

    bool operator==(const FigurePresets&) const = default;

private:
    std::vector<OwnFigurePreset> m_own;
    QMap<QString, FigureSettings> m_last; // by name
    QString m_current;
};

/// Writes one line for the program's settings. parseFigurePresets() reads it back as an equal value.
QString text(const FigurePresets& presets);
/// Reads the line of text(). Parts it does not understand are left out.
FigurePresets parseFigurePresets(const QString& line);

/// Writes presets as a file for colleagues. Errors: Io naming the file and the reason.
Result<Done> writePresetFile(const QString& fileName, const std::vector<OwnFigurePreset>& presets);
/// Reads such a file and nothing else. Errors: those of readTextFile(); Corrupt, naming the file and the first fault.
Result<std::vector<OwnFigurePreset>> readPresetFile(const QString& fileName);

} // namespace headwise::ui
