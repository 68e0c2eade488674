#include "core/circuits/shared_spectra.h"

#include "core/base/decompositions.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

namespace headwise {

namespace {

constexpr int columnsAtOnce = 256; // of a product with a Gram matrix, which BLAS copies for each
constexpr int leastCopied = 512;   // rows of a Gram matrix whose copy takes a part of the time

/// Returns how many products to keep: of the groups that threads work on at one time.
std::size_t productsKept()
{
    return std::max<std::size_t>(32, 2 * std::size_t(std::thread::hardware_concurrency()));
}

/// Returns an upper bound of the largest eigenvalue of a positive semidefinite matrix, close for Gram matrices of heads.
double normBound(const Matrix<double>& gram)
{
    return gram.cwiseAbs().colwise().sum().maxCoeff(); // symmetric, and columns are contiguous
}

/// σ(L R)² are the eigenvalues of F (R Rᵀ) Fᵀ with LᵀL = Fᵀ F. Returns nothing if rounding could cost more than 3e-6·σ₁.
/// \param uncertainty of σ², from rounding in the Gram matrices
Result<std::optional<std::vector<double>>> gramSingularValues(const Matrix<double>& left,
                                                              const Matrix<double>& right, double uncertainty)
{
    const Result<Matrix<double>> F = semidefiniteFactor(left);
    if (!F)
        return F.error();
    std::vector<double> sigma(static_cast<std::size_t>(left.rows()), 0.0);
    const Matrix<double> half = *F * right;
    const Result<Eigen::VectorXd> squares = symmetricEigenvalues(half * F->transpose());
    if (!squares)
        return squares.error();
    for (Eigen::Index i = 0; i < squares->size(); ++i)
        sigma[static_cast<std::size_t>(i)] = std::sqrt(std::max(0.0, (*squares)(squares->size() - 1 - i)));
    if (uncertainty > 1e-11 * sigma[0] * sigma[0])
        return std::optional<std::vector<double>>();
    return std::optional(std::move(sigma));
}

} // namespace

/// Input for the singular values of L · R: LᵀL and R Rᵀ, both [r, r], and the possible error of σ² from rounding in them.
struct SharedSpectra::Grams {
    Matrix<double> left, right;
    double uncertainty = 0;
};

SharedSpectra::SharedSpectra(Circuits circuits, std::shared_ptr<const TokenSide> tokens, Keep keep)
    : m_circuits(std::move(circuits))
    , m_tokens(std::move(tokens))
    , m_keep(keep)
{
}

std::shared_ptr<const Matrix<double>> SharedSpectra::product(Of of, HeadId head, const Made& make)
{
    const ModelConfig& config = m_circuits.config();
    const int perGroup = config.nHeads / std::max(1, config.nKvHeads);
    const ProductId id{of, head.layer, head.head / perGroup};
    std::shared_ptr<Product> shared;
    {
        const std::lock_guard lock(m_mutex);
        const auto found = std::ranges::find(m_products, id, [](const auto& one) { return one->id; });
        if (found != m_products.end()) {
            shared = *found;
        } else {
            shared = std::make_shared<Product>();
            shared->id = id;
            m_products.push_front(shared);
            if (m_products.size() > productsKept())
                m_products.pop_back();
        }
    }
    std::call_once(shared->once, [&] { shared->value = make(); });
    return {shared, &shared->value};
}

double SharedSpectra::normBoundOf(const Matrix<double>& gram)
{
    {
        const std::lock_guard lock(m_mutex);
        if (const auto found = m_normBounds.find(&gram); found != m_normBounds.end())
            return found->second;
    }
    const double bound = normBound(gram);
    const std::lock_guard lock(m_mutex);
    m_normBounds[&gram] = bound;
    return bound;
}

int SharedSpectra::headsAtOnce(const ModelConfig& config)
{
    return config.dModel < leastCopied ? 1 : std::max(1, columnsAtOnce / std::max(1, config.dHead));
}

const Matrix<double>& SharedSpectra::tokenGram(End end, int layer) const
{
    return end == End::Queries ? m_tokens->embeddingGramOf(layer) : m_tokens->UUt;
}

void SharedSpectra::multiply(std::span<const HeadFactors> heads)
{
    while (m_tokens && !heads.empty()) {
        const auto end = std::ranges::find_if(heads, [&](const HeadFactors& head) {
            return &m_tokens->embeddingGramOf(head.id.layer)
                != &m_tokens->embeddingGramOf(heads.front().id.layer);
        });
        const std::span<const HeadFactors> alike(heads.begin(), end);
        for (const End ofHead : {End::Queries, End::Outputs}) {
            std::vector<Matrix<double>> grams = endGrams(ofHead, alike);
            const std::lock_guard lock(m_mutex);
            for (std::size_t i = 0; i < alike.size(); ++i)
                m_endGrams[{ofHead, alike[i].id}] = std::move(grams[i]);
        }
        heads = heads.subspan(alike.size());
    }
}

std::vector<Matrix<double>> SharedSpectra::endGrams(End end, std::span<const HeadFactors> heads)
{
    const auto factorOf = [end](const HeadFactors& head) -> const Matrix<double>& {
        return end == End::Queries ? head.weights.W_Q : head.W_Ot;
    };
    const Eigen::Index r = factorOf(heads.front()).cols();
    Matrix<double> factors(factorOf(heads.front()).rows(), r * static_cast<Eigen::Index>(heads.size()));
    for (std::size_t i = 0; i < heads.size(); ++i)
        factors.middleCols(r * static_cast<Eigen::Index>(i), r) = factorOf(heads[i]);
    const Matrix<double> inside = tokenGram(end, heads.front().id.layer) * factors;
    std::vector<Matrix<double>> grams;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        const HeadFactors& head = heads[i];
        const auto own = inside.middleCols(r * static_cast<Eigen::Index>(i), r);
        grams.emplace_back(factorOf(head).transpose() * own);
        if (end == End::Outputs || m_keep != Keep::All)
            continue;
        Matrix<double> scores = head.weights.W_K.transpose() * own;
        const std::lock_guard lock(m_mutex);
        if (!m_eigenvalues.contains({CircuitKind::FullQk, head.id}))
            m_scores[head.id] = std::move(scores);
    }
    return grams;
}

