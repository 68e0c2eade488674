#include "core/series/series_survey.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

namespace headwise {
namespace {

namespace fs = std::filesystem;

/// The shape that most members have; the later one of two that are as frequent.
ModelShape mostFrequent(const std::vector<std::optional<ModelShape>>& shapes)
{
    std::map<ModelShape, int> counts;
    for (const auto& shape : shapes)
        if (shape)
            ++counts[*shape];
    ModelShape most;
    for (auto shape = shapes.rbegin(); shape != shapes.rend(); ++shape)
        if (*shape && counts[**shape] > counts[most])
            most = **shape;
    return most;
}

/// "model.safetensors 5120 1732959012000000000"
std::string fileText(const fs::path& file)
{
    std::error_code code;
    const auto bytes = fs::file_size(file, code);
    const auto changed = fs::last_write_time(file, code);
    return fmt::format("{} {} {}", file.filename().string(), code ? 0 : bytes,
                       code ? 0 : static_cast<std::int64_t>(changed.time_since_epoch().count()));
}

} // namespace

ModelShape::ModelShape(const ModelConfig& config)
    : architecture(config.architecture)
    , nLayers(config.nLayers)
    , nHeads(config.nHeads)
    , nKvHeads(config.nKvHeads)
    , dModel(config.dModel)
    , dHead(config.dHead)
    , dMlp(config.dMlp)
    , dVocab(config.dVocab)
{
}

ModelShape::ModelShape(const ModelCard& card)
    : architecture(card.architecture)
    , nLayers(card.nLayers)
    , nHeads(card.nHeads)
    , nKvHeads(card.nKvHeads)
    , dModel(card.dModel)
    , dHead(card.dHead)
    , dMlp(card.dMlp)
    , dVocab(card.dVocab)
{
}

std::string ModelShape::text() const
{
    return fmt::format(
        "{}, {} layer{} of {} heads ({} key/value), d_model {}, d_head {}, d_mlp {}, d_vocab {}",
        architecture, nLayers, nLayers == 1 ? "" : "s", nHeads, nKvHeads, dModel, dHead, dMlp, dVocab);
}

const SeriesMember* Survey::before(std::size_t member) const
{
    while (member > 0)
        if (m_problems[--member].empty())
            return &m_members[member];
    return nullptr;
}

const SeriesMember& Survey::reference() const
{
    std::size_t last = m_problems.size() - 1;
    while (last > 0 && !m_problems[last].empty())
        --last;
    return m_members[last];
}

Result<Survey> surveyOf(const SeriesRequest& request, const Task& task)
{
    const std::vector<SeriesMember>& members = request.series.members;
    std::vector<std::optional<ModelShape>> shapes;
    std::vector<std::string> problems;
    const Task quiet{task.stop, {}, task.threads};
    for (const SeriesMember& member : members) {
        if (task.cancelled())
            return stopped();
        const auto weights = request.open(member, quiet);
        if (!weights && weights.error().code == ErrorCode::Cancelled)
            return weights.error();
        problems.push_back(weights ? std::string() : weights.error().message);
        shapes.push_back(weights ? std::optional(ModelShape((*weights)->config())) : std::nullopt);
    }
    if (std::ranges::none_of(shapes, [](const auto& shape) { return shape.has_value(); }))
        return Error{ErrorCode::Corrupt,
                     fmt::format("No member of '{}' can be read. {}: {}", request.series.name,
                                 members.front().name, problems.front())};
    const ModelShape usual = mostFrequent(shapes);
    for (std::size_t i = 0; i < members.size(); ++i)
        if (shapes[i] && *shapes[i] != usual)
            problems[i] = fmt::format("It has another shape than most members: {}; they have {}.",
                                      shapes[i]->text(), usual.text());
    return Survey(members, std::move(problems));
}

std::string filesOfMember(const SeriesMember& member)
{
    std::vector<std::string> files;
    std::error_code code;
    if (fs::is_directory(member.path, code)) {
        for (fs::directory_iterator entry(member.path, code), end; !code && entry != end;
             entry.increment(code))
            if (std::error_code unknown; entry->is_regular_file(unknown))
                files.push_back(fileText(entry->path()));
    } else {
        files.push_back(fileText(member.path));
    }
    if (!member.config.empty())
        files.push_back(fileText(member.config));
    std::ranges::sort(files); // a folder lists them as it likes
    std::string text;
    for (const std::string& file : files)
        text += (text.empty() ? "" : "; ") + file;
    return text;
}

} // namespace headwise
