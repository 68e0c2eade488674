#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"
#include "core/analysis/picture_of.h"
#include "core/analysis/top_lists.h"

#include "core/base/decompositions.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace headwise {

namespace {

constexpr const char* folder = "analyses/groups/";

int membersOf(const ModelConfig& config)
{
    return config.nHeads / config.nKvHeads;
}

std::string whyNotGroups(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.nHeads == config.nKvHeads)
        return "Every query head of this model has keys and values of its own, so there are no groups.";
    return {};
}

/// One query head of a group: what its circuits are compared by. G_K = W_KᵀW_K and G_V = W_VᵀW_V are the group's.
struct Member {
    Matrix<double> W_Q;   // [d, r]
    Matrix<double> W_O;   // [r, d]
    Matrix<double> basis; // [d, k] of the columns of W_Q, orthonormal
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

struct Numbers {
    PerHead overlap, qkCosine, ovCosine;             // [L, H, member]
    PerHead meanOverlap, meanQkCosine, meanOvCosine; // [L, H], over the other members
    std::vector<double> between;                     // [L] mean overlap of heads of different groups

    explicit Numbers(const ModelConfig& config)
        : overlap(config, membersOf(config))
        , qkCosine(config, membersOf(config))
        , ovCosine(config, membersOf(config))
        , meanOverlap(config)
        , meanQkCosine(config)
        , meanOvCosine(config)
        , between(static_cast<std::size_t>(config.nLayers), std::numeric_limits<double>::quiet_NaN())
    {
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

    Result<Numbers> run()
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

    /// Groups of a layer one by one; the bases of all its queries are kept for the comparison between groups.
    Result<Done> readLayer(int layer)
    {
        if (!isLayerAsked(layer))
            return Done{};
        std::vector<Matrix<double>> bases; // empty for heads whose numbers are not finite
        for (int group = 0; group < m_config.nKvHeads; ++group) {
            if (m_task.cancelled())
                return stopped();
            const auto members = readGroup(layer, group, bases);
            if (!members && members.error().code != ErrorCode::Corrupt)
                return members;
        }
        m_numbers.between[static_cast<std::size_t>(layer)] = betweenGroups(bases);
        return Done{};
    }

    Result<Done> readGroup(int layer, int group, std::vector<Matrix<double>>& bases)
    {
        const int count = membersOf(m_config);
        std::vector<Member> members;
        Matrix<double> gramK;
        Matrix<double> gramV;
        std::optional<Error> broken;
        for (int i = 0; i < count; ++i) {
            const HeadWeights<double> w =
                m_context.circuits.weights().head<double>({layer, group * count + i});
            gramK = w.W_K.transpose() * w.W_K; // the same for every member
            gramV = w.W_V.transpose() * w.W_V;
            const auto qr = thinQr(w.W_Q);
            bases.push_back(qr ? qr->Q : Matrix<double>());
            if (!qr)
                broken = qr.error();
            else
                members.push_back({w.W_Q, w.W_O, qr->Q});
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
        std::array<double, 3> sums{};
        for (std::size_t i = 0; i < members.size(); ++i) {
            const Member& b = members[i];
            const std::array<double, 3> values{(a.basis.transpose() * b.basis).squaredNorm(),
                                               cosine(qk(a, b), qk(a, a), qk(b, b)),
                                               cosine(ov(a, b), ov(a, a), ov(b, b))};
            m_numbers.overlap.row(head)[i] = values[0];
            m_numbers.qkCosine.row(head)[i] = values[1];
            m_numbers.ovCosine.row(head)[i] = values[2];
            for (std::size_t n = 0; n < sums.size() && i != own; ++n)
                sums[n] += values[n] / static_cast<double>(members.size() - 1);
        }
        m_numbers.meanOverlap.set(head, sums[0]);
        m_numbers.meanQkCosine.set(head, sums[1]);
        m_numbers.meanOvCosine.set(head, sums[2]);
    }

    /// NaN with one group.
    double betweenGroups(const std::vector<Matrix<double>>& bases) const
    {
        const auto count = static_cast<std::size_t>(membersOf(m_config));
        double sum = 0;
        double pairs = 0;
        for (std::size_t a = 0; a < bases.size(); ++a) {
            for (std::size_t b = a + 1; b < bases.size(); ++b) {
                if (a / count == b / count || bases[a].size() == 0 || bases[b].size() == 0)
                    continue;
                sum += (bases[a].transpose() * bases[b]).squaredNorm();
                ++pairs;
            }
        }
        return sum / pairs;
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    Numbers m_numbers;
    std::vector<bool> m_isAsked;
};

struct Score {
    const char* name;
    const char* title;
    const char* formula;
};
constexpr std::array<Score, 3> scores{{
    {"query_overlap", "Query subspaces, overlap",
     "‖U_iᵀ U_j‖²_F, U = orthonormal basis of the columns of W_Q"},
    {"qk_cosine", "QK, cosine", "⟨W_Q^i W_Kᵀ, W_Q^j W_Kᵀ⟩_F / (‖·‖_F ‖·‖_F)"},
    {"ov_cosine", "OV, cosine", "⟨W_V W_O^i, W_V W_O^j⟩_F / (‖·‖_F ‖·‖_F)"},
}};

/// Of query heads that share nothing but W_K and W_V: Gaussian W_Q and W_O.
void setNull(ResultArray& array, const ModelConfig& config, std::size_t score)
{
    const double d = config.dModel;
    const double r = std::min(config.dHead, config.dModel);
    if (score == 0) {
        array.range = {0.0, r};
        array.nullMean = r * r / d;
        if (d > r) // the trace of a Jacobi ensemble
            array.nullDeviation = std::sqrt(2 * r * r * (d - r) * (d - r) / (d * d * (d - 1) * (d + 2)));
    } else {
        array.range = {-1.0, 1.0};
        array.nullMean = 0.0;
        array.nullDeviation = 1 / std::sqrt(d * config.dHead);
    }
}

ResultSet resultsOf(const Numbers& numbers, const AnalysisContext& context)
{
    const ModelConfig& config = context.circuits.config();
    const Precision precision = context.options.precision;
    const std::array<const PerHead*, 3> pairs{&numbers.overlap, &numbers.qkCosine, &numbers.ovCosine};
    const std::array<const PerHead*, 3> means{&numbers.meanOverlap, &numbers.meanQkCosine,
                                              &numbers.meanOvCosine};
    ResultSet results;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        ResultArray mean = means[i]->array(precision, folder + std::string("mean_") + scores[i].name,
                                           std::string(scores[i].title) + " with the rest of the group",
                                           std::string(scores[i].formula)
                                               + ", mean over the other query heads j of i's group");
        setNull(mean, config, i);
        results.arrays.push_back(std::move(mean));
        ResultArray pair =
            pairs[i]->array(precision, folder + std::string(scores[i].name),
                            std::string(scores[i].title) + " with each of the group",
                            std::string(scores[i].formula) + ", j = each query head of i's group", "member");
        setNull(pair, config, i);
        results.arrays.push_back(std::move(pair));
    }
    ResultArray between = realArray(precision, folder + std::string("query_overlap_null"),
                                    {numbers.between.size()}, numbers.between, {"layer"});
    between.title = "Query subspaces of different groups, overlap";
    between.definition =
        std::string(scores[0].formula) + ", mean over heads i, j of different groups of a layer";
    setNull(between, config, 0);
    results.arrays.push_back(std::move(between));

    std::vector<std::int32_t> group;
    group.reserve(static_cast<std::size_t>(config.nLayers) * config.nHeads);
    for (int i = 0; i < config.nLayers * config.nHeads; ++i)
        group.push_back(i % config.nHeads / membersOf(config));
    ResultArray ids =
        integerArray(folder + std::string("group"),
                     {static_cast<std::size_t>(config.nLayers), static_cast<std::size_t>(config.nHeads)},
                     std::move(group), {"layer", "head"});
    ids.title = "Group";
    ids.definition = "⌊head / (n_heads / n_kv_heads)⌋: the key/value head that a query head reads";
    results.arrays.push_back(std::move(ids));
    return results;
}

Result<ResultSet> runGroups(const AnalysisContext& context, const Task& task)
{
    const auto numbers = Groups(context, task).run();
    if (!numbers)
        return numbers.error();
    return resultsOf(*numbers, context);
}

AnalysisCost groupsCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double between = static_cast<double>(config.nLayers) * config.nHeads * config.nHeads / 2;
    return {heads * (12 * d * r * r + membersOf(config) * 10 * d * r * r) + between * 2 * d * r * r,
            heads * membersOf(config) * 3 * 8 + 3.0 * 8 * config.nHeads * d * r};
}

std::vector<Picture> groupsPictures()
{
    using Kind = Picture::Kind;
    return {
        pictureOf(folder, Kind::HeadGrid, "Groups, and how alike their query heads are",
                  {"group", "mean_query_overlap", "mean_qk_cosine", "mean_ov_cosine"}),
        pictureOf(folder, Kind::Bars, "The query subspace beside those of its group", {"query_overlap"}),
        pictureOf(folder, Kind::Bars, "QK and OV beside those of the group", {"qk_cosine", "ov_cosine"},
                  "The head itself has cosine 1."),
        pictureOf(folder, Kind::Lines, "Heads of different groups, by layer", {"query_overlap_null"}),
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
            "‖U_iᵀ U_j‖²_F of W_Q, cosine of W_Q^i W_Kᵀ and W_Q^j W_Kᵀ, of W_V W_O^i and W_V W_O^j within a "
            "group",
        .citation = "Ainslie et al. 2023, arXiv 2305.13245; Yamagiwa et al. 2026, arXiv 2601.10266",
        .whyNot = whyNotGroups,
        .cost = groupsCost,
        .run = runGroups,
        .pictures = groupsPictures()};
}

} // namespace headwise
