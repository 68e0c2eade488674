#include "core/analysis/tokens/card_priors.h"

#include "core/analysis/shared/cards.h"
#include "core/analysis/shared/mean_tokens.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/base/parallel.h"
#include "core/circuits/row_moments.h"
#include "core/model/families/layer_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

constexpr std::size_t cardPriorsTokensPerBlock = 256;
/// Maximum number of (token, position) pairs whose σ is computed. Beyond it, a sample of tokens gives the mean.
constexpr Eigen::Index mostDivisors = Eigen::Index{1} << 21;

bool isSame(const RowVector<double>& a, const RowVector<double>& b)
{
    return a.size() == b.size() && (a.size() == 0 || a == b);
}

bool isSame(const Norm<double>& a, const Norm<double>& b)
{
    return a.kind == b.kind && a.eps == b.eps && isSame(a.w, b.w) && isSame(a.b, b.b);
}

Eigen::Index cardPriorsMostTokens(const ModelConfig& config)
{
    return std::max<Eigen::Index>(2, mostDivisors / addedPositions(config));
}

/// Specs of the three arrays. \param title of the prior \param over the tokens that the mean is over
std::vector<ArraySpec> priorSpecs(const std::string& title, const std::string& formula,
                                  const std::string& over)
{
    const std::string folder = "analyses/token_card/";
    std::vector<ArraySpec> specs{{folder + "prior", headAxes(), title, formula + ", of the given token"},
                                 {folder + "prior_null_mean", headAxes(), "The same, mean of all tokens",
                                  "mean over " + over + " of " + formula},
                                 {folder + "prior_null_deviation", headAxes(),
                                  "The same, deviation over all tokens",
                                  "standard deviation over " + over + " of " + formula}};
    for (ArraySpec& spec : specs)
        spec.condition = "without norms of queries and keys";
    return specs;
}

constexpr const char* priorTitle = "Attended to by any query";
constexpr const char* meanFormula =
    "T^e = b_Q W_Kᵀ eᵀ/σ̄, e = W_E, σ̄ = mean over positions of σ, as in analyses/token_prior";
constexpr const char* offsetFormula =
    "b_Q W_Kᵀ LN(e)ᵀ, e a row of E, without scale, at offset 0 and without positions";

class Priors {
public:
    explicit Priors(const AnalysisContext& context)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_isMeanOverPositions(whyNotOneScore(m_config).empty())
        , m_ids(usedIds(context.options.unusedTokens, m_config.dVocab))
        , m_prior(RealNumbers::perHead(m_config))
        , m_mean(m_prior)
        , m_deviation(m_prior)
    {
        const auto used = static_cast<Eigen::Index>(m_ids.size());
        if (m_isMeanOverPositions) {
            m_norm = context.circuits.weights().ln1<double>(0);
            m_positions = seenPositions(context.circuits.weights(), 0, addedPositions(m_config));
            if (used > cardPriorsMostTokens(m_config)) {
                std::vector<int> sample;
                for (const int place : evenlySpaced(used, cardPriorsMostTokens(m_config)))
                    sample.push_back(m_ids[static_cast<std::size_t>(place)]);
                m_ids = std::move(sample);
                m_isSample = true;
            }
        }
        for (const HeadId head : selectedHeads(m_config, context.options))
            join(head);
    }

    Result<Done> run(const Task& task)
    {
        for (const Group& group : m_groups) {
            if (const auto done = runGroup(group, task); !done)
                return done.error();
        }
        return Done{};
    }

    void putInto(Results& results) const
    {
        const std::string title =
            m_isMeanOverPositions ? priorTitle : std::string(priorTitle) + ", without positions";
        const std::string over =
            (m_isSample ? std::to_string(m_ids.size()) + " of the tokens in use, evenly spaced,"
                        : std::string("the tokens in use"));
        const auto specs = priorSpecs(title, m_isMeanOverPositions ? meanFormula : offsetFormula, over);
        const std::array numbers{&m_prior, &m_mean, &m_deviation};
        for (std::size_t i = 0; i < specs.size(); ++i) {
            ResultArray& array = results.put(specs[i].path, *numbers[i]);
            array.title = specs[i].title;
            array.definition = specs[i].definition;
            if (m_isMeanOverPositions)
                array.attributes["assumption"] = std::string("raw tokens, as layer 0 reads them");
            else
                array.attributes["embedding"] = std::string(embeddingName(m_context.options.embedding));
        }
    }

private:
    /// Heads that read the same vectors and share one pass. With folded norms, these are all heads.
    struct Group {
        Norm<double> norm;
        int layer = 0; // one of them
        std::vector<HeadId> heads;
        std::vector<Eigen::VectorXd> readers; // [d] each: W_K b_Qᵀ
    };

