#pragma once

#include "ui/figures/figure_presets.h"
#include "ui/pages/export/export_history.h"

#include <QDialog>
#include <QTimer>

class QComboBox;
class QDialogButtonBox;
class QLabel;
class QPushButton;

namespace headwise::ui {

class CaptionEditor;
class EditsEditor;
class FigureForm;
class FigurePreview;
class FigureWriter;
class PresetMenu;

/// Chooses how a view becomes a figure, with a preview at true size, then writes or copies it. Ctrl+Z undoes any change
/// of its settings.
class ExportDialog : public QDialog {
    Q_OBJECT

public:
    /// \param source        Must live as long as the dialog.
    /// \param settings      The last ones used; afterwards take remembered().
    /// \param suggestedPath Folder and name without an ending.
    ExportDialog(const FigureSource* source, const FigureSettings& settings, const QString& suggestedPath,
                 QWidget* parent = nullptr);

    const FigureSettings& settings() const { return m_settings; }
    /// Returns the settings for other figures: without the edits of this one, and with the preset's height if it was only
    /// fitted to the view.
    FigureSettings remembered() const;
    void setPresets(const FigurePresets& presets); ///< The user's own, and the last settings of each.
    FigurePresets presets() const;                 ///< The same with the settings of this dialog.
    void applyPreset(int index);                   ///< Index into FigurePresets::names().
    /// Writes the file in a job, without asking for a name, and closes once it is written. An error is shown in the
    /// dialog, which stays open. Closing earlier cancels.
    void exportTo(const QString& fileName);
    /// Offers the same picture for other heads; choosing that closes the dialog.
    void setHeadsOffered(bool offered);
    /// Closes without accessing the source, which no longer exists.
    void forgetSource();

signals:
    void exported(const QString& fileName);
    void headsRequested();

private:
    ExportState state() const;
    void showState(const ExportState& wanted);
    void createControls();
    void createLayout();
    QDialogButtonBox* createButtons();
    void connectControls();
    void fillPresets();
    void fitHeight();    ///< Fits a preset's height to the view.
    void showSettings(); ///< m_settings → controls
    void readControls(); ///< controls → m_settings
    void copySettings();
    void pasteSettings();
    void chooseFile();
    void say(const QString& message, bool isError);

    const FigureSource* m_source;
    FigureSettings m_settings;
    FigurePresets m_presets;
    QString m_presetName;
    double m_presetHeight = 0; // mm, the preset's own height
    double m_fittedHeight = 0; // mm, fitted to the view, until the user types another
    QString m_path;
    ExportHistory* m_history = nullptr;
    QTimer m_previewTimer;
    QComboBox* m_preset;
    PresetMenu* m_presetMenu;
    FigureForm* m_form;
    QPushButton* m_heads = nullptr;
    FigureWriter* m_writer;
    FigurePreview* m_preview;
    EditsEditor* m_edits;
    CaptionEditor* m_caption;
    QLabel* m_message;
};

} // namespace headwise::ui
