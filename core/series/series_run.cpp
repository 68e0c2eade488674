#include "core/series/series_run.h"

#include "core/checkpoint/file_change.h"
#include "core/runs/queue.h"
#include "core/runs/ranks.h"
#include "core/series/safe_keeping.h"
#include "core/series/series_changes.h"
#include "core/series/series_record.h"
#include "core/series/series_survey.h"
#include "core/series/subspace_overlap.h"
#include "core/series/vector_tracks.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <system_error>

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr double mostInductionFlops = 2e12; // of a member: half a minute on two cores

bool givesNumbersPerHead(const Analysis& analysis)
{
    return std::ranges::any_of(analysis.arrays, isKeptInSeries);
}

Result<std::vector<const Analysis*>> chosenAnalyses(const SeriesRequest& request, const ModelConfig& config,
                                                    const AnalysisOptions& options)
{
    if (!request.analyses)
        return defaultSeriesAnalyses(config, options);
    for (const Analysis* analysis : *request.analyses)
        if (!givesNumbersPerHead(*analysis))
            request.say(leftOutWarning(*analysis, "It gives no number per head."));
    std::vector<const Analysis*> chosen = *request.analyses;
    std::erase_if(chosen, [](const Analysis* analysis) { return !givesNumbersPerHead(*analysis); });
    if (chosen.empty())
        return Error{
            ErrorCode::InvalidArgument,
            "None of these analyses gives numbers per head, so there is nothing to follow through training."};
    return chosen;
}

std::string questionOf(const std::vector<const Analysis*>& analyses, const std::string& options)
{
    std::string question;
    for (const Analysis* analysis : analyses)
        question += (question.empty() ? "" : ",") + std::string(analysis->id);
    return question + " " + options;
}

std::string pathOf(const SeriesMember& member)
{
    std::error_code code;
    return fs::absolute(member.path, code).lexically_normal().string();
}

/// Adds sentences that are not there yet.
void addWarnings(std::vector<std::string>& all, const std::vector<std::string>& more)
{
    for (const std::string& sentence : more)
        if (std::ranges::find(all, sentence) == all.end())
            all.push_back(sentence);
}

/// Says why a record does not answer the question of a run; empty if it does. \param part  that the record should be
std::string whyAnother(const SeriesRecord& stored, const SeriesRecord& run,
                       const std::optional<SessionPart>& part)
{
    if (!(ModelShape(stored.frame.model) == ModelShape(run.frame.model)))
        return "is about models of another shape";
    if (stored.frame.part != part)
        return stored.frame.part ? "is part " + shardName(stored.frame.part->shard) + " of a sharded run"
                                 : "is not a part of this sharded run";
    if (stored.question != run.question || stored.frame.processing != run.frame.processing)
        return "was computed with other analyses or options";
    return {};
}

/// Returns the numbers that an earlier run left: those so far of a killed one, else those of the file.
/// Errors: InvalidArgument if the file is another series; those of readSeries.
Result<std::vector<SeriesEntry>> storedEntries(const SeriesRequest& request, SeriesRecord& run,
                                               const fs::path& sideFile, const Task& task)
{
    const Task quiet{task.stop, {}, task.threads};
    std::error_code code;
    if (fs::exists(sideFile, code)) {
        Result<SeriesRecord> left = readSeriesRecord(sideFile, quiet);
        if (left && whyAnother(*left, run, run.frame.part).empty()) {
            addWarnings(run.frame.warnings, left->frame.warnings);
            SeriesRecord record = std::move(left).value();
            return std::move(record.entries);
        }
    }
    if (request.replace || !fs::is_regular_file(request.output, code)
        || fs::file_size(request.output, code) == 0)
        return std::vector<SeriesEntry>();
    Result<SeriesRecord> stored = readSeriesRecord(request.output, quiet);
    if (!stored)
        return Error{stored.error().code, stored.error().message + " To overwrite it, pass --replace."};
    const auto part = request.isJoined ? std::nullopt : run.frame.part;
    if (const std::string why = whyAnother(*stored, run, part); !why.empty())
        return Error{ErrorCode::InvalidArgument,
                     "The series '" + request.output.string() + "' " + why
                         + "; name another output file, or pass --replace to start it over."};
    addWarnings(run.frame.warnings, stored->frame.warnings);
    run.frame.created = stored->frame.created;
    SeriesRecord record = std::move(stored).value();
    return std::move(record.entries);
}

