#pragma once

#include "core/circuits/token_table.h"
#include "ui/pages/parts/page.h"

class QLabel;

namespace headwise::ui {

class FillButton;
class TokenEndsTables;

/// The strongest entries of one token's row or column of a full circuit: what it makes the head attend to or write.
class TokensPanel : public Page, public FigureSource {
    Q_OBJECT

public:
    TokensPanel(Workspace* workspace, CircuitKind kind, QWidget* parent = nullptr);
    ~TokensPanel() override;

    void setKind(CircuitKind kind);
    /// Shows E W_U instead of a head's circuit: what follows a token without any layer.
    void setDirectPath();
    void setSide(TableSide side);
    void setLength(int rows); ///< Number of entries at each end.
    void setCompact(bool on); ///< Shows only tokens and values, and only the largest ones if narrow.
    /// Width in px of one table that cuts off no token of usual length.
    int leastWidth() const;
    void setTerms(const CircuitTerms& terms);
    void setIdsShown(bool on);
    /// Shows the entries of the whole row whose token contains `text`, with their ranks; empty: the ends.
    void setFilter(const QString& text);

    QList<FigureSource*> figures() override;
    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    QStringList omissions(const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

signals:
    void tokenActivated(int token); ///< A row was double-clicked.

private:
    void showColumns();       ///< Shows z-scores for scores, shares for outputs.
    bool showsBiased() const; ///< True if scores with biases are shown beside those without.
    struct Question;
    struct Answer;
    static Result<Answer> answerTo(const Question& question, const Circuits& circuits,
                                   const TokenSide& tokens, const std::vector<bool>& unused);
    void recompute() override;
    const Answer* kept(const Question& question) const;
    void keep(const Question& question, const Answer& answer);
    void show(const Answer& answer);
    void clear(const QString& message);
    QString heading() const; ///< "Outputs when attending to ␣the"
    static Result<RowVector<double>> lineOf(const Question& question, const CircuitTerms& terms,
                                            const Circuits& circuits, const TokenSide& tokens);
    bool hasScores() const; ///< True if rows are judged by z-scores.

    CircuitKind m_kind;
    bool m_isDirect = false; // the direct path; m_kind is then the circuit with the same rows and columns
    TableSide m_side = TableSide::Row;
    int m_length = 30;
    bool m_showsIds = false;
    QString m_filter;
    CircuitTerms m_terms;
    QLabel* m_heading;
    QLabel* m_message;
    FillButton* m_fill;
    TokenEndsTables* m_tables;
    std::vector<std::pair<Question, Answer>> m_answers; // the latest answers, so that going back is instant
    std::size_t m_next = 0;                             // index of the next answer
    Job m_job;
};

} // namespace headwise::ui
