#pragma once

class QMenu;

namespace headwise::ui {

class ColorBar;

/// Returns the context menu of a colour bar: maps, fits, transforms, and what pixels show. It deletes itself when closed.
QMenu* makeColorBarMenu(ColorBar* bar);

} // namespace headwise::ui
