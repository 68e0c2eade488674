#include "core/analysis/composition/composed_pairs.h"

#include "core/analysis/selected_heads.h"

#include <algorithm>
#include <array>

namespace headwise {

int ModeRoutes::count(NormRoute route) const
{
    return (queries == route ? 1 : 0) + (keysAndValues == route ? 2 : 0);
}

ComposedPairs::ComposedPairs(const ModelConfig& config, const AnalysisOptions& options, int headsPerKeys)
    : m_nHeads(static_cast<std::size_t>(config.nHeads))
    , m_r(config.dHead)
    , m_d(config.dModel)
    , m_oneEnd(options.oneEndIsEnough)
    , m_isFloat32(options.precision == Precision::F32)
    , m_isAsked(static_cast<std::size_t>(config.nLayers) * m_nHeads, false)
    , m_layers(static_cast<std::size_t>(config.nLayers))
    , m_share(options.share)
{
    for (const HeadId head : selectedHeads(config, options)) {
        m_isAsked[static_cast<std::size_t>(head.layer) * m_nHeads + static_cast<std::size_t>(head.head)] =
            true;
        m_layers[static_cast<std::size_t>(head.layer)].asked += 1;
    }
    for (std::size_t layer = 1; layer < m_layers.size(); ++layer) {
        const Layer& last = m_layers[layer - 1];
        m_layers[layer].before = last.before + config.nHeads;
        m_layers[layer].askedBefore = last.askedBefore + last.asked;
    }
    for (HeadId head{0, 0}; head.layer < config.nLayers; ++head.layer) {
        Layer& layer = m_layers[static_cast<std::size_t>(head.layer)];
        int group = -1, askedGroup = -1; // counted last
        for (head.head = 0; head.head < config.nHeads; ++head.head) {
            layer.earlier += hasEarlier(head) ? 1 : 0;
            if (!hasLater(head))
                continue;
            const int own = head.head / headsPerKeys;
            layer.later += 1;
            layer.groups += own != group ? 1 : 0;
            group = own;
            if (isAsked(head)) {
                layer.askedGroups += own != askedGroup ? 1 : 0;
                askedGroup = own;
            }
        }
    }
}

bool ComposedPairs::contains(HeadId earlier, HeadId later) const
{
    return m_oneEnd ? isAsked(earlier) || isAsked(later) : isAsked(earlier) && isAsked(later);
}

bool ComposedPairs::hasEarlier(HeadId head) const
{
    const Layer &own = m_layers[static_cast<std::size_t>(head.layer)], &last = m_layers.back();
    const bool isAskedAfter = last.askedBefore + last.asked > own.askedBefore + own.asked;
    return &own != &last && (isAsked(head) || (m_oneEnd && isAskedAfter));
}

bool ComposedPairs::hasLater(HeadId head) const
{
    const Layer& own = m_layers[static_cast<std::size_t>(head.layer)];
    return head.layer > 0 && (isAsked(head) || (m_oneEnd && own.askedBefore > 0));
}

bool ComposedPairs::isOwn(HeadId later) const
{
    return !m_share || std::find(m_share->begin(), m_share->end(), later) != m_share->end();
}

double ComposedPairs::count() const
{
    double count = 0;
    for (const Layer& layer : m_layers) {
        const double neither =
            (layer.before - layer.askedBefore) * (static_cast<double>(m_nHeads) - layer.asked);
        count += m_oneEnd ? layer.before * static_cast<double>(m_nHeads) - neither
                          : layer.askedBefore * layer.asked;
    }
    return count;
}

double ComposedPairs::sides() const
{
    double sides = 0;
    for (const Layer& layer : m_layers)
        sides += layer.earlier + 3 * layer.later;
    return sides;
}

PairOperations ComposedPairs::operations(const ModeRoutes& routes) const
{
    const double product = 2 * m_r * m_r * m_d, root = 2 * m_r * m_r * m_r;
    double earlier = 0, later = 0, meetings = 0, shared = 0; // a Gram's tile meets all, asked or not
    for (const Layer& layer : m_layers) {
        meetings += earlier * layer.later;
        earlier += layer.earlier;
        later += layer.later;
        shared += layer.askedGroups * (m_oneEnd ? layer.before : layer.askedBefore)
            + (layer.groups - layer.askedGroups) * layer.askedBefore;
    }
    const double byGrams = routes.count(NormRoute::Grams);
    PairOperations operations;
    if (byGrams > 0)
        operations.tiles = gramTileOperations(earlier + byGrams * later, m_r, m_d);
    operations.pairs = byGrams * gramPairOperations(meetings, m_d);
    if (routes.queries == NormRoute::Products)
        operations.products += count() * (product + root);
    if (routes.keysAndValues == NormRoute::Products)
        operations.products += 2 * (shared * product + count() * root);
    return operations;
}

ModeRoutes ComposedPairs::routes() const
{
    if (!m_isFloat32)
        return {};
    using enum NormRoute;
    const std::array all{ModeRoutes{Products, Products}, ModeRoutes{Grams, Products},
                         ModeRoutes{Products, Grams}, ModeRoutes{Grams, Grams}};
    return std::ranges::min(all, {}, [this](const ModeRoutes& routes) { return operations(routes).sum(); });
}

} // namespace headwise
