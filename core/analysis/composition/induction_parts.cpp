#include "core/analysis/composition/induction_parts.h"

#include "core/analysis/analyses.h"
#include "core/analysis/position/position_vectors.h"
#include "core/analysis/position_scores.h"
#include "core/analysis/spectrum.h"
#include "core/base/decompositions.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

namespace headwise {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr double blockBytes = 256.0 * 1024 * 1024; // of earlier heads held at once
constexpr Eigen::Index longestContext = 1024;      // as in scores/previous_token

/// The later head's side of a pair, and the token vectors both are asked about.
struct Reader {
    Matrix<double> Q, K;  // [d, r]
    Matrix<double> SQ;    // Eᵀ E W_Q, [d, r]
    Matrix<double> coreQ; // R of W_Q = orthonormal · R, [min(d, r), r]
    double norm = 0;      // ‖W_QK‖_F
};

struct Writer {
    Matrix<double> V;     // [d, r]
    Matrix<double> O;     // [r, d]
    Matrix<double> coreV; // R of W_V
    double norm = 0;      // ‖W_OV‖_F
};

Result<Reader> readerOf(const HeadWeights<double>& head, const Matrix<double>& gram)
{
    const auto qr = thinQr(head.W_Q);
    if (!qr)
        return qr.error();
    if (!head.W_K.allFinite())
        return Error{ErrorCode::Corrupt, "A key weight is not a finite number."};
    return Reader{head.W_Q, head.W_K, gram * head.W_Q, qr->R, (qr->R * head.W_K.transpose()).norm()};
}

Result<Writer> writerOf(const HeadWeights<double>& head)
{
    const auto qr = thinQr(head.W_V);
    if (!qr)
        return qr.error();
    if (!head.W_O.allFinite())
        return Error{ErrorCode::Corrupt, "An output weight is not a finite number."};
    return Writer{head.W_V, head.W_O, qr->R, (qr->R * head.W_O).norm()};
}

/// How the two heads meet: `written` = W_O W_K, `read` = W_Vᵀ Eᵀ E W_Q, both [r, r].
struct Meeting {
    Matrix<double> written, read;
};

double kComposition(const Writer& writer, const Reader& reader, const Matrix<double>& written)
{
    return (writer.coreV * written * reader.coreQ.transpose()).norm() / (writer.norm * reader.norm);
}

/// Positivity of E W_Q W_Kᵀ W_Oᵀ W_Vᵀ Eᵀ, cut open where it is thinnest: a product and its cyclic permutations share their
/// eigenvalues but for zeros, and many zeros at once are what eigenvalues are bad at.
Result<double> matchingOf(const Writer& writer, const Reader& reader, const Meeting& meeting,
                          const Matrix<float>& E)
{
    const Eigen::Index r = reader.Q.cols();
    const Eigen::Index d = reader.Q.rows();
    Matrix<double> circle = meeting.written.transpose() * meeting.read;
    if (E.rows() < std::min(r, d)) {
        const Matrix<double> tokens = E.cast<double>();
        circle = (tokens * reader.Q) * meeting.written.transpose() * (tokens * writer.V).transpose();
    } else if (d < r) {
        circle = reader.SQ * meeting.written.transpose() * writer.V.transpose();
    }
    const auto lambda = eigenvalues(circle);
    if (!lambda)
        return lambda.error();
    return positivity({lambda->data(), static_cast<std::size_t>(lambda->size())});
}

bool isCorrupt(const Error& error)
{
    return error.code == ErrorCode::Corrupt;
}

/// The pairs' own two numbers, earlier heads in blocks of layers.
class PairParts {
public:
    PairParts(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_heads(selectedHeads(m_config, context.options))
        , m_composition(m_config)
        , m_matching(m_config)
    {
    }

    Result<Done> run()
    {
        const double perLayer = 16.0 * m_config.nHeads * m_config.dModel * m_config.dHead;
        const int layers = std::max(1, static_cast<int>(blockBytes / perLayer));
        for (int first = 0; first + 1 < m_config.nLayers; first += layers) {
            const int last = std::min(first + layers, m_config.nLayers - 1);
            if (const auto done = runBlock(first, last); !done)
                return done;
        }
        return Done{};
    }

    const PerPair& composition() const { return m_composition; }
    const PerPair& matching() const { return m_matching; }

private:
    Result<Done> runBlock(int first, int last)
    {
        std::vector<HeadId> earlier;
        for (const HeadId head : m_heads) {
            if (head.layer >= first && head.layer < last)
                earlier.push_back(head);
        }
        std::vector<Writer> writers(earlier.size());
        const auto read = parallelFor(
            static_cast<int>(earlier.size()), withoutProgress(m_task), "", [&](int i) -> Result<Done> {
                const auto index = static_cast<std::size_t>(i);
                const auto writer = writerOf(m_context.circuits.weights().head<double>(earlier[index]));
                if (writer)
                    writers[index] = *writer;
                else if (!isCorrupt(writer.error()))
                    return writer.error();
                return Done{};
            });
        if (!read)
            return read;
        return parallelFor(static_cast<int>(m_heads.size()), m_task, "pairs of heads", [&](int i) {
            const HeadId later = m_heads[static_cast<std::size_t>(i)];
            return later.layer > first ? runLater(later, earlier, writers) : Result<Done>(Done{});
        });
    }

    Result<Done> runLater(HeadId later, const std::vector<HeadId>& earlier,
                          const std::vector<Writer>& writers)
    {
        const TokenSide& tokens = *m_context.tokens;
        const auto reader =
            readerOf(m_context.circuits.weights().head<double>(later), tokens.embeddingGramOf(later.layer));
        if (!reader)
            return isCorrupt(reader.error()) ? Result<Done>(Done{}) : reader.error();
        for (std::size_t i = 0; i < earlier.size(); ++i) {
            if (m_task.cancelled())
                return stopped();
            const Writer& writer = writers[i];
            if (earlier[i].layer >= later.layer || writer.V.size() == 0)
                continue;
            const Meeting meeting{writer.O * reader->K, writer.V.transpose() * reader->SQ};
            const auto matching = matchingOf(writer, *reader, meeting, tokens.embeddingOf(later.layer));
            if (!matching && !isCorrupt(matching.error()))
                return matching.error();
            m_composition.set(earlier[i], later, kComposition(writer, *reader, meeting.written));
            m_matching.set(earlier[i], later, matching ? *matching : none);
        }
        return Done{};
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    std::vector<HeadId> m_heads;
    PerPair m_composition, m_matching;
};

/// The one array of another row of the catalogue, in double.
Result<std::vector<double>> scoresOf(const Analysis& analysis, const AnalysisContext& context,
                                     const Task& task, std::vector<std::string>& warnings)
{
    AnalysisContext inDouble = context;
    inDouble.options.precision = Precision::F64;
    auto results = analysis.run(inDouble, withoutProgress(task));
    if (!results)
        return results.error();
    warnings.insert(warnings.end(), results->warnings.begin(), results->warnings.end());
    return std::get<std::vector<double>>(results->arrays.front().values);
}

/// A random order of the residual directions. Fisher & Yates, so that it is the same on every machine.
class RandomOrder {
public:
    explicit RandomOrder(std::uint64_t seed)
        : m_random(seed)
    {
    }

    std::size_t below(std::size_t count) { return static_cast<std::size_t>(m_random() % count); }

    std::vector<Eigen::Index> next(Eigen::Index count)
    {
        std::vector<Eigen::Index> order(static_cast<std::size_t>(count));
        std::iota(order.begin(), order.end(), Eigen::Index(0));
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[below(i)]);
        return order;
    }

private:
    std::mt19937_64 m_random;
};

struct Draw {
    double previousToken = none, copying = none, composition = none, matching = none;
};

/// What the random pairs share.
struct Residuals {
    std::optional<PositionVectors> positions;      // of learned positions
    RowVector<double> tokenOfLayer0, tokenOfLater; // x̄ of the tokens that layer 0 and the later layers read

