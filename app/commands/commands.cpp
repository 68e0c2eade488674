#include "app/commands/commands.h"

#include "app/commands/command.h"
#include "app/commands/progress.h"
#include "app/commands/support.h"
#include "core/base/log.h"
#include "core/base/parallel.h"
#include "core/checkpoint/model_cache.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include <unistd.h>

namespace headwise::app {
namespace {

constexpr std::string_view programDescription =
    "Headwise: circuit analysis of transformer weights.\n"
    "\n"
    "  headwise [MODEL | SESSION.h5 | SERIES.h5]   opens the window, or another window of the running headwise\n"
    "  headwise COMMAND …                          works without a display\n"
    "\n"
    "MODEL is a Hugging Face folder, a TransformerLens folder, one weights file or the name of a model in\n"
    "the Hugging Face cache (list-models). Nothing is downloaded.\n"
    "Exit codes: 0 good, 1 the answer is \"no\" (verify), 2 wrong usage or a refused request, 3 bad input,\n"
    "4 the system (input/output, memory, no display), 130 cancelled.";

constexpr std::string_view notWritten = "The answer could not be written to standard output.";

/// Formats a switch as "--[no-]name" and an option without CLI11's type suffix.
class HelpFormat : public CLI::Formatter {
public:
    std::string make_option_name(const CLI::Option* option, bool isPositional) const override
    {
        const auto& names = option->get_lnames();
        if (names.size() == 2 && names[1] == "no-" + names[0])
            return "--[no-]" + names[0];
        return CLI::Formatter::make_option_name(option, isPositional);
    }
    std::string make_option_opts(const CLI::Option* option) const override
    {
        return option->get_type_size() == 0 || option->get_type_name().empty()
            ? ""
            : " " + option->get_type_name();
    }
};

struct GlobalOptions {
    std::string logLevel;
    bool progress = false;
};

/// Options as given; windowRequest interprets them.
struct WindowOptions {
    std::vector<std::string> paths;
    std::optional<std::string> address;
    std::string screenshot;
    bool newWindow = false, fresh = false;
};

constexpr std::string_view windowGroup = "The window";

void addWindowOptions(CLI::App& root, WindowOptions& options)
{
    const auto ofWindow = [](CLI::Option* option) { return option->group(std::string(windowGroup)); };
    ofWindow(
        root.add_option("--goto", options.address,
                        "Shows a head, as in demo#L1H5/OV?row=%20the, in the running window or in a new one"))
        ->type_name("ADDRESS");
    ofWindow(root.add_flag("--new-window", options.newWindow,
                           "Opens a separate window even if Headwise is already running"));
    ofWindow(
        root.add_flag("--fresh", options.fresh, "Neither reads nor writes settings and recovered sessions"));
    ofWindow(root.add_option("--screenshot", options.screenshot,
                             "Saves a picture of the window once everything is shown, then exits"))
        ->type_name("FILE.png");
}

void addGlobalOptions(CLI::App& root, GlobalOptions& options)
{
    root.formatter(std::make_shared<HelpFormat>());
    root.set_help_flag("-h,--help", "Explains a command and exits");
    root.set_version_flag("--version", "headwise " + std::string(versionText()),
                          "Prints the version and exits");
    root.add_option("--log-level", options.logLevel,
                    "Lowest level in the log file: trace, debug, info, warning, error or off")
        ->type_name("LEVEL");
    root.add_flag("--progress", options.progress, "Shows progress on stderr even if it is not a terminal");
    root.fallthrough(); // so that both may also follow the command
}

/// Adds the commands in the order of `headwise --help`.
void addCommands(CLI::App& root, CommandContext& context)
{
    addInfoCommand(root, context);
    addNamesCommand(root, context);
    addProcessCommand(root, context);
    addVerifyCommand(root, context);
    addRunCommand(root, context);
    addAnalyzeCommand(root, context);
    addSeriesCommand(root, context);
    addMergeCommand(root, context);
    addPlanCommand(root, context);
    addListAnalysesCommand(root, context);
    addListModelsCommand(root, context);
    addFindingsCommand(root, context);
    addTokensCommand(root, context);
    addTopCommand(root, context);
    addExportCommand(root, context);
    addCompareCommand(root, context);
}

bool isCommand(const CLI::App& root, std::string_view name)
{
    const auto commands = root.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(commands.begin(), commands.end(),
                       [&](const CLI::App* c) { return c->get_name() == name; });
}

/// Whether the Hugging Face cache holds a model of this name, in whatever revision.
bool isCached(const std::string& name)
{
    CachedModelRequest request;
    if (!parseCachedModel(name, request))
        return false;
    const Result<std::filesystem::path> found = findCachedModel(request);
    return found || found.error().code != ErrorCode::NotFound;
}

bool takesValue(const CLI::App& command, const std::string& name)
{
    const CLI::Option* option = command.get_option_no_throw(name);
    return option && option->get_expected_max() > 0;
}

/// Turns "--prompt=" into "--prompt" and an empty value; CLI11 would take the next argument for the value.
/// \returns the arguments in CLI11's order, the last first
std::vector<std::string> withEmptyValues(const CLI::App& root, const std::vector<std::string>& arguments)
{
    const auto commands = root.get_subcommands([](const CLI::App*) { return true; });
    std::vector<std::string> all;
    for (const std::string& argument : arguments) {
        const std::string name = argument.substr(0, argument.find('='));
        const bool isEmpty = name.starts_with("--") && name.size() + 1 == argument.size()
            && (takesValue(root, name) || std::ranges::any_of(commands, [&](const CLI::App* command) {
                                 return takesValue(*command, name);
                             }));
        if (isEmpty)
            all.insert(all.end(), {name, ""});
        else
            all.push_back(argument);
    }
    std::ranges::reverse(all);
    return all;
}

std::string sentenceOf(const CLI::ParseError& error, const CLI::App& root)
{
    std::string command = "headwise";
    for (const CLI::App* chosen : root.get_subcommands())
        command += " " + chosen->get_name();
    return std::string(error.what()) + "; see " + command + " --help.";
}

Result<WindowRequest> requestOf(const WindowOptions& options, const std::string& logLevel)
{
    WindowRequest request{.toOpen = {options.paths.begin(), options.paths.end()},
                          .address = {},
                          .newWindow = options.newWindow,
                          .fresh = options.fresh,
                          .screenshot = options.screenshot,
                          .logLevel = logLevel};
    for (std::filesystem::path& path : request.toOpen) {
        const Result<std::filesystem::path> found = modelPath(path, {});
        if (!found && found.error().code != ErrorCode::NotFound)
            return found.error();
        if (found) // The window says that a path does not exist.
            path = *found;
    }
    if (!options.address)
        return request;
    if (!options.paths.empty())
        return Error{ErrorCode::InvalidArgument,
                     "--goto already names a model; leave out '" + options.paths.front() + "'."};
    Result<Address> address = parseAddress(*options.address);
    if (!address)
        return address.error();
    std::error_code code;
    if (!std::filesystem::exists(address->model, code))
        return Error{ErrorCode::NotFound,
                     "There is no model or session '" + address->model.string() + "' to go to."};
    request.address = std::move(address).value();
    return request;
}

constexpr std::string_view noMemory = "There is not enough memory for this model.";

/// The destructors of parsed JSON allocate. Where they find no memory while std::bad_alloc is on its way, no catch is reached.
[[noreturn]] void endWithoutMemory()
{
    try {
        if (const std::exception_ptr thrown = std::current_exception())
            std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        printError(noMemory);
        std::_Exit(exitCode(ErrorCode::OutOfMemory));
    } catch (...) { // a fault of the program, which the system reports
    }
    std::abort();
}

Result<int> runWork(CommandContext& context, bool progress)
{
    std::set_terminate(endWithoutMemory);
    const bool onTerminal = isatty(STDERR_FILENO) == 1;
    ProgressLine line(onTerminal     ? ProgressLine::Mode::Terminal
                          : progress ? ProgressLine::Mode::Lines
                                     : ProgressLine::Mode::Silent);
    context.progress = &line;
    try {
        const Interruption interruption;
        const ThreadLimit limit(context.threads);
        const Task task{
            interruption.token(),
            [&line](int done, int total, std::string_view step) { line.report(done, total, step); },
            context.threads};
        Result<int> code = context.work(task);
        if (code && !(std::cout << std::flush))
            return Error{ErrorCode::Io, std::string(notWritten)};
        return code;
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::OutOfMemory, std::string(noMemory)};
    } catch (const std::system_error& e) { // a thread could not be started
        return Error{ErrorCode::OutOfMemory,
                     std::string("The system refused more memory or threads: ") + e.what() + "."};
    } catch (const std::exception& e) {
        return Error{ErrorCode::Internal, std::string("Internal error in headwise: ") + e.what() + "."};
    }
}

} // namespace

