#pragma once

#include "core/results/result_set.h"
#include "core/series/series_file.h"
#include "core/series/series_steps.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A singular vector at one step.
struct TrackPoint {
    std::size_t step = 0;  ///< Index into Series::steps.
    std::size_t index = 0; ///< Place among the singular values of this step, from 0.
    float sigma = 0;
    float overlap = 0; ///< With the vector of the point before, 0 to 1; NaN for the first point.

    bool operator==(const TrackPoint&) const = default;
};

/// One singular vector followed over the steps, whatever its place among the singular values.
using VectorTrack = std::vector<TrackPoint>;

/// A vector continues the one before if their overlap is above this. At most one vector of the step before can have as much.
inline constexpr double leastTrackOverlap = 0.5;

/// Follows the leading singular vectors of one head from step to step by the overlap (u_i · u'_j)², not by their index. In order of
/// the first point.
///
/// Singular values within 1 % of each other are matched as a group, because only their joint subspace is determined (degenerateBlocks).
/// The overlap of two groups is ‖U_Aᵀ U'_B‖² over the smaller of their sizes. Pairs are taken by falling overlap, inside a group by
/// that of the vectors. A track ends where no vector has more than `leastTrackOverlap`, and a vector without one before begins a track.
/// A step that could not be read is passed over.
std::vector<VectorTrack> vectorTracks(const HeadSpectra& spectra, const VectorOverlaps& overlaps);

/// Returns the tracks of two or more steps, the longest `most` of them, the longest first.
std::vector<VectorTrack> longestTracks(std::vector<VectorTrack> tracks, std::size_t most);
inline constexpr std::size_t mostShownTracks = 16; // a person tells apart

/// The tracks of all heads as arrays that `export` draws, for each side with overlaps: tracks/SIDE, the singular values
/// [layer, head, track, step], and tracks/SIDE_overlap. NaN where a track has no vector.
/// \param steps of one series
std::vector<ResultArray> trackArrays(std::span<const SeriesStep> steps);

/// Path of the squared cosines of a side in the file of a series. \param side as DirectionSide::name
std::string vectorOverlapPath(std::string_view side);
bool isVectorOverlap(const ResultArray& array);
inline constexpr std::string_view vectorOverlapGroup = "vector_overlaps";
inline constexpr std::string_view tracksFolder = "tracks/"; ///< Holds the arrays of trackArrays().

} // namespace headwise
