#include "core/analysis/analyses.h"
#include "core/analysis/inputs/token_cycle.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/analysis/tokens/cycle_spectrum.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/base/parallel.h"
#include "core/results/picture_of.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headwise {

namespace {

const std::string fourierFolder = "analyses/fourier/";
constexpr int longestOfPairs = 128; // ids in a cycle whose pairs of frequencies are kept
constexpr const char* needsOutputs = "every id of the cycle is an output token";

/// One matrix of a head with a row per token of the cycle.
struct FourierSide {
    const char* name;
    const char* title;
    const char* formula; // row t
};
constexpr std::array<FourierSide, 7> fourierSides{
    {{"qk_query", "QK's queries", "e_t W_Q W_Kᵀ, e_t row t of E"},
     {"qk_key", "QK's keys", "e_t W_K W_Qᵀ, e_t row t of E"},
     {"ov", "OV", "e_t W_V W_O, e_t row t of E"},
     {"full_qk_query", "full QK's queries", "e_t W_Q W_Kᵀ (E − ē)ᵀ, e_t row t of E and ē the mean row"},
     {"full_qk_key", "full QK's keys", "e_t W_K W_Qᵀ (E − ē)ᵀ, e_t row t of E and ē the mean row"},
     {"full_ov_source", "full OV's sources",
      "e_t W_V W_O (W_U − ū), e_t row t of E and ū the mean column of W_U"},
     {"full_ov_output", "full OV's outputs",
      "u_tᵀ W_Oᵀ W_Vᵀ (E − ē)ᵀ, u_t column t of W_U and ē the mean row of E"}}};

bool hasOutputs(const ModelConfig& config, const std::vector<int>& cycle)
{
    return *std::ranges::max_element(cycle) < config.dVocabOut;
}

/// Arrays of a full circuit over the cycle: how it joins frequencies of its two sides.
void addCouplingSpecs(std::vector<ArraySpec>& specs, const std::string& path, const std::string& of,
                      const std::string& formula, const std::string& condition)
{
    const std::pair share(0.0, 1.0);
    const std::string shorter = fmt::format("a cycle of at most {} ids", longestOfPairs);
    specs.push_back({path + "_pairs", headAxes({Axis::Frequency, Axis::OtherFrequency}),
                     "Pairs of frequencies of " + of,
                     "share of f turns of the rows s with g turns of the columns t, f, g = 0, 1, …, ⌊N/2⌋, "
                     "in the power of the discrete Fourier transform of "
                         + formula + " less its row and column means",
                     "", share, NumberType::Real, condition.empty() ? shorter : shorter + "; " + condition});
    specs.push_back({path + "_coupling", headAxes(), "Same frequency on both sides of " + of,
                     "sum over f of the share of f turns of the rows s with f turns of the columns t in "
                         + formula + " less its row and column means",
                     "", share, NumberType::Real, condition});
    specs.push_back(
        {path + "_coupling_null", headAxes(), "Same frequency, ids shuffled, " + of,
         fmt::format("mean of {}_coupling over {} random orders of the ids, one order for both sides", path,
                     cycleShuffles),
         "", share, NumberType::Real, condition});
}

std::vector<ArraySpec> fourierArrays()
{
    std::vector<ArraySpec> all;
    const auto add = [&](std::vector<ArraySpec> some) { std::ranges::move(some, std::back_inserter(all)); };
    add(CycleSpectra::specs(fourierFolder + "embedding", {}, "the token vectors", "row t of E"));
    add(CycleSpectra::specs(fourierFolder + "unembedding", {}, "the output vectors", "column t of W_U",
                            needsOutputs));
    for (const FourierSide& side : fourierSides) {
        const bool writes = std::string_view(side.name).starts_with("full_ov");
        add(CycleSpectra::specs(fourierFolder + side.name, headAxes(), side.title, side.formula,
                                writes ? needsOutputs : ""));
    }
    addCouplingSpecs(all, fourierFolder + "full_qk", "full QK", "e_s W_Q W_Kᵀ e_tᵀ, e row of E,", "");
    addCouplingSpecs(all, fourierFolder + "full_ov", "full OV",
                     "e_s W_V W_O u_t, e row of E and u column of W_U,", needsOutputs);
    return all;
}

/// Coefficients of a head's factors in the waves of the cycle, [N − 1, r] each.
struct HeadWaves {
    Matrix<double> q, k, v; // of E W_Q, E W_K, E W_V
    Matrix<double> o;       // of (W_O W_U)ᵀ; empty without outputs
};

/// Grams of the head's factors that end in the residual stream, [r, r].
struct ResidualGrams {
    Matrix<double> Q, K, O;
};

/// Share of each pair of frequencies in A Bᵀ, [F, F]. \param a, b coefficients of both sides
Matrix<double> pairShares(const CycleWaves& waves, const Matrix<double>& a, const Matrix<double>& b)
{
    const Matrix<double> all = a * b.transpose();
    Matrix<double> power = Matrix<double>::Zero(waves.frequencies(), waves.frequencies());
    for (Eigen::Index i = 0; i < all.rows(); ++i)
        for (Eigen::Index j = 0; j < all.cols(); ++j)
            power(CycleWaves::frequencyOf(i), CycleWaves::frequencyOf(j)) += all(i, j) * all(i, j);
    return power / power.sum();
}

/// Share of the pairs of equal frequencies in A Bᵀ.
double couplingOf(const Matrix<double>& a, const Matrix<double>& b)
{
    double same = 0;
    for (Eigen::Index first = 0; first < a.rows(); first += 2) {
        const Eigen::Index count = std::min<Eigen::Index>(2, a.rows() - first);
        same += (a.middleRows(first, count) * b.middleRows(first, count).transpose()).squaredNorm();
    }
    return same / (a.transpose() * a).cwiseProduct(b.transpose() * b).sum();
}

/// How one full circuit joins frequencies, for every head.
struct Coupling {
    RealNumbers pairs, same, null;

