#include "core/circuits/singular_search.h"

#include "core/base/parallel.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace headwise {

namespace {

constexpr Eigen::Index singularSearchTokensPerBlock = 1024;

/// The tokens of one side in the order in which they are compared: the longest first, then the rest.
struct AskedTokens {
    DirectionSide side;
    int layer = 0;             // layer whose E is used
    std::vector<int> longIds;  // by falling ‖row‖
    Matrix<double> longRows;   // [longIds, d]
    std::vector<bool> skipped; // [V]: true without a token, or if among longIds
};

bool isUnusedInSearch(const DirectionSearch& search, Eigen::Index id)
{
    return static_cast<std::size_t>(id) < search.unusedTokens.size()
        && search.unusedTokens[static_cast<std::size_t>(id)];
}

Result<AskedTokens> askedTokens(const TokenSide& tokens, const DirectionSide& side, int layer,
                                const DirectionSearch& search, const Task& task)
{
    const Eigen::Index count = tokenCount(tokens, side, layer);
    Eigen::VectorXd norms(count);
    const auto done =
        forEachTokenBlock(tokens, side, layer, task, [&](Eigen::Index first, const Matrix<double>& rows) {
            norms.segment(first, rows.rows()) = rows.rowwise().squaredNorm();
        });
    if (!done)
        return done.error();
    AskedTokens asked{side, layer, {}, {}, std::vector<bool>(static_cast<std::size_t>(count), false)};
    for (int id = 0; id < count; ++id) {
        if (isUnusedInSearch(search, id))
            asked.skipped[static_cast<std::size_t>(id)] = true;
        else
            asked.longIds.push_back(id);
    }
    const auto kept = std::min<std::ptrdiff_t>(2 * singularSearchTokensPerBlock, std::ssize(asked.longIds));
    std::partial_sort(asked.longIds.begin(), asked.longIds.begin() + kept, asked.longIds.end(),
                      [&](int a, int b) { return std::pair(-norms(a), a) < std::pair(-norms(b), b); });
    asked.longIds.resize(static_cast<std::size_t>(kept));
    asked.longRows.resize(kept, 0);
    for (std::ptrdiff_t i = 0; i < kept; ++i) {
        const int id = asked.longIds[static_cast<std::size_t>(i)];
        const Matrix<double> row = tokenRows(tokens, side, layer, id, 1);
        asked.longRows.conservativeResize(kept, row.cols());
        asked.longRows.row(i) = row;
        asked.skipped[static_cast<std::size_t>(id)] = true;
    }
    return asked;
}

/// Counts the token's rank at both ends of each direction, up to the rank that matters.
class Places {
public:
    /// \param directions [d, n] \param row of the token, [d]
    Places(const DirectionSearch& search, Matrix<double> directions, const RowVector<double>& row)
        : m_search(search)
        , m_directions(std::move(directions))
        , m_own(row * m_directions)
        , m_above(static_cast<std::size_t>(m_directions.cols()), 0)
        , m_below(m_above)
        , m_index(m_above)
    {
        std::iota(m_index.begin(), m_index.end(), 0);
    }

    bool isEmpty() const { return m_index.empty(); }

    /// \param rows [count, d] of the tokens idOf(0) … idOf(count − 1); ids below 0 are skipped
    template <typename IdOf>
    void meet(const Matrix<double>& rows, IdOf idOf)
    {
        const Matrix<double> scores = rows * m_directions;
        for (Eigen::Index k = 0; k < scores.cols(); ++k) {
            const auto at = static_cast<std::size_t>(k);
            for (Eigen::Index i = 0; i < scores.rows(); ++i) {
                const int id = idOf(i);
                if (id < 0 || id == m_search.token)
                    continue;
                const double score = scores(i, k);
                const bool tieBefore = score == m_own(k) && id < m_search.token;
                m_above[at] += score > m_own(k) || tieBefore ? 1 : 0;
                m_below[at] += score < m_own(k) || tieBefore ? 1 : 0;
            }
        }
        dropLost();
    }

