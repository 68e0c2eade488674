#pragma once

#include "ui/figures/figure_export.h"

#include <QDialog>
#include <QTimer>

class QCheckBox;
class QComboBox;
class QDialogButtonBox;
class QDoubleSpinBox;
class QFontComboBox;
class QFormLayout;
class QLabel;
class QPushButton;
class QSpinBox;

namespace headwise::ui {

class FigurePreview;
class FigureWriter;

/// A size that paper or a screen asks for.
struct FigurePreset {
    QString title;
    double width;    // mm
    double height;   // mm
    double fontSize; // points
};
const QList<FigurePreset>& figurePresets();
int presetOf(const FigureSettings& settings); ///< By its size; −1: of nobody's.
/// `settings` no higher than what `source` draws needs, where they have the size of a preset.
FigureSettings fittedToView(const FigureSource& source, FigureSettings settings);

/// Chooses how a view becomes a figure, with a preview at its true size, then writes or copies it.
class ExportDialog : public QDialog {
    Q_OBJECT

public:
    /// \param source        Must live as long as the dialog.
    /// \param settings      The last ones; remembered() after the dialog is what to remember.
    /// \param suggestedPath Folder and name without ending.
    ExportDialog(const FigureSource* source, const FigureSettings& settings, const QString& suggestedPath,
                 QWidget* parent = nullptr);

    const FigureSettings& settings() const { return m_settings; }
    FigureSettings
    remembered() const; ///< The same with the preset's height where that was only fitted to the view.
    void applyPreset(int index); ///< Index into figurePresets().
    /// Writes without asking for a name, by a job; closes once the file is there. An error stands in the dialog, which
    /// stays open. To close it before is to cancel.
    void exportTo(const QString& fileName);
    /// Offers the same picture of other heads as well; the dialog closes when that is asked for.
    void setHeadsOffered(bool offered);
    /// The source is gone, as when the window closes what it showed: closes without looking at it again.
    void forgetSource();

signals:
    void exported(const QString& fileName);
    void headsRequested();

private:
    void createControls();
    void createLayout();
    QFormLayout* createForm();
    QWidget* createCaption();
    QDialogButtonBox* createButtons();
    void connectControls();
    void fitHeight();          ///< Fits a preset's height to the view.
    void showSettings();       ///< m_settings → controls
    void readControls();       ///< controls → m_settings
    void updateEnabled();      ///< Enables the controls that the format has a use for.
    void showUnit();           ///< The unit of the lengths.
    double unitLength() const; // mm
    void updatePreview();
    void copySettings();
    void pasteSettings();
    void chooseFile();
    void say(const QString& message, bool isError);

    const FigureSource* m_source;
    FigureSettings m_settings;
    double m_presetHeight = 0; // mm, that…
    double m_fittedHeight = 0; // …this stands for, as long as nobody types another
    QString m_path;
    QTimer m_previewTimer;
    QComboBox* m_format;
    QComboBox* m_preset;
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
    QLabel* m_caption;
    QLabel* m_message;
};

} // namespace headwise::ui
