#include "core/series/vector_tracks.h"

#include "core/circuits/singular_directions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace headwise {
namespace {

constexpr float noOverlap = std::numeric_limits<float>::quiet_NaN();

/// A vector that may continue one of the step before.
struct TrackMatch {
    std::size_t before = 0, now = 0;
    double overlap = 0; ///< The overlap of their groups.
    double own = 0;     ///< The overlap of the two vectors.
};

/// The leading singular values of a step; empty for one that could not be read.
std::vector<double> leadingValues(const HeadSpectra& spectra, std::size_t step, std::size_t most)
{
    std::vector<double> sigma;
    for (std::size_t i = 0; i < most; ++i) {
        const double value = double{spectra.values[step * spectra.rank + i]};
        if (!(value > 0) || !std::isfinite(value))
            break;
        sigma.push_back(value);
    }
    return sigma;
}

std::vector<int> blocksOf(const std::vector<double>& sigma)
{
    return degenerateBlocks(sigma, static_cast<Eigen::Index>(sigma.size()));
}

/// Pairs of vectors whose groups overlap enough, the best first.
/// \param overlaps of this step, [n, n]
std::vector<TrackMatch> matchesOf(const std::vector<double>& before, const std::vector<double>& now,
                                  std::span<const float> overlaps, std::size_t n)
{
    const std::vector<int> oldBlocks = blocksOf(before), newBlocks = blocksOf(now);
    std::vector<TrackMatch> all;
    std::vector<double> sums(n * n); // by block before and block now
    const auto sumOf = [&](const TrackMatch& pair) -> double& {
        return sums[static_cast<std::size_t>(oldBlocks[pair.before]) * n
                    + static_cast<std::size_t>(newBlocks[pair.now])];
    };
    for (std::size_t i = 0; i < before.size(); ++i)
        for (std::size_t j = 0; j < now.size(); ++j)
            if (const double own = double{overlaps[i * n + j]}; own >= 0) { // NaN is past the rank
                all.push_back({.before = i, .now = j, .overlap = 0, .own = own});
                sumOf(all.back()) += own;
            }
    for (TrackMatch& pair : all)
        pair.overlap = sumOf(pair)
            / static_cast<double>(std::min(std::ranges::count(oldBlocks, oldBlocks[pair.before]),
                                           std::ranges::count(newBlocks, newBlocks[pair.now])));
    std::erase_if(all, [](const TrackMatch& pair) { return pair.overlap <= leastTrackOverlap; });
    std::ranges::stable_sort(all, std::greater<>(),
                             [](const TrackMatch& pair) { return std::pair(pair.overlap, pair.own); });
    return all;
}

/// Numbers of one head at all steps: [steps, numbers of a head]; NaN where a step lacks the array.
std::vector<float> ofHead(std::span<const SeriesStep> steps, const std::string& path, std::size_t head,
                          std::size_t size)
{
    std::vector<float> values(steps.size() * size, noOverlap);
    for (std::size_t step = 0; step < steps.size(); ++step) {
        const ResultArray* array = steps[step].session.results.find(path);
        const auto* numbers = array ? std::get_if<std::vector<float>>(&array->values) : nullptr;
        if (numbers && numbers->size() >= (head + 1) * size)
            std::copy_n(numbers->begin() + static_cast<std::ptrdiff_t>(head * size), size,
                        values.begin() + static_cast<std::ptrdiff_t>(step * size));
    }
    return values;
}

/// The tracks of every head on one side; none if the series lacks the numbers.
std::optional<std::vector<std::vector<VectorTrack>>> tracksOfHeads(std::span<const SeriesStep> steps,
                                                                   const DirectionSide& side)
{
    const std::string spectraPath = "spectra/" + std::string(circuitName(side.circuit)) + "/singular_values";
    const std::string overlapPath = vectorOverlapPath(side.name);
    const ResultArray* spectra = steps.back().session.results.find(spectraPath);
    const ResultArray* overlaps = steps.back().session.results.find(overlapPath);
    if (!spectra || !overlaps || spectra->shape.size() != 3 || overlaps->shape.size() != 4)
        return std::nullopt;
    const std::size_t rank = spectra->shape[2], n = overlaps->shape[3];
    std::vector<std::vector<VectorTrack>> all;
    for (std::size_t head = 0; head < spectra->shape[0] * spectra->shape[1]; ++head)
        all.push_back(longestTracks(vectorTracks({rank, ofHead(steps, spectraPath, head, rank)},
                                                 {n, ofHead(steps, overlapPath, head, n * n)}),
                                    mostShownTracks));
    return all;
}

/// Array of a number of each track's points. \param described path, definition, title and range
ResultArray trackArray(ResultArray described, const std::vector<std::vector<VectorTrack>>& heads,
                       std::span<const SeriesStep> steps, float TrackPoint::*number)
{
    std::size_t most = 1;
    for (const auto& tracks : heads)
        most = std::max(most, tracks.size());
    const ModelCard& model = steps.back().session.model;
    described.shape = {static_cast<std::size_t>(model.nLayers), static_cast<std::size_t>(model.nHeads), most,
                       steps.size()};
    described.axes = {Axis::Layer, Axis::Head, ArrayAxis::named("track"), Axis::Step};
    std::vector<float> values(heads.size() * most * steps.size(), noOverlap);
    for (std::size_t head = 0; head < heads.size(); ++head)
        for (std::size_t track = 0; track < heads[head].size(); ++track)
            for (const TrackPoint& point : heads[head][track])
                values[(head * most + track) * steps.size() + point.step] = point.*number;
    described.values = std::move(values);
    std::vector<std::string> names;
    for (const SeriesStep& step : steps)
        names.push_back(std::to_string(step.step));
    described.attributes["steps"] = std::move(names);
    return described;
}

} // namespace

