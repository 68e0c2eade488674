#include "app/commands/command.h"
#include "app/commands/export_figure.h"
#include "core/files/file_write.h"
#include "core/files/table_formats.h"
#include "core/results/table_file.h"
#include "core/session/picture_numbers.h"
#include "core/session/session_file.h"
#include "core/session/views.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iostream>
#include <memory>
#include <tuple>

namespace headwise::app {
namespace {

struct ExportOptions {
    std::string session, view, head, file;
    std::string size = "120x80mm";
    std::string preset;
    FigureLook look;
    bool list = false;
    bool noTitle = false, noColorBar = false, noAxes = false;
};

Error invalid(const std::string& sentence)
{
    return {ErrorCode::InvalidArgument, sentence};
}

std::string endingOf(const std::filesystem::path& file)
{
    std::string ending = file.extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return ending;
}

/// Parses "120x80mm"; the unit is optional.
Result<std::pair<double, double>> parseSize(const std::string& text)
{
    std::string_view rest = text;
    if (rest.ends_with("mm"))
        rest.remove_suffix(2);
    std::pair<double, double> size;
    const char* end = rest.data() + rest.size();
    const auto width = std::from_chars(rest.data(), end, size.first);
    const bool separated = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
    const auto height = std::from_chars(separated ? width.ptr + 1 : end, end, size.second);
    const bool inside = size.first >= 10 && size.first <= 2000 && size.second >= 10 && size.second <= 2000;
    if (!separated || height.ec != std::errc() || height.ptr != end || !inside)
        return invalid("The size '" + text
                       + "' is not WIDTHxHEIGHTmm with 10 to 2000 millimetres each, like 120x80mm.");
    return size;
}

Result<int> listViews(const ExportOptions& options, const Task& task)
{
    std::vector<ViewDescription> list = views();
    if (!options.session.empty()) {
        const Result<Session> session = readSession(options.session, task);
        if (!session)
            return session.error();
        list = viewsOf(*session);
    } else {
        list.push_back(
            {"PATH", "Any other array of the session, as export --list SESSION names them", "/PATH", false});
    }
    for (const ViewDescription& view : list)
        std::cout << view.name << '\t' << view.title << '\t' << view.needs
                  << (view.ofHead ? ", one head (--head)" : "") << '\n';
    return 0;
}

/// A preset, as in the export dialog.
struct Preset {
    std::string_view name, size;
    double fontSize; // points
};
constexpr std::array presets{Preset{"single", "85x70mm", 8}, Preset{"double", "178x100mm", 8},
                             Preset{"slide", "254x142.9mm", 16}, Preset{"poster", "420x300mm", 24}};

/// Returns the figure's look. The preset fills in what no option sets. Errors: InvalidArgument.
Result<FigureLook> lookOf(const ExportOptions& options, const CLI::App& command)
{
    FigureLook look = options.look;
    std::string asked = options.size;
    if (!options.preset.empty()) {
        const auto found = std::find_if(presets.begin(), presets.end(),
                                        [&](const Preset& preset) { return preset.name == options.preset; });
        if (found == presets.end())
            return invalid("--preset is '" + options.preset + "', expected single, double, slide or poster.");
        if (command.count("--size") == 0)
            asked = found->size;
        if (command.count("--font-size") == 0)
            look.fontSize = found->fontSize;
    }
    const Result<std::pair<double, double>> size = parseSize(asked);
    if (!size)
        return size.error();
    std::tie(look.width, look.height) = *size;
    if (look.dpi < 18 || look.dpi > 2400)
        return invalid("--dpi is " + std::to_string(look.dpi) + ", expected 18 to 2400.");
    if (!(look.fontSize >= 3 && look.fontSize <= 96))
        return invalid("--font-size is " + shortestText(look.fontSize) + ", expected 3 to 96 points.");
    if (!(look.lineWidth >= 0.1 && look.lineWidth <= 20))
        return invalid("--line-width is " + shortestText(look.lineWidth) + ", expected 0.1 to 20 points.");
    look.title = !options.noTitle;
    look.colorBar = !options.noColorBar;
    look.axes = !options.noAxes;
    return look;
}

/// Comment above a table in LaTeX: the view, and where its numbers come from.
std::string commentOf(const View& view)
{
    std::string comment = view.picture.title + " (" + view.subtitle + ")";
    for (const auto& [key, value] : view.provenance)
        comment.append("\n").append(key).append(": ").append(value);
    return comment;
}

Result<Done> writeView(const Session& session, const View& view, const ExportOptions& options,
                       const FigureLook& look)
{
    const std::string ending = endingOf(options.file);
    if (const Result<Done> writable = canReplaceFile(options.file); !writable)
        return writable;
    if (ending == ".png" || ending == ".svg" || ending == ".pdf")
        return exportFigure(session, view, options.file, look);
    const Result<PictureNumbers> numbers = numbersOf(session, view.picture, view.head);
    if (!numbers)
        return numbers.error();
    if (ending == ".npy")
        return replaceFile(options.file, npyBytes(numbers->shape, numbers->values));
    if (ending == ".tex")
        return replaceFile(options.file, latexText(numbers->table, commentOf(view)));
    if (ending == ".md")
        return replaceFile(options.file, markdownText(numbers->table));
    return replaceFile(options.file,
                       delimitedText(numbers->table, ending == ".csv" ? Delimiter::Comma : Delimiter::Tab));
}

Result<int> exportView(const ExportOptions& options, const CLI::App& command, const Task& task)
{
    if (options.list)
        return listViews(options, task);
    if (options.session.empty() || options.view.empty() || options.file.empty())
        return invalid("export needs SESSION, --view NAME and -o FILE; export --list names the views.");
    const std::string ending = endingOf(options.file);
    const auto known = {".png", ".svg", ".pdf", ".csv", ".tsv", ".npy", ".tex", ".md"};
    if (std::find(known.begin(), known.end(), ending) == known.end())
        return invalid("The file '" + options.file
                       + "' does not end in .png, .svg, .pdf, .csv, .tsv, .npy, .tex or .md.");
    std::optional<HeadId> head;
    if (!options.head.empty() && !(head = parseHeadId(options.head)))
        return invalid("'" + options.head + "' is not a head like 5.1 or L5H1.");
    const Result<FigureLook> look = lookOf(options, command);
    if (!look)
        return look.error();
    const Result<Session> session = readSession(options.session, task);
    if (!session)
        return session.error();
    const Result<View> view = viewOf(*session, options.view, head);
    if (!view)
        return view.error();
    if (const Result<Done> written = writeView(*session, *view, options, *look); !written)
        return written.error();
    return 0;
}

void addLook(CLI::App& command, ExportOptions& options)
{
    FigureLook& look = options.look;
    command
        .add_option(
            "--preset", options.preset,
            "Size and font size for a single (85 mm) or double column (178 mm), a slide or a poster; --size and --font-size take precedence")
        ->type_name("NAME");
    command.add_option("--font", look.fontFamily, "Font family of figures; default: the program's")
        ->type_name("FAMILY");
    command.add_option("--font-size", look.fontSize, "Font size of figures, in points")
        ->capture_default_str();
    command
        .add_option("--line-width", look.lineWidth,
                    "Width of curves in figures, in points; hairlines scale with it")
        ->capture_default_str();
    command.add_flag("--no-title", options.noTitle, "Omits the title of a figure");
    command.add_flag("--no-color-bar", options.noColorBar, "Omits the colour bar of a heatmap");
    command.add_flag("--no-axes", options.noAxes, "Omits the ticks, labels and titles of the axes");
    command.add_flag("--transparent", look.transparent, "Makes the background of a figure transparent");
}

} // namespace

void addExportCommand(CLI::App& root, CommandContext& context)
{
    const auto options = std::make_shared<ExportOptions>();
    CLI::App* command =
        root.add_subcommand("export", "Writes a view of a session as a figure or as its numbers");
    command->add_option("SESSION", options->session, "A session file, as analyze writes it");
    command->add_option("--view", options->view, "The view to export; --list names them")->type_name("NAME");
    command->add_option("--head", options->head, "The head of views that show one")->type_name("L.H");
    command
        ->add_option("-o,--output", options->file,
                     "FILE.png, .svg, .pdf; the numbers: .csv, .tsv, .npy, .tex, .md")
        ->type_name("FILE");
    command->add_option("--size", options->size, "Size of a figure: WIDTHxHEIGHTmm")->capture_default_str();
    command->add_option("--dpi", options->look.dpi, "Resolution of a PNG in dots per inch")
        ->capture_default_str();
    addLook(*command, *options);
    command->add_flag("--list", options->list, "Names the views, or those of SESSION, with what each needs");
    command->callback([options, command, &context] {
        context.work = [options, command](const Task& task) { return exportView(*options, *command, task); };
    });
}

} // namespace headwise::app
