#pragma once

#include "core/analysis/catalogue.h"
#include "core/model/processing.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headwise {

/// A place for the results of an unfinished run, which outlives the program.
class RunStore {
public:
    RunStore() = default;
    RunStore(const RunStore&) = delete;
    RunStore& operator=(const RunStore&) = delete;
    virtual ~RunStore() = default;

    struct Kept {
        ResultSet results;
        std::string record; ///< As it was given to write().
    };
    /// Results that an earlier run left; none if there are none or they belong to another model or processing.
    virtual std::optional<Kept> read(const Task& task) = 0;
    /// \param results may be lent to the writer; they are the same afterwards
    virtual Result<Done> write(ResultSet& results, const std::string& record, const Task& task) = 0;
};

/// Lets a run that was killed continue where it stopped: keeps the finished analyses in a store, with a record of which
/// arrays belong to which analysis and of the question they answer.
class Resume {
public:
    using Duration = std::chrono::steady_clock::duration;

    /// \param question    everything the results depend on; results of another question are not taken up
    /// \param leastPause  between two writings
    Resume(RunStore& store, std::string question, Duration leastPause = std::chrono::seconds(2));

    /// Reads the results that an earlier run left.
    /// \returns the ids of the analyses that need not run again
    std::vector<std::string> takeUp(const Task& task);
    /// Results of `analysis` that an earlier run left.
    std::optional<ResultSet> take(const Analysis& analysis);

    /// Records the results of an analysis, before they are merged with the rest.
    void add(const Analysis& analysis, const ResultSet& found);
    /// Stores everything found so far, if the last writing is long enough ago; takes at most a tenth of the time.
    void save(ResultSet& all, const Task& task);
    /// The analyses so far and the question they answer, as a store keeps it beside the results.
    std::string record() const;

private:
    struct Part {
        std::vector<std::string> arrays; // paths, in their order
        std::vector<std::string> groups; // with attributes
        std::vector<std::string> warnings;
    };
    bool readRecord(const std::string& record);

    RunStore& m_store;
    std::string m_question;
    Duration m_leastPause;
    std::map<std::string, Part> m_parts; // by the id of the analysis
    ResultSet m_taken;
    std::chrono::steady_clock::time_point m_nextWriting;
};

/// The options of a run as text, without those that only one shard has.
std::string optionsText(const AnalysisOptions& options);

/// Everything the results of a run depend on besides its model and processing, as text: the model's files with their sizes and
/// times, the options.
/// \param configFile  the file named by --config; empty without one
/// \param namesFile   the file named by --names; empty without one
std::string runQuestion(const ProcessedWeights& weights, const std::string& configFile,
                        const AnalysisOptions& options, const std::string& namesFile = {});

} // namespace headwise