    /// Adds a head to the group that reads the same vectors.
    /// Skips a head without query biases: it has no such preference, and its number stays NaN.
    void join(HeadId head)
    {
        const ProcessedWeights& weights = m_context.circuits.weights();
        Eigen::VectorXd reader;
        if (m_isMeanOverPositions) {
            const FoldedHead h = foldedHead(weights, head);
            reader = h.b_Q.isZero(0) ? Eigen::VectorXd() : Eigen::VectorXd(h.W_K * h.b_Q.transpose());
        } else {
            const auto h = weights.head<double>(head);
            reader = h.b_Q.isZero(0) ? Eigen::VectorXd() : Eigen::VectorXd(h.W_K * h.b_Q.transpose());
        }
        if (reader.size() == 0 || !reader.allFinite())
            return;
        const Norm<double> norm = weights.ln1<double>(head.layer);
        const auto isOurs = [&](const Group& group) {
            return m_isMeanOverPositions
                || (isSame(group.norm, norm)
                    && m_context.tokens->isLayer0Special(group.layer)
                        == m_context.tokens->isLayer0Special(head.layer));
        };
        auto group = std::find_if(m_groups.begin(), m_groups.end(), isOurs);
        if (group == m_groups.end())
            group = m_groups.insert(group, {norm, head.layer, {}, {}});
        group->heads.push_back(head);
        group->readers.push_back(reader);
    }

    /// Returns the vectors of these tokens that the heads of a group read, [ids, d].
    Matrix<double> readOf(const Group& group, const std::vector<int>& ids) const
    {
        if (!m_isMeanOverPositions)
            return normalized(group.norm, m_context.tokens->embeddingOf(group.layer).of<double>(ids));
        Matrix<double> rows(static_cast<Eigen::Index>(ids.size()), m_config.dModel);
        for (Eigen::Index i = 0; i < rows.rows(); ++i)
            rows.row(i) = m_context.circuits.weights().W_E<double>(ids[static_cast<std::size_t>(i)], 1);
        rows = seenRows(m_norm, std::move(rows));
        const Eigen::VectorXd inverse =
            divisors(m_norm, m_positions, rows).colwise().mean().cwiseInverse().transpose();
        return inverse.asDiagonal() * rows;
    }

    Result<Done> runGroup(const Group& group, const Task& task)
    {
        const auto heads = static_cast<Eigen::Index>(group.heads.size());
        Matrix<double> readers(m_config.dModel, heads);
        for (Eigen::Index i = 0; i < heads; ++i)
            readers.col(i) = group.readers[static_cast<std::size_t>(i)];
        const RowVector<double> asked = readOf(group, {*m_context.options.inputs.token}) * readers;
        const auto blocks =
            static_cast<int>((m_ids.size() + cardPriorsTokensPerBlock - 1) / cardPriorsTokensPerBlock);
        Matrix<double> sums(blocks, heads);
        Matrix<double> squares(blocks, heads); // of the distances from the given token's number: small
        const auto done = parallelFor(blocks, task, "preferred tokens", [&](int block) -> Result<Done> {
            const std::size_t first = static_cast<std::size_t>(block) * cardPriorsTokensPerBlock;
            const std::size_t count = std::min(cardPriorsTokensPerBlock, m_ids.size() - first);
            const std::vector<int> ids(m_ids.data() + first, m_ids.data() + first + count);
            const Matrix<double> all = (readOf(group, ids) * readers).rowwise() - asked;
            sums.row(block) = all.colwise().sum();
            squares.row(block) = all.colwise().squaredNorm();
            return Done{};
        });
        if (!done)
            return done.error();
        for (Eigen::Index i = 0; i < heads; ++i) {
            const HeadId head = group.heads[static_cast<std::size_t>(i)];
            const auto n = static_cast<double>(m_ids.size());
            const double mean =
                m_ids.empty() ? std::numeric_limits<double>::quiet_NaN() : sums.col(i).sum() / n;
            m_prior.set(head, asked(i));
            m_mean.set(head, asked(i) + mean);
            const double variance = squares.col(i).sum() / n - mean * mean;
            m_deviation.set(head, variance < 0 ? 0 : std::sqrt(variance));
        }
        return Done{};
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    bool m_isMeanOverPositions; // as C4 has it
    bool m_isSample = false;
    std::vector<int> m_ids; // that the mean is over
    Norm<double> m_norm;    // of layer 0
    Matrix<double> m_positions;
    RealNumbers m_prior, m_mean, m_deviation;
    std::vector<Group> m_groups;
};

} // namespace

std::vector<ArraySpec> cardPriorArrays()
{
    return priorSpecs(priorTitle, std::string(meanFormula) + "; where that does not apply " + offsetFormula,
                      "the tokens in use or some of them, evenly spaced,");
}

Result<Done> putCardPriors(Results& results, const AnalysisContext& context, const Task& task)
{
    Priors priors(context);
    if (const auto done = priors.run(task); !done)
        return done.error();
    priors.putInto(results);
    return Done{};
}

double cardPriorsFlops(const ModelConfig& config, double heads)
{
    const double d = config.dModel;
    const double V = config.dVocab;
    if (!whyNotOneScore(config).empty())
        return 2 * V * d * heads;
    const double tokens = std::min(V, static_cast<double>(cardPriorsMostTokens(config)));
    return 2 * tokens * d * (heads + static_cast<double>(addedPositions(config)));
}

} // namespace headwise
