#pragma once

#include "tests/core/analysis/definitions/defined.h"

namespace headwise::test::definitions {

inline const std::vector<Definition> spectraDefinitions{
    {"spectra/qk/effective_rank", "exp(−Σ p ln p), p = σ/Σσ, σ = singular values of W_Q W_Kᵀ",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             Eigen::ArrayXd p = test::singularValuesOf(m.qk(h)).head(m.config.dHead).array();
             p /= p.sum();
             return std::exp(-(p * p.log()).sum());
         });
     }},
    {"analyses/norms/qk_by_layer", "mean over a layer's requested heads of ‖W_Q W_Kᵀ‖_F",
     [](const Defined& m) {
         Numbers means(2, 0.0);
         m.perHead([&](HeadId h) {
             return means[static_cast<std::size_t>(h.layer)] += m.qk(h).norm() / m.config.nHeads;
         });
         return means;
     }},
    {"analyses/ranks/ov_k90", "smallest k with σ₁² + … + σ_k² ≥ 0.9 Σσ²",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const Eigen::ArrayXd squares = test::singularValuesOf(m.ov(h)).array().square();
             double k = 0, sum = 0;
             while (sum < 0.9 * squares.sum())
                 sum += squares(static_cast<Eigen::Index>(k++));
             return k;
         });
     }},
    {"analyses/spectrum_shapes/qk_cumulative", "(σ_1² + … + σ_k²)/Σσ², σ = singular values of W_Q W_Kᵀ",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const Eigen::ArrayXd squares =
                 test::singularValuesOf(m.qk(h)).head(m.config.dHead).array().square();
             Numbers sums(static_cast<std::size_t>(squares.size()));
             std::partial_sum(squares.begin(), squares.end(), sums.begin());
             for (double& sum : sums)
                 sum /= squares.sum();
             return sums;
         });
     }},
    {"analyses/symmetry/direction",
     "(Σ column excess − Σ row excess) / (Σ both), excess = max(0, norm of a column or row − (mean + 2 standard deviations of these norms, with d_model − 1)); 0 if there is none; 1: some keys stand out, −1: some queries, M = W_Q W_Kᵀ",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const Dense M = m.qk(h);
             const double rows = excessOf(listOf(M.rowwise().norm()));
             const double columns = excessOf(listOf(M.colwise().norm().transpose()));
             return rows + columns > 0 ? (columns - rows) / (columns + rows) : 0;
         });
     }},
    {"analyses/singular_tokens/qk_cosine",
     "u_k · v_k of W_Q W_Kᵀ = U Σ Vᵀ: 1 attends to similar vectors, −1 to opposite ones",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const test::DenseSvd svd(m.qk(h));
             Numbers cosines;
             for (Eigen::Index k = 0; k < m.config.dHead; ++k)
                 cosines.push_back(svd.matrixU().col(k).dot(svd.matrixV().col(k)));
             return cosines;
         });
     }},
    {"analyses/mlp_directions/in_sigma", "the first σ_k of W_in",
     [](const Defined& m) {
         Numbers all;
         for (int layer : {0, 1})
             std::ranges::copy(
                 falling(listOf(test::singularValuesOf(m.circuits.weights().mlp<double>(layer).W_in)), 10),
                 std::back_inserter(all));
         return all;
     }},
    {"analyses/degeneracy/qk_error",
     "min(1, e / distance), e = ‖δA‖ |B| + |A| ‖δB‖ of M = A B, |A| = √‖AᵀA‖_∞ and |B| = √‖B Bᵀ‖_∞ (largest sum of magnitudes in a row, ≥ ‖·‖₂²), ‖δA‖ = u (largest row norm + largest column norm) of each factor, u = rounding of the file's dtype: 2^-24 for float32, 2^-53 float64, 2^-11 float16, 2^-8 bfloat16; NaN in the null space; distance of σ_k from its neighbours, and from 0 if d_head < d_model",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const auto w = m.w(h);
             const auto size = [](const Dense& A) {
                 return std::sqrt((A.transpose() * A).cwiseAbs().rowwise().sum().maxCoeff());
             };
             const auto moved = [](const Dense& A) {
                 return std::ldexp(1.0, -24)
                     * (A.rowwise().norm().maxCoeff() + A.colwise().norm().maxCoeff());
             };
             const double e = moved(w.W_Q) * size(w.W_K) + size(w.W_Q) * moved(w.W_K);
             const Eigen::VectorXd s = test::singularValuesOf(m.qk(h)); // all d_model
             Numbers errors;
             for (Eigen::Index k = 0; k < m.config.dHead; ++k) {
                 const double below = s(k) - s(k + 1), above = k > 0 ? s(k - 1) - s(k) : below;
                 errors.push_back(std::min(1.0, e / std::min(below, above)));
             }
             return errors;
         });
     }},
    {"analyses/bands/ov_write",
     "‖W_OV P_b‖²_F / ‖W_OV‖²_F, P_b = projector on band b of the eigenvectors of W_U W_Uᵀ by falling eigenvalue; eigenvectors of one span, whose eigenvalues are 0 (λ ≤ (d_model ε)² λ₁, ε = 2^-23) or differ by ≤ d_model ε λ, count as their mean",
     [](const Defined& m) {
         const test::DenseEigen eigen(m.U * m.U.transpose());
         const Dense vectors = eigen.eigenvectors().rowwise().reverse(); // 15 bands of one vector
         return m.perHead([&](HeadId h) {
             return listOf((m.ov(h) * vectors).colwise().squaredNorm().transpose() / m.ov(h).squaredNorm());
         });
     }},
    {"analyses/weights_in_vocabulary/W_V_values",
     "the largest entries of E W_V, column by column, the 5 longest, by falling length",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             Dense W = m.w(h).W_V;
             std::vector<Eigen::Index> order{0, 1, 2, 3, 4};
             std::ranges::sort(order, [&](auto a, auto b) { return W.col(a).norm() > W.col(b).norm(); });
             return largestOfRows((m.E * W(Eigen::all, order)).transpose(), 10);
         });
     }},
    {"analyses/conditioning/W_Q_head",
     "log10(σ_max/σ_min) of the head's W_Q as it is in the file; depends on the basis (gauge)",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const Eigen::VectorXd s = test::singularValuesOf(
                 m.circuits.weights().original().read<double>(TensorKind::W_Q, h.layer, h.head));
             return std::log10(s(0) / s(s.size() - 1));
         });
     }},
    {"analyses/direction_search/score_null",
     "‖e‖/√d_model, e the given token's row of E or column of W_U: the deviation of its score over random unit directions",
     [](const Defined& m) {
         Numbers all; // sides as the program lists them: 1 is W_U's, the others are E's
         for (const double side : test::numbers(m.results, "analyses/direction_search/side"))
             all.push_back((side == 1 ? m.U.col(m.token()).norm() : m.E.row(m.token()).norm())
                           / std::sqrt(m.config.dModel));
         return all;
     }},
    {"analyses/normality/ov", "Σ|λ|² / ‖W‖_F², λ the eigenvalues of W = W_V W_O",
     [](const Defined& m) {
         return m.perHead(
             [&](HeadId h) { return test::eigenvaluesOf(m.ov(h)).squaredNorm() / m.ov(h).squaredNorm(); });
     }},
    {"scores/copying_weights", "Re Σλ / Σ|λ|, λ = eigenvalues of W_V W_O",
     [](const Defined& m) { return m.perHead([&](HeadId h) { return positivityOf(m.ov(h)); }); }},
    {"scores/copying", "Re Σλ / Σ|λ|, λ = eigenvalues of E W_V W_O W_U",
     [](const Defined& m) { return m.perHead([&](HeadId h) { return positivityOf(m.fullOv(h)); }); }},
    {"scores/matching", "Re Σλ / Σ|λ|, λ = eigenvalues of E W_Q W_Kᵀ Eᵀ",
     [](const Defined& m) { return m.perHead([&](HeadId h) { return positivityOf(m.fullQk(h)); }); }},
    {"eigenvalues/ov",
     "eigenvalues of W_V W_O by falling modulus, then larger real part, then positive imaginary part; padded with 0",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const Eigen::VectorXcd values = test::eigenvaluesOf(m.ov(h));
             std::vector<std::complex<double>> lambda(values.begin(), values.end());
             std::ranges::sort(lambda, [](const auto& a, const auto& b) {
                 const bool isTied = std::abs(std::abs(a) - std::abs(b)) < 1e-9;
                 return isTied ? std::pair(a.real(), a.imag()) > std::pair(b.real(), b.imag())
                               : std::abs(a) > std::abs(b);
             });
             Numbers parts;
             for (std::size_t k = 0; k < static_cast<std::size_t>(m.config.dHead); ++k) {
                 parts.push_back(lambda[k].real());
                 parts.push_back(lambda[k].imag());
             }
             return parts;
         });
     }},
};

} // namespace headwise::test::definitions
