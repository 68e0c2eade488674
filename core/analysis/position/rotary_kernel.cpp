#include "core/analysis/position/rotary_kernel.h"

#include "core/analysis/shared/norm_divisors.h"

#include "core/model/families/attention_parts.h"
#include "core/model/families/layer_parts.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <numbers>

namespace headwise {

std::pair<int, int> rotaryPair(const Rotary& rotary, int m)
{
    return rotary.adjacentPairs ? std::pair(2 * m, 2 * m + 1) : std::pair(m, m + rotary.dim / 2);
}

RotaryKernel rotaryKernel(const Rotary& rotary, const RowVector<double>& q, const RowVector<double>& k,
                          double factor)
{
    const int pairs = rotary.dim / 2;
    const double length = factor * rotary.scaling.attentionFactor * rotary.scaling.attentionFactor;
    RotaryKernel kernel{Eigen::VectorXd(pairs), Eigen::VectorXd(pairs), factor * q.dot(k),
                        Eigen::VectorXd(pairs)};
    for (int m = 0; m < pairs; ++m) {
        const auto [first, second] = rotaryPair(rotary, m);
        const double dot = q(first) * k(first) + q(second) * k(second);
        const double cross = q(first) * k(second) - q(second) * k(first);
        kernel.a(m) = length * dot;
        kernel.b(m) = length * cross;
        kernel.amplitude(m) = length * std::hypot(q(first), q(second)) * std::hypot(k(first), k(second));
        kernel.constant -= factor * dot;
    }
    if (rotary.dim == q.size())
        kernel.constant = 0; // nothing but rounding is left
    return kernel;
}

RotaryKernel rotaryKernel(const ProcessedWeights& weights, HeadId head, const RowVector<double>& query,
                          const RowVector<double>& key)
{
    const ModelConfig& config = weights.config();
    Matrix<double> x(2, config.dModel);
    x.row(0) = query;
    x.row(1) = key;
    x = normalized<double>(weights.ln1<double>(head.layer), x);
    const QueriesAndKeys<double> qk =
        queriesAndKeys(weights.head<double>(head), sharedQkScale(weights, head.layer, x), config.qkvLimit, x);
    return rotaryKernel(config.rotaryOf(head.layer), qk.q.row(0), qk.k.row(1),
                        config.attentionScaleOf(head.layer));
}

Eigen::VectorXd frequencyTerms(const Rotary& rotary, const RotaryKernel& kernel, int offset)
{
    const std::vector<double> frequencies = rotaryFrequencies(rotary);
    Eigen::VectorXd terms(kernel.a.size());
    for (Eigen::Index m = 0; m < terms.size(); ++m) {
        const double angle = frequencies[static_cast<std::size_t>(m)] * offset;
        terms(m) = kernel.a(m) * std::cos(angle) + kernel.b(m) * std::sin(angle);
    }
    return terms;
}

std::vector<std::string> frequencyNames(const std::vector<double>& frequencies)
{
    constexpr double wholeFrom = 1000, shortFrom = 1e6;
    std::vector<std::string> names;
    for (std::size_t m = 0; m < frequencies.size(); ++m) {
        const double wavelength = 2 * std::numbers::pi / frequencies[m];
        const bool isWhole = wavelength >= wholeFrom && wavelength < shortFrom;
        names.push_back(!std::isfinite(wavelength) ? fmt::format("{}", m)
                            : isWhole              ? fmt::format("{} ({:.0f})", m, wavelength)
                                                   : fmt::format("{} ({:.3g})", m, wavelength));
    }
    return names;
}

RotaryWaves::RotaryWaves(const Rotary& rotary, Eigen::Index n)
{
    const std::vector<double> frequencies = rotaryFrequencies(rotary);
    const auto pairs = static_cast<Eigen::Index>(frequencies.size());
    m_cosines.resize(n, pairs);
    m_sines.resize(n, pairs);
    for (Eigen::Index m = 0; m < pairs; ++m) {
        for (Eigen::Index offset = 0; offset < n; ++offset) {
            const double angle = static_cast<double>(offset) * frequencies[static_cast<std::size_t>(m)];
            m_cosines(offset, m) = std::cos(angle);
            m_sines(offset, m) = std::sin(angle);
        }
    }
}

Eigen::VectorXd RotaryWaves::scores(const RotaryKernel& kernel) const
{
    Eigen::VectorXd out = Eigen::VectorXd::Constant(m_cosines.rows(), kernel.constant);
    out += m_cosines * kernel.a + m_sines * kernel.b;
    return out;
}

namespace {

double cosineOf(const Matrix<double>& gram)
{
    return gram(0, 1) / std::sqrt(gram(0, 0) * gram(1, 1));
}

} // namespace

RotaryEnergies rotaryEnergies(const Rotary& rotary, const Matrix<double>& W_Q, const Matrix<double>& W_K)
{
    const int pairs = rotary.dim / 2;
    RotaryEnergies out{Eigen::VectorXd(pairs), Eigen::VectorXd(pairs), Eigen::VectorXd(pairs),
                       Eigen::VectorXd(pairs)};
    for (int m = 0; m < pairs; ++m) {
        const auto [first, second] = rotaryPair(rotary, m);
        Matrix<double> Q(W_Q.rows(), 2), K(W_K.rows(), 2);
        Q << W_Q.col(first), W_Q.col(second);
        K << W_K.col(first), W_K.col(second);
        const Matrix<double> QQ = Q.transpose() * Q, KK = K.transpose() * K;
        out.energy(m) = std::sqrt(std::max(0.0, QQ.cwiseProduct(KK).sum()));
        out.unaligned(m) = std::sqrt(QQ.trace() * KK.trace() / 2);
        out.qCosine(m) = cosineOf(QQ);
        out.kCosine(m) = cosineOf(KK);
    }
    return out;
}

RotaryEnergies rotaryEnergies(const ProcessedWeights& weights, HeadId head)
{
    FoldedHead folded = foldedHead(weights, head);
    const HeadWeights<double> own = weights.head<double>(head);
    if (own.qNorm.w.size() > 0)
        folded.W_Q = (folded.W_Q * own.qNorm.w.asDiagonal()).eval();
    if (own.kNorm.w.size() > 0)
        folded.W_K = (folded.W_K * own.kNorm.w.asDiagonal()).eval();
    return rotaryEnergies(weights.config().rotaryOf(head.layer), folded.W_Q, folded.W_K);
}

} // namespace headwise
