#pragma once

#include "ui/pages/page.h"

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// What the selected head does most: the tokens that it makes the most of, each with the outputs that they raise.
class SalientPanel : public Page {
    Q_OBJECT

public:
    explicit SalientPanel(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

private:
    void recompute() override;
    bool showTokens(const ResultSet& results,
                    HeadId head); ///< \returns false where they say nothing of that head
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
    std::optional<Question> m_asked; // what the job answers, or has answered
    Job m_job;
};

} // namespace headwise::ui
