#pragma once

#include <QString>

namespace headwise::ui {

/// `words` with every one of them that is written from right to left isolated (U+2068 … U+2069), so that the numbers and arrows
/// beside a Hebrew or Arabic token stay where they are. For the screen; what is copied or exported has no such marks.
QString isolated(const QString& words);

} // namespace headwise::ui
