#include "tests/support/group_toys.h"
#include "tests/support/program.h"

#include <QTest>

#include <cmath>

using namespace headwise;
using test::ChangedToy;
using test::close;
using test::exactOptions;
using test::found;
using test::grouped;
using test::projector;

/// Heads of rank below d_head, and their nulls.
class GroupsNeuronsNullTest : public QObject {
    Q_OBJECT

private slots:
    // Layer 0: the queries of head 1 are zero, those of head 2 have rank two.
    void groupsCompareWhatZeroAndRankDeficientHeadsSpan()
    {
        ChangedToy toy(grouped());
        const Matrix<double> two = test::orthonormalColumns(13, 2, 1);
        toy.set("blocks.0.attn.W_Q", 1, Matrix<double>::Zero(13, 5));
        toy.set("blocks.0.attn.W_Q", 2, two * test::normalNumbers(2, 5, 2));
        const auto results = test::analysed(toy.circuits(), {"groups"}, exactOptions());
        const auto overlap = found(results, "groups/query_overlap"); // [L, 6, 3]
        const Matrix<double> first = projector(toy.matrix("blocks.0.attn.W_Q", 0));
        const double expected = first.cwiseProduct(projector(two)).sum();
        QVERIFY(close(overlap[0], 5) && close(overlap[2], expected) && close(overlap[8], 2));
        for (const std::size_t pair : {1, 3, 4, 5, 7})
            QVERIFY(std::isnan(overlap[pair]));
        const auto mean = found(results, "groups/mean_query_overlap");
        QVERIFY(close(mean[0], expected) && std::isnan(mean[1]) && close(mean[2], expected));
        QVERIFY(std::isnan(found(results, "groups/mean_qk_cosine")[1]));
        QVERIFY(close(found(results, "groups/mean_qk_cosine")[0], found(results, "groups/qk_cosine")[2]));
        double between = 0;
        for (int i = 3; i < 6; ++i) {
            const Matrix<double> other = projector(toy.matrix("blocks.0.attn.W_Q", i));
            between += other.cwiseProduct(first + projector(two)).sum() / 6;
        }
        QVERIFY(close(found(results, "groups/query_overlap_null")[0], between));
        // The null is r_i r_j/d: two ordered pairs of 5 and 2 directions, and eighteen of 5 and 5.
        const double chance = (2 * 10 + 18 * 25) / (20.0 * 13);
        QVERIFY(close(*results.find("analyses/groups/query_overlap")->nullMean, chance));
        QVERIFY(close(*results.find("analyses/groups/mean_query_overlap")->nullMean,
                      (2 * 10 + 9 * 25) / (11.0 * 13))); // eleven heads have another beside them
        QVERIFY(close(*results.find("analyses/groups/query_overlap_null")->nullMean,
                      ((3 * 25 + 3 * 10) / 6.0 + 25) / 2 / 13));
    }

