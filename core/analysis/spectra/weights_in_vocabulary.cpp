#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/spectra/gram_inverse.h"
#include "core/analysis/spectra/random_list.h"
#include "core/analysis/spectra/vocabulary_parts.h"
#include "core/base/parallel.h"
#include "core/circuits/mlp_tokens.h"
#include "core/circuits/singular_directions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>

namespace headwise {

namespace {

constexpr int comparedTokens = 100;
constexpr const char* weightsInVocabularyGauge = "basis-dependent (gauge)";

const DirectionSide& readingSide = directionSides[0]; // E
const DirectionSide& writingSide = directionSides[1]; // W_U

/// Indices of the longest columns, ties to the lower index.
std::vector<int> longest(const Matrix<double>& columns, int count)
{
    const Eigen::VectorXd norms = columns.colwise().squaredNorm().transpose();
    std::vector<int> order(static_cast<std::size_t>(columns.cols()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return norms(a) > norms(b); });
    order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
    return order;
}

/// |a ∩ b| / |a ∪ b| of sorted lists.
double jaccard(const std::vector<int>& a, const std::vector<int>& b)
{
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    const std::size_t all = a.size() + b.size() - both.size();
    return all > 0 ? static_cast<double>(both.size()) / static_cast<double>(all) : 0;
}

struct Overlap {
    double pairs = std::numeric_limits<double>::quiet_NaN();    // column k with row k
    double shuffled = std::numeric_limits<double>::quiet_NaN(); // column k with row l ≠ k
};

/// Lists and numbers of all heads or of all MLPs.
struct Lists {
    EndLists tokens;
    RealNumbers null; // as the values
    WholeNumbers column;

