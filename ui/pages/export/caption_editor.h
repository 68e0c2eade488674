#pragma once

#include "ui/figures/figure_export.h"

#include <QWidget>

class QPlainTextEdit;

namespace headwise::ui {

/// Edits the caption of a figure. It shows the automatic caption until the user writes another.
class CaptionEditor : public QWidget {
    Q_OBJECT

public:
    /// \param source  Must live as long as the editor is used.
    CaptionEditor(const FigureSource* source, const FigureEdits& edits, QWidget* parent);

    void showCaption(const FigureEdits& edits);
    std::string caption() const; ///< Empty: the automatic one.

signals:
    void edited();
    void copied(const QString& message);

private:
    QString automaticCaption() const;

    const FigureSource* m_source;
    FigureEdits m_edits; // what the automatic caption depends on
    QPlainTextEdit* m_caption;
};

} // namespace headwise::ui
