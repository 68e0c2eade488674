#include "core/analysis/prompt/score_split.h"

#include "core/analysis/prompt/residual_parts.h"
#include "core/analysis/prompt/score_positions.h"
#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

namespace headwise {

namespace {

constexpr double matrixBudget = 256e6; // bytes of all heads' [component, component] matrices

} // namespace

bool isBilinear(const ModelConfig& config)
{
    return config.positional != Positional::Rotary && config.qkNorm == NormKind::None;
}

ScoreComponents::ScoreComponents(const ModelConfig& config)
{
    const PartList list(config);
    std::vector<std::string> shown = list.names();
    const double heads = static_cast<double>(config.nLayers) * config.nHeads;
    if (8 * heads * list.count() * list.count() > matrixBudget) {
        for (int layer = 0; layer < config.nLayers; ++layer)
            for (int head = 0; head < config.nHeads; ++head)
                shown[static_cast<std::size_t>(list.head({layer, head}))] = fmt::format("heads {}", layer);
    }
    for (const std::string& name : shown) {
        if (names.empty() || names.back() != name)
            names.push_back(name);
        ofPart.push_back(static_cast<int>(names.size()) - 1);
    }
    for (int layer = 0; layer < config.nLayers; ++layer)
        firstOfLayer.push_back(ofPart[static_cast<std::size_t>(list.head({layer, 0}))]);
}

Matrix<double> ScoreComponents::joined(const Matrix<double>& rows) const
{
    Matrix<double> out = Matrix<double>::Zero(static_cast<Eigen::Index>(names.size()), rows.cols());
    for (Eigen::Index part = 0; part < rows.rows(); ++part)
        out.row(ofPart[static_cast<std::size_t>(part)]) += rows.row(part);
    return out;
}

ScoreSources::ScoreSources(const ModelConfig& config)
    : list(config)
    , components(RealNumbers::perHead(config, list.names.size(), list.names.size()))
    , ofQuery(RealNumbers::perHead(config, list.names.size()))
    , ofKey(ofQuery)
    , directions(RealNumbers::perHead(config, config.dHead))
    , score(RealNumbers::perHead(config))
    , bilinear(score)
    , distance(score)
    , nullMean(score)
    , nullDeviation(score)
    , keys(WholeNumbers::perHead(config))
    , keyTokens(keys)
{
}

namespace {

/// Splits the scores of one query, layer by layer as the streams are split into parts.
template <typename Scalar>
class ScoreSplit {
public:
    ScoreSplit(const AnalysisContext& context, const ForwardResult<Scalar>& run)
        : m_context(context)
        , m_weights(context.circuits.weights())
        , m_config(m_weights.config())
        , m_run(run)
        , m_found(m_config)
        , m_distances(m_weights, m_run.residuals.front().rows())
        , m_positions(chooseKeys())
        , m_parts(m_weights, run, context.options.inputs.prompt, m_positions)
    {
    }

    Result<ScoreSources> run(const Task& task)
    {
        for (int layer = 0; layer < m_config.nLayers; ++layer) {
            auto done = splitLayer(layer, task);
            if (!done)
                return done.error();
            m_found.warnings.insert(m_found.warnings.end(), done->begin(), done->end());
            if (layer + 1 < m_config.nLayers) {
                if (const auto added = m_parts.addLayer(task); !added)
                    return added.error();
            }
            task.report(layer + 1, m_config.nLayers, "layers taken apart");
        }
        return std::move(m_found);
    }

private:
    /// The inputs that all heads of a layer share.
    struct LayerReads {
        Norm<Scalar> ln1;
        Matrix<Scalar> placed; // [n, d]
        SharedQkScale qkScale;
        std::optional<Rotation> rotation;
        double scale = 1;
    };

    enum Side { Query, Key };

    int query() const { return scoreQuery(m_context.options.inputs); }
    std::size_t place(int position) const
    {
        return static_cast<std::size_t>(std::lower_bound(m_positions.begin(), m_positions.end(), position)
                                        - m_positions.begin());
    }

    int strongestKey(HeadId id) const
    {
        Eigen::Index key = 0;
        m_run.patterns[static_cast<std::size_t>(id.layer)][static_cast<std::size_t>(id.head)]
            .row(query())
            .maxCoeff(&key);
        return static_cast<int>(key);
    }