    Coupling(const ModelConfig& config, const CycleWaves& waves)
        : pairs(waves.length() <= longestOfPairs
                    ? RealNumbers::perHead(config, waves.frequencies(), waves.frequencies())
                    : RealNumbers({0}))
        , same(RealNumbers::perHead(config))
        , null(same)
    {
    }

    void put(Results& results, const std::string& path) const
    {
        if (!pairs.values().empty())
            results.put(path + "_pairs", pairs);
        results.put(path + "_coupling", same);
        results.put(path + "_coupling_null", null);
    }
};

/// All numbers that the analysis computes for one model.
class FourierRun {
public:
    FourierRun(const AnalysisContext& context, std::vector<int> cycle)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_cycle(std::move(cycle))
        , m_hasOutputs(hasOutputs(m_config, m_cycle))
        , m_waves(static_cast<int>(m_cycle.size()))
        , m_orders(shuffledCycles(m_waves.length(), context.options.inputs.seed))
        , m_ofTokens(2, CycleSpectra({}, m_waves.frequencies()))
        , m_ofHeads(fourierSides.size(),
                    CycleSpectra(RealNumbers::perHead(m_config).shape(), m_waves.frequencies()))
        , m_qk(m_config, m_waves)
        , m_ov(m_qk)
    {
        if (m_hasOutputs)
            m_outputs = context.tokens->W_U.of<double>(m_cycle).transpose();
    }

    /// The spectra of E (0) and W_U (1).
    Result<Done> runTokens(int matrix, const Task& task)
    {
        if (matrix == 1 && !m_hasOutputs)
            return Done{};
        const Matrix<double> rows =
            matrix == 0 ? m_context.tokens->embeddingOf(m_config.nLayers - 1).of<double>(m_cycle) : m_outputs;
        if (!rows.allFinite())
            return Done{}; // forEachHead warns
        const auto powerOf = [&](const Matrix<double>& ofRows) -> Eigen::VectorXd {
            const Matrix<double> waves = m_waves.of(ofRows);
            return m_waves.power(waves, Matrix<double>::Identity(waves.cols(), waves.cols()));
        };
        std::vector<Eigen::VectorXd> shuffled;
        for (const std::vector<int>& order : m_orders) {
            if (task.cancelled())
                return stopped();
            shuffled.push_back(powerOf(rows(order, Eigen::all)));
        }
        m_ofTokens[static_cast<std::size_t>(matrix)].set(0, powerOf(rows), shuffled);
        return Done{};
    }