Matrix<double> SharedSpectra::endGram(End end, const HeadFactors& head)
{
    {
        const std::lock_guard lock(m_mutex);
        if (auto known = m_endGrams.extract({end, head.id}))
            return std::move(known.mapped());
    }
    return std::move(endGrams(end, {&head, 1}).front());
}

Matrix<double> SharedSpectra::scores(HeadId head, const HeadWeights<double>& weights)
{
    {
        const std::lock_guard lock(m_mutex);
        if (auto known = m_scores.extract(head))
            return std::move(known.mapped());
    }
    const Matrix<double> inside = m_tokens->embeddingGramOf(head.layer) * weights.W_Q;
    return weights.W_K.transpose() * inside;
}

SharedSpectra::Grams SharedSpectra::grams(CircuitKind kind, const HeadFactors& head)
{
    const bool isQk = kind == CircuitKind::Qk || kind == CircuitKind::FullQk;
    Grams pair{isQk ? head.gramQ : head.gramV, isQk ? head.gramK : head.gramO};
    double leftSize = normBound(pair.left),
           rightSize = normBound(pair.right); // their possible loss by cancellation, in ε
    if (isFull(kind)) {
        const Matrix<double>& E = m_tokens->embeddingGramOf(head.id.layer);
        const Eigen::Index r = head.weights.W_K.cols();
        const auto shared =
            product(Of::KeysAndValues, head.id, [&] { // [r, 2 r], of the keys and of the values
                Matrix<double> both(head.weights.W_K.rows(), 2 * r);
                both << head.weights.W_K, head.weights.W_V;
                const Matrix<double> inside = E * both;
                both.resize(r, 2 * r);
                both.leftCols(r) = head.weights.W_K.transpose() * inside.leftCols(r);
                both.rightCols(r) = head.weights.W_V.transpose() * inside.rightCols(r);
                return both;
            });
        pair.left = isQk ? endGram(End::Queries, head) : Matrix<double>(shared->rightCols(r));
        pair.right = isQk ? Matrix<double>(shared->leftCols(r)) : endGram(End::Outputs, head);
        leftSize *= normBoundOf(E);
        rightSize *= normBoundOf(isQk ? E : m_tokens->UUt);
    }
    const double perUnit = std::numeric_limits<double>::epsilon() * static_cast<double>(pair.left.rows());
    pair.uncertainty = perUnit * (leftSize * normBound(pair.right) + rightSize * normBound(pair.left));
    return pair;
}

