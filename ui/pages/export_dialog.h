#pragma once

#include "ui/figure_export.h"

#include <QDialog>
#include <QTimer>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFontComboBox;
class QLabel;
class QSpinBox;

namespace headwise::ui {

/// A size that paper or a screen asks for.
struct FigurePreset {
    QString title;
    double width;    // mm
    double height;   // mm
    double fontSize; // points
};
const QList<FigurePreset>& figurePresets();

/// Chooses how a view becomes a figure, with a preview at once, then writes or copies it.
class ExportDialog : public QDialog {
    Q_OBJECT

public:
    /// \param source        Must live as long as the dialog.
    /// \param settings      The last ones; settings() after the dialog is what to remember.
    /// \param suggestedPath Folder and name without ending.
    ExportDialog(const FigureSource* source, const FigureSettings& settings, const QString& suggestedPath,
                 QWidget* parent = nullptr);

    const FigureSettings& settings() const { return m_settings; }
    void applyPreset(int index); ///< Of figurePresets().
    /// Writes without asking for a name; an error stands in the dialog and the dialog stays open.
    bool exportTo(const QString& fileName);

signals:
    void exported(const QString& fileName);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void createControls();
    void createLayout();
    void showSettings(); ///< m_settings → controls
    void readControls(); ///< controls → m_settings
    void updatePreview();
    void chooseFile();

    const FigureSource* m_source;
    FigureSettings m_settings;
    QString m_path;
    QTimer m_previewTimer;
    QComboBox* m_format;
    QComboBox* m_preset;
    QDoubleSpinBox* m_width;
    QDoubleSpinBox* m_height;
    QSpinBox* m_dpi;
    QFontComboBox* m_font;
    QDoubleSpinBox* m_fontSize;
    QCheckBox* m_title;
    QCheckBox* m_colorBar;
    QCheckBox* m_dataBeside;
    QCheckBox* m_provenanceInData;
    QLabel* m_preview;
    QLabel* m_message;
};

} // namespace headwise::ui
