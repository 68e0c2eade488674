#pragma once

#include "ui/pages/parts/page.h"

#include <QTimer>

#include <list>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class FillButton;
class TableFigure;

/// Strongest effects of the selected head: its salient tokens, each with the outputs they promote most.
class SalientPanel : public Page {
    Q_OBJECT

public:
    explicit SalientPanel(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void recompute() override;
    void fitTokens(); ///< Sizes the first column.
    void ask();       ///< Starts the job for the head that is selected after the pause.
    bool showTokens(const ResultSet& results,
                    HeadId head); ///< \returns false if the results do not cover that head
    void showAnswer(const ResultSet& found, HeadId head);
    void clear(const QString& message);

    QLabel* m_caption;
    QLabel* m_message;
    FillButton* m_fill;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    struct Question {
        std::shared_ptr<const TokenSide> tokens;
        AnalysisOptions options;

        bool operator==(const Question&) const = default;
    };
    struct Answer {
        Question question;
        std::shared_ptr<const ResultSet> found;
    };
    std::optional<Question> m_asked; // the job's current or last question
    std::list<Answer> m_known;       // the newest first
    QTimer m_pause;
    Job m_job;
};

} // namespace headwise::ui
