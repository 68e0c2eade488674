#include "tests/bench/window_figures.h"

namespace headwise::bench {

std::vector<Figure> windowFigures(const Subject& /*subject*/, const Limits& /*limits*/)
{
    return {};
}

bool windowIsBuilt()
{
    return false;
}

void endWindowJobs() { }

int useWindow(const std::filesystem::path& /*folder*/)
{
    return 4;
}

int startWindow()
{
    return 4;
}

} // namespace headwise::bench
