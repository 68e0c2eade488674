#pragma once

#include "ui/figures/figure_export.h"

#include <QUndoStack>
#include <QWidget>

#include <functional>

namespace headwise::ui {

/// State of the export dialog that undo restores.
struct ExportState {
    FigureSettings settings;
    QString preset;
    double presetHeight = 0, fittedHeight = 0; ///< mm

    bool operator==(const ExportState&) const = default;
};

/// Undo in the export dialog: one history of all its settings, including the text in its fields.
class ExportHistory : public QObject {
public:
    /// Starts with the current state of the dialog. Its controls must exist.
    /// \param state  returns what the dialog shows
    /// \param show  shows another state
    ExportHistory(QWidget* dialog, std::function<ExportState()> state,
                  std::function<void(const ExportState&)> show);

    void noteChange(); ///< Adds the change since the last call.
    /// Runs a change that undo must not reverse.
    void pass(const std::function<void()>& change);

    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    class Change;

    QWidget* m_dialog;
    std::function<ExportState()> m_state;
    std::function<void(const ExportState&)> m_show;
    QUndoStack m_stack;
    ExportState m_shown; // after the last change
    bool m_isPassing = false;
};

} // namespace headwise::ui
