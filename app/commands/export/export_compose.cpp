#include "app/commands/export/export_compose.h"

#include "app/commands/export/export_series.h"
#include "app/commands/support.h"
#include "core/files/file_write.h"
#include "core/files/sha256.h"
#include "core/series/step_curves.h"
#include "core/session/kept_figures.h"
#include "core/session/session_file.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>

namespace headwise::app {
namespace {

namespace fs = std::filesystem;

Error invalidFigure(const std::string& sentence)
{
    return {ErrorCode::InvalidArgument, sentence};
}

/// An error in a description, with the description's name before it.
Error ofFigure(const fs::path& file, const Error& error)
{
    return {error.code, "'" + file.string() + "': " + error.message};
}

/// The file of a figure in one of its formats. Errors: InvalidArgument for another ending.
Result<FigureFile> figureFile(const FigureDescription& figure, const fs::path& path)
{
    const Result<FigureFormat> format = figureFormatOf(path.string());
    if (!format)
        return format.error();
    return FigureFile{path, figureSettings(figure, *format)};
}

Result<Done> canWrite(const std::vector<FigureFile>& files)
{
    for (const FigureFile& file : files)
        if (const Result<Done> writable = canReplaceFile(file.path); !writable)
            return writable;
    return Done{};
}

/// Sessions and series by their paths; each is read once.
class Sessions {
public:
    explicit Sessions(const Task& task)
        : m_task(task)
    {
    }

    /// Returns the session or the steps of a file, which live as long as this.
    Result<FigureSessions> sessions(const fs::path& path)
    {
        auto found = m_read.find(path);
        if (found == m_read.end()) {
            Result<ReadFile> read = readFile(path);
            if (!read)
                return read.error();
            found = m_read.emplace(path, std::move(read).value()).first;
        }
        const auto& [steps, isOfSeries] = found->second;
        return isOfSeries ? FigureSessions(steps) : FigureSessions(steps.front().session);
    }

    Result<std::string> sha256(const fs::path& path)
    {
        const auto found = m_sums.find(path);
        if (found != m_sums.end())
            return found->second;
        Result<std::string> sum = sha256OfFile(path);
        if (sum)
            m_sums.emplace(path, *sum);
        return sum;
    }

private:
    struct ReadFile {
        std::vector<SeriesStep> steps; ///< A session is one.
        bool isOfSeries = false;
    };

    Result<ReadFile> readFile(const fs::path& path) const
    {
        Result<std::optional<Session>> session = sessionUnlessSeries(path, m_task);
        if (!session)
            return session.error();
        if (std::optional<Session> one = std::move(session).value()) {
            ReadFile file;
            file.steps.push_back({0, *std::move(one)});
            return file;
        }
        Result<std::vector<SeriesStep>> read = readSeriesSteps(path, m_task);
        if (!read)
            return read.error();
        ReadFile file{std::move(read).value(), true};
        addStepCurves(file.steps);
        return file;
    }

