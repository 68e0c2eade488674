#pragma once

#include "ui/figures/figure_export.h"

#include <QWidget>

class QCheckBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QListWidget;

namespace headwise::ui {

/// Edits the words of one figure, the series it shows and the points it labels. Offers only what the figure has.
class EditsEditor : public QWidget {
    Q_OBJECT

public:
    EditsEditor(const FigureSource& source, const FigureEdits& edits, QWidget* parent);

    FigureEdits edits() const; ///< Without a caption, which the dialog has. Empty where nothing was changed.
    void setEdits(const FigureEdits& edits); ///< Shows them, without edited().
    void setAutomatic();                     ///< Sets the automatic words.
    void moveSeries(int rows);               ///< Moves the current series up (−1) or down (1).

signals:
    void edited();

private:
    void addWords(QFormLayout* form);
    void addSeries(QFormLayout* form);
    void addPoints(QFormLayout* form);
    void showSeries(const FigureEdits& edits);
    void checkLabels(); ///< Says which labels no point has.
    QStringList chosenLabels() const;

    QString m_automaticTitle;
    FigureParts m_parts;
    QLineEdit* m_title;
    QLineEdit* m_valueTitle;
    QListWidget* m_series;
    QLineEdit* m_labels;
    QLabel* m_unknown;
    QCheckBox* m_selection;
};

} // namespace headwise::ui