    struct Place {
        int direction, above, below;
        double score;
    };
    std::vector<Place> places() const
    {
        std::vector<Place> out;
        for (std::size_t i = 0; i < m_index.size(); ++i)
            out.push_back({m_index[i], m_above[i], m_below[i], m_own(static_cast<Eigen::Index>(i))});
        return out;
    }

private:
    void dropLost()
    {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < m_index.size(); ++i) {
            if (m_above[i] >= m_search.top && m_below[i] >= m_search.top)
                continue;
            const auto from = static_cast<Eigen::Index>(i);
            const auto to = static_cast<Eigen::Index>(kept++);
            m_directions.col(to) = m_directions.col(from).eval();
            m_own(to) = m_own(from);
            m_above[kept - 1] = m_above[i];
            m_below[kept - 1] = m_below[i];
            m_index[kept - 1] = m_index[i];
        }
        m_directions.conservativeResize(Eigen::NoChange, static_cast<Eigen::Index>(kept));
        m_own.conservativeResize(static_cast<Eigen::Index>(kept));
        m_above.resize(kept);
        m_below.resize(kept);
        m_index.resize(kept);
    }

    const DirectionSearch& m_search;
    Matrix<double> m_directions;       // [d, n] directions still in question
    RowVector<double> m_own;           // [n] the token's own scores
    std::vector<int> m_above, m_below; // [n] tokens that rank before it
    std::vector<int> m_index;          // [n] original number of each direction
};

class SingularSearch {
public:
    SingularSearch(const Circuits& circuits, const TokenSide& tokens, const DirectionSearch& search,
                   const Task& task)
        : m_circuits(circuits)
        , m_tokens(tokens)
        , m_search(search)
        , m_task(task)
    {
    }

    Result<std::vector<DirectionHit>> run()
    {
        if (const auto done = askEverySide(); !done)
            return done.error();
        std::vector<HeadId> heads = m_search.heads;
        if (heads.empty()) {
            for (int layer = 0; layer < m_circuits.config().nLayers; ++layer) {
                for (int head = 0; head < m_circuits.config().nHeads; ++head)
                    heads.push_back({layer, head});
            }
        }
        std::vector<std::vector<DirectionHit>> found(heads.size());
        const auto done =
            parallelFor(static_cast<int>(heads.size()), m_task, "heads searched", [&](int i) -> Result<Done> {
                const auto at = static_cast<std::size_t>(i);
                Result<Done> state = Done{};
                for (const CircuitKind kind : {CircuitKind::Ov, CircuitKind::Qk}) {
                    if (state)
                        state = searchCircuit(kind, heads[at], found[at]);
                }
                const bool isBroken = !state && state.error().code == ErrorCode::Corrupt;
                return isBroken ? Done{} : state; // a head whose weights are not finite has no directions
            });
        if (!done)
            return done.error();
        std::vector<DirectionHit> hits;
        for (const std::vector<DirectionHit>& part : found)
            hits.insert(hits.end(), part.begin(), part.end());
        std::sort(hits.begin(), hits.end(), [](const DirectionHit& a, const DirectionHit& b) {
            const auto key = [](const DirectionHit& hit) {
                return std::tuple(hit.rank, hit.head, hit.circuit, hit.side, hit.direction, -hit.sign);
            };
            return key(a) < key(b);
        });
        return hits;
    }

private:
    Result<Done> askEverySide()
    {
        const std::vector<int> layers =
            m_tokens.isLayer0Special(0) ? std::vector<int>{0, 1} : std::vector<int>{1};
        for (const int layer : layers) {
            auto in = askedTokens(m_tokens, directionSides[0], layer, m_search, m_task);
            if (!in)
                return in.error();
            m_embedded.push_back(std::move(in).value());
        }
        auto out = askedTokens(m_tokens, directionSides[1], 1, m_search, m_task);
        if (!out)
            return out.error();
        m_unembedded = std::move(out).value();
        return Done{};
    }

    const AskedTokens& askedOf(const DirectionSide& side, int layer) const
    {
        if (side.usesUnembedding())
            return m_unembedded;
        return m_tokens.isLayer0Special(layer) ? m_embedded.front() : m_embedded.back();
    }

    Result<Done> searchCircuit(CircuitKind kind, HeadId head, std::vector<DirectionHit>& hits)
    {
        const auto svd = singularDirections(m_circuits, kind, head);
        if (!svd)
            return svd.error();
        std::vector<DirectionHit> found;
        for (const DirectionSide& side : directionSides) {
            if (side.circuit != kind || m_search.token >= tokenCount(m_tokens, side, head.layer))
                continue;
            if (const auto done = searchSide(side, head, *svd, found); !done)
                return done;
        }
        if (const auto done = fixSigns(kind, head, *svd, found); !done)
            return done;
        hits.insert(hits.end(), found.begin(), found.end());
        return Done{};
    }

