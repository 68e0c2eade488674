#pragma once

#include "core/series/series_file.h"

#include <nlohmann/json_fwd.hpp>

namespace headwise::app {

/// The model, steps, skipped members, scores and changes of a series, as `series --json` and `merge --json` print them.
nlohmann::ordered_json seriesJson(const Series& series);

} // namespace headwise::app
