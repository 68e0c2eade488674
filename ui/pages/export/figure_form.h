#pragma once

#include "ui/figures/figure_export.h"

#include <QWidget>

#include <initializer_list>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QFontComboBox;
class QFormLayout;
class QHBoxLayout;
class QSpinBox;

namespace headwise::ui {

/// Returns a row of widgets.
QHBoxLayout* sideBySide(std::initializer_list<QWidget*> widgets);

/// The controls of a figure's format, size and style.
class FigureForm : public QWidget {
    Q_OBJECT

public:
    /// \param size  controls that choose a size by its name
    FigureForm(std::initializer_list<QWidget*> size, QWidget* parent);

    void showSettings(const FigureSettings& settings); ///< Without a signal.
    /// Reads the controls, and enables those that the format uses. Lengths that the boxes only round stay as they are.
    void readSettings(FigureSettings& settings);
    void addRow(QHBoxLayout* row);
    void focusWidth();

signals:
    void changed();
    void unitChosen(LengthUnit unit); ///< The lengths shown are still in the old one.

private:
    void createLayout(std::initializer_list<QWidget*> size);
    void connectControls();
    void showUnit(const FigureSettings& settings);
    void updateEnabled(const FigureSettings& settings);

    QComboBox* m_format;
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
    QFormLayout* m_layout;
};

} // namespace headwise::ui