    Result<Done> searchSide(const DirectionSide& side, HeadId head, const SingularDirections& svd,
                            std::vector<DirectionHit>& hits)
    {
        const AskedTokens& asked = askedOf(side, head.layer);
        Places places(m_search, svd.vectors(side.side).leftCols(svd.rank),
                      tokenRows(m_tokens, side, head.layer, m_search.token, 1));
        const Eigen::Index strongest = std::ssize(asked.longIds);
        for (Eigen::Index first = 0; first < strongest && !places.isEmpty();
             first += singularSearchTokensPerBlock) {
            const Eigen::Index count = std::min(singularSearchTokensPerBlock, strongest - first);
            places.meet(asked.longRows.middleRows(first, count),
                        [&](Eigen::Index i) { return asked.longIds[static_cast<std::size_t>(first + i)]; });
        }
        const Eigen::Index all = tokenCount(m_tokens, side, head.layer);
        for (Eigen::Index first = 0; first < all && !places.isEmpty();
             first += singularSearchTokensPerBlock) {
            if (m_task.cancelled())
                return stopped();
            const Eigen::Index count = std::min(singularSearchTokensPerBlock, all - first);
            places.meet(tokenRows(m_tokens, side, head.layer, first, count), [&](Eigen::Index i) {
                return asked.skipped[static_cast<std::size_t>(first + i)] ? -1 : static_cast<int>(first + i);
            });
        }
        const std::vector<int> blocks =
            degenerateBlocks({svd.S.data(), static_cast<std::size_t>(svd.S.size())}, svd.rank);
        for (const Places::Place& place : places.places()) {
            const int block = blocks[static_cast<std::size_t>(place.direction)];
            DirectionHit hit{.head = head, .circuit = side.circuit, .side = side.side};
            hit.direction = place.direction;
            hit.score = place.score;
            hit.sigma = svd.S(place.direction);
            hit.blockSize = static_cast<int>(std::count(blocks.begin(), blocks.end(), block));
            for (const int sign : {1, -1}) {
                hit.sign = sign;
                hit.rank = sign > 0 ? place.above : place.below;
                if (hit.rank < m_search.top)
                    hits.push_back(hit);
            }
        }
        return Done{};
    }

    /// Changes the decomposition's own signs to ours.
    Result<Done> fixSigns(CircuitKind kind, HeadId head, const SingularDirections& svd,
                          std::vector<DirectionHit>& hits) const
    {
        if (hits.empty())
            return Done{};
        std::vector<int> found;
        found.reserve(hits.size());
        for (const DirectionHit& hit : hits)
            found.push_back(hit.direction);
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        const Matrix<double> directions = svd.U(Eigen::all, found);
        const DirectionSide& firstSide = directionSides[kind == CircuitKind::Ov ? 0 : 2];
        const auto scores = directionScores(m_tokens, firstSide, head.layer, directions, m_task);
        if (!scores)
            return scores.error();
        for (DirectionHit& hit : hits) {
            const auto at = std::lower_bound(found.begin(), found.end(), hit.direction) - found.begin();
            const double sign = jointSign(scores->col(at), m_search.unusedTokens);
            hit.sign *= static_cast<int>(sign);
            hit.score *= sign;
        }
        return Done{};
    }

    const Circuits& m_circuits;
    const TokenSide& m_tokens;
    const DirectionSearch& m_search;
    const Task& m_task;
    std::vector<AskedTokens> m_embedded; // layer 0's own first, if it has one
    AskedTokens m_unembedded;
};

std::string wrongSearch(const Circuits& circuits, const TokenSide& tokens, const DirectionSearch& search)
{
    const Eigen::Index count = std::max(tokens.E.count(), tokens.W_U.count());
    if (search.token < 0 || search.token >= count)
        return fmt::format("There is no token {}: the vocabulary has ids 0 to {}.", search.token, count - 1);
    if (isUnusedInSearch(search, search.token))
        return fmt::format(
            "Id {} is not a token in use: the tokenizer has no token for it, or the token filter removes it.",
            search.token);
    if (search.top < 1)
        return fmt::format("The search asks for the top {} tokens of each direction, expected at least 1.",
                           search.top);
    for (const HeadId head : search.heads) {
        if (!circuits.contains(head))
            return fmt::format("There is no head {} in this model; choose one of its heads.",
                               dottedHead(head));
    }
    return {};
}

} // namespace

Result<std::vector<DirectionHit>> findInDirections(const Circuits& circuits, const TokenSide& tokens,
                                                   const DirectionSearch& search, const Task& task)
{
    if (std::string wrong = wrongSearch(circuits, tokens, search); !wrong.empty())
        return Error{ErrorCode::InvalidArgument, std::move(wrong)};
    return SingularSearch(circuits, tokens, search, task).run();
}

} // namespace headwise
