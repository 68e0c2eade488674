#pragma once

class QFont;

namespace headwise::ui {

/// Size of body text in points: ours is 10, or the system's if the user chose a larger one.
int bodyPointSize(const QFont& system);

} // namespace headwise::ui
