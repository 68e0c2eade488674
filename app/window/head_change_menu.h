#pragma once

#include <functional>

class QMenu;

namespace headwise::ui {
class Workspace;
}

namespace headwise::app {

/// Fills a menu with what may stand in the selected head's place: its W_OV without the selected singular component, or the
/// virtual head after the reference head; and a way back.
/// \param whenSafe  calls what it is given once results that are not saved may go
void fillHeadChangeMenu(QMenu& menu, ui::Workspace& workspace,
                        const std::function<void(const std::function<void()>&)>& whenSafe);

/// All heads as they are in the model again.
void undoHeadChanges(ui::Workspace& workspace);

} // namespace headwise::app
