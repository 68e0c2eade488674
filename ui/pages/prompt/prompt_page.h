#pragma once

#include "core/analysis/prompt/pattern_file.h"
#include "ui/pages/parts/page.h"

#include <functional>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace headwise::ui {

class HeadPattern;
class LogitEffects;
class PatternGrid;
struct PromptAnswer;

/// Runs a prompt through the model. Shows the attention of every head as small multiples, that of the selected head large
/// (rows queries, columns keys) and as text, and each head's contribution to the logit of the most likely next token.
class PromptPage : public Page {
    Q_OBJECT

public:
    explicit PromptPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);
    static std::vector<ConfigField> neededFields(); ///< The fields of the config that it depends on.

    ViewFields viewFields() override;
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
    void run();       ///< Uses attention imported for this prompt, if there is any.
    void runItself(); ///< Ignores imported attention.
    void take(std::shared_ptr<const PromptAnswer> answer); ///< Displays an answer.
    /// Shows the result of `read` instead of the model's own attention.
    void takePatterns(std::function<Result<PatternFile>(const Task&)> read);
    void showKept(); ///< Shows attention imported earlier for these tokens.
    PatternSizes sizes() const;
    std::vector<std::string> shownTokens() const; ///< Tokens of the last run.
    void createLayout();
    void connectSignals();
    void fitColors();    ///< Fits the scale to 0 … 1 for plain attention.
    void showPatterns(); ///< The patterns of every head, and of the selected one.
    void showPattern();
    int skipped() const; ///< Number of first positions hidden.
    void chooseFile();   ///< Asks for a file of patterns to import.
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
    LogitEffects* m_effects;
    HeadPattern* m_pattern;
    Job m_job;
    Job m_importJob;
    std::shared_ptr<const PromptAnswer> m_answer; // for the last prompt; null if there is none
};

} // namespace headwise::ui
