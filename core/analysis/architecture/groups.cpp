#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/circuits/subspace.h"
#include "core/results/picture_of.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace headwise {

namespace {

constexpr const char* groupsFolder = "analyses/groups/";

int membersOf(const ModelConfig& config)
{
    return config.nHeads / config.nKvHeads;
}

std::string whyNotGroups(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.nHeads == config.nKvHeads)
        return "Every query head of this model has its own keys and values, so there are no groups.";
    return {};
}

struct GroupScore {
    const char* name;
    const char* title;
    const char* formula;
    const char* null;
};
constexpr std::array<GroupScore, 3> groupScores{{
    {"query_overlap", "Query subspaces, overlap",
     "‖U_iᵀ U_j‖²_F, U = orthonormal basis of the columns of W_Q (singular vectors with σ > d_model ε σ₁, ε = 2^-23; NaN without any)",
     "; null: random subspaces of the same ranks"},
    {"qk_cosine", "QK, cosine", "⟨W_Q^i W_Kᵀ, W_Q^j W_Kᵀ⟩_F / (‖·‖_F ‖·‖_F)",
     "; null: Gaussian W_Q, each group's ‖G‖_F/(√d_model tr G) as the deviation, G = W_KᵀW_K"},
    {"ov_cosine", "OV, cosine", "⟨W_V W_O^i, W_V W_O^j⟩_F / (‖·‖_F ‖·‖_F)",
     "; null: Gaussian W_O, each group's ‖G‖_F/(√d_model tr G) as the deviation, G = W_VᵀW_V"},
}};

std::vector<ArraySpec> groupsArrays()
{
    const std::string folder = groupsFolder;
    std::vector<ArraySpec> all;
    for (const GroupScore& score : groupScores) {
        const std::string title = score.title, formula = score.formula;
        all.push_back(
            {folder + "mean_" + score.name, headAxes(), title + " with the rest of the group",
             formula + ", mean over the other query heads j of i's group that are not zero" + score.null});
        all.push_back({folder + score.name, headAxes({Axis::Member}), title + " with each of the group",
                       formula + ", j = each query head of i's group" + score.null});
    }
    all.push_back(
        {folder + "query_overlap_null",
         {Axis::Layer},
         "Query subspaces of different groups, overlap",
         std::string(groupScores[0].formula) + ", mean over heads i, j of different groups of a layer"});
    all.push_back(
        {.path = folder + "group",
         .axes = headAxes(),
         .title = "Group",
         .definition = "⌊head / (n_heads / n_kv_heads)⌋: the key/value head that a query head reads",
         .type = NumberType::Whole});
    return all;
}

/// One query head of a group, with the matrices that compare its circuits. G_K = W_KᵀW_K and G_V = W_VᵀW_V belong to the group.
struct Member {
    Matrix<double> W_Q; // [d, r]
    Matrix<double> W_O; // [r, d]
    Subspace queries;   // of the columns of W_Q
};

/// ⟨A Kᵀ, B Kᵀ⟩_F = tr(AᵀB KᵀK).
double inner(const Matrix<double>& AtB, const Matrix<double>& gram)
{
    return AtB.cwiseProduct(gram).sum();
}

