#include "app/commands/command.h"
#include "app/commands/export/export_compose.h"
#include "app/commands/export/export_list.h"
#include "app/commands/export/export_page.h"
#include "app/commands/export/export_series.h"
#include "app/commands/export/page_pictures.h"
#include "app/commands/support.h"
#include "core/files/file_write.h"
#include "core/files/table_formats.h"
#include "core/results/table_file.h"
#include "core/session/picture_numbers.h"
#include "core/session/session_file.h"
#include "core/session/views.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <tuple>

namespace headwise::app {
namespace {

struct ExportOptions {
    std::string session, view, head;
    std::string again; ///< A figure to make again from its metadata.
    std::vector<std::string> files;
    ComposeOptions composed; ///< Its files are those above.
    PageOptions page;        ///< Its path is `session`.
    std::string size = "120x80mm";
    std::string preset;
    FigureSettings figure;
    std::optional<int> step; ///< A step of a series; none: the last one.
    bool animate = false;    ///< Draws a series at every step.
    bool list = false, json = false;
};

Error invalid(const std::string& sentence)
{
    return {ErrorCode::InvalidArgument, sentence};
}

/// Parses "120x80mm" into the figure's sides; the unit is optional.
Result<Done> readSize(const std::string& text, FigureSettings& figure)
{
    std::string_view rest = text;
    if (rest.ends_with("mm"))
        rest.remove_suffix(2);
    const char* end = rest.data() + rest.size();
    const auto width = std::from_chars(rest.data(), end, figure.width);
    const bool separated = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
    const auto height = std::from_chars(separated ? width.ptr + 1 : end, end, figure.height);
    constexpr FigureRange side{figureSide.low, 2000};
    const bool inside = side.contains(figure.width) && side.contains(figure.height);
    if (!separated || height.ec != std::errc() || height.ptr != end || !inside)
        return invalid("The size '" + text
                       + "' is not WIDTHxHEIGHTmm with 10 to 2000 millimetres each, like 120x80mm.");
    return Done{};
}

/// Returns the settings of a file. A preset supplies the size and font size that no option sets. Errors: InvalidArgument.
Result<FigureSettings> settingsOf(const ExportOptions& options, const CLI::App& command,
                                  const std::string& file)
{
    const Result<FigureFormat> format = figureFormatOf(file);
    if (!format)
        return format.error();
    FigureSettings figure = options.figure;
    figure.format = *format;
    if (!options.preset.empty()) {
        const auto preset = std::ranges::find(figurePresets, options.preset, &FigurePreset::name);
        if (preset == figurePresets.end())
            return invalid("--preset is '" + options.preset + "', expected single, double, slide or poster.");
        figure.width = preset->width;
        figure.height = preset->height;
        if (command.count("--font-size") == 0)
            figure.style.fontSize = preset->fontSize;
    }
    if (options.preset.empty() || command.count("--size") > 0)
        if (const Result<Done> read = readSize(options.size, figure); !read)
            return read.error();
    for (const auto& [option, value, range, unit] :
         {std::tuple("--dpi", double(figure.dpi), figureDpi, ""),
          std::tuple("--font-size", figure.style.fontSize, figureFontSize, " points"),
          std::tuple("--line-width", figure.style.lineWidth, figureLineWidth, " points")})
        if (!range.contains(value))
            return invalid(std::string(option) + " is " + shortestText(value) + ", expected "
                           + shortestText(range.low) + " to " + shortestText(range.high) + unit + ".");
    return figure;
}

/// Comment above a table in LaTeX: the view, and where its numbers come from.
std::string commentOf(const View& view)
{
    std::string comment = view.picture.title + " (" + view.subtitle + ")";
    for (const auto& [key, value] : view.provenance)
        comment.append("\n").append(key).append(": ").append(value);
    return comment;
}

Result<Done> writeNumbers(const PictureNumbers& numbers, const View& view, const FigureFile& data)
{
    const FigureFormat format = data.settings.format;
    if (format == FigureFormat::Npy)
        return replaceFile(data.path, npyBytes(numbers.shape, numbers.values));
    if (format == FigureFormat::Latex)
        return replaceFile(data.path, latexText(numbers.table, commentOf(view)));
    if (format == FigureFormat::Markdown)
        return replaceFile(data.path, markdownText(numbers.table));
    return replaceFile(
        data.path,
        delimitedText(numbers.table, format == FigureFormat::Csv ? Delimiter::Comma : Delimiter::Tab));
}

/// Writes the figures, then the numbers. Nothing is written where one of the files cannot be.
Result<Done> writeView(const Session& session, const View& view, const std::vector<FigureFile>& files)
{
    std::vector<FigureFile> figures, data;
    for (const FigureFile& file : files) {
        if (const Result<Done> writable = canReplaceFile(file.path); !writable)
            return writable;
        (isData(file.settings.format) && !view.isOfPage ? data : figures).push_back(file);
    }
    if (!figures.empty()) {
        const Result<std::vector<std::string>> omissions = exportFigures(session, view, figures);
        if (!omissions)
            return omissions.error();
        printWarnings(*omissions);
    }
    if (data.empty())
        return Done{};
    const Result<PictureNumbers> numbers = numbersOf(session, view.picture, view.head);
    if (!numbers)
        return numbers.error();
    for (const FigureFile& file : data)
        if (const Result<Done> written = writeNumbers(*numbers, view, file); !written)
            return written;
    return Done{};
}

/// Returns the path of a session of this name beside the figure, else in the current folder.
std::string sessionBeside(const std::string& figure, const std::string& session)
{
    const std::filesystem::path name = std::filesystem::path(session).filename();
    const std::filesystem::path beside = std::filesystem::path(figure).parent_path() / name;
    std::error_code ignored;
    return !name.empty() && std::filesystem::exists(beside, ignored) ? beside.string() : name.string();
}

Result<int> animate(const std::string& series, const std::string& view, std::optional<HeadId> head,
                    const std::vector<FigureFile>& files, const Task& task)
{
    const auto omissions = exportAnimated(series, view, head, files, task);
    if (!omissions)
        return omissions.error();
    printWarnings(*omissions);
    return 0;
}

Result<int> exportPage(const ExportOptions& options, std::optional<HeadId> head,
                       const std::vector<FigureFile>& files, const Task& task)
{
    if (options.animate)
        return invalid("--animate draws the views of a series, and '" + options.view
                       + "' is a picture of a page.");
    for (const FigureFile& file : files)
        if (const Result<Done> writable = canReplaceFile(file.path); !writable)
            return writable.error();
    PageRequest request{options.page, options.view, head, options.step};
    request.options.model.path = options.session;
    const auto omissions = exportPagePicture(request, files, task);
    if (!omissions)
        return omissions.error();
    printWarnings(*omissions);
    return 0;
}

/// Makes a figure again from its metadata.
Result<int> exportAgain(const ExportOptions& options, const Task& task)
{
    if (options.files.size() != 1 || options.files.front().empty())
        return invalid("export --again FIGURE needs one -o FILE.");
    const Result<FigureRecipe> recipe = figureRecipe(options.again);
    if (!recipe)
        return recipe.error();
    FigureSettings settings = recipe->settings;
    settings.dataBeside = false;
    const Result<FigureFormat> format = figureFormatOf(options.files.front());
    if (!format)
        return format.error();
    settings.format = *format;
    const std::string path =
        options.session.empty() ? sessionBeside(options.again, recipe->session) : options.session;
    if (findPagePicture(recipe->view))
        return invalid("'" + options.again
                       + "' shows a picture of a page, whose choices it does not keep; draw it with --view '"
                       + recipe->view + "'.");
    if (recipe->view.empty() && recipe->description.empty())
        return invalid("'" + options.again + "' does not name its view, so it cannot be made again.");
    std::error_code ignored;
    if (path.empty() || !std::filesystem::exists(path, ignored))
        return Error{ErrorCode::NotFound,
                     "The session of '" + options.again + "' is not "
                         + (path.empty() ? "named in it" : "at '" + path + "'")
                         + "; say where it is: headwise export SESSION.h5 --again FIGURE -o FILE."};
    const auto from = readSource(*recipe, options.again, path, task);
    if (!from)
        return from.error();
    if (!recipe->choices.empty()) {
        ExportOptions same = options;
        same.session = path;
        same.view = recipe->view;
        same.page.choices = recipe->choices;
        same.step = from->step;
        return exportPage(same, parseHeadId(recipe->head), {{options.files.front(), settings}}, task);
    }
    if (!recipe->description.empty())
        return composeAgain(*recipe, options.again, path, options.files.front(), task);
    const FigureFile file{options.files.front(), settings};
    const std::optional<HeadId> head = parseHeadId(recipe->head);
    if (recipe->isSteps)
        return animate(path, recipe->view, head, {file}, task);
    const Result<View> view = exportedView(*from, path, recipe->view, head);
    if (!view)
        return view.error();
    const Result<Done> written = writeView(from->session, *view, {file});
    return written ? Result<int>(0) : written.error();
}

Result<int> exportView(const ExportOptions& options, const CLI::App& command, const Task& task)
{
    if (options.list)
        return listViews({options.session, options.step, options.json}, task);
    if (!options.again.empty())
        return exportAgain(options, task);
    if (!options.composed.figure.empty() || !options.composed.folder.empty()) {
        ComposeOptions composed = options.composed;
        composed.files = options.files;
        composed.session = options.session;
        return composed.figure.empty() ? exportFolder(composed, task) : exportComposed(composed, task);
    }
    const bool isNamed = !options.files.empty()
        && std::ranges::none_of(options.files, [](const std::string& file) { return file.empty(); });
    if (options.session.empty() || options.view.empty() || !isNamed)
        return invalid(
            "export needs SESSION, --view NAME and -o FILE, or --figure FIGURE.json; export --list lists the views.");
    std::vector<FigureFile> files;
    for (const std::string& file : options.files) {
        const Result<FigureSettings> settings = settingsOf(options, command, file);
        if (!settings)
            return settings.error();
        files.push_back({file, *settings});
    }
    std::optional<HeadId> head;
    if (!options.head.empty() && !(head = parseHeadId(options.head)))
        return invalid("'" + options.head + "' is not a head like 5.1 or L5H1.");
    if (findPagePicture(options.view) || (!options.page.choices.empty() && pictureWithChoices(options.view)))
        return exportPage(options, head, files, task);
    if (options.page.areGiven())
        return invalid(
            "'" + options.view
            + "' is a view of a session; leave out --reference, --token, --choice and how to read a model.");
    if (options.animate)
        return animate(options.session, options.view, head, files, task);
    if (std::error_code ignored; std::filesystem::is_directory(options.session, ignored))
        return invalid(
            "The view '" + options.view + "' needs a session, and '" + options.session
            + "' is a folder; headwise analyze MODEL -o SESSION.h5 makes a session. export --list names the views.");
    const auto from = readExported(options.session, options.step, task);
    if (!from)
        return from.error();
    const Result<View> view = exportedView(*from, options.session, options.view, head);
    if (!view)
        return view.error();
    if (const Result<Done> written = writeView(from->session, *view, files); !written)
        return written.error();
    return 0;
}

void addLook(CLI::App& command, ExportOptions& options)
{
    FigureStyle& style = options.figure.style;
    command
        .add_option(
            "--preset", options.preset,
            "Size and font size for a single (85 mm) or double column (178 mm), a slide or a poster; --size and --font-size take precedence")
        ->type_name("NAME");
    command
        .add_option("--font", style.fontFamily, "Font family of figures; default: the font of the program")
        ->type_name("FAMILY");
    command.add_option("--font-size", style.fontSize, "Font size of figures")
        ->type_name("POINTS")
        ->capture_default_str();
    command
        .add_option("--line-width", style.lineWidth, "Width of curves in figures; hairlines scale with it")
        ->type_name("POINTS")
        ->capture_default_str();
    for (const auto& [name, shown, help] :
         {std::tuple("--no-title", &style.title, "Omits the title of a figure"),
          std::tuple("--no-color-bar", &style.colorBar, "Omits the colour bar of a heatmap"),
          std::tuple("--no-axes", &style.axes, "Omits the ticks, labels and titles of the axes")})
        command.add_flag_callback(
            name, [shown = shown] { *shown = false; }, help);
    command.add_flag("--transparent", options.figure.transparent,
                     "Makes the background of a figure transparent");
}

void addSteps(CLI::App& command, ExportOptions& options)
{
    CLI::Option* step =
        command.add_option("--step", options.step, "The checkpoint of a series to export; default: the last")
            ->type_name("N");
    command
        .add_flag("--animate", options.animate,
                  "Draws the view at every checkpoint of a series into one animated SVG")
        ->excludes(step);
}

void addComposing(CLI::App& command, ComposeOptions& options)
{
    CLI::Option* figure =
        command
            .add_option(
                "--figure", options.figure,
                "Draws a figure of several panels: a description file, or the name of a figure that SESSION keeps; -o names its files")
            ->type_name("FIGURE");
    CLI::Option* folder =
        command
            .add_option(
                "--figures", options.folder,
                "Draws the out-of-date figures of a folder of descriptions, beside the descriptions or in the folder -o")
            ->type_name("FOLDER")
            ->excludes(figure);
    command
        .add_flag(
            "--check", options.check,
            "With --figures: lists the out-of-date figures instead of drawing them, and exits with 1 if there are any")
        ->needs(folder);
    command
        .add_option(
            "--data", options.data,
            "With --figure: a folder for the numbers of each panel, a.csv, b.csv, ..., and figure.json")
        ->type_name("FOLDER")
        ->needs(figure);
}

/// Refuses the options of a single view beside those that ask for a whole figure.
void excludeOthers(CLI::App& command, std::initializer_list<const char*> whole)
{
    for (const char* option : whole)
        for (const char* other :
             {"--view", "--head", "--size", "--dpi", "--preset", "--font", "--font-size", "--line-width",
              "--no-title", "--no-color-bar", "--no-axes", "--transparent", "--list", "--step", "--animate",
              "--reference", "--token", "--choice"})
            command.get_option(option)->excludes(command.get_option(other));
}

} // namespace

void addExportCommand(CLI::App& root, CommandContext& context)
{
    const auto options = std::make_shared<ExportOptions>();
    CLI::App* command =
        root.add_subcommand("export", "Writes a view of a session as a figure or as its numbers");
    command
        ->add_option("SESSION", options->session,
                     "A file written by analyze, compare or series; for a picture of a page also a MODEL")
        ->type_name("");
    command->add_option("--view", options->view, "The view to export; --list lists them")->type_name("NAME");
    command->add_option("--head", options->head, "The head, for views that show one head")->type_name("L.H");
    command
        ->add_option(
            "-o,--output", options->files,
            "Output file: .png, .svg or .pdf for a figure; .csv, .tsv, .npy, .tex or .md for the numbers; may be repeated")
        ->type_name("FILE")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    command->add_option("--size", options->size, "Size of a figure, as in 85x70mm")
        ->type_name("WIDTHxHEIGHTmm")
        ->capture_default_str();
    command->add_option("--dpi", options->figure.dpi, "Resolution of a PNG in dots per inch")
        ->type_name("N")
        ->capture_default_str();
    addLook(*command, *options);
    addSteps(*command, *options);
    CLI::Option* list = command->add_flag("--list", options->list,
                                          "Lists the views, or those of SESSION, with the inputs each needs");
    command->add_flag("--json", options->json, "With --list: a JSON list of name, title, needs, head")
        ->needs(list);
    command
        ->add_option("--again", options->again,
                     "Draws a PNG, SVG or PDF again from its metadata; give SESSION if its session has moved")
        ->type_name("FIGURE");
    addComposing(*command, options->composed);
    addPageOptions(*command, options->page);
    excludeOthers(*command, {"--again", "--figure", "--figures"});
    for (const char* composed : {"--figure", "--figures"})
        command->get_option(composed)->excludes(command->get_option("--again"));
    command->get_option("--figures")->excludes(command->get_option("SESSION"));
    command->callback([options, command, &context] {
        context.work = [options, command](const Task& task) { return exportView(*options, *command, task); };
    });
}

} // namespace headwise::app
