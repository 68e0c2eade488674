#include "app/commands/export/export_page.h"
#include "app/commands/support.h"

namespace headwise::app {

bool PageOptions::areGiven() const
{
    return model.areGiven() || !reference.empty() || !token.empty() || !choices.empty();
}

std::string exportCommandLine(const PageRequest& request)
{
    const PageOptions& options = request.options;
    std::string line = "headwise export " + shellWord(options.model.path);
    const auto add = [&line](std::string_view option, const std::string& value) {
        if (!value.empty())
            line.append(" ").append(option).append(" ").append(shellWord(value));
    };
    add("--view", request.view);
    add("--head", request.head ? dottedHead(*request.head) : "");
    add("--step", request.step ? std::to_string(*request.step) : "");
    add("--reference", options.reference);
    add("--token", options.token);
    for (const std::string& choice : options.choices)
        add("--choice", choice);
    for (const std::string& set : options.model.sets)
        add("--set", set);
    return line + " -o figure.svg";
}

void addPageOptions(CLI::App& command, PageOptions& options)
{
    command.add_option("--reference", options.reference, "The head to compare with, for a picture of a page")
        ->type_name("L.H");
    command
        .add_option("--token", options.token,
                    "The token, for a picture of a page: as shown, its raw text or #id")
        ->type_name("TOKEN");
    command
        .add_option(
            "--choice", options.choices,
            "A choice of a picture's page, as in prompt='The cat', or in a box over a picture of an analysis, as in heads=2; may be repeated. \"Copy command\" in the window's menu of a picture has them")
        ->type_name("NAME=VALUE")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    addModelFiles(command, options.model);
}

} // namespace headwise::app
