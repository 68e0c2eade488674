#pragma once

#include "core/runs/queue.h"
#include "ui/base/job.h"

#include <QObject>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace headwise::ui {

class Workspace;

/// Heads that an analysis is asked about.
struct HeadChoice {
    enum class Which { All, Selected, Listed };
    Which which = Which::All;
    std::vector<HeadId> listed = {}; ///< In order, each once.

    bool operator==(const HeadChoice&) const = default;
};

/// The analyses of the open model: inputs and heads they are asked about, those that wait, the one that runs.
class Runs : public QObject {
    Q_OBJECT

public:
    explicit Runs(Workspace* workspace);

    enum class Asker { User, Page };
    /// Queues an analysis of the catalogue behind those asked for earlier and before the default ones. Results that a page asks
    /// for on its own do not count as unsaved.
    void runAnalysis(std::string_view id, Asker asker = Asker::User);
    bool isUnderWay(std::string_view id) const;                                      ///< Running or waiting.
    const std::deque<const Analysis*>& waiting() const { return m_queue.waiting(); } ///< The next first.
    void removeWaiting(const Analysis& analysis);
    RunStatus status() const { return m_queue.status(); } ///< Progress of all that are under way.
    Job* job() { return &m_job; }                         ///< Runs one analysis after another.

    /// Inputs that analyses need besides the weights. Token, tokenizer and pair are those of the selection.
    AnalysisInputs inputs() const;
    void setInputs(const AnalysisInputs& inputs);
    AnalysisOptions analysisOptions() const; ///< For everything run from here, about all heads.
    AnalysisOptions analysisOptions(const Analysis& analysis) const; ///< About the heads chosen for it.
    /// Heads chosen last for the analysis. Default: all, or the selected one if the analysis cannot take all.
    HeadChoice headChoice(const Analysis& analysis) const;
    void setHeadChoice(const Analysis& analysis, const HeadChoice& choice);
    using HeadChoices = std::map<std::string, HeadChoice, std::less<>>; ///< By the id of an analysis.
    const HeadChoices& headChoices() const { return m_headChoices; }
    /// Options the results of an analysis were computed with; none if they came with a session or do not exist.
    std::optional<AnalysisOptions> askedWith(std::string_view id) const;
    std::optional<AnalysisInputs> inputsOf(std::string_view id) const; ///< The inputs in askedWith().

    // For the workspace, when the model or the tokens in use change.

    void clearWaiting() { m_queue.clear(); } ///< Without a signal.
    void queueDefaults();                    ///< Queues the default analyses whose results are missing.
    void queueOtherwiseFiltered();           ///< Queues default results that were computed with other tokens.
    void runNext();                          ///< Starts the next one if it can begin and none runs.
    void stop();                             ///< Cancels everything.
    void forgetAnswers();                    ///< Forgets the options in askedWith().
    void forget();                           ///< Forgets inputs, head choices and answers, without a signal.
    void copyFrom(const Runs& other);        ///< Inputs, head choices and answers.

signals:
    void progressed();     ///< Another status().
    void waitingChanged(); ///< The list of analyses that have not begun.
    void inputsChanged();  ///< Inputs or head choices.
    void countsChanged();  ///< The counts of tokens among the inputs; after inputsChanged().
    void failed(const QString& message);

private:
    void start(const Analysis& analysis, const AnalysisOptions& options);
    /// Takes in the results of an analysis, in place of what it found before.
    void keep(const Analysis& analysis, ResultSet found);
    bool isRunning(const Analysis& analysis) const;
    double flopsOf(const Analysis& analysis) const;

    Workspace* m_workspace;
    AnalysisInputs m_inputs; // without those of the selection
    HeadChoices m_headChoices;
    std::map<std::string, AnalysisOptions, std::less<>> m_askedWith; // of results, by the id of the analysis
    std::set<const Analysis*> m_asked; // by the user, of those waiting or running
    RunQueue m_queue;
    AnalysisOptions m_runningWith; // while one runs
    Job m_job;
};

} // namespace headwise::ui
