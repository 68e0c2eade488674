#pragma once

#include <QString>

namespace headwise::app {

/// Returns the demo model's folder: installed beside the program, or in the source tree it was built from; empty if
/// neither exists.
QString demoModelFolder();

} // namespace headwise::app
