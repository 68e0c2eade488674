#pragma once

#include "ui/pages/parts/page.h"

#include <memory>
#include <optional>

class QAction;

namespace headwise::ui {

class HeatmapPanel;
class HeatmapView;
class PromptText;
struct PromptAnswer;

/// The selected head's attention to a prompt, large: as a matrix (rows queries, columns keys) and as text.
class HeadPattern : public Page {
    Q_OBJECT

public:
    explicit HeadPattern(Workspace* workspace, QWidget* parent = nullptr);

    HeatmapView* view() const;
    /// \param skipped number of first positions hidden
    void setAnswer(std::shared_ptr<const PromptAnswer> answer, int skipped);
    void clear();
    /// Fits the scale to the numbers; else it is 0 … 1, for plain attention.
    void fitColors(bool toNumbers);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override; ///< The matrix and the text.

signals:
    /// Requests the sources of the selected head's score at two positions of the prompt.
    void scoreWanted(const QString& prompt, int query, int key);

private:
    void createLayout();
    void connectText();
    void connectScores();               ///< Connects the cells to the sources of their scores.
    void askForScore();                 ///< Emits scoreWanted() for the current cell.
    QString placeText(int shown) const; ///< "3 ␣Paris", for a row or column.
    std::optional<int> tokenOf(int shown) const;

    PromptText* m_text;
    HeatmapPanel* m_panel;
    QAction* m_askForScore;
    std::shared_ptr<const PromptAnswer> m_answer; // null if there is none
    int m_skipped = 0;
};

} // namespace headwise::ui