    // The cosines of 1770 pairs of Gaussian heads that share keys and values of few strong components. The pairs are not
    // independent, and the formula omits terms of order 1/d: 5 %.
    void theNullOfTheCosinesIsThatOfSharedKeysAndValues()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 40, options.dHead = 8;
        options.nLayers = 1, options.nHeads = 60, options.nKvHeads = 1;
        ChangedToy toy(options);
        for (int head = 0; head < 60; ++head) {
            toy.set("blocks.0.attn.W_Q", head, test::normalNumbers(40, 8, static_cast<unsigned>(head)));
            toy.set("blocks.0.attn.W_O", head, test::normalNumbers(8, 40, static_cast<unsigned>(100 + head)));
        }
        Matrix<double> W_K = test::normalNumbers(40, 8, 200), W_V = test::orthonormalColumns(40, 8, 201);
        for (Eigen::Index k = 0; k < 8; ++k) {
            W_K.col(k) *= std::pow(0.6, double(k));
            W_V.col(k) *= std::pow(0.8, double(k));
        }
        toy.set("blocks.0.attn._W_K", 0, W_K);
        toy.set("blocks.0.attn._W_V", 0, W_V);
        const auto results = test::analysed(toy.circuits(), {"groups"}, exactOptions());
        for (const std::string name : {"qk_cosine", "ov_cosine"}) {
            const auto cosines = found(results, "groups/" + name); // [1, 60, 60]
            double square = 0;
            for (std::size_t i = 0; i < 60; ++i)
                for (std::size_t j = 0; j < i; ++j)
                    square += cosines[i * 60 + j] * cosines[i * 60 + j] / 1770;
            const ResultArray& array = *results.find("analyses/groups/" + name);
            QCOMPARE(*array.nullMean, 0.0);
            QVERIFY2(std::abs(*array.nullDeviation / std::sqrt(square) - 1) < 0.05, name.c_str());
            QVERIFY(*array.nullDeviation > 1.2 / std::sqrt(40.0 * 8)); // what equal columns would have
        }
        // ‖G‖_F/(√d tr G) by hand: G is diagonal.
        double trace = 0, squares = 0;
        for (int k = 0; k < 8; ++k)
            trace += std::pow(0.64, k), squares += std::pow(0.64, 2 * k);
        QVERIFY(close(*results.find("analyses/groups/ov_cosine")->nullDeviation,
                      std::sqrt(squares / 40) / trace));
    }

    // 480 heads with two others each: the mean of two random numbers has 1/√2 of their deviation.
    void theNullOfAMeanIsThatOfAMean()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 24, options.dHead = 4;
        options.nLayers = 8, options.nHeads = 60, options.nKvHeads = 20;
        ChangedToy toy(options);
        for (int i = 0; i < 480; ++i) {
            const auto seed = static_cast<unsigned>(2 * i);
            toy.set(ChangedToy::attn(i / 60, "W_Q"), i % 60, test::normalNumbers(24, 4, seed));
            toy.set(ChangedToy::attn(i / 60, "W_O"), i % 60, test::normalNumbers(4, 24, seed + 1));
        }
        const auto results = test::analysed(toy.circuits(), {"groups"}, exactOptions());
        for (const std::string name : {"query_overlap", "qk_cosine", "ov_cosine"}) {
            const auto means = found(results, "groups/mean_" + name);
            const Eigen::Map<const Eigen::ArrayXd> v(means.data(), std::ssize(means));
            const ResultArray& array = *results.find("analyses/groups/mean_" + name);
            QVERIFY(std::abs(v.mean() - *array.nullMean) < 5 * *array.nullDeviation / std::sqrt(480.0));
            const double deviation = std::sqrt((v - v.mean()).square().mean());
            QVERIFY2(std::abs(deviation / *array.nullDeviation - 1) < 0.12, name.c_str());
            QVERIFY(close(*array.nullDeviation * std::sqrt(2.0),
                          *results.find("analyses/groups/" + name)->nullDeviation));
        }
        // 60 · 57 / 2 pairs of heads of different groups.
        const auto between = found(results, "groups/query_overlap_null");
        const ResultArray& array = *results.find("analyses/groups/query_overlap_null");
        QVERIFY(close(*array.nullDeviation * std::sqrt(60 * 57 / 2.0),
                      *results.find("analyses/groups/query_overlap")->nullDeviation));
        for (const double value : between)
            QVERIFY(std::abs(value - *array.nullMean) < 4 * *array.nullDeviation);
    }

    // The keys of head 1.2 read nothing, those of head 1.0 one direction, along which neuron 7 of MLP 0 writes.
    void neuronsStandBesideWhatZeroAndRankDeficientHeadsSpan()
    {
        test::ToyOptions options = test::bareAttention();
        options.attnOnly = false, options.mlpBias = false;
        options.dModel = 23;
        ChangedToy toy(options);
        const Matrix<double> one = test::normalNumbers(23, 1, 4);
        toy.set("blocks.1.attn.W_K", 0, one * test::normalNumbers(1, 5, 5));
        toy.set("blocks.1.attn.W_K", 2, Matrix<double>::Zero(23, 5));
        toy.set("blocks.0.attn.W_O", 1, Matrix<double>::Zero(5, 23));
        Matrix<double> out = toy.matrix("blocks.0.mlp.W_out");
        out.row(7) = -2 * one.transpose();
        toy.set("blocks.0.mlp.W_out", 0, out);
        const auto results = test::analysed(toy.circuits(), {"neurons"}, exactOptions());
        const auto map = found(results, "neurons/k_map"); // [L, 3, 13]
        const Matrix<double> P = projector(one);
        for (int n = 0; n < 13; ++n)
            QVERIFY(close(map[static_cast<std::size_t>(39 + n)],
                          (out.row(n) * P).squaredNorm() / out.row(n).squaredNorm()));
        const std::size_t first = std::size_t(3) * 20, last = std::size_t(5) * 20;
        QCOMPARE(found(results, "neurons/k_neuron")[first], 7.0);
        QVERIFY(close(found(results, "neurons/k_values")[first], 1));
        QVERIFY(found(results, "neurons/k_values")[first + 1] < 0.6);
        QVERIFY(std::isnan(map[65]) && std::isnan(found(results, "neurons/k_values")[last]));
        QCOMPARE(found(results, "neurons/k_neuron")[last], -1.0);
        QVERIFY(found(results, "neurons/q_neuron")[last] >= 0); // the same head's queries do read
        QCOMPARE(found(results, "neurons/o_neuron")[20], -1.0);
        // The null is r/d: three heads of layer 0 and one of layer 1 with five directions, one with one.
        const ResultArray& values = *results.find("analyses/neurons/k_values");
        QVERIFY(close(*values.nullMean, 21 / 5.0 / 23));
        const auto square = [](double r) { return r * (r + 2) / (23.0 * 25); }; // of Beta(r/2, (23 − r)/2)
        const double deviation = std::sqrt((4 * square(5) + square(1)) / 5 - std::pow(21 / 5.0 / 23, 2));
        QVERIFY(close(*values.nullDeviation, deviation));
        QVERIFY(close(*results.find("analyses/neurons/q_values")->nullMean, 5.0 / 23));
    }
};

HEADWISE_TEST(GroupsNeuronsNullTest)
#include "groups_neurons_null_test.moc"
