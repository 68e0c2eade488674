#include "core/series/step_curves.h"

#include "core/series/vector_tracks.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

namespace headwise {
namespace {

constexpr std::string_view scoresFolder = "scores/", spectraFolder = "spectra/",
                           valuesName = "/singular_values";

/// The path of an array over the steps; none if it has no curves.
std::optional<std::string> curvePath(const ResultArray& array)
{
    const bool isScore = array.path.starts_with(scoresFolder) && array.shape.size() == 2;
    const bool isSpectrum =
        array.path.starts_with(spectraFolder) && array.path.ends_with(valuesName) && array.shape.size() == 3;
    if (!std::holds_alternative<std::vector<float>>(array.values) || !(isScore || isSpectrum))
        return std::nullopt;
    std::string name = array.path.substr(isScore ? scoresFolder.size() : spectraFolder.size());
    std::ranges::replace(name, '/', '_');
    return std::string(trainingFolder) + name;
}

/// The array with an axis of steps behind the others.
ResultArray overSteps(ResultArray array, std::string path, std::span<const SeriesStep> steps)
{
    const std::size_t size = std::get<std::vector<float>>(array.values).size();
    std::vector<float> values(size * steps.size(), std::numeric_limits<float>::quiet_NaN());
    std::vector<std::string> names;
    for (std::size_t step = 0; step < steps.size(); ++step) {
        names.push_back(std::to_string(steps[step].step));
        const ResultArray* there = steps[step].session.results.find(array.path);
        const auto* numbers = there ? std::get_if<std::vector<float>>(&there->values) : nullptr;
        if (!numbers || there->shape != array.shape)
            continue;
        for (std::size_t i = 0; i < size; ++i)
            values[i * steps.size() + step] = (*numbers)[i];
    }
    array.path = std::move(path);
    array.shape.push_back(steps.size());
    array.axes.emplace_back(Axis::Step);
    array.values = std::move(values);
    array.attributes["steps"] = std::move(names);
    return array;
}

/// Names the rows of a spectrum as everybody counts them.
void nameSingularValues(ResultArray& array)
{
    std::vector<std::string> names;
    for (std::size_t i = 1; i <= array.shape[2]; ++i)
        names.push_back("σ_" + std::to_string(i));
    array.attributes["singular value_labels"] = std::move(names);
}

} // namespace

std::vector<ResultArray> stepCurves(std::span<const SeriesStep> steps)
{
    std::vector<ResultArray> curves = trackArrays(steps);
    if (steps.empty())
        return curves;
    for (const ResultArray& array : steps.back().session.results.arrays) {
        std::optional<std::string> path = curvePath(array);
        if (!path)
            continue;
        curves.push_back(overSteps(array, *std::move(path), steps));
        if (array.shape.size() == 3)
            nameSingularValues(curves.back());
    }
    return curves;
}

void addStepCurves(std::vector<SeriesStep>& steps)
{
    if (!steps.empty())
        std::ranges::move(stepCurves(steps), std::back_inserter(steps.back().session.results.arrays));
}

bool showsAllSteps(std::string_view view)
{
    view.remove_prefix(view.starts_with('/') ? 1 : 0);
    return view.starts_with(tracksFolder) || view.starts_with(trainingFolder);
}

} // namespace headwise
