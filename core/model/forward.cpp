#include "core/model/forward.h"

#include "core/base/parallel.h"
#include "core/model/families/attention_parts.h"
#include "core/model/forward_pass.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace headwise {

namespace {

constexpr Eigen::Index unembedBlock = 4096; // columns of W_U at a time

template <typename Scalar>
void softCap(double cap, Matrix<Scalar>& x)
{
    if (cap > 0)
        x = (x.array() / static_cast<Scalar>(cap)).tanh() * static_cast<Scalar>(cap);
}

/// Softmax of row i over the columns i − window + 1 … i (0 … i without a window; all where there is no causal mask), the
/// largest score subtracted first; 0 elsewhere. A sink takes its part of each row and is left out.
template <typename Scalar>
void maskedSoftmax(int window, bool bidirectional, std::optional<double> sink, Matrix<Scalar>& scores)
{
    for (Eigen::Index query = 0; query < scores.rows(); ++query) {
        const Eigen::Index first = window > 0 ? std::max<Eigen::Index>(0, query + 1 - window) : 0;
        const Eigen::Index end = bidirectional ? scores.cols() : query + 1;
        auto seen = scores.row(query).segment(first, end - first);
        const Scalar aside = sink ? static_cast<Scalar>(*sink) : -std::numeric_limits<Scalar>::infinity();
        const Scalar largest = std::max(seen.maxCoeff(), aside);
        seen = (seen.array() - largest).exp().eval();
        seen /= seen.sum() + std::exp(aside - largest);
        scores.row(query).head(first).setZero();
        scores.row(query).tail(scores.cols() - end).setZero();
    }
}

/// Attention settings that all heads of a layer share.
struct LayerPlan {
    double scale = 1;
    double softCap = 0;
    int window = 0;
    bool bidirectional = false;
    double qkvLimit = 0;
    std::optional<Rotation> rotation;
    const DistanceBias* distances = nullptr;
    std::vector<std::optional<double>> sinks; // [n_heads]
    SharedQkScale qkScale;
    Eigen::VectorXd vScale; // as `valueScale`

    LayerPlan(const ModelConfig& config, int layer, const DistanceBias& bias)
        : scale(config.attentionScaleOf(layer))
        , softCap(config.attentionSoftCap)
        , window(config.windowOf(layer))
        , bidirectional(config.bidirectional)
        , qkvLimit(config.qkvLimit)
        , distances(&bias)
    {
        if (config.positional == Positional::Rotary)
            rotation.emplace(config.rotaryOf(layer));
    }
};

template <typename Scalar>
struct HeadResult {
    Matrix<Scalar> pattern; // [n, n]
    Matrix<Scalar> output;  // [n, attentionWidth], without b_O
};

/// \param x [n, d] what values read  \param placed [n, d] what queries and keys read
template <typename Scalar>
HeadResult<Scalar> runHead(const LayerPlan& plan, int index, const HeadWeights<Scalar>& head,
                           const Matrix<Scalar>& x, const Matrix<Scalar>& placed)
{
    QueriesAndKeys<Scalar> qk = queriesAndKeys(head, plan.qkScale, plan.qkvLimit, placed);
    const Matrix<Scalar> v = values(head, plan.vScale, plan.qkvLimit, x);
    if (plan.rotation) {
        plan.rotation->apply(qk.q);
        plan.rotation->apply(qk.k);
    }
    HeadResult<Scalar> result;
    result.pattern.noalias() = qk.q * qk.k.transpose();
    result.pattern *= static_cast<Scalar>(plan.scale);
    softCap(plan.softCap, result.pattern);
    plan.distances->addTo(index, result.pattern);
    maskedSoftmax(plan.window, plan.bidirectional, plan.sinks[static_cast<std::size_t>(index)],
                  result.pattern);
    const Matrix<Scalar> mixed = result.pattern * v;
    result.output.noalias() = mixed * head.W_O;
    return result;
}

/// The stored embeddings and positions, normalised at their own width, and only then taken to d_model.
template <typename Scalar>
Matrix<Scalar> embedNarrow(const ProcessedWeights& weights, std::span<const int> tokens)
{
    using enum TensorKind;
    const ModelWeights& stored = weights.original();
    const auto n = static_cast<Eigen::Index>(tokens.size());
    Matrix<Scalar> x = stored.readRows<Scalar>(W_pos, 0, n);
    addRow(x, RowVector<Scalar>(stored.read<Scalar>(b_E)));
    for (Eigen::Index i = 0; i < n; ++i)
        x.row(i) += stored.readRows<Scalar>(W_E, tokens[static_cast<std::size_t>(i)], 1);
    x = (normalized(weights.lnEmbedding<Scalar>(), x) * stored.read<Scalar>(W_Eproj)).eval();
    addRow(x, RowVector<Scalar>(stored.read<Scalar>(b_Eproj)));
    return x;
}

template <typename Scalar>
Matrix<Scalar> embed(const ProcessedWeights& weights, std::span<const int> tokens)
{
    if (weights.original().config().normsNarrowEmbeddings())
        return embedNarrow<Scalar>(weights, tokens);
    const auto n = static_cast<Eigen::Index>(tokens.size());
    Matrix<Scalar> x(n, weights.config().dModel);
    for (Eigen::Index i = 0; i < n; ++i)
        x.row(i) = weights.W_E<Scalar>(tokens[static_cast<std::size_t>(i)], 1);
    if (weights.config().positional == Positional::Learned)
        x += weights.W_pos<Scalar>(0, n);
    return normalized(weights.lnEmbedding<Scalar>(), x);
}

/// Norm, unembedding and soft cap.
template <typename Scalar>
Result<Matrix<Scalar>> unembed(const ProcessedWeights& weights, const Matrix<Scalar>& residual,
                               const Task& task)
{
    const Matrix<Scalar> x = unembedded(weights, residual);
    const Eigen::Index V = weights.config().dVocabOut;
    Matrix<Scalar> logits(x.rows(), V);
    for (Eigen::Index first = 0; first < V; first += unembedBlock) {
        if (task.cancelled())
            return stopped();
        const Eigen::Index count = std::min(unembedBlock, V - first);
        logits.middleCols(first, count) =
            logitsOf<Scalar>(weights, x, first, weights.W_U<Scalar>(first, count));
    }
    return logits;
}

/// The whole pass but for the logits.
template <typename Scalar>
Result<ForwardResult<Scalar>> runLayers(const ProcessedWeights& weights, std::span<const int> tokens,
                                        const Task& task)
{
    const Task quiet{task.stop, {}, task.threads};
    ForwardPass<Scalar> pass(weights, tokens);
    for (int layer = 0; layer < weights.config().nLayers; ++layer) {
        if (const auto done = pass.attend(layer, quiet); !done)
            return done.error();
        pass.finish(LayerTail<Scalar>(weights, layer));
        task.report(layer + 1, weights.config().nLayers, "layers");
    }
    return std::move(pass.result);
}

} // namespace

