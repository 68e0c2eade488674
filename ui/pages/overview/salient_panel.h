#pragma once

#include "ui/pages/parts/page.h"

#include <QTimer>

#include <list>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// Strongest effects of the selected head: the tokens that it makes the most of, each with the outputs that they raise.
class SalientPanel : public Page {
    Q_OBJECT

public:
    explicit SalientPanel(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void recompute() override;
    void fitTokens(); ///< The first column.
    void ask();       ///< The question whose head is still selected after a pause.
    bool showTokens(const ResultSet& results,
                    HeadId head); ///< \returns false where they say nothing of that head
    void showAnswer(const ResultSet& found, HeadId head);
    void clear(const QString& message);

    QLabel* m_caption;
    QLabel* m_message;
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
    std::optional<Question> m_asked; // what the job answers, or has answered
    std::list<Answer> m_known;       // the newest first
    QTimer m_pause;
    Job m_job;
};

} // namespace headwise::ui