    Result<Done> runHead(HeadId head, const Task& task)
    {
        const HeadWeights<double> w = m_context.circuits.weights().head<double>(head);
        const Matrix<double> E = m_context.tokens->embeddingOf(head.layer).of<double>(m_cycle);
        const HeadWaves rows{E * w.W_Q, E * w.W_K, E * w.W_V,
                             m_hasOutputs ? Matrix<double>(m_outputs * w.W_O.transpose()) : Matrix<double>()};
        const ResidualGrams grams{w.W_Q.transpose() * w.W_Q, w.W_K.transpose() * w.W_K,
                                  w.W_O * w.W_O.transpose()};
        for (const Matrix<double>* factor : {&rows.q, &rows.k, &rows.v, &rows.o, &grams.O})
            if (!factor->allFinite())
                return Error{ErrorCode::Corrupt, headLabel(head) + " holds NaN or infinity."};
        const HeadWaves waves = transformed(rows, nullptr);
        std::array<std::vector<Eigen::VectorXd>, fourierSides.size()> shuffled;
        double qk = 0, ov = 0;
        for (const std::vector<int>& order : m_orders) {
            if (task.cancelled())
                return stopped();
            const HeadWaves other = transformed(rows, &order);
            for (std::size_t side = 0; side < sides(); ++side)
                shuffled[side].push_back(powerOf(side, other, grams));
            qk += couplingOf(other.q, other.k) / cycleShuffles;
            ov += m_hasOutputs ? couplingOf(other.v, other.o) / cycleShuffles : 0;
        }
        for (std::size_t side = 0; side < sides(); ++side)
            m_ofHeads[side].set(indexOf(head), powerOf(side, waves, grams), shuffled[side]);
        setCoupling(m_qk, head, waves.q, waves.k, qk);
        if (m_hasOutputs)
            setCoupling(m_ov, head, waves.v, waves.o, ov);
        return Done{};
    }

    void put(Results& results) const
    {
        const int N = m_waves.length();
        m_ofTokens[0].put(results, fourierFolder + "embedding", N);
        if (m_hasOutputs)
            m_ofTokens[1].put(results, fourierFolder + "unembedding", N);
        for (std::size_t side = 0; side < sides(); ++side)
            m_ofHeads[side].put(results, fourierFolder + fourierSides[side].name, N);
        m_qk.put(results, fourierFolder + "full_qk");
        if (m_hasOutputs)
            m_ov.put(results, fourierFolder + "full_ov");
        const std::string ids = tokenCycleText(m_cycle);
        for (ResultArray& array : results.arrays()) {
            array.definition += fmt::format("; N = {}, E and W_U of the ids {} alone", N, ids.substr(0, 200));
            array.attributes["cycle"] = ids;
            if (!array.path.starts_with(fourierFolder + "unembedding"))
                array.attributes["embedding"] = std::string(embeddingName(m_context.options.embedding));
        }
    }

private:
    std::size_t sides() const { return m_hasOutputs ? fourierSides.size() : fourierSides.size() - 2; }
    std::size_t indexOf(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(m_config.nHeads)
            + static_cast<std::size_t>(head.head);
    }

    HeadWaves transformed(const HeadWaves& rows, const std::vector<int>* order) const
    {
        const auto wavesOf = [&](const Matrix<double>& factor) -> Matrix<double> {
            if (factor.size() == 0)
                return {};
            return order ? m_waves.of(factor(*order, Eigen::all)) : m_waves.of(factor);
        };
        return {wavesOf(rows.q), wavesOf(rows.k), wavesOf(rows.v), wavesOf(rows.o)};
    }

    /// \param side index into fourierSides
    Eigen::VectorXd powerOf(std::size_t side, const HeadWaves& w, const ResidualGrams& grams) const
    {
        const auto gramOf = [](const Matrix<double>& waves) -> Matrix<double> {
            return waves.transpose() * waves;
        };
        switch (side) {
        case 0: return m_waves.power(w.q, grams.K);
        case 1: return m_waves.power(w.k, grams.Q);
        case 2: return m_waves.power(w.v, grams.O);
        case 3: return m_waves.power(w.q, gramOf(w.k));
        case 4: return m_waves.power(w.k, gramOf(w.q));
        case 5: return m_waves.power(w.v, gramOf(w.o));
        default: return m_waves.power(w.o, gramOf(w.v));
        }
    }

