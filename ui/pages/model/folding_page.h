#pragma once

#include "core/analysis/comparison/head_pair.h"
#include "ui/pages/parts/page.h"

#include <array>

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;

namespace headwise::ui {

class CompareTables;

/// Effect of the processing on the tables: the selected token's row of a full circuit with the weights in use, beside the
/// same row with the ticked steps.
class FoldingPage : public Page {
    Q_OBJECT

public:
    explicit FoldingPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    struct Other;
    struct Answer;
    QWidget* createSteps();
    ProcessingWish wish() const; ///< The ticked steps.
    void tick(const std::array<bool, 4>& on);
    void recompute() override;
    void showAnswer(const Answer& answer);
    void clear(const QString& message);

    std::array<QCheckBox*, 4> m_steps;
    QPushButton* m_use;
    QComboBox* m_circuit;
    QLabel* m_note;
    CompareTables* m_tables;
    Job m_job;
    std::shared_ptr<const Other> m_other; // for the last ticks; null if there is none
    bool m_wasTicked = false;             // true once the user changed a tick
};

} // namespace headwise::ui
