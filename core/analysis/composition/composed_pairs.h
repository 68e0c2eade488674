#pragma once

#include "core/analysis/catalogue.h"
#include "core/analysis/composition/head_sides.h"
#include "core/analysis/composition/product_norms.h"

#include <optional>
#include <vector>

namespace headwise {

/// The routes to the norms of the modes. Heads that share their keys share their values, so K and V have one.
struct ModeRoutes {
    NormRoute queries = NormRoute::Products;
    NormRoute keysAndValues = NormRoute::Products;

    NormRoute of(Mode mode) const { return mode == Mode::Q ? queries : keysAndValues; }
    int count(NormRoute route) const; ///< Modes that take this route.
};

/// Operations between heads, by step.
struct PairOperations {
    double tiles = 0;    ///< of Gram matrices
    double pairs = 0;    ///< inner products of Gram matrices
    double products = 0; ///< of thin matrices

    double sum() const { return tiles + pairs + products; }
};

/// The head pairs to compute: both heads selected, or (with `oneEndIsEnough`) at least one. A shard computes the pairs whose later
/// head is its own.
class ComposedPairs {
public:
    /// \param headsPerKeys consecutive heads of a layer that have the same keys and values
    ComposedPairs(const ModelConfig& config, const AnalysisOptions& options, int headsPerKeys);

    bool contains(HeadId earlier, HeadId later) const;
    /// Returns whether some pair has this head first (last).
    bool hasEarlier(HeadId head) const;
    bool hasLater(HeadId head) const;
    /// Returns whether this shard computes the pairs with this later head.
    bool isOwn(HeadId later) const;

    /// Returns the number of pairs. These counts are those of all shards together.
    double count() const;
    /// Returns the sides of heads: what an earlier one writes, and three by which a later one reads.
    double sides() const;
    PairOperations operations(const ModeRoutes& routes) const;
    /// Returns the routes with the fewest operations; float64 has one.
    ModeRoutes routes() const;

private:
    struct Layer {
        double asked = 0;                   ///< heads
        double before = 0, askedBefore = 0; ///< heads of the layers before
        double earlier = 0, later = 0;      ///< heads that are first (last) in some pair
        double groups = 0;                  ///< groups with shared keys that have a later head
        double askedGroups = 0;             ///< those with a later head that is asked for
    };

    bool isAsked(HeadId head) const
    {
        return m_isAsked[static_cast<std::size_t>(head.layer) * m_nHeads
                         + static_cast<std::size_t>(head.head)];
    }

    std::size_t m_nHeads;
    double m_r, m_d;
    bool m_oneEnd;
    bool m_isFloat32;
    std::vector<bool> m_isAsked;
    std::vector<Layer> m_layers;
    std::optional<std::vector<HeadId>> m_share;
};

} // namespace headwise