double cosine(double product, double squareA, double squareB)
{
    const double norms = std::sqrt(squareA * squareB);
    return norms > 0 ? std::clamp(product / norms, -1.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
}

/// Returns ‖U_aᵀ U_b‖²_F, or NaN if one of the two is zero.
double overlap(const Subspace& a, const Subspace& b)
{
    if (a.rank == 0 || b.rank == 0)
        return std::numeric_limits<double>::quiet_NaN();
    return (a.basis.transpose() * b.basis).squaredNorm();
}

/// Returns the overlap of random subspaces of these ranks: the trace of a Jacobi ensemble.
Moments overlapOfChance(const Subspace& a, const Subspace& b)
{
    const double d = static_cast<double>(a.basis.rows());
    const double ranks = static_cast<double>(a.rank * b.rank);
    const double rest = (d - static_cast<double>(a.rank)) * (d - static_cast<double>(b.rank));
    return {ranks / d, d > 1 ? std::sqrt(2 * ranks * rest / (d * d * (d - 1) * (d + 2))) : 0};
}

/// Returns the moments of the cosine of A Kᵀ and B Kᵀ for Gaussian A and B, [d, r].
/// ⟨A Kᵀ, B Kᵀ⟩_F = tr(AᵀB G) with G = KᵀK. The entries of AᵀB have mean 0, variance d and no covariances.
/// The variance is therefore d ‖G‖²_F. Both norms are near √(d tr G).
/// For any d, the result is exact if K has equal orthogonal columns, 1/√(d r), or rank one, 1/√d.
Moments cosineOfChance(const Matrix<double>& gram, Eigen::Index d)
{
    return {0, gram.norm() / (std::sqrt(static_cast<double>(d)) * gram.trace())};
}

/// Collects a value for each pair of heads, with the moments of its random baseline. Ignores NaN.
class Pairs {
public:
    void add(double value, const Moments& chance)
    {
        if (std::isnan(value))
            return;
        m_sum += value;
        m_chance.push_back(chance);
    }
    double mean() const { return m_sum / static_cast<double>(m_chance.size()); } // 0/0: NaN
    const std::vector<Moments>& chance() const { return m_chance; }
    /// Appends the random baseline of `mean` to `to`. Treats pairs that share a head as uncorrelated:
    /// under the baseline a fixed head has the same expectation against every other head.
    void addChanceOfMean(std::vector<Moments>& to) const
    {
        if (m_chance.empty())
            return;
        Moments whole;
        for (const Moments& one : m_chance) {
            whole.mean += one.mean;
            whole.deviation = std::hypot(whole.deviation, one.deviation);
        }
        const auto count = static_cast<double>(m_chance.size());
        to.push_back({whole.mean / count, whole.deviation / count});
    }

private:
    double m_sum = 0;
    std::vector<Moments> m_chance;
};

struct GroupNumbers {
    std::vector<RealNumbers> pairs; // [L, H, member], as groupScores
    std::vector<RealNumbers> means; // [L, H], over the other members
    std::vector<double> between;    // [L] mean overlap of heads of different groups
    using ByLayer = std::vector<std::vector<Moments>>;
    std::array<ByLayer, 3> chance;     // of each number of a head and another of its group
    std::array<ByLayer, 3> meanChance; // of each mean over the others
    ByLayer betweenChance;             // of `between`

    explicit GroupNumbers(const ModelConfig& config)
        : pairs(groupScores.size(), RealNumbers::perHead(config, membersOf(config)))
        , means(groupScores.size(), RealNumbers::perHead(config))
        , between(static_cast<std::size_t>(config.nLayers), std::numeric_limits<double>::quiet_NaN())
        , betweenChance(between.size())
    {
        chance.fill(betweenChance);
        meanChance = chance;
    }
};

class Groups {
public:
    Groups(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_numbers(m_config)
        , m_isAsked(static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads, false)
    {
        for (const HeadId head : selectedHeads(m_config, context.options))
            m_isAsked[index(head)] = true;
    }

    Result<GroupNumbers> run()
    {
        const auto done =
            parallelFor(m_config.nLayers, m_task, "groups", [&](int layer) { return readLayer(layer); });
        if (!done)
            return done.error();
        return std::move(m_numbers);
    }

private:
    std::size_t index(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head;
    }

    bool isLayerAsked(int layer) const
    {
        const auto first = m_isAsked.begin() + std::ptrdiff_t(layer) * m_config.nHeads;
        return std::find(first, first + m_config.nHeads, true) != first + m_config.nHeads;
    }

    /// Processes the groups of a layer one by one. Keeps the bases of all queries for the comparison between groups.
    Result<Done> readLayer(int layer)
    {
        if (!isLayerAsked(layer))
            return Done{};
        std::vector<Subspace> queries; // of rank 0 for heads whose numbers are not finite
        queries.reserve(static_cast<std::size_t>(m_config.nHeads));
        for (int group = 0; group < m_config.nKvHeads; ++group) {
            if (m_task.cancelled())
                return stopped();
            const auto members = readGroup(layer, group, queries);
            if (!members && members.error().code != ErrorCode::Corrupt)
                return members;
        }
        const Pairs between = betweenGroups(queries);
        m_numbers.between[static_cast<std::size_t>(layer)] = between.mean();
        between.addChanceOfMean(m_numbers.betweenChance[static_cast<std::size_t>(layer)]);
        return Done{};
    }

    Result<Done> readGroup(int layer, int group, std::vector<Subspace>& queries)
    {
        const int count = membersOf(m_config);
        std::vector<Member> members;
        members.reserve(static_cast<std::size_t>(count));
        Matrix<double> gramK;
        Matrix<double> gramV;
        std::optional<Error> broken;
        for (int i = 0; i < count; ++i) {
            const HeadWeights<double> w =
                m_context.circuits.weights().head<double>({layer, group * count + i});
            gramK = w.W_K.transpose() * w.W_K; // the same for every member
            gramV = w.W_V.transpose() * w.W_V;
            const auto space = columnSpace(w.W_Q);
            queries.push_back(space ? *space : Subspace{});
            if (!space)
                broken = space.error();
            else
                members.push_back({w.W_Q, w.W_O, *space});
        }
        if (broken)
            return *broken;
        for (int i = 0; i < count; ++i) {
            const HeadId head{layer, group * count + i};
            if (m_isAsked[index(head)])
                compare(head, static_cast<std::size_t>(i), members, gramK, gramV);
        }
        return Done{};
    }

    void compare(HeadId head, std::size_t own, const std::vector<Member>& members,
                 const Matrix<double>& gramK, const Matrix<double>& gramV)
    {
        const Member& a = members[own];
        const auto qk = [&](const Member& x, const Member& y) {
            return inner(x.W_Q.transpose() * y.W_Q, gramK);
        };
        const auto ov = [&](const Member& x, const Member& y) {
            return inner(x.W_O * y.W_O.transpose(), gramV);
        };
        std::array<Pairs, 3> others;
        for (std::size_t i = 0; i < members.size(); ++i) {
            const Member& b = members[i];
            const std::array<double, 3> values{overlap(a.queries, b.queries),
                                               cosine(qk(a, b), qk(a, a), qk(b, b)),
                                               cosine(ov(a, b), ov(a, a), ov(b, b))};
            const std::array chance{overlapOfChance(a.queries, b.queries),
                                    cosineOfChance(gramK, a.W_Q.rows()), cosineOfChance(gramV, a.W_Q.rows())};
            for (std::size_t n = 0; n < others.size(); ++n) {
                m_numbers.pairs[n].of(head)[i] = values[n];
                if (i != own)
                    others[n].add(values[n], chance[n]);
            }
        }
        for (std::size_t n = 0; n < others.size(); ++n) {
            m_numbers.means[n].set(head, others[n].mean());
            const auto layer = static_cast<std::size_t>(head.layer);
            std::vector<Moments>& ofLayer = m_numbers.chance[n][layer];
            ofLayer.insert(ofLayer.end(), others[n].chance().begin(), others[n].chance().end());
            others[n].addChanceOfMean(m_numbers.meanChance[n][layer]);
        }
    }

    /// None with one group.
    Pairs betweenGroups(const std::vector<Subspace>& queries) const
    {
        const auto count = static_cast<std::size_t>(membersOf(m_config));
        Pairs pairs;
        for (std::size_t a = 0; a < queries.size(); ++a) {
            for (std::size_t b = a + 1; b < queries.size(); ++b) {
                if (a / count != b / count)
                    pairs.add(overlap(queries[a], queries[b]), overlapOfChance(queries[a], queries[b]));
            }
        }
        return pairs;
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    GroupNumbers m_numbers;
    std::vector<bool> m_isAsked;
};

/// Sets the null of query heads that share only W_K and W_V: W_Q and W_O are Gaussian.
void setNull(ResultArray& array, const GroupNumbers::ByLayer& chance)
{
    std::vector<Moments> all;
    for (const std::vector<Moments>& ofLayer : chance)
        all.insert(all.end(), ofLayer.begin(), ofLayer.end());
    if (all.empty())
        return;
    const Moments null = mixtureOf(all);
    array.nullMean = null.mean;
    if (null.deviation > 0)
        array.nullDeviation = null.deviation;
}

std::pair<double, double> rangeOf(const ModelConfig& config, std::size_t score)
{
    const double r = std::min(config.dHead, config.dModel);
    return score == 0 ? std::pair(0.0, r) : std::pair(-1.0, 1.0);
}

Result<ResultSet> runGroups(const AnalysisContext& context, const Task& task)
{
    const auto numbers = Groups(context, task).run();
    if (!numbers)
        return numbers.error();
    const ModelConfig& config = context.circuits.config();
    const std::string folder = groupsFolder;
    Results results = resultsOf(context, groupsArrays());
    for (std::size_t i = 0; i < groupScores.size(); ++i) {
        ResultArray& mean = results.put(folder + "mean_" + groupScores[i].name, numbers->means[i]);
        mean.range = rangeOf(config, i);
        setNull(mean, numbers->meanChance[i]);
        ResultArray& pair = results.put(folder + groupScores[i].name, numbers->pairs[i]);
        pair.range = rangeOf(config, i);
        setNull(pair, numbers->chance[i]);
    }
    ResultArray& between = results.put(folder + "query_overlap_null", numbers->between);
    between.range = rangeOf(config, 0);
    setNull(between, numbers->betweenChance);
    WholeNumbers group = WholeNumbers::perHead(config);
    for (int layer = 0; layer < config.nLayers; ++layer) {
        for (int head = 0; head < config.nHeads; ++head)
            group.set({layer, head}, head / membersOf(config));
    }
    results.put(folder + "group", std::move(group));
    return std::move(results).finish();
}

AnalysisCost groupsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double between = static_cast<double>(config.nLayers) * config.nHeads * config.nHeads / 2;
    return {heads * (14 * d * r * r + 20 * r * r * r + membersOf(config) * 10 * d * r * r)
                + between * 2 * d * r * r,
            heads * membersOf(config) * 3 * 8 + 3.0 * 8 * config.nHeads * d * r};
}

std::vector<Picture> groupsPictures()
{
    using Kind = Picture::Kind;
    return {
        pictureOf(groupsFolder, Kind::HeadGrid, "Groups, and how similar their query heads are",
                  {"group", "mean_query_overlap", "mean_qk_cosine", "mean_ov_cosine"}),
        pictureOf(groupsFolder, Kind::Bars, "The query subspace beside those of its group",
                  {"query_overlap"}),
        pictureOf(groupsFolder, Kind::Bars, "QK and OV beside those of the group", {"qk_cosine", "ov_cosine"},
                  "The head itself has cosine 1."),
        pictureOf(groupsFolder, Kind::Lines, "Heads of different groups, by layer", {"query_overlap_null"}),
    };
}

} // namespace

Analysis groupsAnalysis()
{
    return {
        .id = "groups",
        .number = "H2",
        .title = "Groups of query heads",
        .formula =
            "‖U_iᵀ U_j‖²_F of W_Q, cosine of W_Q^i W_Kᵀ and W_Q^j W_Kᵀ, of W_V W_O^i and W_V W_O^j within a group",
        .citation = "Ainslie et al. 2023, arXiv 2305.13245; Yamagiwa et al. 2026, arXiv 2601.10266",
        .whyNot = whyNotGroups,
        .cost = groupsCost,
        .run = runGroups,
        .arrays = groupsArrays(),
        .pictures = groupsPictures()};
}

} // namespace headwise
