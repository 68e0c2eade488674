#include "app/commands/export/export_list.h"

#include "app/commands/export/export_series.h"
#include "app/commands/export/page_pictures.h"
#include "app/commands/support.h"
#include "core/session/view_names.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace headwise::app {

Result<int> listViews(const ListOptions& options, const Task& task)
{
    std::vector<ViewDescription> list = views();
    if (!options.session.empty()) {
        const auto from = readExported(options.session, options.step, task);
        if (!from)
            return from.error();
        list = viewsOf(from->session);
    } else {
        list.push_back(
            {"PATH", "Any other array of the session; export --list SESSION lists them", "/PATH", false});
        list.push_back({"ANALYSIS: PICTURE",
                        "A picture of several arrays on the page of an analysis, in quotes", "its arrays",
                        false});
        for (const PagePicture& picture : pagePictures())
            list.push_back({std::string(picture.page).append(pageColon).append(picture.name),
                            std::string(picture.name), std::string(picture.needs), picture.ofHead});
    }
    if (options.json) {
        auto json = nlohmann::ordered_json::array();
        for (const ViewDescription& view : list)
            json.push_back(
                {{"name", view.name}, {"title", view.title}, {"needs", view.needs}, {"head", view.ofHead}});
        printJson(json);
        return 0;
    }
    for (const ViewDescription& view : list)
        std::cout << view.name << '\t' << view.title << '\t' << view.needs
                  << (view.ofHead ? ", one head (--head)" : "") << '\n';
    return 0;
}

} // namespace headwise::app
