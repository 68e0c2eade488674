#pragma once

#include <QIcon>
#include <QStringList>

namespace headwise::ui {

/// A single-stroke icon of our own set, drawn in the text colour of the palette at the moment of painting, so that it
/// follows light and dark. A name that is not in the set is asked of the desktop's theme.
QIcon icon(const char* name);

QStringList iconNames(); ///< The set.
QIcon applicationIcon();

} // namespace headwise::ui