    explicit Residuals(const AnalysisContext& context)
        : tokenOfLayer0(meanToken(context.tokens->embeddingOf(0)))
        , tokenOfLater(meanToken(context.tokens->E))
    {
        const ModelConfig& config = context.circuits.config();
        if (config.positional == Positional::Learned)
            positions.emplace(context.circuits.weights(),
                              std::min<Eigen::Index>(config.nCtx, longestContext));
    }
};

double randomPreviousToken(const AnalysisContext& context, HeadId head,
                           const std::vector<Eigen::Index>& order, const Residuals& residuals)
{
    const ModelConfig& config = context.circuits.config();
    const ProcessedWeights& weights = context.circuits.weights();
    const Eigen::Index n = std::min<Eigen::Index>(config.nCtx, longestContext);
    const int window = config.windowOf(head.layer);
    if (residuals.positions) {
        const Matrix<double> x = residuals.positions->of(head.layer)(Eigen::all, order);
        return previousTokenScore(positionScores(weights, head, x), window);
    }
    if (config.positional != Positional::Rotary)
        return none;
    const RowVector<double> x = (head.layer == 0 ? residuals.tokenOfLayer0 : residuals.tokenOfLater)(order);
    return previousTokenScore(offsetScores(weights, head, x, n), window);
}

Result<double> randomCopying(const HeadWeights<double>& head, const Matrix<double>& UE, RandomOrder& random)
{
    const Eigen::Index d = head.W_V.rows();
    const Matrix<double> V = head.W_V(random.next(d), Eigen::all);
    const Matrix<double> O = head.W_O(Eigen::all, random.next(d));
    const auto lambda = d < V.cols() ? eigenvalues(V * O * UE) : eigenvalues(O * UE * V);
    if (!lambda)
        return lambda.error();
    return positivity({lambda->data(), static_cast<std::size_t>(lambda->size())});
}

/// One pair of heads of which nothing fits any more.
Result<Draw> randomPair(const AnalysisContext& context, std::pair<HeadId, HeadId> heads,
                        const Residuals& residuals, RandomOrder random)
{
    const auto [earlier, later] = heads;
    const TokenSide& tokens = *context.tokens;
    const Eigen::Index d = context.circuits.config().dModel;
    const HeadWeights<double> before = context.circuits.weights().head<double>(earlier);
    HeadWeights<double> after = context.circuits.weights().head<double>(later);
    Draw draw;
    draw.previousToken = randomPreviousToken(context, earlier, random.next(d), residuals);
    if (tokens.isSquare()) {
        const auto copying = randomCopying(after, tokens.unembedEmbedOf(later.layer), random);
        if (!copying)
            return copying.error();
        draw.copying = *copying;
    }
    after.W_Q = Matrix<double>(after.W_Q(random.next(d), Eigen::all));
    after.W_K = Matrix<double>(after.W_K(random.next(d), Eigen::all));
    const auto reader = readerOf(after, tokens.embeddingGramOf(later.layer));
    const auto unchanged = writerOf(before);
    if (!reader || !unchanged)
        return reader ? unchanged.error() : reader.error();
    Writer writer = *unchanged;
    writer.V = Matrix<double>(unchanged->V(random.next(d), Eigen::all));
    const Meeting meeting{writer.O * reader->K, writer.V.transpose() * reader->SQ};
    const auto matching = matchingOf(writer, *reader, meeting, tokens.embeddingOf(later.layer));
    if (!matching)
        return matching.error();
    draw.composition = kComposition(writer, *reader, meeting.written);
    draw.matching = *matching;
    return draw;
}

} // namespace

Result<InductionParts> inductionParts(const AnalysisContext& context, const Task& task)
{
    std::vector<std::string> warnings;
    auto previousToken = scoresOf(previousTokenAnalysis(), context, task, warnings);
    if (!previousToken)
        return previousToken.error();
    auto copying = scoresOf(copyingAnalysis(), context, task, warnings);
    if (!copying)
        return copying.error();
    PairParts pairs(context, task);
    if (const auto done = pairs.run(); !done)
        return done.error();
    return InductionParts{std::move(previousToken).value(), std::move(copying).value(), pairs.composition(),
                          pairs.matching(), std::move(warnings)};
}

Result<InductionNull> inductionNull(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    std::vector<HeadId> earlier, later;
    for (const HeadId head : selectedHeads(config, context.options)) {
        if (head.layer + 1 < config.nLayers)
            earlier.push_back(head);
        if (head.layer > 0)
            later.push_back(head);
    }
    std::vector<Draw> draws(inductionNullDraws);
    const Residuals residuals(context);
    if (!earlier.empty() && !later.empty()) {
        const auto done = parallelFor(inductionNullDraws, task, "random pairs", [&](int i) -> Result<Done> {
            // A generator of its own for every draw, so that threads do not change the numbers.
            RandomOrder random(context.options.inputs.seed * inductionNullDraws
                               + static_cast<std::uint64_t>(i));
            const HeadId before = earlier[random.below(earlier.size())];
            const HeadId after = later[random.below(later.size())];
            const auto draw = randomPair(context, {before, after}, residuals, random);
            if (draw)
                draws[static_cast<std::size_t>(i)] = *draw;
            return draw || isCorrupt(draw.error()) ? Result<Done>(Done{}) : draw.error();
        });
        if (!done)
            return done.error();
    }
    std::vector<double> previousToken, copying, composition, matching;
    for (const Draw& draw : draws) {
        previousToken.push_back(draw.previousToken);
        copying.push_back(draw.copying);
        composition.push_back(draw.composition);
        matching.push_back(draw.matching);
    }
    return InductionNull{Sample(previousToken), Sample(copying), Sample(composition), Sample(matching)};
}

} // namespace headwise