    void setCoupling(Coupling& out, HeadId head, const Matrix<double>& a, const Matrix<double>& b,
                     double null) const
    {
        out.same.set(head, couplingOf(a, b));
        out.null.set(head, null);
        if (!out.pairs.values().empty())
            std::ranges::copy(rowMajor(pairShares(m_waves, a, b)), out.pairs.of(head).begin());
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    std::vector<int> m_cycle;
    bool m_hasOutputs;
    CycleWaves m_waves;
    std::vector<std::vector<int>> m_orders;
    Matrix<double> m_outputs; // [N, d]; empty without outputs
    std::vector<CycleSpectra> m_ofTokens, m_ofHeads;
    Coupling m_qk, m_ov;
};

Result<ResultSet> runFourier(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    if (std::string why = whyNoTokenCycle(config, context.options); !why.empty())
        return Error{ErrorCode::InvalidArgument, std::move(why)};
    FourierRun run(context, tokenCycleOf(config, context.options));
    const auto ofTokens =
        parallelFor(2, task, "token spectra", [&](int matrix) { return run.runTokens(matrix, task); });
    if (!ofTokens)
        return ofTokens.error();
    const auto done = forEachHead(context, task, "spectra over the cycle",
                                  [&](HeadId head) { return run.runHead(head, task); });
    if (!done)
        return done.error();
    Results results = resultsOf(context, fourierArrays());
    results.warn(*done);
    if (context.options.inputs.cycle.empty())
        results.warn(fmt::format(
            "No cycle of ids was named, so the spectra over a cycle use all {} ids as one; --cycle FIRST-LAST names others.",
            std::min(config.dVocab, config.dVocabOut)));
    run.put(results);
    return std::move(results).finish();
}

AnalysisCost fourierCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double N = static_cast<double>(tokenCycleOf(config, options).size());
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    const double d = config.dModel, r = config.dHead, F = N / 2 + 1;
    const double pairs = N <= longestOfPairs ? F * F : 0;
    return {(1 + cycleShuffles) * (heads * (4 * 2 * N * N * r + 11 * 2 * N * r * r) + 2 * 2 * N * N * d)
                + heads * 8 * N * d * r,
            N * (8 * N + 16 * d) + heads * 7 * 4 * N * cycleShuffles + all * 8 * (7 * F + 2 * pairs)};
}

std::vector<Picture> fourierPictures()
{
    const auto of = [](Picture::Kind kind, const char* title, std::initializer_list<const char*> arrays,
                       const char* note = "") {
        Picture picture = pictureOf(fourierFolder, kind, title, arrays, note);
        picture.signedColors = false;
        return picture;
    };
    using enum Picture::Kind;
    return {
        of(Bars, "Spectrum of the token vectors", {"embedding_shares", "unembedding_shares"},
           "A few tall bars mean that the vectors lie on circles with these frequencies."),
        of(Bars, "Spectrum of the head over the cycle", {"ov_shares", "qk_query_shares", "qk_key_shares"},
           "Covers the head's outputs for each token, and the differences between its queries and between its keys."),
        of(HeadGrid, "Share of the strongest frequency",
           {"ov_largest", "qk_query_largest", "qk_key_largest", "full_ov_source_largest",
            "full_ov_output_largest", "full_qk_query_largest", "full_qk_key_largest"}),
        of(HeadGrid, "Chance of that share with shuffled ids",
           {"ov_chance", "qk_query_chance", "qk_key_chance", "full_ov_source_chance", "full_ov_output_chance",
            "full_qk_query_chance", "full_qk_key_chance"},
           "Below 0.01, the order of the ids matters to the head."),
        of(Table, "Strongest frequencies",
           {"ov_frequencies", "ov_explained", "ov_explained_null", "qk_key_frequencies", "qk_key_explained",
            "qk_key_explained_null"}),
        of(Lines, "Explained by the strongest frequencies",
           {"embedding_explained", "embedding_explained_null", "ov_explained", "ov_explained_null"}),
        of(Bars, "Spectrum of full OV", {"full_ov_source_shares", "full_ov_output_shares"}),
        of(Bars, "Spectrum of full QK", {"full_qk_query_shares", "full_qk_key_shares"}),
        of(Matrix, "Full OV, frequency by frequency", {"full_ov_pairs"},
           "One row per source frequency. A circuit that depends only on a difference or a sum of ids has a diagonal."),
        of(Matrix, "Full QK, frequency by frequency", {"full_qk_pairs"}, "One row per query frequency."),
        of(HeadGrid, "Same frequency on both sides",
           {"full_ov_coupling", "full_qk_coupling", "full_ov_coupling_null", "full_qk_coupling_null"}),
    };
}

} // namespace

Analysis fourierAnalysis()
{
    return {
        .id = "fourier",
        .number = "B8",
        .title = "Spectra over a cycle of tokens",
        .formula =
            "share of f turns per cycle in the power of E, W_U, E W_V W_O, E W_Q W_Kᵀ and full circuits over the ids of the cycle",
        .citation =
            "Nanda et al. 2023, arXiv 2301.05217, \"Progress measures for grokking\"; Fisher 1929, Proc. R. Soc. A 125, \"Tests of significance in harmonic analysis\"",
        .needsTokens = true,
        .whyNot = whyNoTokenCycle,
        .cost = fourierCost,
        .run = runFourier,
        .arrays = fourierArrays(),
        .pictures = fourierPictures(),
        .uses = {.cycle = true}};
}

} // namespace headwise
