#pragma once

// Private to workspace_*.cpp.

#include "ui/opened_model.h"
#include "ui/workspace.h"

namespace headwise::ui {

struct Workspace::Opened : OpenedModel { };

} // namespace headwise::ui
