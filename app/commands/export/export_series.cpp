#include "app/commands/export/export_series.h"

#include "core/series/series_file.h"
#include "core/series/series_steps.h"
#include "core/series/step_curves.h"
#include "core/session/session_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace headwise::app {
namespace {

Error wrongSeries(const std::string& sentence)
{
    return {ErrorCode::InvalidArgument, sentence};
}

} // namespace

Result<std::optional<Session>> sessionUnlessSeries(const std::filesystem::path& file, const Task& task)
{
    Result<Session> session = readSession(file, task);
    if (session)
        return std::optional(std::move(session).value());
    if (isSeries(file))
        return std::optional<Session>();
    return session.error();
}

Result<ExportedSession> readExported(const std::string& file, std::optional<int> step, const Task& task)
{
    if (step && !isSeries(file))
        return wrongSeries("--step needs a series of checkpoints, but '" + file + "' is not one.");
    if (!step) {
        Result<std::optional<Session>> session = sessionUnlessSeries(file, task);
        if (!session)
            return session.error();
        if (std::optional<Session> one = std::move(session).value())
            return ExportedSession{*std::move(one), std::nullopt};
    }
    Result<std::vector<SeriesStep>> read = readSeriesSteps(file, task);
    if (!read)
        return read.error();
    std::vector<SeriesStep> steps = std::move(read).value();
    const auto found = step ? std::ranges::find(steps, *step, &SeriesStep::step) : std::prev(steps.end());
    if (found == steps.end())
        return wrongSeries(
            fmt::format("The series '{}' has no checkpoint of step {}; its steps are {} to {}.", file, *step,
                        steps.front().step, steps.back().step));
    std::vector<ResultArray> curves = stepCurves(steps);
    std::ranges::move(curves, std::back_inserter(found->session.results.arrays));
    return ExportedSession{std::move(found->session), found->step};
}

Result<ExportedSession> readSource(const FigureRecipe& recipe, const std::string& figure,
                                   const std::string& path, const Task& task)
{
    std::optional<int> step;
    if (int number = 0;
        std::from_chars(recipe.step.data(), recipe.step.data() + recipe.step.size(), number).ec
        == std::errc())
        step = number;
    auto from = readExported(path, step, task);
    if (recipe.isOfSeries != (from ? from->step.has_value() : isSeries(path)))
        return wrongSeries("'" + figure + "' was drawn from a " + (recipe.isOfSeries ? "series" : "session")
                           + ", but '" + path + "' is " + (recipe.isOfSeries ? "not one." : "a series."));
    if (!from)
        return from.error();
    const ModelCard& model = from->session.model;
    if (recipe.isOfSeries && model.name != recipe.model)
        return wrongSeries("'" + path + "' is a series of '" + model.name + "', but '" + figure + "' is of '"
                           + recipe.model + "'.");
    // A series knows the sum of its last checkpoint alone.
    const bool isKnown =
        !recipe.isOfSeries || (!model.sha256.empty() && !recipe.sha256.empty() && !recipe.isSteps);
    if (isKnown && model.sha256 != recipe.sha256)
        return wrongSeries("'" + path + "' is a session of another model than that of '" + figure
                           + "': their sha256 differ.");
    return from;
}

Result<View> exportedView(const ExportedSession& from, const std::string& file, std::string_view name,
                          std::optional<HeadId> head)
{
    Result<View> found = viewOf(from.session, name, head);
    if (!found)
        return found.error();
    View view = std::move(found).value();
    const std::string fileName = std::filesystem::path(file).filename().string();
    if (from.step) {
        if (!showsAllSteps(view.name))
            view.subtitle += fmt::format(", step {}", *from.step);
        view.provenance.emplace_back(stepKey, std::to_string(*from.step));
    }
    view.provenance.emplace_back(from.step ? seriesKey : "session_file", fileName);
    return view;
}

Result<std::vector<std::string>> exportAnimated(const std::string& series, const std::string& view,
                                                std::optional<HeadId> head, std::span<const FigureFile> files,
                                                const Task& task)
{
    if (!isSeries(series))
        return wrongSeries("--animate needs a series of checkpoints, which headwise series writes; '" + series
                           + "' is not one.");
    for (const FigureFile& file : files)
        if (file.settings.format != FigureFormat::Svg)
            return wrongSeries("--animate writes .svg, but '" + file.path.string() + "' has another format.");
    Result<std::vector<SeriesStep>> read = readSeriesSteps(series, task);
    if (!read)
        return read.error();
    std::vector<SeriesStep> steps = std::move(read).value();
    const std::string range = fmt::format("{} to {}", steps.front().step, steps.back().step);
    std::vector<FigureFrame> frames;
    for (SeriesStep& step : steps) {
        ExportedSession from{std::move(step.session), step.step};
        Result<View> shown = exportedView(from, series, view, head);
        if (!shown)
            return shown.error();
        View frame = std::move(shown).value();
        std::ranges::replace_if(
            frame.provenance, [](const auto& line) { return line.first == stepKey; },
            std::pair<std::string, std::string>(stepsKey, range));
        frames.push_back({std::move(from.session), std::move(frame), fmt::format("step {}", step.step)});
    }
    return exportAnimation(frames, files);
}

} // namespace headwise::app