Result<std::vector<double>> SharedSpectra::singularValues(CircuitKind kind, const HeadFactors& head)
{
    const Eigen::Index r = head.weights.W_Q.cols();
    const bool fewTokens = isFull(kind) && std::min(m_tokens->E.count(), m_tokens->W_U.count()) < r;
    if (!fewTokens) {
        const Grams pair = grams(kind, head);
        Result<std::optional<std::vector<double>>> sigma =
            gramSingularValues(pair.left, pair.right, pair.uncertainty);
        if (!sigma)
            return sigma.error();
        if (*sigma)
            return **std::move(sigma);
    }
    Result<std::vector<double>> sigma =
        m_circuits.circuit<double>(kind, head.id, m_tokens.get()).singularValues();
    if (!sigma)
        return sigma;
    std::vector<double> padded = std::move(sigma).value();
    padded.resize(static_cast<std::size_t>(r), 0.0);
    return padded;
}

Result<SharedSpectra::Eigenvalues> SharedSpectra::computeEigenvalues(CircuitKind kind, HeadId head,
                                                                     const HeadWeights<double>& weights)
{
    if (kind == CircuitKind::FullOv && !m_tokens->isSquare()) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "Full OV has no eigenvalues here: the embedding has {} tokens and the unembedding {}.",
                m_tokens->E.count(), m_tokens->W_U.count())};
    }
    const bool isQk = kind == CircuitKind::Qk || kind == CircuitKind::FullQk;
    const Matrix<double>& read = isQk ? weights.W_Q : weights.W_V;
    const Eigen::Index r = read.cols();
    const bool small = read.rows() < r || (isFull(kind) && m_tokens->E.count() < r);
    Result<Eigenvalues> values = Eigenvalues();
    if (small || !isFull(kind)) {
        values = m_circuits.circuit<double>(kind, head, m_tokens.get()).eigenvalues();
    } else { // A·B and B·A share their non-zero eigenvalues, so [V, V] becomes [r, r]
        const Matrix<double> inside = isQk
            ? scores(head, weights)
            : Matrix<double>(weights.W_O * *product(Of::UnembeddedValues, head, [&] {
                                 return Matrix<double>(m_tokens->unembedEmbedOf(head.layer) * weights.W_V);
                             }));
        const Result<Eigen::VectorXcd> lambda = headwise::eigenvalues(inside);
        values = lambda ? Result(inReadingOrder(*lambda)) : lambda.error();
    }
    if (!values)
        return values;
    Eigenvalues padded = std::move(values).value();
    padded.resize(static_cast<std::size_t>(r));
    return padded;
}

Result<SharedSpectra::Eigenvalues> SharedSpectra::eigenvalues(CircuitKind kind, HeadId head,
                                                              const HeadWeights<double>* weights)
{
    {
        const std::lock_guard lock(m_mutex);
        if (const auto known = m_eigenvalues.find({kind, head}); known != m_eigenvalues.end())
            return known->second;
    }
    const bool isQk = kind == CircuitKind::Qk || kind == CircuitKind::FullQk;
    Result<Eigenvalues> values = weights
        ? computeEigenvalues(kind, head, *weights)
        : computeEigenvalues(kind, head,
                             m_circuits.weights().head<double>(
                                 head, isQk ? HeadParts::QueriesAndKeys : HeadParts::ValuesAndOutput));
    if (values && m_keep == Keep::All) {
        const std::lock_guard lock(m_mutex);
        m_eigenvalues[{kind, head}] = *values;
    }
    return values;
}

} // namespace headwise
