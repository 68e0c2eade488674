#pragma once

#include "tests/support/planted_induction.h"

#include <array>
#include <filesystem>
#include <string>

namespace headwise::test {

/// A training whose circuits appear at known steps: 0.3 attends to the previous token from step 512 on, and 1.2, 1.1 and 1.6 copy
/// from step 1000 on.
struct PlantedSeries {
    static constexpr std::array steps{0, 64, 256, 512, 1000, 2000};
    static constexpr int previousSince = 512, copyingSince = 1000;

    static std::filesystem::path member(const std::filesystem::path& folder, int step)
    {
        return folder / ("step" + std::to_string(step));
    }

    /// Writes step0, step64, … into a folder.
    explicit PlantedSeries(const std::filesystem::path& folder)
    {
        for (const int step : steps)
            write(folder, step);
    }

    static void write(const std::filesystem::path& folder, int step)
    {
        PlantedInduction planted(0.02, static_cast<unsigned>(step + 1));
        if (step < previousSince)
            planted.model.set("W_Q", PlantedInduction::previous, planted.elsewhere);
        if (step < copyingSince)
            for (const HeadId head : {PlantedInduction::induction, PlantedInduction::afterNotPrevious,
                                      PlantedInduction::noMatching})
                planted.model.set("W_V", head, planted.elsewhere);
        planted.model.write(member(folder, step));
    }
};

} // namespace headwise::test