Result<Done> checkPrompt(const ModelConfig& config, std::span<const int> tokens, std::size_t length)
{
    if (std::string why = whyUnknown(config, forwardFields(), "The forward pass"); !why.empty())
        return Error{ErrorCode::InvalidArgument, std::move(why)};
    if (std::string why = whyNoForward(config); !why.empty())
        return Error{ErrorCode::InvalidArgument, std::move(why)};
    if (tokens.empty())
        return Error{ErrorCode::InvalidArgument, "The prompt is empty; at least one token is needed."};
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] < 0 || tokens[i] >= config.dVocab)
            return Error{
                ErrorCode::InvalidArgument,
                fmt::format("Token {} of the prompt has the id {}, but this model's ids are 0 to {}.", i + 1,
                            tokens[i], config.dVocab - 1)};
    if (config.isKnown(ConfigField::Context) && length > static_cast<std::size_t>(config.nCtx))
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("{} tokens do not fit into this model's context of {}.", length, config.nCtx)};
    return Done{};
}

template <typename Scalar>
ForwardPass<Scalar>::ForwardPass(const ProcessedWeights& model, std::span<const int> tokens)
    : weights(model)
    , m_distances(model, static_cast<Eigen::Index>(tokens.size()))
{
    result.residuals.push_back(embed<Scalar>(weights, tokens));
}

template <typename Scalar>
Result<Done> ForwardPass<Scalar>::attend(int layer, const Task& task)
{
    const ModelConfig& config = weights.config();
    const Matrix<Scalar>& x = result.residuals.back();
    m_normed = normalized(weights.ln1<Scalar>(layer), x);
    LayerPlan plan(config, layer, m_distances);
    for (int head = 0; head < config.nHeads; ++head)
        plan.sinks.push_back(weights.sink({layer, head}));
    Matrix<Scalar> placed = m_normed;
    if (config.positionsInQueriesAndKeys)
        placed += weights.W_pos<Scalar>(0, x.rows());
    plan.qkScale = sharedQkScale(weights, layer, placed);
    plan.vScale = valueScale(weights, layer, m_normed);
    std::vector<HeadResult<Scalar>> heads(static_cast<std::size_t>(config.nHeads));
    const auto done = parallelFor(config.nHeads, task, "heads", [&](int head) -> Result<Done> {
        heads[static_cast<std::size_t>(head)] =
            runHead(plan, head, weights.head<Scalar>(HeadId{layer, head}), m_normed, placed);
        return Done{};
    });
    if (!done)
        return done;
    m_attention = Matrix<Scalar>::Zero(x.rows(), config.attentionWidth());
    auto& patterns = result.patterns.emplace_back();
    auto& norms = result.outputNorms.emplace_back(config.nHeads, x.rows());
    for (int head = 0; head < config.nHeads; ++head) {
        HeadResult<Scalar>& one = heads[static_cast<std::size_t>(head)];
        m_attention += one.output;
        norms.row(head) = one.output.rowwise().norm().transpose();
        patterns.push_back(std::move(one.pattern));
    }
    m_attention.rowwise() += weights.b_O<Scalar>(layer);
    return Done{};
}

