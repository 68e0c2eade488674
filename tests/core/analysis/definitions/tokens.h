#pragma once

#include "tests/core/analysis/definitions/defined.h"

#include <numbers>

namespace headwise::test::definitions {

inline const std::vector<Definition> tokenDefinitions{
    {"tables/full_ov/values", "k largest entries of each row of M = E W_V W_O W_U, ties to the lower id",
     [](const Defined& m) { return m.perHead([&](HeadId h) { return largestOfRows(m.fullOv(h), 10); }); }},
    {"analyses/fourier/full_ov_coupling",
     "sum over f of the share of f turns of the rows s with f turns of the columns t in e_s W_V W_O u_t, e row of E and u column of W_U, less its row and column means",
     [](const Defined& m) {
         const Eigen::Index N = m.config.dVocab; // odd: every frequency has a cosine and a sine
         Dense waves(N, N - 1);
         for (Eigen::Index f = 1; 2 * f < N; ++f)
             for (Eigen::Index t = 0; t < N; ++t) {
                 const double angle =
                     2 * std::numbers::pi * static_cast<double>(f * t) / static_cast<double>(N);
                 waves(t, 2 * f - 2) = std::cos(angle);
                 waves(t, 2 * f - 1) = std::sin(angle);
             }
         waves *= std::sqrt(2 / static_cast<double>(N));
         return m.perHead([&](HeadId h) {
             Dense M = m.fullOv(h);
             M.rowwise() -= M.colwise().mean().eval();
             M.colwise() -= M.rowwise().mean().eval();
             const Dense both = waves.transpose() * M * waves;
             double same = 0;
             for (Eigen::Index f = 0; f < N - 1; f += 2)
                 same += both.block(f, f, 2, 2).squaredNorm();
             return same / M.squaredNorm();
         });
     }},
    {"analyses/direct_path/values", "largest entries of each row of E W_U",
     [](const Defined& m) { return largestOfRows(m.E * m.U, 10); }},
    {"analyses/largest_entries/full_ov_values",
     "the largest entries of M = E W_V W_O W_U, falling, ties to the lower row id, then column id",
     [](const Defined& m) {
         const auto count = m.results.find("analyses/largest_entries/full_ov_values")->shape.back();
         return m.perHead([&](HeadId h) { return falling(entriesOf(m.fullOv(h)), count); });
     }},
    {"analyses/skip_trigrams/output_values",
     "the largest entries of row s of F_OV = E W_V W_O W_U, s the given token",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) { return largestOfRows(m.fullOv(h).row(m.token()), 10); });
     }},
    {"analyses/token_card/row_norm",
     "‖e W_V W_O W_U‖₂, e the row of E of the given token: a row of E W_V W_O W_U",
     [](const Defined& m) { return m.perHead([&](HeadId h) { return m.fullOv(h).row(m.token()).norm(); }); }},
    {"analyses/direction_card/gain", "‖x W_V W_O‖₂ / ‖x‖₂",
     [](const Defined& m) {
         const Eigen::RowVectorXd x = Eigen::RowVectorXd::LinSpaced(m.config.dModel, 1, m.config.dModel);
         return m.perHead([&](HeadId h) { return (x * m.ov(h)).norm() / x.norm(); });
     }},
    {"analyses/diagonal_ranks/ov_median_rank",
     "median; rank of token t = #{j : M[t,j] > M[t,t]}, M = E W_V W_O W_U, over the tokens of sample",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             Numbers ranks;
             for (Eigen::Index t = 0; t < m.config.dVocab; ++t)
                 ranks.push_back(ownRank(m.fullOv(h), t));
             return medianOf(ranks);
         });
     }},
    {"analyses/copy_suppression/ov_score",
     "share of tokens t with #{j : M[t,j] < M[t,t]} < 10, M = E W_V W_O W_U, over all tokens up to 2048, else 2048 drawn without replacement from the seed; E is the embedding in use, raw unless chosen otherwise; McDougall et al. 2023 take the effective one",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             double count = 0;
             for (Eigen::Index t = 0; t < m.config.dVocab; ++t)
                 count += ownRank(-m.fullOv(h), t) < 10 ? 1 : 0;
             return count / m.config.dVocab;
         });
     }},
    {"analyses/name_copying/ranks",
     "how many other outputs of LN_f(MLP0(LN2(W_E[name])) W_V W_O) W_U are at least as large as the name's, β of LN_f counted whether it is folded or not",
     [](const Defined& m) {
         const auto mlp = m.circuits.weights().mlp<double>(0);
         return m.perHead([&](HeadId h) {
             Numbers ranks;
             for (const Eigen::Index name : {0, 1}) { // John and Mary
                 Eigen::ArrayXd x = (m.normed(m.E.row(name)) * mlp.W_in + mlp.b_in).transpose().array();
                 x = 0.5 * x * (1 + (std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x.cube())).tanh());
                 const Eigen::RowVectorXd read = x.matrix().transpose() * mlp.W_out + mlp.b_out;
                 const Eigen::RowVectorXd out =
                     m.normed(read * m.ov(h)) * m.U + m.circuits.weights().b_U<double>(0, m.config.dVocab);
                 ranks.push_back(static_cast<double>((out.array() >= out(name)).count() - 1));
             }
             return ranks;
         });
     }},
    {"analyses/relations/by_head",
     "share of pairs (s, t) with t among the k largest entries of row s of E W_V W_O W_U, ties against it; k = 1 where source and target are the same, else 10; 3 and 25 for Llama 3",
     [](const Defined& m) {
         return m.perHead([&](HeadId h) {
             double hits = 0;
             for (const auto& [s, t] : {std::pair(2, 3), {0, 1}, {3, 7}}) {
                 const Eigen::RowVectorXd row = m.fullOv(h).row(s);
                 hits += (row.array() >= row(t)).count() <= 10 ? 1 : 0;
             }
             return hits / 3;
         });
     }},
    {"analyses/salient_tokens/norms", "‖E[t] W_V W_O‖ / ‖E[t]‖, rows of E W_V W_O",
     [](const Defined& m) {
         const auto count = m.results.find("analyses/salient_tokens/norms")->shape.back();
         return m.perHead([&](HeadId h) {
             return falling(listOf((m.E * m.ov(h)).rowwise().norm().cwiseQuotient(m.E.rowwise().norm())),
                            count);
         });
     }},
    {"analyses/folding/mean_raw", "the same of the weights as they are in the file",
     [](const Defined& m) {
         const auto& array = *m.results.find("analyses/folding/mean_raw");
         Numbers all(array.shape[0], std::numeric_limits<double>::quiet_NaN());
         const auto& labels = std::get<std::vector<std::string>>(array.attributes.at("labels"));
         const Dense raw = m.circuits.weights().original().read<double>(TensorKind::W_E);
         const auto at = std::ranges::find(labels, "W_E, over d_model") - labels.begin();
         all.at(static_cast<std::size_t>(at)) = raw.rowwise().mean().cwiseAbs().maxCoeff();
         return all;
     }},
};

} // namespace headwise::test::definitions
