#include "core/runs/resume.h"

#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/residual_basis.h"
#include "core/base/log.h"
#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace headwise {

namespace {

using Json = nlohmann::json;

constexpr int leastShareOfWork = 10; // times the last writing

/// [path, bytes, time of the last change] for every file that the weights or the config may come from.
Json filesOf(const std::filesystem::path& model, std::initializer_list<std::string> others)
{
    Json files = Json::array();
    std::error_code code;
    const auto add = [&](const std::filesystem::path& file) {
        std::error_code unknown;
        const auto bytes = std::filesystem::file_size(file, unknown);
        const auto changed = std::filesystem::last_write_time(file, unknown);
        files.push_back({file.string(), bytes, changed.time_since_epoch().count()});
    };
    if (std::filesystem::is_directory(model, code)) {
        for (std::filesystem::directory_iterator entry(model, code), end; !code && entry != end;
             entry.increment(code))
            if (entry->is_regular_file(code))
                add(entry->path());
    } else {
        add(model);
    }
    for (const std::string& file : others)
        if (!file.empty())
            add(file);
    std::sort(files.begin(), files.end()); // a folder lists them as it likes
    return files;
}

std::vector<std::string> dotted(const std::vector<HeadId>& heads)
{
    std::vector<std::string> names;
    names.reserve(heads.size());
    for (const HeadId head : heads)
        names.push_back(dottedHead(head));
    return names;
}

Json inputsOf(const AnalysisInputs& inputs)
{
    Json relations = Json::array();
    for (const Relation& relation : inputs.relations)
        relations.push_back({relation.name, relation.pairs});
    return {{"prompt", inputs.prompt},
            {"query_position", inputs.queryPosition.value_or(-1)},
            {"key_position", inputs.keyPosition.value_or(-1)},
            {"token", inputs.token.value_or(-1)},
            {"key_token", inputs.keyToken.value_or(-1)},
            {"cycle", inputs.cycle},
            {"pair",
             inputs.pair ? dotted({inputs.pair->first, inputs.pair->second}) : std::vector<std::string>()},
            {"direction", inputs.direction},
            {"direction_name", inputs.directionName},
            {"relations", relations},
            {"previous_token_heads", dotted(inputs.previousTokenHeads)},
            {"names", inputs.names},
            {"token_counts", inputs.tokenCounts ? inputs.tokenCounts->fingerprint() : 0},
            {"bigram_counts", inputs.bigramCounts ? inputs.bigramCounts->fingerprint() : 0},
            {"metric", metricName(inputs.metric)},
            {"seed", inputs.seed}};
}

/// The options that do not differ between the shards of one run.
Json optionsJson(const AnalysisOptions& options)
{
    std::vector<std::size_t> unused;
    for (std::size_t id = 0; id < options.unusedTokens.size(); ++id)
        if (options.unusedTokens[id])
            unused.push_back(id);
    return {{"heads", dotted(options.heads)},
            {"one_end", options.oneEndIsEnough},
            {"precision", options.precision == Precision::F64 ? "f64" : "f32"},
            {"table_size", options.tableSize},
            {"unused", unused},
            {"inputs", inputsOf(options.inputs)}};
}

} // namespace

std::string optionsText(const AnalysisOptions& options)
{
    return jsonText(optionsJson(options));
}

std::string runQuestion(const ProcessedWeights& weights, const std::string& configFile,
                        const AnalysisOptions& options, const std::string& namesFile)
{
    Json question = optionsJson(options);
    const WeightMap& file = weights.original().file();
    const std::string base = file.changes().empty() ? std::string() : file.firstFile().string();
    question["files"] = filesOf(file.path(), {configFile, namesFile, base});
    if (options.share)
        question["share"] = dotted(*options.share);
    return jsonText(question);
}

Resume::Resume(RunStore& store, std::string question, Duration leastPause)
    : m_store(store)
    , m_question(std::move(question))
    , m_leastPause(leastPause)
    , m_nextWriting(std::chrono::steady_clock::now() + leastPause)
{
}

std::string Resume::record() const
{
    Json parts = Json::object();
    for (const auto& [id, part] : m_parts)
        parts[id] = {{"arrays", part.arrays}, {"groups", part.groups}, {"warnings", part.warnings}};
    return jsonText(Json{{"question", m_question}, {"analyses", parts}});
}

bool Resume::readRecord(const std::string& record)
{
    try {
        const Json read = jsonValue(record);
        if (read.at("question").get<std::string>() != m_question)
            return false;
        std::map<std::string, Part> parts;
        for (const auto& [id, part] : read.at("analyses").items())
            parts[id] = {part.at("arrays"), part.at("groups"), part.at("warnings")};
        m_parts = std::move(parts);
        return true;
    } catch (const Json::exception&) {
        return false; // written by something else: nothing is taken up
    }
}

std::vector<std::string> Resume::takeUp(const Task& task)
{
    std::optional<RunStore::Kept> kept = m_store.read(task);
    if (!kept)
        return {};
    if (!readRecord(kept->record)) {
        logInfo("an interrupted earlier run had other inputs and is not resumed");
        return {};
    }
    m_taken = std::move(kept->results);
    std::vector<std::string> ids;
    ids.reserve(m_parts.size());
    for (const auto& [id, part] : m_parts)
        ids.push_back(id);
    return ids;
}

std::optional<ResultSet> Resume::take(const Analysis& analysis)
{
    const auto known = m_parts.find(std::string(analysis.id));
    if (known == m_parts.end())
        return std::nullopt;
    ResultSet found;
    for (const std::string& path : known->second.arrays) {
        const ResultArray* array = m_taken.find(path);
        if (!array)
            return std::nullopt;
        found.arrays.push_back(*array);
    }
    for (const std::string& group : known->second.groups)
        if (const auto values = m_taken.groupAttributes.find(group); values != m_taken.groupAttributes.end())
            found.groupAttributes.insert(*values);
    found.warnings = known->second.warnings;
    return found;
}

void Resume::add(const Analysis& analysis, const ResultSet& found)
{
    Part part;
    for (const ResultArray& array : found.arrays)
        part.arrays.push_back(array.path);
    for (const auto& [group, values] : found.groupAttributes)
        part.groups.push_back(group);
    part.warnings = found.warnings;
    m_parts[std::string(analysis.id)] = std::move(part);
}

void Resume::save(ResultSet& all, const Task& task)
{
    m_taken = {}; // `all` has it
    const auto begin = std::chrono::steady_clock::now();
    if (begin < m_nextWriting)
        return;
    const Result<Done> written = m_store.write(all, record(), task);
    const auto end = std::chrono::steady_clock::now();
    m_nextWriting = end + std::max<Duration>(m_leastPause, leastShareOfWork * (end - begin));
    if (!written)
        logWarning("a killed run will have to start over: " + written.error().message);
}

} // namespace headwise