    const Task& m_task;
    std::map<fs::path, ReadFile> m_read;
    std::map<fs::path, std::string> m_sums;
};

/// A description, and where it and its session are.
struct FigureTask {
    fs::path file;
    FigureDescription figure;
    fs::path session;
};

Result<Done> drawFigure(const DrawingProgram& program, Sessions& sessions, const FigureTask& task,
                        const std::vector<FigureFile>& files, const std::string& data)
{
    const Result<FigureSessions> from = sessions.sessions(task.session);
    if (!from)
        return from.error();
    const Result<std::string> sum = sessions.sha256(task.session);
    if (!sum)
        return sum.error();
    const Composition composition{*from, *sum, asPublished(task.figure)};
    const auto omissions = exportComposition(program, composition, files, data);
    if (!omissions)
        return ofFigure(task.file, omissions.error());
    std::vector<std::string> warnings;
    for (const std::string& omission : *omissions)
        warnings.push_back(task.file.string() + ": " + omission);
    printWarnings(warnings);
    return Done{};
}

/// Says why a figure has to be drawn; empty if it is up to date.
Result<std::string> whyOutOfDate(Sessions& sessions, const FigureTask& task, const fs::path& figure)
{
    std::error_code ignored;
    if (!fs::exists(figure, ignored))
        return std::string("it does not exist");
    const Result<FigureRecipe> recipe = figureRecipe(figure.string());
    if (!recipe && recipe.error().code == ErrorCode::Io)
        return recipe.error();
    if (!recipe || recipe->description.empty())
        return std::string("it was not made from a description");
    if (recipe->description != text(asPublished(task.figure)))
        return std::string("its description has changed");
    const Result<std::string> sum = sessions.sha256(task.session);
    if (!sum)
        return sum.error();
    return std::string(*sum == recipe->sessionSha256 ? "" : "its session has changed");
}

/// The descriptions in a folder, by name.
Result<std::vector<FigureTask>> figuresIn(const fs::path& folder)
{
    std::error_code error;
    std::vector<fs::path> paths;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (at->path().extension() == ".json")
            paths.push_back(at->path());
    if (error)
        return Error{ErrorCode::NotFound, "Folder '" + folder.string() + "' cannot be read."};
    if (paths.empty())
        return Error{ErrorCode::NotFound,
                     "Folder '" + folder.string() + "' has no description of a figure, *.json."};
    std::ranges::sort(paths);
    std::vector<FigureTask> tasks;
    for (const fs::path& path : paths) {
        Result<FigureDescription> figure = readFigureDescription(path);
        if (!figure)
            return figure.error();
        const fs::path session = sessionPath(*figure, path);
        tasks.push_back({path, std::move(figure).value(), session});
    }
    return tasks;
}

/// Draws the files of one description that are out of date and says so, or only says so.
/// \returns whether one was
Result<bool> bringUpToDate(std::optional<DrawingProgram>& program, Sessions& sessions, const FigureTask& task,
                           const ComposeOptions& options)
{
    const fs::path folder = options.files.empty() ? task.file.parent_path() : fs::path(options.files.front());
    std::vector<FigureFile> due;
    std::string lines;
    for (const std::string& format : task.figure.formats) {
        const fs::path path = folder / task.file.stem().concat("." + format);
        const Result<std::string> why = whyOutOfDate(sessions, task, path);
        if (!why)
            return why.error();
        lines += path.string()
            + (why->empty()        ? ": up to date"
                   : options.check ? ": out of date, "
                                   : ": made, ")
            + *why + "\n";
        if (why->empty())
            continue;
        const Result<FigureFile> file = figureFile(task.figure, path);
        if (!file)
            return file.error();
        due.push_back(*file);
    }
    if (!due.empty() && !options.check) {
        if (const Result<Done> writable = canWrite(due); !writable)
            return writable.error();
        if (!program)
            program.emplace();
        if (const Result<Done> drawn = drawFigure(*program, sessions, task, due, {}); !drawn)
            return drawn.error();
    }
    std::cout << lines << std::flush;
    return !due.empty();
}

/// Finds the description: a file, or the figure of that name that the session keeps.
Result<FigureTask> figureAsked(const ComposeOptions& options, Sessions& sessions)
{
    std::error_code ignored;
    if (options.session.empty() || fs::exists(options.figure, ignored)) {
        Result<FigureDescription> figure = readFigureDescription(options.figure, options.session);
        if (!figure)
            return figure.error();
        const fs::path session = sessionPath(*figure, options.figure);
        return FigureTask{options.figure, std::move(figure).value(), session};
    }
    const Result<FigureSessions> from = sessions.sessions(options.session);
    if (!from)
        return from.error();
    Result<FigureDescription> kept = keptFigure(from->last(), options.figure, options.session);
    if (!kept)
        return kept.error();
    FigureDescription figure = std::move(kept).value();
    figure.session = options.session;
    return FigureTask{options.figure, std::move(figure), options.session};
}

} // namespace

Result<int> exportComposed(const ComposeOptions& options, const Task& task)
{
    if (options.files.empty() && options.data.empty())
        return invalidFigure("export --figure FIGURE.json needs -o FILE or --data FOLDER.");
    Sessions sessions(task);
    const Result<FigureTask> figure = figureAsked(options, sessions);
    if (!figure)
        return figure.error();
    std::vector<FigureFile> files;
    for (const std::string& path : options.files) {
        const Result<FigureFile> file = figureFile(figure->figure, path);
        if (!file)
            return file.error();
        files.push_back(*file);
    }
    if (const Result<Done> writable = canWrite(files); !writable)
        return writable.error();
    const DrawingProgram program;
    const Result<Done> drawn = drawFigure(program, sessions, *figure, files, options.data);
    return drawn ? Result<int>(0) : drawn.error();
}

Result<int> exportFolder(const ComposeOptions& options, const Task& task)
{
    if (options.files.size() > 1)
        return invalidFigure("export --figures FOLDER takes one -o, the folder to write the figures to.");
    const Result<std::vector<FigureTask>> figures = figuresIn(options.folder);
    if (!figures)
        return figures.error();
    Sessions sessions(task);
    std::optional<DrawingProgram> program;
    bool isAnyDue = false;
    int done = 0;
    for (const FigureTask& figure : *figures) {
        if (task.cancelled())
            return stopped();
        task.report(done++, static_cast<int>(figures->size()), "figures");
        const Result<bool> isDue = bringUpToDate(program, sessions, figure, options);
        if (!isDue)
            return isDue.error();
        isAnyDue = isAnyDue || *isDue;
    }
    return options.check && isAnyDue ? 1 : 0;
}

Result<int> composeAgain(const FigureRecipe& recipe, const std::string& figure, const std::string& session,
                         const std::string& file, const Task& task)
{
    const Result<FigureDescription> description = parseFigureDescription(recipe.description, figure);
    if (!description)
        return description.error();
    const Result<FigureFormat> format = figureFormatOf(file);
    if (!format)
        return format.error();
    FigureFile written{file, recipe.settings}; // A dialog may have changed the page and the words.
    written.settings.format = *format;
    written.settings.dataBeside = false;
    if (const Result<Done> writable = canWrite({written}); !writable)
        return writable.error();
    Sessions sessions(task);
    const DrawingProgram program;
    const Result<Done> drawn = drawFigure(program, sessions, {figure, *description, session}, {written}, {});
    return drawn ? Result<int>(0) : drawn.error();
}

} // namespace headwise::app
