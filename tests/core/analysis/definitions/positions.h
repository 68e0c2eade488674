#pragma once

#include "tests/core/analysis/definitions/defined.h"

#include <complex>
#include <numbers>

namespace headwise::test::definitions {

inline const std::vector<Definition> positionDefinitions{
    {"scores/previous_token",
     "mean over i = 1…n−1 of softmax_{j ≤ i}(s_ij) at j = i−1, n = min(n_ctx, 1024), s_ij = scores of positions, or of the mean token where positions are rotary",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             double mean = 0;
             for (Eigen::Index i = 1; i < m.P.rows(); ++i) {
                 double sum = 0;
                 for (Eigen::Index j = 0; j <= i; ++j)
                     sum += std::exp(m.positionScore(h, i, j));
                 mean += std::exp(m.positionScore(h, i, i - 1)) / sum;
             }
             return mean / static_cast<double>(m.P.rows() - 1);
         });
     }},
    {"analyses/position_kernel/mean_score",
     "k(Δ) = mean over i ≥ Δ of s_{i,i−Δ}, s as in scores/previous_token",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             Numbers means;
             for (Eigen::Index offset = 0; offset < m.P.rows(); ++offset) {
                 double sum = 0;
                 for (Eigen::Index i = offset; i < m.P.rows(); ++i)
                     sum += m.positionScore(h, i, i - offset);
                 means.push_back(sum / static_cast<double>(m.P.rows() - offset));
             }
             return means;
         });
     }},
    {"analyses/positional_circuit/scores",
     "s_ij = (p_i/σ(p_i) W_Q + b_Q)(p_j/σ(p_j) W_K + b_K)ᵀ · scale, p = W_pos, the first positions",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             Numbers all;
             for (Eigen::Index i = 0; i < m.P.rows(); ++i)
                 for (Eigen::Index j = 0; j < m.P.rows(); ++j)
                     all.push_back(m.positionScore(h, i, j));
             return all;
         });
     }},
    {"analyses/six_terms/ee", "e_i W_QK e_jᵀ/(σ_i σ_j)",
     [](const Defined& m) {
         const Numbers tokens = test::numbers(m.results, "analyses/six_terms/tokens");
         Numbers all;
         for (int head = 0; head < m.config.nHeads; ++head) {
             for (Eigen::Index i = 0; i < std::ssize(tokens); ++i)
                 for (Eigen::Index j = 0; j < std::ssize(tokens); ++j) {
                     const Eigen::RowVectorXd e =
                         m.E.row(static_cast<int>(tokens[static_cast<std::size_t>(i)]));
                     const Eigen::RowVectorXd f =
                         m.E.row(static_cast<int>(tokens[static_cast<std::size_t>(j)]));
                     all.push_back((e * m.qk({0, head})).dot(f) / m.sigma(e + m.P.row(i))
                                   / m.sigma(f + m.P.row(j)));
                 }
         }
         all.resize(2 * all.size(), std::numeric_limits<double>::quiet_NaN()); // layer 1
         return all;
     }},
    {"analyses/token_prior/values", "Highest of b_Q W_Kᵀ e_jᵀ/σ̄_j, e = W_E, σ̄_j = mean over positions of σ",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             Numbers all;
             for (Eigen::Index j = 0; j < m.config.dVocab; ++j)
                 all.push_back(h.layer > 0
                                   ? std::numeric_limits<double>::quiet_NaN()
                                   : (m.w(h).b_Q * m.w(h).W_K.transpose()).dot(m.E.row(j)) / m.meanSigma(j));
             return falling(all, 10);
         });
     }},
    {"analyses/detokenization/prefix_values",
     "Highest of ê_i W_Q W_Kᵀ ê_jᵀ, ê = e/mean over positions of σ, i = suffix, j = prefix, without scale, heads of layer 0 only; the suffix is the given token",
     [](const Defined& m) {
         const Eigen::RowVectorXd suffix = m.E.row(m.token()) / m.meanSigma(m.token());
         return m.perHead([&](HeadId h) {
             Numbers all;
             for (Eigen::Index j = 0; j < m.config.dVocab; ++j)
                 all.push_back(h.layer > 0 ? std::numeric_limits<double>::quiet_NaN()
                                           : (suffix * m.qk(h)).dot(m.E.row(j)) / m.meanSigma(j));
             return falling(all, 10);
         });
     }},
    {"analyses/position_geometry/frequencies",
     "(|X_f|² + |X_{n−f}|²) / Σ_{f ≥ 1} |X_f|², f = n/2 once: the share of f = 1, 2, … turns per context of n positions; X_f = Σ_t x_t exp(−2πi f t/n), x = U_k σ_k",
     [](const Defined& m) {
         const Dense centred = m.P.rowwise() - m.P.colwise().mean();
         const test::DenseSvd svd(centred);
         const Eigen::Index n = m.P.rows(); // 17: no frequency is its own partner
         Numbers all;
         for (Eigen::Index k = 0; k < 6; ++k) {
             const auto power = [&](Eigen::Index f) {
                 std::complex<double> X = 0;
                 for (Eigen::Index t = 0; t < n; ++t)
                     X += svd.matrixU()(t, k)
                         * std::polar(1.0,
                                      -2 * std::numbers::pi * static_cast<double>(f * t)
                                          / static_cast<double>(n));
                 return std::norm(X);
             };
             double sum = 0;
             for (Eigen::Index f = 1; f < n; ++f)
                 sum += power(f);
             for (Eigen::Index f = 1; f <= n / 2; ++f)
                 all.push_back((power(f) + power(n - f)) / sum);
         }
         return all;
     }},
    {"analyses/norm_spread/position_mean",
     "mean over tokens of σ, σ(p, e) = √(Var(p) + Var(e) + 2 Cov(p, e) + ε), p = W_pos, e = W_E",
     [](const Defined& m) {
         Numbers means;
         for (Eigen::Index i = 0; i < m.P.rows(); ++i) {
             double sum = 0;
             for (Eigen::Index j = 0; j < m.config.dVocab; ++j)
                 sum += m.sigma(m.E.row(j) + m.P.row(i));
             means.push_back(sum / m.config.dVocab);
         }
         return means;
     }},
    {"analyses/rotary/energy",
     "‖Q_m K_mᵀ‖_F, Q_m and K_m the two columns of W_Q and W_K that frequency m rotates",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const auto w = m.w(h);
             Numbers all;
             for (Eigen::Index f = 0; f < m.config.dHead / 2; ++f) {
                 const std::vector<Eigen::Index> pair{f, f + m.config.dHead / 2};
                 all.push_back((w.W_Q(Eigen::all, pair) * w.W_K(Eigen::all, pair).transpose()).norm());
             }
             return all;
         });
     },
     true},
    {"analyses/attention/pattern", "α_ij = softmax over j of the scores of query i",
     [](const Defined& m) {
         Numbers all;
         for (int head = 0; head < m.config.nHeads; ++head) {
             for (Eigen::Index i = 0; i < 5; ++i) {
                 Numbers row(5, 0.0);
                 double sum = 0;
                 for (Eigen::Index j = 0; j <= i; ++j)
                     sum += row[static_cast<std::size_t>(j)] =
                         std::exp(m.score({0, head}, m.promptInput(i), m.promptInput(j)));
                 for (const double weight : row)
                     all.push_back(weight / sum);
             }
         }
         all.resize(2 * all.size(),
                    std::numeric_limits<double>::quiet_NaN()); // layer 1 reads more than tokens
         return all;
     }},
    {"analyses/score_sources/score", "score of the query with the key",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             return h.layer > 0 ? std::numeric_limits<double>::quiet_NaN()
                                : m.score(h, m.promptInput(4), m.promptInput(1));
         });
     }},
};

} // namespace headwise::test::definitions