int runCommandLine(int argc, char** argv)
{
    CLI::App root(std::string(programDescription), "headwise");
    GlobalOptions options;
    CommandContext context;
    WindowOptions window;
    addGlobalOptions(root, options);
    addWindowOptions(root, window);
    addCommands(root, context);
    root.require_subcommand(1);
    if (argc > 1 && argv[1][0] != '-' && !isCommand(root, argv[1])) {
        printError("'" + std::string(argv[1]) + "' is neither a command nor a file; see headwise --help.");
        return exitCode(ErrorCode::InvalidArgument);
    }
    try {
        root.parse(withEmptyValues(root, {argv + 1, argv + argc}));
        for (const CLI::Option* option : root.get_options())
            if (option->get_group() == windowGroup && option->count() > 0)
                throw CLI::ExcludesError(option->get_name() + " belongs to the window, not to a command",
                                         CLI::ExitCodes::ExcludesError);
    } catch (const CLI::Success& success) { // --help and --version
        const int code = root.exit(success);
        if (std::cout << std::flush)
            return code;
        printError(notWritten);
        return exitCode(ErrorCode::Io);
    } catch (const CLI::ParseError& error) {
        printError(sentenceOf(error, root));
        return exitCode(ErrorCode::InvalidArgument);
    }
    if (const Result<Done> log = startLog(options.logLevel); !log) {
        printError(log.error().message);
        return exitCode(log.error().code);
    }
    const Result<int> code = runWork(context, options.progress);
    if (code)
        return *code;
    printError(code.error().message);
    return exitCode(code.error().code);
}

std::optional<Result<WindowRequest>> windowRequest(int argc, char** argv)
{
    CLI::App root;
    GlobalOptions options;
    WindowOptions window;
    addGlobalOptions(root, options);
    addWindowOptions(root, window);
    root.add_option("path", window.paths);
    try {
        root.parse(argc, argv);
    } catch (const CLI::Error&) {
        return std::nullopt; // --help, --version, a sub-command with its own arguments, or a mistake
    }
    const std::string first = window.paths.empty() ? std::string() : window.paths.front();
    CLI::App commands;
    CommandContext context;
    addCommands(commands, context);
    if (isCommand(commands, first))
        return std::nullopt;
    std::error_code code;
    if (!first.empty() && first.find('/') == std::string::npos && !first.ends_with(".h5")
        && !std::filesystem::exists(first, code) && !isCached(first))
        return std::nullopt;
    return requestOf(window, options.logLevel);
}

bool hasDisplay()
{
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        if (const char* value = std::getenv(name); value && *value)
            return true;
    return false;
}

} // namespace headwise::app
