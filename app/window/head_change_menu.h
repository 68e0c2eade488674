#pragma once

#include <functional>

class QMenu;

namespace headwise::ui {
class Workspace;
}

namespace headwise::app {

/// Fills a menu with the changes of the selected head: remove the selected singular component of W_OV, or replace the head by
/// the virtual head after the reference head. A last item undoes all changes.
/// \param whenSafe  calls its argument once unsaved results may be dropped
void fillHeadChangeMenu(QMenu& menu, ui::Workspace& workspace,
                        const std::function<void(const std::function<void()>&)>& whenSafe);

/// Restores the original heads of the model.
void undoHeadChanges(ui::Workspace& workspace);

} // namespace headwise::app
