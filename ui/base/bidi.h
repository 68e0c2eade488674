#pragma once

#include <QString>

namespace headwise::ui {

/// Isolates every word that is written from right to left (U+2068 … U+2069), so that the numbers and arrows beside a
/// Hebrew or Arabic token stay in place. For the screen only: copied and exported text has no such marks.
QString isolated(const QString& words);

} // namespace headwise::ui