template <typename Scalar>
void ForwardPass<Scalar>::finish(const LayerTail<Scalar>& tail)
{
    result.residuals.push_back(tail.apply(weights.config(), result.residuals.back(), m_normed, m_attention));
}

template <typename Scalar>
Matrix<Scalar> unembedded(const ProcessedWeights& weights, const Matrix<Scalar>& residual)
{
    Matrix<Scalar> x = residual;
    if (const HeadTransform<Scalar> head = weights.headTransform<Scalar>(); head.W.size() > 0) {
        x = normalized(head.ln, x) * head.W;
        addRow(x, head.b);
        activate(weights.config().activation, x);
    }
    return normalized(weights.lnFinal<Scalar>(), x);
}

template <typename Scalar>
Matrix<Scalar> logitsOf(const ProcessedWeights& weights, const Matrix<Scalar>& x, Eigen::Index first,
                        const Matrix<Scalar>& W_U)
{
    // After a head that leads to the width of the embeddings (ELECTRA), the stored matrix follows.
    Matrix<Scalar> logits = x
        * (x.cols() == W_U.rows()
               ? W_U
               : weights.original().readColumns<Scalar>(TensorKind::W_U, first, W_U.cols()));
    logits.rowwise() += weights.b_U<Scalar>(first, W_U.cols());
    softCap(weights.config().outputSoftCap, logits);
    return logits;
}

template <typename Scalar>
Result<ForwardResult<Scalar>> forward(const ProcessedWeights& weights, std::span<const int> tokens,
                                      const Task& task)
{
    if (const auto checked = checkPrompt(weights.config(), tokens, tokens.size()); !checked)
        return checked.error();
    auto result = runLayers<Scalar>(weights, tokens, task);
    if (!result)
        return result;
    ForwardResult<Scalar> run = *std::move(result);
    auto logits = unembed<Scalar>(weights, run.residuals.back(), task);
    if (!logits)
        return logits.error();
    run.logits = *std::move(logits);
    return run;
}

template <typename Scalar>
Result<std::vector<int>> greedyDecode(const ProcessedWeights& weights, std::vector<int> tokens, int count,
                                      const Task& task)
{
    if (weights.config().bidirectional)
        return Error{
            ErrorCode::InvalidArgument,
            "Greedy decoding needs a causal mask, and this model's attention is bidirectional (attention_dir)."};
    const Task quiet{task.stop, {}, task.threads};
    const std::size_t length = tokens.size() + static_cast<std::size_t>(std::max(0, count));
    if (const auto checked = checkPrompt(weights.config(), tokens, length); !checked)
        return checked.error();
    for (int done = 0; done < count; ++done) {
        const auto run = runLayers<Scalar>(weights, tokens, quiet);
        if (!run)
            return run.error();
        const auto logits = unembed<Scalar>(weights, run->residuals.back().bottomRows(1), quiet);
        if (!logits)
            return logits.error();
        Eigen::Index best = 0;
        logits->row(0).maxCoeff(&best); // The first of equal ones.
        if (best >= weights.config().dVocab)
            return Error{
                ErrorCode::InvalidArgument,
                fmt::format("The most likely next token is {}, which has no embedding: ids are 0 to {}.",
                            best, weights.config().dVocab - 1)};
        tokens.push_back(static_cast<int>(best));
        task.report(done + 1, count, "tokens");
    }
    return tokens;
}

template class ForwardPass<float>;
template class ForwardPass<double>;
template Matrix<float> unembedded(const ProcessedWeights&, const Matrix<float>&);
template Matrix<double> unembedded(const ProcessedWeights&, const Matrix<double>&);
template Matrix<float> logitsOf(const ProcessedWeights&, const Matrix<float>&, Eigen::Index,
                                const Matrix<float>&);
template Matrix<double> logitsOf(const ProcessedWeights&, const Matrix<double>&, Eigen::Index,
                                 const Matrix<double>&);
template Result<ForwardResult<float>> forward(const ProcessedWeights&, std::span<const int>, const Task&);
template Result<ForwardResult<double>> forward(const ProcessedWeights&, std::span<const int>, const Task&);
template Result<std::vector<int>> greedyDecode<float>(const ProcessedWeights&, std::vector<int>, int,
                                                      const Task&);
template Result<std::vector<int>> greedyDecode<double>(const ProcessedWeights&, std::vector<int>, int,
                                                       const Task&);

} // namespace headwise
