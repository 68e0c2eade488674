#pragma once

#include "ui/document/workspace.h"

namespace headwise::ui {

/// The one Part of a workspace, which owns it; made when first asked for.
template <typename Part>
Part* partOf(Workspace* workspace)
{
    auto* found = workspace->findChild<Part*>(QString(), Qt::FindDirectChildrenOnly);
    return found ? found : new Part(workspace);
}

} // namespace headwise::ui