std::vector<VectorTrack> vectorTracks(const HeadSpectra& spectra, const VectorOverlaps& overlaps)
{
    const std::size_t n = overlaps.count, most = std::min(spectra.rank, n);
    const std::size_t steps =
        most == 0 ? 0 : std::min(spectra.values.size() / spectra.rank, overlaps.values.size() / (n * n));
    std::vector<VectorTrack> tracks;
    std::vector<double> before;
    std::vector<std::size_t> trackBefore; // of each vector at the step before
    for (std::size_t step = 0; step < steps; ++step) {
        std::vector<double> now = leadingValues(spectra, step, most);
        if (now.empty())
            continue;
        std::vector<std::optional<TrackMatch>> chosen(now.size());
        std::vector<bool> isTaken(before.size());
        const std::span<const float> ofStep(overlaps.values.data() + step * n * n, n * n);
        for (const TrackMatch& pair : matchesOf(before, now, ofStep, n))
            if (!chosen[pair.now] && !isTaken[pair.before]) {
                chosen[pair.now] = pair;
                isTaken[pair.before] = true;
            }
        std::vector<std::size_t> trackNow;
        for (std::size_t i = 0; i < now.size(); ++i) {
            const bool isNew = !chosen[i];
            trackNow.push_back(isNew ? tracks.size() : trackBefore[chosen[i]->before]);
            if (isNew)
                tracks.emplace_back();
            tracks[trackNow.back()].push_back({step, i, static_cast<float>(now[i]),
                                               isNew ? noOverlap : static_cast<float>(chosen[i]->overlap)});
        }
        before = std::move(now);
        trackBefore = std::move(trackNow);
    }
    return tracks;
}

std::vector<VectorTrack> longestTracks(std::vector<VectorTrack> tracks, std::size_t most)
{
    std::erase_if(tracks, [](const VectorTrack& track) { return track.size() < 2; });
    std::ranges::stable_sort(tracks, std::greater<>(), &VectorTrack::size);
    tracks.resize(std::min(tracks.size(), most));
    return tracks;
}

std::vector<ResultArray> trackArrays(std::span<const SeriesStep> steps)
{
    std::vector<ResultArray> arrays;
    for (const DirectionSide& side : directionSides) {
        const auto heads = steps.empty() ? std::nullopt : tracksOfHeads(steps, side);
        if (!heads)
            continue;
        const std::string path = std::string(tracksFolder) + std::string(side.name);
        const std::string ofSide = ", " + std::string(side.title);
        ResultArray sigma, overlap;
        sigma.path = path;
        sigma.title = "Singular values by vector" + ofSide;
        sigma.definition =
            "σ of each vector at the steps; a vector continues the one of the step before with which it has (u · u')² > 0.5, values within 1 % as a group by their subspace; the longest 16 tracks of two or more steps";
        overlap.path = path + "_overlap";
        overlap.title = "Overlap with the step before" + ofSide;
        overlap.definition =
            "(u · u')² of each vector with the one that it continues, of groups within 1 % the mean squared cosine of their subspaces";
        overlap.range = {0, 1};
        arrays.push_back(trackArray(std::move(sigma), *heads, steps, &TrackPoint::sigma));
        arrays.push_back(trackArray(std::move(overlap), *heads, steps, &TrackPoint::overlap));
    }
    return arrays;
}

std::string vectorOverlapPath(std::string_view side)
{
    return std::string(vectorOverlapGroup) + "/" + std::string(side);
}

bool isVectorOverlap(const ResultArray& array)
{
    return array.path.starts_with(vectorOverlapPath(""));
}

} // namespace headwise
