#pragma once

#include <QIcon>

namespace headwise::ui {

/// Returns an icon of our own single-stroke set, drawn in the palette's text colour at the moment of painting, so that it
/// follows light and dark themes. Other names come from the desktop's icon theme.
QIcon icon(const char* name);

QIcon applicationIcon();

} // namespace headwise::ui
