#pragma once

#include "tests/core/analysis/definitions/defined.h"

namespace headwise::test::definitions {

inline Numbers kComposition(const Defined& m)
{
    return m.perPair([&](HeadId a, HeadId b) {
        return (m.ov(a) * m.qk(b).transpose()).norm() / m.ov(a).norm() / m.qk(b).norm();
    });
}

inline const std::vector<Definition> pairDefinitions{
    {"composition/k", "‖W_OV¹ W_QK²ᵀ‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)", kComposition},
    {"analyses/induction/k_composition", "‖W_OV¹ W_QK²ᵀ‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)", kComposition},
    {"analyses/composition_nulls/q_layer_median",
     "median of composition/q over the requested pairs of heads in different layers",
     [](const Defined& m) {
         Numbers scores;
         for (const double score : m.perPair([&](HeadId a, HeadId b) {
                  return (m.ov(a) * m.qk(b)).norm() / m.ov(a).norm() / m.qk(b).norm();
              }))
             if (!std::isnan(score))
                 scores.push_back(score);
         const double none = std::numeric_limits<double>::quiet_NaN();
         return Numbers{none, medianOf(scores), none, none};
     }},
    {"analyses/component_composition/q",
     "‖σ_k u_k v_kᵀ W_QK²‖_F / (σ_k ‖W_QK²‖_F), W_OV¹ = Σ σ_k u_k v_kᵀ; NaN where σ_k ≤ d_model ε σ₁, ε = 2^-23",
     [](const Defined& m) {
         const test::DenseSvd svd(m.ov({0, 0}));
         Numbers all;
         for (Eigen::Index k = 0; k < m.config.dHead; ++k)
             all.push_back((svd.matrixV().col(k).transpose() * m.qk({1, 1})).norm() / m.qk({1, 1}).norm());
         return all;
     }},
    {"analyses/virtual_head/source_norms", "‖row of E W_OV¹ W_OV² W_U‖₂",
     [](const Defined& m) {
         return falling(listOf((m.E * m.ov({0, 0}) * m.ov({1, 1}) * m.U).row(m.token()).rowwise().norm()), 1);
     }},
    {"analyses/projection_kernel/o_q",
     "‖U_Oᵀ U_Q‖²_F, U = orthonormal basis of the columns of W_Oᵀ of the earlier and W_Q of the later head (singular vectors with σ > d_model ε σ₁, ε = 2^-23)",
     [](const Defined& m) {
         return m.perPair([&](HeadId a, HeadId b) {
             return (basisOf(m.w(a).W_O.transpose()).transpose() * basisOf(m.w(b).W_Q)).squaredNorm();
         });
     }},
    {"analyses/embedding_composition/reads_query", "‖E W_Q W_Kᵀ‖_F / (‖E‖_F ‖W_Q W_Kᵀ‖_F)",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) { return (m.E * m.qk(h)).norm() / m.E.norm() / m.qk(h).norm(); });
     }},
    {"analyses/similarity/cka_ov",
     "⟨K, K'⟩_F / (‖K‖_F ‖K'‖_F), K = X Xᵀ, X = E W_OV of 128 tokens less its mean row; the null is between Gaussian heads on the same tokens",
     [](const Defined& m) {
         const auto gram = [&](HeadId h) {
             Dense X = m.E * m.ov(h);
             X.rowwise() -= X.colwise().mean().eval();
             return Dense(X * X.transpose());
         };
         return m.perHead([&](HeadId a) {
             return m.perHead([&](HeadId b) {
                 return gram(a).cwiseProduct(gram(b)).sum() / gram(a).norm() / gram(b).norm();
             });
         });
     }},
    {"analyses/head_map/ordered_similarity", "s = (cosine of W_QK + cosine of W_OV) / 2",
     [](const Defined& m) {
         const auto cosine = [](const Dense& A, const Dense& B) {
             return A.cwiseProduct(B).sum() / A.norm() / B.norm();
         };
         Numbers all;
         const Numbers leaves = test::numbers(m.results, "analyses/head_map/leaves");
         const auto head = [&](double leaf) {
             return HeadId{static_cast<int>(leaf) / m.config.nHeads,
                           static_cast<int>(leaf) % m.config.nHeads};
         };
         for (const double a : leaves)
             for (const double b : leaves)
                 all.push_back((cosine(m.qk(head(a)), m.qk(head(b))) + cosine(m.ov(head(a)), m.ov(head(b))))
                               / 2);
         return all;
     }},
    {"analyses/groups/mean_query_overlap",
     "‖U_iᵀ U_j‖²_F, U = orthonormal basis of the columns of W_Q (singular vectors with σ > d_model ε σ₁, ε = 2^-23; NaN without any), mean over the other query heads j of i's group that are not zero; null: random subspaces of the same ranks",
     [](const Defined& m) {
         const int size = m.config.nHeads / m.config.nKvHeads;
         return m.perHead([&](HeadId i) {
             double sum = 0;
             for (int j = i.head / size * size; j < (i.head / size + 1) * size; ++j)
                 if (j != i.head)
                     sum += (basisOf(m.w(i).W_Q).transpose() * basisOf(m.w({i.layer, j}).W_Q)).squaredNorm();
             return sum / (size - 1);
         });
     },
     true},
    {"analyses/neurons/q_values",
     "the largest ‖w_out^n U‖² / ‖w_out^n‖², U = orthonormal basis of W_Q's columns (singular vectors with σ > d_model ε σ₁, ε = 2^-23; NaN without any), over the MLPs before the head",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             const auto count = m.results.find("analyses/neurons/q_values")->shape.back();
             Numbers shares(count, std::numeric_limits<double>::quiet_NaN());
             if (h.layer == 0)
                 return shares;
             const Dense out = m.circuits.weights().mlp<double>(0).W_out, U = basisOf(m.w(h).W_Q);
             const Numbers all = falling(
                 listOf((out * U).rowwise().squaredNorm().cwiseQuotient(out.rowwise().squaredNorm())), count);
             std::ranges::copy(all, shares.begin());
             return shares;
         });
     }},
    {"analyses/skipless/weights_total", "W_E + W_U (once if tied) + Q, K, V, P and MLP matrices",
     [](const Defined& m) {
         const double attention = 4.0 * m.config.dModel * m.config.nHeads * m.config.dHead;
         const double total = 2.0 * m.config.dVocab * m.config.dModel
             + 2 * (attention + 2.0 * m.config.dModel * m.config.dMlp);
         return Numbers{total, total, total};
     }},
};

} // namespace headwise::test::definitions