/// One run: the members that this process computes, and the record that grows.
class SeriesRun {
public:
    SeriesRun(const SeriesRequest& request, const Survey& survey)
        : m_request(request)
        , m_survey(survey)
        , m_keeping(request.isJoined ? rankSession(request.output, *request.shard) : request.output)
    {
    }

    /// Everything before the first member is computed.
    Result<Done> check(const Task& task)
    {
        const auto prepared = prepare(task);
        return prepared ? takeUp(task) : prepared;
    }

    Result<SeriesOutcome> run(const Task& task)
    {
        if (const auto checked = check(task); !checked)
            return checked.error();
        announce(task);
        for (std::size_t i = 0; i < m_waiting.size(); ++i) {
            const auto computed = compute(m_waiting[i], i, task);
            if (!computed) {
                m_keeping.keepNow(m_record);
                return computed.error();
            }
            m_keeping.keep(m_record, task);
        }
        if (!m_record.frame.part) { // else mergeSeries() sees to it
            if (const auto good = checkAnyGood(m_record); !good)
                return good.error();
            m_record.changes = changesOf(m_record);
        }
        const fs::path& file = m_request.isJoined ? m_keeping.file() : m_request.output;
        if (const auto written = writeSeriesRecord(file, m_record, task); !written)
            return written.error();
        if (!m_request.isJoined)
            m_keeping.remove();
        const int computed = static_cast<int>(m_waiting.size() - m_reused.size());
        const int kept = static_cast<int>(m_record.entries.size()) - computed;
        return SeriesOutcome{seriesOf(std::move(m_record)), computed, kept};
    }

private:
    /// Prepares the member that stands for all and fixes the question.
    Result<Done> prepare(const Task& task)
    {
        const SeriesMember& member = m_survey.reference();
        const auto model = opened(member, task);
        if (!model)
            return model.error();
        const ModelConfig& config = model->weights->config();
        auto chosen = chosenAnalyses(m_request, config, model->options);
        if (!chosen)
            return chosen.error();
        m_analyses = std::move(chosen).value();
        m_record.frame = makeSession(*model->weights, embeddingName(model->options.embedding), nullptr, {});
        m_record.frame.model.name = m_request.series.name;
        m_record.frame.warnings.clear();
        addWarnings(m_record.frame.warnings, model->weights->original().warnings());
        addWarnings(m_record.frame.warnings, model->weights->plan().warnings);
        for (const std::string& sentence : m_record.frame.warnings)
            m_request.say(sentence);
        m_record.question = questionOf(m_analyses, m_request.options);
        if (m_request.shard)
            m_record.frame.part = SessionPart{*m_request.shard, runDigest(m_analyses, model->options), {}};
        m_estimate = estimateRun(m_analyses, config, model->options);
        return Done{};
    }

    Result<SeriesModel> opened(const SeriesMember& member, const Task& task) const
    {
        auto weights = m_request.open(member, task);
        if (!weights)
            return weights.error();
        return m_request.prepare(member, std::move(weights).value(), task);
    }

