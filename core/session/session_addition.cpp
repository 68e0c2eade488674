#include "core/session/session_addition.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <sys/stat.h>

namespace headwise {

namespace {

/// Tells whether two checkpoints hold the same bytes in the same tensors. Cost: reads both, up to the first difference.
bool haveSameWeights(const std::string& mine, const std::string& other)
{
    const auto a = WeightMap::open(mine), b = WeightMap::open(other);
    if (!a || !b || a->tensors().size() != b->tensors().size())
        return false;
    for (int i = 0; i < static_cast<int>(a->tensors().size()); ++i) {
        const auto left = a->bytes(i), right = b->bytes(i);
        if (a->tensors()[i].name != b->tensors()[i].name || left.size() != right.size()
            || !std::equal(left.begin(), left.end(), right.begin()))
            return false;
    }
    return true;
}

bool isSameModel(const ModelCard& stored, const ModelCard& run)
{
    ModelCard moved = stored; // a model may be renamed or moved
    moved.source = run.source;
    moved.name = run.name;
    return moved == run;
}

/// Tells whether the run states fields that no file stated when the session was made, and nothing else differs. No stored number
/// depends on them. Cost: reads the headers of the run's model.
bool onlyStatesMore(const Session& stored, const Session& run)
{
    if (stored.configFile != run.configFile || stored.overrides == run.overrides)
        return false;
    ModelSource before = modelSource(stored);
    before.path = run.model.source;
    const ModelSource now = modelSource(run);
    const auto isKept = [&](const auto& said) {
        const auto found = now.overrides.find(said.first);
        return found != now.overrides.end() && found->second == said.second;
    };
    const auto model = readModelConfig(before);
    if (!model || !std::all_of(before.overrides.begin(), before.overrides.end(), isKept))
        return false;
    const std::vector<UnknownField>& unknown = model->config.unknown;
    return std::all_of(now.overrides.begin(), now.overrides.end(), [&](const auto& said) {
        return before.overrides.contains(said.first)
            || std::any_of(unknown.begin(), unknown.end(),
                           [&](const UnknownField& field) { return field.key == said.first; });
    });
}

/// Groups whose number type follows --precision in every analysis.
constexpr std::array<std::string_view, 4> precisionRoots = {"spectra/", "eigenvalues/", "composition/",
                                                            "factors/"};

bool hasOtherPrecision(const ResultSet& results, Precision precision)
{
    return std::any_of(results.arrays.begin(), results.arrays.end(), [&](const ResultArray& array) {
        const bool follows = std::any_of(precisionRoots.begin(), precisionRoots.end(),
                                         [&](std::string_view root) { return array.path.starts_with(root); });
        const bool isDouble = std::holds_alternative<std::vector<double>>(array.values)
            || std::holds_alternative<std::vector<std::complex<double>>>(array.values);
        return follows && isDouble != (precision == Precision::F64);
    });
}

/// Returns the group that is replaced as a whole: "analyses/NAME/" or "tables/CIRCUIT/"; empty for every other path.
std::string unitOf(const std::string& path)
{
    if (!path.starts_with("analyses/") && !path.starts_with("tables/"))
        return {};
    return path.substr(0, path.find('/', path.find('/') + 1) + 1);
}

} // namespace

bool isAnotherCheckpoint(const ModelCard& stored, const ModelCard& run)
{
    std::error_code code;
    if (stored.source == run.source || !std::filesystem::exists(stored.source, code)
        || std::filesystem::equivalent(stored.source, run.source, code))
        return false;
    return !haveSameWeights(stored.source, run.source);
}

std::string whyNotAdded(const Session& stored, const Session& run, Precision precision)
{
    const bool statesMore = onlyStatesMore(stored, run);
    ModelCard card = stored.model;
    if (statesMore) {
        card.nCtx = run.model.nCtx;
        card.positional = run.model.positional;
    }
    if (!isSameModel(card, run.model))
        return "is about another model, '" + stored.model.name + "' (" + stored.model.architecture
            + ", from '" + stored.model.source + "')";
    if (stored.part != run.part)
        return stored.part ? "is part " + shardName(stored.part->shard) + " of a sharded run"
                           : std::string("is not part of a sharded run");
    if (stored.namesFile != run.namesFile)
        return "was computed with another --names option";
    if (stored.adapterBase != run.adapterBase)
        return "was computed with another --base option";
    if (!statesMore && (stored.overrides != run.overrides || stored.configFile != run.configFile))
        return "was computed with other --set or --config options";
    if (stored.processing != run.processing)
        return "was computed with other processing switches";
    if (stored.embedding != run.embedding)
        return "was computed with --embedding " + stored.embedding;
    if (hasOtherPrecision(stored.results, precision))
        return std::string("was computed with --precision ") + (precision == Precision::F64 ? "f32" : "f64");
    if (!stored.tokens.empty() && !run.tokens.empty() && stored.tokenBytes != run.tokenBytes)
        return "has the tokens of another tokenizer";
    if (isAnotherCheckpoint(stored.model, run.model))
        return "is about other weights of the same shape, those of '" + stored.model.source + "'";
    return {};
}

std::filesystem::path changedSince(const Session& stored, const WeightMap& weights)
{
    if (stored.created.empty()) // not written yet
        return {};
    std::vector<std::filesystem::path> files;
    for (int i = 0; i < static_cast<int>(weights.tensors().size()); ++i)
        files.push_back(weights.fileOf(i));
    if (!weights.changes().empty())
        files.push_back(weights.changes().begin()->second.adapter->firstFile());
    for (const std::filesystem::path& file : files) {
        struct stat status { };
        std::tm parts{};
        char text[32];
        if (::stat(file.c_str(), &status) != 0 || !gmtime_r(&status.st_mtime, &parts))
            continue;
        // Both are UTC to the second in ISO 8601, so alphabetical order is order in time.
        const std::string time(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
        if (time > stored.created)
            return file;
    }
    return {};
}

Session added(Session stored, Session run)
{
    std::set<std::string> units;
    for (const ResultArray& array : run.results.arrays)
        units.insert(unitOf(array.path));
    units.erase(std::string());
    std::erase_if(stored.results.arrays,
                  [&](const ResultArray& array) { return units.contains(unitOf(array.path)); });
    std::erase_if(stored.results.groupAttributes,
                  [&](const auto& group) { return units.contains(unitOf(group.first + "/")); });
    stored.results.merge(std::move(run.results));
    run.results = std::move(stored.results);
    run.created = std::move(stored.created);
    run.notes = std::move(stored.notes);
    run.bookmarks = std::move(stored.bookmarks);
    run.view = std::move(stored.view);
    run.figures = std::move(stored.figures);
    run.screen = std::move(stored.screen);
    if (run.tokens.empty()) {
        run.tokens = std::move(stored.tokens);
        run.tokenBytes = std::move(stored.tokenBytes);
    }
    for (std::string& warning : stored.warnings)
        if (std::find(run.warnings.begin(), run.warnings.end(), warning) == run.warnings.end())
            run.warnings.push_back(std::move(warning));
    return run;
}

} // namespace headwise