    /// Finds the named key, or for every selected head the key that the query attends to most.
    /// \returns the positions of the keys and the query, rising
    std::vector<int> chooseKeys()
    {
        const AnalysisInputs& inputs = m_context.options.inputs;
        std::vector<int> positions{query()};
        for (const HeadId id : selectedHeads(m_config, m_context.options)) {
            const int key = inputs.keyPosition ? *inputs.keyPosition : strongestKey(id);
            m_found.keys.set(id, key);
            m_found.keyTokens.set(id, inputs.prompt[static_cast<std::size_t>(key)]);
            positions.push_back(key);
        }
        std::sort(positions.begin(), positions.end());
        positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
        return positions;
    }

    Result<std::vector<std::string>> splitLayer(int layer, const Task& task)
    {
        AnalysisContext ofLayer = m_context;
        std::erase_if(ofLayer.options.heads = selectedHeads(m_config, m_context.options),
                      [&](HeadId id) { return id.layer != layer; });
        if (ofLayer.options.heads.empty())
            return std::vector<std::string>{};
        LayerReads reads;
        reads.ln1 = m_weights.ln1<Scalar>(layer);
        reads.placed = normalized(reads.ln1, m_run.residuals[static_cast<std::size_t>(layer)]);
        if (m_config.positionsInQueriesAndKeys)
            reads.placed += m_weights.W_pos<Scalar>(0, reads.placed.rows());
        reads.qkScale = sharedQkScale(m_weights, layer, reads.placed);
        if (m_config.positional == Positional::Rotary)
            reads.rotation.emplace(m_config.rotaryOf(layer));
        reads.scale = m_config.attentionScaleOf(layer);
        return forEachHead(ofLayer, withoutProgress(task), "scores",
                           [&](HeadId id) { return splitHead(id, reads); });
    }

    /// Returns each part of the stream as queries or keys read it, with the norm frozen: [parts, d].
    Matrix<double> readParts(int position, const LayerReads& reads) const
    {
        const std::size_t at = place(position);
        const FrozenNorm norm(reads.ln1, m_parts.total(at));
        Matrix<double> rows = norm.linear(m_parts.at(at));
        rows.row(m_parts.list().biases()) += norm.bias();
        if (m_config.positionsInQueriesAndKeys)
            rows.row(*m_parts.list().positions()) +=
                m_weights.W_pos<Scalar>(position, 1).template cast<double>();
        return rows;
    }

    /// Projects the parts to queries or keys, [parts, r]. The head's bias belongs to the part of biases.
    Matrix<double> projected(Side side, const HeadWeights<Scalar>& head, const LayerReads& reads,
                             int position) const
    {
        const Matrix<Scalar>& W = side == Query ? head.W_Q : head.W_K;
        const RowVector<Scalar>& b = side == Query ? head.b_Q : head.b_K;
        Matrix<double> rows = readParts(position, reads) * W.template cast<double>();
        rows.row(m_parts.list().biases()) += b.template cast<double>();
        const Norm<Scalar>& norm = side == Query ? head.qNorm : head.kNorm;
        const Eigen::VectorXd& shared = side == Query ? reads.qkScale.q : reads.qkScale.k;
        if (shared.size() > 0) {
            const Eigen::Index from = side == Query ? 0 : reads.qkScale.keyFrom;
            rows.rightCols(rows.cols() - from) *= shared(position);
            if (norm.w.size() > 0)
                rows.array().rowwise() *= norm.w.template cast<double>().array();
        } else if (norm.kind != NormKind::None) {
            const FrozenNorm frozen(norm, rows.colwise().sum());
            rows = frozen.linear(rows);
            rows.row(m_parts.list().biases()) += frozen.bias();
        }
        return rows;
    }

    /// Returns the query's scores with every visible key, as in the forward pass before the soft cap.
    std::vector<double> scores(HeadId id, const HeadWeights<Scalar>& head, const LayerReads& reads) const
    {
        QueriesAndKeys<Scalar> qk = queriesAndKeys(head, reads.qkScale, m_config.qkvLimit, reads.placed);
        if (reads.rotation) {
            reads.rotation->apply(qk.q);
            reads.rotation->apply(qk.k);
        }
        const RowVector<double> products =
            qk.q.row(query()).template cast<double>() * qk.k.transpose().template cast<double>();
        const int last = m_config.bidirectional ? static_cast<int>(products.size()) - 1 : query();
        std::vector<double> seen;
        for (int key = firstKey(id.layer); key <= last; ++key)
            seen.push_back(reads.scale * products(key) + distanceTerm(id, key));
        return seen;
    }

