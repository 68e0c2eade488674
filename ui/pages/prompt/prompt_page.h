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

/// Runs a prompt through the model. Shows the attention of every head as small multiples, that of the selected head large
/// (rows queries, columns keys) and as text, and each head's contribution to the logit of the most likely next token.
class PromptPage : public Page {
    Q_OBJECT

public:
    explicit PromptPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);
    static std::vector<ConfigField> neededFields(); ///< The fields of the config that it depends on.

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

    /// Shows attention that another program computed for the tokens of the prompt. A file with one layer applies to the
    /// selected head's.
    void importPatterns(const QString& fileName);

signals:
    /// Requests the sources of the selected head's score at two positions of the prompt.
    void scoreWanted(const QString& prompt, int query, int key);

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Answer;
    void run();       ///< Uses attention imported for this prompt, if there is any.
    void runItself(); ///< Ignores imported attention.
    void take(std::shared_ptr<const Answer> answer); ///< Displays an answer.
    /// Shows the result of `read` instead of the model's own attention.
    void takePatterns(std::function<Result<PatternFile>(const Task&)> read);
    void showKept(); ///< Shows attention imported earlier for these tokens.
    PatternSizes sizes() const;
    std::vector<std::string> shownTokens() const; ///< Tokens of the last run.
    void createLayout();
    QWidget* createPattern(); ///< Makes the selected head's pattern, as text and as a matrix.
    void connectSignals();
    void connectText();
    /// Connects the large pattern's cells to the sources of their scores.
    void connectScores();
    void askForScore();                 ///< Emits scoreWanted() for the current cell.
    QString placeText(int shown) const; ///< "3 ␣Paris", for a row or column.
    std::optional<int> tokenOf(int shown) const;
    void attribute();    ///< Attributes the last position's logit to the heads.
    void fitColors();    ///< Fits the scale to 0 … 1 for plain attention.
    void showPatterns(); ///< The patterns of every head, and of the selected one.
    void showPattern();
    Eigen::Index skipped() const; ///< Number of first positions hidden.
    void chooseFile();            ///< Asks for a file of patterns to import.
    QString measure() const;      ///< "attention", or its weighted form.
    QString origin() const;       ///< ", imported from …", or empty.
    void clear();
    void reset();

    QString m_suggested; // text that the page itself suggested
    QLineEdit* m_prompt;
    QPushButton* m_run;
    QPushButton* m_import;
    QCheckBox* m_hidesFirst;
    QCheckBox* m_weighs; // weights attention by the norm of the moved values
    QLabel* m_summary;
    PatternGrid* m_heads;
    QLabel* m_logit;
    HeadGrid* m_effects;
    Eigen::MatrixXf m_zScores; // [n_layers, n_heads], of the effects on the target among those on all tokens
    PromptText* m_text;
    HeatmapPanel* m_panel;
    QAction* m_askForScore;
    Job m_job;
    Job m_importJob;
    Job m_attribution;
    std::shared_ptr<const Answer> m_answer; // for the last prompt; null if there is none
};

} // namespace headwise::ui
