#include "app/commands/command.h"
#include "app/commands/support.h"
#include "core/checkpoint/model_cache.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iostream>

namespace headwise::app {
namespace {

/// Formats "548 MB": three digits and a power of a thousand.
std::string listModelsSize(std::int64_t bytes)
{
    static constexpr std::array<const char*, 6> units{"B", "kB", "MB", "GB", "TB", "PB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.3g} {}", value, units[unit]);
}

/// Formats seconds since 1970 in UTC as ISO 8601. \param format of strftime
std::string utc(std::int64_t seconds, const char* format)
{
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts = {};
    std::array<char, 32> text = {};
    if (!gmtime_r(&time, &parts) || std::strftime(text.data(), text.size(), format, &parts) == 0)
        return {};
    return text.data();
}

void printModelsAsJson(const std::vector<CachedModel>& models)
{
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const CachedModel& model : models) {
        nlohmann::ordered_json revisions = nlohmann::ordered_json::array();
        for (const CachedRevision& revision : model.revisions)
            revisions.push_back({{"commit", revision.commit},
                                 {"refs", revision.refs},
                                 {"bytes", revision.bytes},
                                 {"modified", utc(revision.modified, "%Y-%m-%dT%H:%M:%SZ")},
                                 {"path", revision.folder.string()}});
        list.push_back({{"name", model.name}, {"revisions", std::move(revisions)}});
    }
    printJson({{"cache", modelCacheFolder().string()}, {"models", std::move(list)}});
}

void printModelsAsText(const std::vector<CachedModel>& models)
{
    if (models.empty()) {
        std::cout << "The Hugging Face cache '" << modelCacheFolder().string() << "' holds no models.\n";
        return;
    }
    std::size_t width = 0;
    for (const CachedModel& model : models)
        width = std::max(width, model.name.size());
    for (const CachedModel& model : models)
        for (const CachedRevision& revision : model.revisions)
            std::cout << fmt::format("{:<{}}  {:<12}  {:>8}  {}  {}\n", model.name, width,
                                     revision.commit.substr(0, 12), listModelsSize(revision.bytes),
                                     utc(revision.modified, "%Y-%m-%d"), fmt::join(revision.refs, ", "));
}

} // namespace

void addListModelsCommand(CLI::App& root, CommandContext& context)
{
    auto isJson = std::make_shared<bool>(false);
    CLI::App* command = root.add_subcommand(
        "list-models",
        "Lists the models in the Hugging Face cache with their revisions and sizes; nothing is downloaded");
    command->add_flag("--json", *isJson, "Prints a JSON object with every revision and its folder");
    command->callback([isJson, &context] {
        context.work = [isJson](const Task&) -> Result<int> {
            const Result<std::vector<CachedModel>> models = cachedModels();
            if (!models)
                return models.error();
            if (*isJson)
                printModelsAsJson(*models);
            else
                printModelsAsText(*models);
            return 0;
        };
    });
}

} // namespace headwise::app
