#pragma once

#include "core/analysis/prompt/pattern_file.h"
#include "core/model/forward.h"
#include "ui/pages/parts/page.h"

#include <functional>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace headwise::ui {

class HeadGrid;
class HeatmapPanel;
class PatternGrid;
class PromptText;

/// A prompt through the model: the attention of every head as small multiples and of the selected one large, rows queries, columns
/// keys, and as text, and what each head adds to the logit of the likeliest next token.
class PromptPage : public Page {
    Q_OBJECT

public:
    explicit PromptPage(Workspace* workspace, QWidget* parent = nullptr);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

    /// Shows attention that another program computed for the tokens of the prompt; of a file of one layer, for the selected
    /// head's.
    void importPatterns(const QString& fileName);

signals:
    /// Asks what made the selected head's score of the query with the key, two positions of the prompt.
    void scoreWanted(const QString& prompt, int query, int key);

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Answer;
    void run();       ///< With attention that was imported for this prompt, if there is some.
    void runItself(); ///< Whatever was imported.
    void take(std::shared_ptr<const Answer> answer); ///< Shows it.
    /// Shows what `read` brings in place of the model's own attention.
    void takePatterns(std::function<Result<PatternFile>(const Task&)> read);
    void showKept(); ///< Attention that was imported for these tokens.
    PatternSizes sizes() const;
    std::vector<std::string> shownTokens() const; ///< Tokens of the prompt that was run.
    void createLayout();
    QWidget* createPattern(); ///< The selected head's pattern, as text and as a matrix.
    void connectSignals();
    void connectText();
    void connectScores();               ///< The large pattern's cells to the sources of their scores.
    void askForScore();                 ///< Emits scoreWanted() for the current cell.
    QString placeText(int shown) const; ///< "3 ␣Paris", of a row or column.
    void attribute();                   ///< The last position's logit to the heads.
    void fitColors();                   ///< From 0 to 1 where that is what attention can be.
    void showPatterns();                ///< The patterns of every head, and of the selected one.
    void showPattern();
    Eigen::Index skipped() const; ///< Positions at the beginning that are not shown.
    void chooseFile();            ///< Asks for a file of patterns to import.
    QString measure() const;      ///< "attention", or what it is weighted to.
    QString origin() const;       ///< ", imported from …", or empty.
    void clear();
    void reset();

    QString m_suggested; // what the page itself put into the line
    QLineEdit* m_prompt;
    QPushButton* m_run;
    QPushButton* m_import;
    QCheckBox* m_hidesFirst;
    QCheckBox* m_weighs; // attention by the norm of what it moves
    QLabel* m_summary;
    PatternGrid* m_heads;
    QLabel* m_logit;
    HeadGrid* m_effects;
    Eigen::MatrixXf m_zScores; // [n_layers, n_heads], of the effects among those on all tokens
    PromptText* m_text;
    HeatmapPanel* m_panel;
    QAction* m_askForScore;
    Job m_job;
    Job m_importJob;
    Job m_attribution;
    std::shared_ptr<const Answer> m_answer; // of the last prompt; null if there is none
};

} // namespace headwise::ui
