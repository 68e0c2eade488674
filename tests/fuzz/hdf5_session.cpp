#include "core/session/kept_figures.h"
#include "core/session/picture_numbers.h"
#include "core/session/session_file.h"
#include "core/session/views.h"
#include "tests/fuzz/input_folder.h"

#include <cstdlib>
#include <optional>

/// A session, through the process that reads it. Whatever happens to that process, this one goes on. A session that opens
/// has views, and its figures are read or refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const headwise::fuzz::InputFolder folder;
    const auto session = headwise::readSession(folder.write("session.h5", data, size), headwise::Task{});
    if (!session
        && (session.error().message.empty() || session.error().code == headwise::ErrorCode::Internal))
        abort();
    if (session) {
        const auto figures = headwise::parseKeptFigures(session->figures, "the session");
        if (!figures && figures.error().message.empty())
            abort();
        for (const headwise::ViewDescription& described : headwise::viewsOf(*session))
            if (const auto view =
                    headwise::viewOf(*session, described.name,
                                     described.ofHead ? std::optional(headwise::HeadId{}) : std::nullopt))
                static_cast<void>(headwise::numbersOf(*session, view->picture, view->head));
    }
    return 0;
}
