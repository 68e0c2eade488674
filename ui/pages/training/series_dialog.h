#pragma once

#include "core/series/series_members.h"

class QWidget;

namespace headwise::ui {

class TrainingSeries;

/// Asks where to write the series of these checkpoints, NAME.h5 in their folder at first, and computes it. An existing series gains
/// the checkpoints it lacks.
void askForSeriesFile(QWidget* window, TrainingSeries* series, const SeriesMembers& members,
                      const std::filesystem::path& folder);

} // namespace headwise::ui
