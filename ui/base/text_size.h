#pragma once

class QFont;

namespace headwise::ui {

/// The size of running text, in points: the system's, where its reader asked for larger text than our 10.
int bodyPointSize(const QFont& system);

} // namespace headwise::ui