    /// Returns the first key that the window shows to the query.
    int firstKey(int layer) const
    {
        const int window = m_config.windowOf(layer);
        return window > 0 ? std::max(0, query() + 1 - window) : 0;
    }

    double distanceTerm(HeadId id, int key) const { return m_distances.of(id.head, query() - key); }

    Result<Done> splitHead(HeadId id, const LayerReads& reads)
    {
        const auto head = m_weights.head<Scalar>(id);
        const int key = m_found.keys.at(id);
        Matrix<double> q = m_found.list.joined(projected(Query, head, reads, query())) * reads.scale;
        const Matrix<double> k = m_found.list.joined(projected(Key, head, reads, key));
        if (reads.rotation) {
            for (Eigen::Index row = 0; row < q.rows(); ++row)
                q.row(row) = reads.rotation->turned(q.row(row), query() - key);
        }
        const Matrix<double> products = q * k.transpose(); // [components, components]
        const std::vector<double> seen = scores(id, head, reads);
        const double score = products.sum() + distanceTerm(id, key);
        const auto at = static_cast<std::size_t>(key - firstKey(id.layer));
        if (at >= seen.size())
            return Done{}; // behind the window; or weights that are no numbers, so that no key is the strongest
        const double direct = seen[at];
        if (std::abs(score - direct) > 1e-3 * (products.cwiseAbs().sum() + std::abs(direct)))
            return Error{
                ErrorCode::Internal,
                fmt::format("The sources of the score of {} do not add up to it, so they were skipped.",
                            headLabel(id))};
        m_found.score.set(id, score);
        m_found.distance.set(id, distanceTerm(id, key));
        setNull(id, seen);
        setComponents(id, products);
        return isBilinear(m_config) ? splitDirections(id, reads, key) : Result<Done>(Done{});
    }

    void setNull(HeadId id, const std::vector<double>& seen)
    {
        const Eigen::Map<const Eigen::ArrayXd> all(seen.data(), static_cast<Eigen::Index>(seen.size()));
        m_found.nullMean.set(id, all.mean());
        m_found.nullDeviation.set(id, std::sqrt((all - all.mean()).square().mean()));
    }

    void setComponents(HeadId id, const Matrix<double>& products)
    {
        const auto width = static_cast<std::size_t>(products.cols());
        const std::span<double> components = m_found.components.of(id);
        // Later layers do not contribute: NaN.
        const Eigen::Index upstream = m_found.list.firstOfLayer[static_cast<std::size_t>(id.layer)];
        for (Eigen::Index a = 0; a < upstream; ++a) {
            const auto row = static_cast<std::size_t>(a);
            for (Eigen::Index b = 0; b < upstream; ++b)
                components[row * width + static_cast<std::size_t>(b)] = products(a, b);
            m_found.ofQuery.of(id)[row] = products.row(a).sum();
            m_found.ofKey.of(id)[row] = products.col(a).sum();
        }
    }

    /// Splits x_i W_QK x_jᵀ along the singular directions of W_QK.
    Result<Done> splitDirections(HeadId id, const LayerReads& reads, int key)
    {
        const auto svd = m_context.circuits.qk(id).svd();
        if (!svd)
            return svd.error();
        const RowVector<double> x = readParts(query(), reads).colwise().sum();
        const RowVector<double> y = readParts(key, reads).colwise().sum();
        const Eigen::ArrayXd terms = reads.scale * (x * svd->U).transpose().array() * svd->S.array()
            * (y * svd->V).transpose().array();
        m_found.directions.set(id, std::span(terms.data(), static_cast<std::size_t>(terms.size())));
        m_found.bilinear.set(id, terms.sum());
        return Done{};
    }

    const AnalysisContext& m_context;
    const ProcessedWeights& m_weights;
    const ModelConfig& m_config;
    const ForwardResult<Scalar>& m_run;
    ScoreSources m_found;
    DistanceBias m_distances;
    std::vector<int> m_positions; // rising
    ResidualParts<Scalar> m_parts;
};

} // namespace

template <typename Scalar>
Result<ScoreSources> splitScores(const AnalysisContext& context, const ForwardResult<Scalar>& run,
                                 const Task& task)
{
    return ScoreSplit<Scalar>(context, run).run(task);
}

template Result<ScoreSources> splitScores(const AnalysisContext&, const ForwardResult<float>&, const Task&);
template Result<ScoreSources> splitScores(const AnalysisContext&, const ForwardResult<double>&, const Task&);

} // namespace headwise
