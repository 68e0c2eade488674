#include "app/commands/command.h"
#include "app/commands/export_figure.h"
#include "core/io/file_write.h"
#include "core/session/session_file.h"
#include "core/session/views.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iostream>
#include <memory>

namespace headwise::app {
namespace {

struct ExportOptions {
    std::string session, view, head, file;
    std::string size = "120x80mm";
    int dpi = 300;
    bool list = false;
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

/// Reads "120x80mm", the unit being optional.
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

Result<Done> writeFigure(const ViewData& view, const ExportOptions& options)
{
    const Result<std::pair<double, double>> size = parseSize(options.size);
    if (!size)
        return size.error();
    if (options.dpi < 10 || options.dpi > 2400)
        return invalid("--dpi is " + std::to_string(options.dpi) + ", expected 10 to 2400.");
    return exportFigure(view, options.file, {size->first, size->second, options.dpi});
}

Result<Done> writeView(const ViewData& view, const ExportOptions& options, const std::string& ending)
{
    if (const Result<Done> writable = canReplaceFile(options.file); !writable)
        return writable;
    if (ending == ".csv" || ending == ".tsv")
        return replaceFile(options.file,
                           delimitedText(view.table, ending == ".csv" ? Delimiter::Comma : Delimiter::Tab));
    if (ending == ".npy")
        return replaceFile(options.file, npyBytes(view.shape, view.values));
    return writeFigure(view, options);
}

Result<int> exportView(const ExportOptions& options, const Task& task)
{
    if (options.list)
        return listViews(options, task);
    if (options.session.empty() || options.view.empty() || options.file.empty())
        return invalid("export needs SESSION, --view NAME and -o FILE; export --list names the views.");
    const std::string ending = endingOf(options.file);
    const auto known = {".png", ".svg", ".pdf", ".csv", ".tsv", ".npy"};
    if (std::find(known.begin(), known.end(), ending) == known.end())
        return invalid("The file '" + options.file
                       + "' does not end in .png, .svg, .pdf, .csv, .tsv or .npy.");
    std::optional<HeadId> head;
    if (!options.head.empty() && !(head = parseHeadId(options.head)))
        return invalid("'" + options.head + "' is not a head like 5.1 or L5H1.");
    const Result<Session> session = readSession(options.session, task);
    if (!session)
        return session.error();
    const Result<ViewData> view = viewData(*session, options.view, head);
    if (!view)
        return view.error();
    if (const Result<Done> written = writeView(*view, options, ending); !written)
        return written.error();
    return 0;
}

} // namespace

void addExportCommand(CLI::App& root, CommandContext& context)
{
    const auto options = std::make_shared<ExportOptions>();
    CLI::App* command =
        root.add_subcommand("export", "Writes a view of a session as a figure or as its numbers");
    command->add_option("SESSION", options->session, "A session file, as analyze writes it");
    command->add_option("--view", options->view, "What to export; --list names them")->type_name("NAME");
    command->add_option("--head", options->head, "The head of views that show one")->type_name("L.H");
    command->add_option("-o,--output", options->file, "FILE.png, .svg, .pdf, .csv, .tsv or .npy")
        ->type_name("FILE");
    command->add_option("--size", options->size, "Of figures: WIDTHxHEIGHTmm")->capture_default_str();
    command->add_option("--dpi", options->dpi, "Of PNG: dots per inch")->capture_default_str();
    command->add_flag("--list", options->list, "Names the views, or those of SESSION, with what each needs");
    command->callback([options, &context] {
        context.work = [options](const Task& task) { return exportView(*options, task); };
    });
}

} // namespace headwise::app
