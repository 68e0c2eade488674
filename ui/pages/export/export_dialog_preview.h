#pragma once

#include "ui/base/job.h"
#include "ui/figures/figure_export.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QPlainTextEdit;
class QScrollArea;
class QStackedWidget;

namespace headwise::ui {

/// Shows the figure as a sheet of paper; at 100 % a millimetre is a millimetre on this screen. For numbers, shows the
/// first lines.
class FigurePreview : public QWidget {
    Q_OBJECT

public:
    explicit FigurePreview(QWidget* parent = nullptr);

    void showFigure(const FigureSource& source, const FigureSettings& settings);
    void forgetSource() { m_source = nullptr; }
    double zoom() const { return m_zoom; } ///< 1: true size.

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void showPicture();
    void showData();
    struct Beginning;
    void showBeginning(const Beginning& text);
    double dotsPerInch() const; ///< Resolution of the screen in device-independent pixels.

    const FigureSource* m_source = nullptr; // valid while the dialog lives
    FigureSettings m_settings;
    double m_zoom = 1;
    QStackedWidget* m_stack;
    QScrollArea* m_scroll;
    QLabel* m_sheet;
    QPlainTextEdit* m_data;
    QLabel* m_state;
    QComboBox* m_fit;
    Job m_reading; // reads the numbers
};

} // namespace headwise::ui
