#pragma once

#include "core/circuits/position_scores.h"
#include "ui/pages/parts/page.h"

class QCheckBox;
class QComboBox;
class QLabel;

namespace headwise::ui {

class OffsetTable;
class PicturePanel;

/// Attention of the selected head by position alone: the score at every offset. For learned positions also the whole
/// table of query and key positions, as scores or attention; for rotary ones the energy of every frequency and the keys
/// at the selected offset.
class PositionPage : public Page {
    Q_OBJECT

public:
    explicit PositionPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);
    static std::vector<ConfigField> neededFields(); ///< The fields of the config that it depends on.

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    struct Answer;
    struct Question;
    static Result<Answer> answerTo(const Question& question, const Task& task);
    void recompute() override;
    void showAnswer(const Answer& answer);
    QWidget* createMap();
    void showMap(const Answer& answer);
    QString words(const Answer& answer) const;
    bool showsAttention() const;
    void showEnergies(const Answer& answer);
    void clear(const QString& message);

    QLabel* m_explanation;
    QComboBox* m_shown; // scores or attention
    QCheckBox* m_mask;
    PicturePanel* m_kernel;
    PicturePanel* m_energies; // for rotary frequencies
    PicturePanel* m_map;      // for learned positions
    OffsetTable* m_offsets;   // for rotary positions
    Job m_job;
};

} // namespace headwise::ui
