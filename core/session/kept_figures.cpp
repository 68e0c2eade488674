#include "core/session/kept_figures.h"

#include "core/files/json.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace headwise {
namespace {

using nlohmann::json;

constexpr std::size_t longestText = std::size_t(16) << 20; // bytes
constexpr int keptVersion = 1;

Error damaged(std::string_view holder, const std::string& why)
{
    return {ErrorCode::Corrupt,
            "The figures that " + std::string(holder) + " keeps cannot be read: " + why
                + "; the rest of the session is intact."};
}

/// An error of the text, without its full stop.
Error damaged(std::string_view holder, const Error& error)
{
    std::string why = error.message;
    if (why.ends_with('.'))
        why.pop_back();
    return damaged(holder, why);
}

/// Returns a group of the text: an object with as many entries as may be kept. An absent one is empty.
Result<json> groupOf(const json& all, const char* name, std::string_view holder)
{
    const auto found = all.find(name);
    if (found == all.end())
        return json::object();
    if (!found->is_object() || found->size() > mostKeptFigures)
        return damaged(holder,
                       std::string("'") + name + "' is not an object of at most "
                           + std::to_string(mostKeptFigures) + " entries");
    return *found;
}

} // namespace

std::string text(const KeptFigures& figures)
{
    if (figures.composed.empty() && figures.views.empty())
        return {};
    json composed = json::object(), views = json::object();
    for (const auto& [name, figure] : figures.composed)
        composed[name] = jsonValue(text(figure));
    for (const auto& [title, settings] : figures.views)
        if (json object = jsonValue(settings); object.is_object())
            views[title] = std::move(object);
    const json all{{"version", keptVersion}, {"composed", std::move(composed)}, {"views", std::move(views)}};
    return jsonText(all);
}

Result<KeptFigures> parseKeptFigures(std::string_view words, std::string_view holder)
{
    KeptFigures figures;
    if (words.empty())
        return figures;
    if (words.size() > longestText)
        return damaged(holder, "their text has more than 16 MiB");
    const Result<json> all = parseJson(words, "/figures");
    if (!all)
        return damaged(holder, all.error());
    if (!all->is_object() || all->value("version", json()) != keptVersion)
        return damaged(holder, "their text is not of version " + std::to_string(keptVersion));
    const Result<json> composed = groupOf(*all, "composed", holder);
    if (!composed)
        return composed.error();
    const Result<json> views = groupOf(*all, "views", holder);
    if (!views)
        return views.error();
    for (const auto& [name, entry] : composed->items()) {
        Result<FigureDescription> figure = parseFigureDescription(jsonText(entry), name);
        if (!figure)
            return damaged(holder, figure.error());
        figures.composed.emplace(name, std::move(figure).value());
    }
    for (const auto& [title, settings] : views->items()) {
        if (!settings.is_object())
            return damaged(holder, "the settings of '" + title + "' are not an object");
        figures.views.emplace(title, jsonText(settings));
    }
    return figures;
}

Result<FigureDescription> keptFigure(const Session& session, const std::string& name,
                                     const std::filesystem::path& file)
{
    const Result<KeptFigures> figures = parseKeptFigures(session.figures, "'" + file.string() + "'");
    if (!figures)
        return figures.error();
    if (const auto found = figures->composed.find(name); found != figures->composed.end())
        return found->second;
    std::string names;
    for (const auto& [known, figure] : figures->composed)
        names += (names.empty() ? "'" : ", '") + known + "'";
    return Error{ErrorCode::NotFound,
                 "'" + name + "' is not a file, and the session '" + file.string() + "' keeps "
                     + (names.empty() ? "no figures of several panels." : "other figures: " + names + ".")};
}

} // namespace headwise
