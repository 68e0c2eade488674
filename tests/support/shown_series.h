#pragma once

#include "ui/document/training_series.h"

#include <limits>
#include <memory>

namespace headwise::test {

/// A series of six checkpoints of a model with 2 × 3 heads. L1H2 became a previous-token head between steps 100 and 512, and
/// L0H1 copies from step 1000 on. The checkpoint of step 10 is damaged.
/// \param file where the series would be; its folder may hold the checkpoints
inline std::shared_ptr<const ui::OpenedSeries> shownSeries(const std::filesystem::path& file)
{
    auto opened = std::make_shared<ui::OpenedSeries>();
    opened->file = file;
    Series& series = opened->series;
    series.steps = {0, 1, 10, 100, 512, 1000};
    series.nLayers = 2;
    series.nHeads = 3;
    series.modelName = "toy";
    SeriesScore previous{.name = "previous_token",
                         .title = "Previous token",
                         .unit = "",
                         .definition = "mean attention to the previous token",
                         .null = 0.1,
                         .values = {}};
    SeriesScore copying{.name = "copying",
                        .title = "Copying",
                        .unit = "",
                        .definition = "share of positive eigenvalues",
                        .null = {},
                        .values = {}};
    for (const int step : series.steps) {
        const bool isDamaged = step == 10;
        series.members.push_back("step" + std::to_string(step));
        series.problems.push_back(isDamaged ? "model.safetensors ends early" : "");
        for (int place = 0; place < 6; ++place) {
            const float missing = std::numeric_limits<float>::quiet_NaN();
            const float small = 0.01F * static_cast<float>(place);
            previous.values.push_back(isDamaged ? missing : place == 5 && step >= 512 ? 0.9F : small);
            copying.values.push_back(isDamaged ? missing : place == 1 && step == 1000 ? 0.8F : -small);
        }
    }
    series.scores = {previous, copying};
    series.changes = {
        {.head = {1, 2},
         .score = "previous_token",
         .before = 3,
         .after = 4,
         .valueBefore = 0.05,
         .valueAfter = 0.9,
         .evidence = 0.97,
         .text = "between steps 100 and 512 L1H2 became a previous-token head (0.0500 to 0.900)"},
        {.head = {0, 1},
         .score = "copying",
         .before = 4,
         .after = 5,
         .valueBefore = -0.01,
         .valueAfter = 0.8,
         .evidence = 0.9,
         .text = "between steps 512 and 1000 L0H1 became a copying head (-0.0100 to 0.800)"}};
    opened->members.resize(series.steps.size());
    for (std::size_t step = 0; step < series.steps.size(); ++step)
        if (std::filesystem::exists(file.parent_path() / series.members[step]))
            opened->members[step] = file.parent_path() / series.members[step];
    return opened;
}

} // namespace headwise::test