    /// Sorts the members into those whose numbers are stored and those that wait.
    Result<Done> takeUp(const Task& task)
    {
        const Shard shard = m_request.shard.value_or(Shard{});
        auto stored = storedEntries(m_request, m_record, m_keeping.file(), task);
        if (!stored)
            return stored.error();
        m_record.entries = std::move(stored).value();
        const std::size_t found = m_record.entries.size();
        std::vector<SeriesEntry>& entries = m_record.entries;
        const auto& members = m_request.series.members;
        if (m_request.shard)
            std::erase_if(entries, [&](const SeriesEntry& entry) { return !isOfShard(entry, shard); });
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (static_cast<int>(i) % shard.count != shard.index - 1)
                continue;
            const std::string files = filesOfMember(members[i]);
            const auto same = std::ranges::find(entries, members[i].step, &SeriesEntry::step);
            const bool isKnown = same != entries.end() && same->name == members[i].name
                && same->files == files && same->problem.empty();
            if (isKnown)
                same->path = pathOf(members[i]); // the folder may have moved
            if (isKnown && same->previous == previousOf(i) && (same->previous.empty() || isFollowed(*same)))
                continue;
            if (isKnown)
                m_reused[i] = withoutOverlaps(std::move(same->arrays));
            if (same != entries.end())
                entries.erase(same);
            m_waiting.push_back(i);
        }
        if (found > 0) {
            const std::size_t left = m_waiting.size() - m_reused.size();
            m_request.say(fmt::format("{} of {} members are there already; {} left to compute.",
                                      entries.size() + m_reused.size(), entries.size() + m_waiting.size(),
                                      left));
        }
        if (entries.empty() && m_waiting.empty())
            return Error{
                ErrorCode::InvalidArgument,
                fmt::format("There are {} members, so part {} has none.", members.size(), shardName(shard))};
        return Done{};
    }

    /// A member that was added since may have moved others to another part. The first of several processes keeps those that are gone.
    bool isOfShard(const SeriesEntry& entry, const Shard& shard) const
    {
        const auto& members = m_request.series.members;
        const auto found = std::ranges::find(members, entry.step, &SeriesMember::step);
        if (found == members.end())
            return m_request.isJoined && shard.index == 1;
        return static_cast<int>(found - members.begin()) % shard.count == shard.index - 1;
    }

    /// Tells whether single vectors are compared too; the first files did not.
    static bool isFollowed(const SeriesEntry& entry)
    {
        return std::ranges::any_of(entry.arrays, isVectorOverlap);
    }

    /// Text that tells whether the member before is still the one that the subspaces were compared with.
    std::string previousOf(std::size_t index) const
    {
        const bool isCompared = std::ranges::any_of(m_analyses, [](const Analysis* analysis) {
            return std::ranges::any_of(analysis->arrays,
                                       [](const ArraySpec& spec) { return isSpectrum(spec); });
        });
        const SeriesMember* previous = isCompared ? m_survey.before(index) : nullptr;
        return previous ? previous->name + ": " + filesOfMember(*previous) : std::string();
    }

    void announce(const Task& task)
    {
        RunEstimate all = m_estimate;
        all.work *= static_cast<double>(m_waiting.size());
        all.longestWork *= static_cast<double>(m_waiting.size());
        if (const std::string notice = longRunNotice(all, coresOf(task.threads)); !notice.empty())
            m_request.say(notice + " Ctrl-C stops it, and the same command resumes it.");
    }

    /// Computes one member and puts it in its place.
    /// Errors: Cancelled
    Result<Done> compute(std::size_t index, std::size_t done, const Task& task)
    {
        const SeriesMember& member = m_request.series.members[index];
        SeriesEntry entry{
            member.step, member.name, filesOfMember(member), previousOf(index), m_survey.problem(index), {}};
        entry.path = pathOf(member);
        if (entry.problem.empty()) {
            Task own = task;
            own.onProgress = [&](int part, int total, std::string_view step) {
                constexpr int parts = 100;
                const int all = static_cast<int>(m_waiting.size()) * parts;
                const int here = total > 0 ? static_cast<int>(std::int64_t(parts) * part / total) : 0;
                task.report(static_cast<int>(done) * parts + here, all,
                            fmt::format("{}: {}", member.name, step));
            };
            auto arrays = arraysOfMember(index, own);
            if (arrays)
                entry.arrays = std::move(arrays).value();
            else if (arrays.error().code == ErrorCode::Cancelled)
                return arrays.error();
            else
                entry.problem = arrays.error().message;
        }
        if (!entry.problem.empty())
            m_request.say(skippedSentence(entry));
        const auto place = std::ranges::lower_bound(m_record.entries, entry.step, {}, &SeriesEntry::step);
        m_record.entries.insert(place, std::move(entry));
        return Done{};
    }

    Result<std::vector<ResultArray>> arraysOfMember(std::size_t index, const Task& task)
    {
        const auto model = opened(m_request.series.members[index], task);
        if (!model)
            return model.error();
        const Circuits circuits(model->weights);
        std::vector<ResultArray> arrays;
        if (const auto known = m_reused.find(index); known != m_reused.end()) {
            arrays = known->second;
        } else {
            const auto results = checkedAnswer(runAnalyses(circuits, m_analyses, model->options, task),
                                               model->weights->original().file());
            if (!results)
                return results.error();
            for (const std::string& sentence : results->warnings)
                if (std::ranges::find(m_record.frame.warnings, sentence) == m_record.frame.warnings.end())
                    m_request.say(sentence);
            addWarnings(m_record.frame.warnings, results->warnings);
            arrays = seriesArrays(*results);
        }
        if (!previousOf(index).empty())
            if (const auto added = addOverlaps(arrays, *m_survey.before(index), circuits, task); !added)
                return added.error();
        return arrays;
    }

    /// Compares with the member before. If that cannot be used after all, the overlaps stay NaN.
    /// Errors: Cancelled
    Result<Done> addOverlaps(std::vector<ResultArray>& arrays, const SeriesMember& previous,
                             const Circuits& circuits, const Task& task) const
    {
        const Task quiet{task.stop, {}, task.threads};
        const auto model = opened(previous, quiet);
        if (!model)
            return model.error().code == ErrorCode::Cancelled ? Result<Done>(model.error()) : Done{};
        auto overlaps = subspaceOverlaps(Circuits(model->weights), circuits, quiet);
        if (!overlaps)
            return overlaps.error().code == ErrorCode::Cancelled ? Result<Done>(overlaps.error()) : Done{};
        std::vector<ResultArray> added = std::move(overlaps).value();
        std::ranges::move(added, std::back_inserter(arrays));
        return Done{};
    }

    const SeriesRequest& m_request;
    const Survey& m_survey;
    SafeKeeping m_keeping;
    SeriesRecord m_record;
    std::vector<const Analysis*> m_analyses;
    RunEstimate m_estimate;             // of one member
    std::vector<std::size_t> m_waiting; // indices of members
    std::map<std::size_t, std::vector<ResultArray>>
        m_reused; // of those that only have another member before them
};

} // namespace

std::vector<const Analysis*> defaultSeriesAnalyses(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<const Analysis*> chosen = defaultAnalyses(config, options);
    std::erase_if(chosen, [](const Analysis* analysis) { return !givesNumbersPerHead(*analysis); });
    const Analysis* induction = findAnalysis("pattern_scores");
    if (induction && whyLeftOut(*induction, config, options).empty()
        && runCost(*induction, config, options).flops <= mostInductionFlops)
        chosen.push_back(induction);
    return chosen;
}

Result<Done> checkSeries(const SeriesRequest& request, const Task& task)
{
    const Result<Survey> survey = surveyOf(request, task);
    if (!survey)
        return survey.error();
    SeriesRequest silent = request;
    silent.say = [](const std::string&) {};
    return SeriesRun(silent, *survey).check(task);
}

Result<SeriesOutcome> computeSeries(const SeriesRequest& request, const Task& task)
{
    for (const std::string& note : request.series.notes)
        request.say(note);
    const Result<Survey> survey = surveyOf(request, task);
    if (!survey)
        return survey.error();
    return SeriesRun(request, *survey).run(task);
}

} // namespace headwise
