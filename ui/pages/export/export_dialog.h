#pragma once

#include "ui/figures/figure_presets.h"

#include <QDialog>
#include <QTimer>
#include <QUndoStack>

class QCheckBox;
class QComboBox;
class QDialogButtonBox;
class QDoubleSpinBox;
class QFontComboBox;
class QFormLayout;
class QLabel;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;

namespace headwise::ui {

class EditsEditor;
class FigurePreview;
class FigureWriter;
class PresetMenu;

int presetOf(
    const FigureSettings& settings); ///< Index into figurePresets of the preset with this size; −1: none.
/// Changes the height of a preset size to what `source` needs; other sizes stay.
FigureSettings fittedToView(const FigureSource& source, FigureSettings settings);

/// Chooses how a view becomes a figure, with a preview at true size, then writes or copies it. Ctrl+Z takes back any change
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

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// Everything that undo brings back.
    struct State {
        FigureSettings settings;
        QString preset;
        double presetHeight = 0, fittedHeight = 0; // mm

        bool operator==(const State&) const = default;
    };
    class SettingsChange;

    State state() const;
    void createUndo();
    void noteChange(); ///< Adds the change since the last call to the history.
    void showState(const State& wanted);
    void createControls();
    void createLayout();
    QFormLayout* createForm();
    QWidget* createTabs();
    QWidget* createCaption();
    void fillPresets();
    void readEdits();   ///< The editor → m_settings
    void readCaption(); ///< The caption → m_settings
    void showCaption(); ///< Shows the automatic caption unless it was edited.
    QString automaticCaption() const;
    QDialogButtonBox* createButtons();
    void connectControls();
    void fitHeight();          ///< Fits a preset's height to the view.
    void showSettings();       ///< m_settings → controls
    void readControls();       ///< controls → m_settings
    void updateEnabled();      ///< Enables the controls that the format uses.
    void showUnit();           ///< Shows the unit of lengths.
    double unitLength() const; // mm
    void updatePreview();
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
    QUndoStack m_history;
    State m_shown;              // after the last change in the history
    bool m_isRestoring = false; // a state of the history is being shown
    QTimer m_previewTimer;
    QComboBox* m_format;
    QComboBox* m_preset;
    PresetMenu* m_presetMenu;
    QDoubleSpinBox* m_width;
    QDoubleSpinBox* m_height;
    QComboBox* m_unit;
    QSpinBox* m_dpi;
    QFontComboBox* m_font;
    QDoubleSpinBox* m_fontSize;
    QDoubleSpinBox* m_lineWidth;
    QComboBox* m_background;
    QCheckBox* m_title;
    QCheckBox* m_colorBar;
    QCheckBox* m_axes;
    QCheckBox* m_dataBeside;
    QCheckBox* m_provenanceInData;
    QPushButton* m_heads = nullptr;
    FigureWriter* m_writer;
    FigurePreview* m_preview;
    EditsEditor* m_edits;
    QPlainTextEdit* m_caption;
    QLabel* m_message;
};

} // namespace headwise::ui
