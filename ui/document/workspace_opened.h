#pragma once

// Private to workspace_*.cpp.

#include "ui/document/opened_model.h"
#include "ui/document/workspace.h"

namespace headwise::ui {

struct Workspace::Opened : OpenedModel { };

} // namespace headwise::ui