    /// \param shape of the tokens
    explicit Lists(const std::vector<std::size_t>& shape)
        : tokens(shape)
        , null(shape)
        , column({shape.begin(), shape.end() - 1})
    {
    }
};

/// The token vectors on one side of some matrices, with the lists of random directions.
struct Vectors {
    std::shared_ptr<const TokenSide> tokens; // null: no requested matrix uses them
    int layer = 0;                           // of those tokens
    Matrix<double> inverse;                  // of their Gram matrix
    std::array<RandomList, 2> random;        // as they are, and by the pseudoinverse
};

class WeightsInVocabulary {
public:
    WeightsInVocabulary(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_overlap(RealNumbers::perHead(m_config))
        , m_shuffled(m_overlap)
        , m_isAsked(static_cast<std::size_t>(m_config.nLayers), false)
    {
        for (const HeadId head : selectedHeads(m_config, context.options))
            m_isAsked[static_cast<std::size_t>(head.layer)] = true;
        for (const WeightsInVocabularyPart& part : headParts)
            m_heads.emplace_back(
                RealNumbers::perHead(m_config, columns(m_config.dHead), length(part.writes)).shape());
        for (const WeightsInVocabularyPart& part : mlpParts)
            m_mlps.emplace_back(std::vector<std::size_t>{static_cast<std::size_t>(m_config.nLayers),
                                                         columns(m_config.dMlp), length(part.writes)});
    }

    Result<ResultSet> run()
    {
        if (const auto done = readVectors(); !done)
            return done.error();
        const auto done = forEachHead(m_context, m_task, "weights in the vocabulary",
                                      [&](HeadId head) { return readHead(head); });
        if (!done)
            return done.error();
        if (const auto mlps = readMlps(); !mlps)
            return mlps.error();
        Results results = resultsOf(m_context, weightsInVocabularyArrays());
        results.warn(*done);
        putOverlap(results);
        for (std::size_t i = 0; i < headParts.size(); ++i)
            putLists(results, headParts[i], m_heads[i]);
        for (std::size_t i = 0; i < mlpParts.size() && hasMlps(); ++i) {
            if (!mlpParts[i].isGate || m_config.gatedMlp)
                putLists(results, mlpParts[i], m_mlps[i]);
        }
        return std::move(results).finish();
    }

private:
    enum Which { Later, LayerZero, MlpZero, Unembedding };

    /// Returns the index into m_vectors of the token vectors that multiply a part of this layer.
    Which whichOf(const WeightsInVocabularyPart& part, int layer) const
    {
        if (part.writes)
            return Unembedding;
        if (part.isOfMlp)
            return layer == 0 && m_vectors[MlpZero].tokens ? MlpZero : Later;
        return m_context.tokens->isLayer0Special(layer) ? LayerZero : Later;
    }
    const Vectors& vectorsOf(const WeightsInVocabularyPart& part, int layer) const
    {
        return m_vectors[whichOf(part, layer)];
    }

    Result<Done> readVectors()
    {
        const std::shared_ptr<const TokenSide>& tokens = m_context.tokens;
        m_vectors[Later] = {tokens, 1, {}, {}};
        m_vectors[Unembedding] = {tokens, 1, {}, {}};
        if (tokens->isLayer0Special(0))
            m_vectors[LayerZero] = {tokens, 0, {}, {}};
        if (hasMlps() && m_isAsked.front() && readsBeforeMlp0(tokens->embedding, 0)) {
            auto found = tokensOfMlp(m_context.circuits, tokens, 0, m_task, TokenParts::WithGrams);
            if (!found)
                return found.error();
            m_vectors[MlpZero] = {std::move(found).value(), 1, {}, {}};
        }
        for (const Which which : {Later, LayerZero, MlpZero, Unembedding}) {
            if (!m_vectors[which].tokens)
                continue;
            if (const auto done = prepare(which); !done)
                return done;
        }
        return Done{};
    }

    /// Inverts the Gram matrix of the vectors and lists random directions.
    Result<Done> prepare(Which which)
    {
        Vectors& vectors = m_vectors[which];
        const bool writes = which == Unembedding;
        const auto inverse =
            gramInverse(writes ? vectors.tokens->UUt : vectors.tokens->embeddingGramOf(vectors.layer));
        if (!inverse)
            return inverse.error();
        vectors.inverse = *inverse;
        const AnalysisContext own{m_context.circuits, vectors.tokens, m_context.options};
        for (const bool isInverse : {false, true}) {
            auto found = randomList(
                own,
                {writes ? writingSide : readingSide, vectors.layer, isInverse ? &vectors.inverse : nullptr},
                length(writes), m_task);
            if (!found)
                return found.error();
            vectors.random[isInverse ? 1 : 0] = std::move(found).value();
        }
        return Done{};
    }

    static std::size_t columns(int all) { return static_cast<std::size_t>(std::min(listedColumns, all)); }
    bool hasMlps() const { return !m_config.attentionOnly && m_config.nExperts == 0; }
    std::size_t length(bool writes) const
    {
        const Eigen::Index count = tokenCount(*m_context.tokens, writes ? writingSide : readingSide, 0);
        return static_cast<std::size_t>(std::min<Eigen::Index>(m_context.options.tableSize, count));
    }

    /// \param vectors [d, n] \param first of the lists
    Result<Matrix<double>> list(const WeightsInVocabularyPart& part, Lists& lists, int layer,
                                std::size_t first, const Matrix<double>& vectors)
    {
        const std::vector<int> order = longest(vectors, comparedColumns);
        Matrix<double> chosen = vectors(Eigen::all, order);
        const Vectors& by = vectorsOf(part, layer);
        if (part.isInverse)
            chosen = (by.inverse * chosen).eval();
        auto scores =
            directionScores(*by.tokens, part.writes ? writingSide : readingSide, by.layer, chosen, m_task);
        if (!scores)
            return scores;
        const auto shown = std::min(order.size(), static_cast<std::size_t>(listedColumns));
        for (std::size_t i = 0; i < shown; ++i) {
            const RowVector<double> line = scores->col(static_cast<Eigen::Index>(i)).transpose();
            lists.tokens.set(
                first + i,
                ends(line, static_cast<int>(lists.tokens.top.length()), m_context.options.unusedTokens));
            lists.column.values()[first + i] = order[i];
            const double norm = vectors.col(order[i]).norm();
            const std::vector<double>& random = by.random[part.isInverse ? 1 : 0].means;
            std::transform(random.begin(), random.end(), lists.null.list(first + i).begin(),
                           [norm](double mean) { return norm * mean; });
        }
        return scores;
    }

    Result<Done> readHead(HeadId head)
    {
        const HeadWeights<double> w = m_context.circuits.weights().head<double>(head);
        if (!w.W_Q.allFinite() || !w.W_K.allFinite() || !w.W_V.allFinite() || !w.W_O.allFinite())
            return Error{ErrorCode::Corrupt, "A weight of head " + dottedHead(head) + " is NaN or infinite."};
        const std::array<Matrix<double>, 4> vectors{w.W_V, w.W_O.transpose(), w.W_Q, w.W_K};
        const std::size_t first =
            (static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head) * columns(m_config.dHead);
        for (std::size_t i = 0; i < headParts.size(); ++i) {
            const auto scores =
                list(headParts[i], m_heads[i], head.layer, first, vectors[i % vectors.size()]);
            if (!scores)
                return scores.error();
        }
        if (!m_context.tokens->isSquare() || w.W_V.isZero(0) || w.W_O.isZero(0))
            return Done{}; // scores of a zero circuit are NaN
        // Column k of W_V with row k of W_O, for the longest columns of W_V.
        const std::vector<int> order = longest(vectors[0], comparedColumns);
        const Matrix<double> in = vectors[0](Eigen::all, order);
        const Matrix<double> out = vectors[1](Eigen::all, order);
        const auto read = directionScores(*m_context.tokens, readingSide, head.layer, in, m_task);
        const auto written =
            read ? directionScores(*m_context.tokens, writingSide, head.layer, out, m_task) : read;
        if (!written)
            return written.error();
        const Overlap overlap = overlapOf(*read, *written);
        m_overlap.set(head, overlap.pairs);
        m_shuffled.set(head, overlap.shuffled);
        return Done{};
    }

    std::vector<std::vector<int>> sortedTops(const Matrix<double>& scores, int count) const
    {
        std::vector<std::vector<int>> out;
        for (Eigen::Index k = 0; k < scores.cols(); ++k) {
            const RowVector<double> line = scores.col(k).transpose();
            std::vector<int> ids;
            for (const TokenEntry& entry : ends(line, count, m_context.options.unusedTokens).top)
                ids.push_back(entry.id);
            std::sort(ids.begin(), ids.end());
            out.push_back(std::move(ids));
        }
        return out;
    }

    int comparedLength() const
    {
        const Eigen::Index tokens = m_context.tokens->E.count();
        return static_cast<int>(std::min<Eigen::Index>(comparedTokens, (tokens + 9) / 10));
    }

    /// \param read, written [V, n]
    Overlap overlapOf(const Matrix<double>& read, const Matrix<double>& written) const
    {
        const auto in = sortedTops(read, comparedLength());
        const auto out = sortedTops(written, comparedLength());
        const auto n = static_cast<double>(in.size());
        Overlap overlap{0, 0};
        for (std::size_t k = 0; k < in.size(); ++k) {
            for (std::size_t l = 0; l < out.size(); ++l)
                (k == l ? overlap.pairs : overlap.shuffled) += jaccard(in[k], out[l]);
        }
        overlap.pairs /= n;
        overlap.shuffled /= n * (n - 1); // one column alone: 0/0
        return overlap;
    }

    Result<Done> readMlps()
    {
        return parallelFor(
            hasMlps() ? m_config.nLayers : 0, m_task, "neurons in the vocabulary",
            [&](int layer) -> Result<Done> {
                if (!m_isAsked[static_cast<std::size_t>(layer)])
                    return Done{};
                const MlpWeights<double> mlp = m_context.circuits.weights().mlp<double>(layer);
                if (!mlp.W_in.allFinite() || !mlp.W_out.allFinite() || !mlp.W_gate.allFinite())
                    return Done{}; // stays −1, as a head whose weights are not finite
                const std::size_t first = static_cast<std::size_t>(layer) * columns(m_config.dMlp);
                const std::array<Matrix<double>, mlpMatrices> vectors{mlp.W_in, mlp.W_out.transpose(),
                                                                      mlp.W_gate};
                for (std::size_t i = 0; i < mlpParts.size(); ++i) {
                    if (vectors[i % mlpMatrices].size() == 0)
                        continue;
                    const auto scores = list(mlpParts[i], m_mlps[i], layer, first, vectors[i % mlpMatrices]);
                    if (!scores)
                        return scores.error();
                }
                return Done{};
            });
    }

    void putOverlap(Results& results) const
    {
        const auto put = [&](const char* name, const RealNumbers& values, const char* which) -> ResultArray& {
            ResultArray& array = results.put(weightsInVocabularyFolder + std::string(name), values);
            array.definition = overlapFormula(std::to_string(comparedLength()) + " ", which);
            array.attributes["warning"] = std::string(weightsInVocabularyGauge);
            array.attributes["embedding"] = std::string(embeddingName(m_context.tokens->embedding));
            return array;
        };
        const auto tokens = static_cast<double>(m_context.tokens->E.count());
        const double share = comparedLength() / tokens;
        put("overlap", m_overlap, "l = k").nullMean = share / (2 - share); // of two lists chosen by chance
        put("overlap_null", m_shuffled, "l ≠ k");
        if (!m_context.tokens->isSquare())
            results.warn(
                "The overlap of W_V and W_O was skipped because the embedding and the unembedding have different tokens.");
    }

    void putLists(Results& results, const WeightsInVocabularyPart& part, const Lists& lists) const
    {
        const std::string path = weightsInVocabularyFolder + std::string(part.name);
        const std::size_t first = results.arrays().size();
        putEnds(results, path, lists.tokens);
        for (ResultArray& array : std::span(results.arrays()).subspan(first)) {
            if (part.isOfMlp && !part.writes)
                array.definition += mlp0Reads(m_context.tokens->embedding, m_config);
            if (!part.writes && array.unit == "token")
                array.attributes["embedding"] = std::string(embeddingName(m_context.tokens->embedding));
        }
        results.put(path + "_null", lists.null);
        for (ResultArray& array : std::span(results.arrays()).subspan(first)) {
            if (!part.isOfMlp) // neurons have a basis of their own
                array.attributes["warning"] = std::string(weightsInVocabularyGauge);
        }
        results.put(path + "_column", lists.column);
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    RealNumbers m_overlap, m_shuffled;
    std::vector<bool> m_isAsked;        // [n_layers]
    std::vector<Lists> m_heads, m_mlps; // as headParts, mlpParts
    std::array<Vectors, 4> m_vectors;   // as Which
};

Result<ResultSet> runWeightsInVocabulary(const AnalysisContext& context, const Task& task)
{
    return WeightsInVocabulary(context, task).run();
}

AnalysisCost weightsInVocabularyCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double d = config.dModel;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double columns = std::min(comparedColumns, config.dHead);
    const double perList = 2 * d * columns * config.dVocab;
    const double mlps = (config.gatedMlp ? 6 : 4) * config.nLayers;
    const double lists = (8 * heads + mlps) * listedColumns * options.tableSize;
    const double random = 4 * 2 * d * listedNullDirections * config.dVocab;
    return {heads * 10 * perList + mlps * perList + random + 2 * 12 * d * d * d,
            lists * (2 * 12 + 8) + 2 * 8 * columns * config.dVocab + 6 * 8 * d * d
                + mlp0TokensBytes(config, options.embedding, options.precision)};
}

} // namespace

Analysis weightsInVocabularyAnalysis()
{
    return {
        .id = "weights_in_vocabulary",
        .number = "E9",
        .title = "Columns and rows of the weights as tokens",
        .formula =
            "E W_V, W_O W_U, E W_Q, E W_K, E W_in, E W_gate, W_out W_U, column by column or row by row; the same with (Eᵀ)⁺ and (W_Uᵀ)⁺",
        .citation = "Dar et al. 2023, arXiv 2209.02535",
        .needsTokens = true,
        .whyNot = appliesAlways,
        .cost = weightsInVocabularyCost,
        .run = runWeightsInVocabulary,
        .arrays = weightsInVocabularyArrays(),
        .pictures = weightsInVocabularyPictures(),
        .followsFilter = true};
}

} // namespace headwise
