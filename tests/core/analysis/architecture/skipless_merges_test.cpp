#include "core/model/skipless.h"
#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <cmath>

using namespace headwise;

namespace {

test::ToyOptions squareOptions()
{
    test::ToyOptions options;
    options.dModel = 15;
    return options;
}

std::vector<double> skiplessNumbers(const ResultSet& results, const char* name)
{
    return test::numbers(results, std::string("analyses/skipless/") + name);
}

} // namespace

class SkiplessMergesTest : public QObject {
    Q_OBJECT

private slots:
    void countsWhatTheMergesTake()
    {
        const ResultSet results = test::analysed(test::toyCircuits(squareOptions()), {"skipless"});
        // 11 · 15 each way, two layers of 4 · 15² and 2 · 15 · 13; a pair is 2 · 15² per layer.
        const double total = 2 * 11 * 15 + 2 * (4 * 225 + 2 * 15 * 13);
        for (std::size_t pair = 0; pair < 3; ++pair) {
            QCOMPARE(skiplessNumbers(results, "possible")[pair], 1.0);
            QCOMPARE(skiplessNumbers(results, "equivalent")[pair], 1.0);
            QCOMPARE(skiplessNumbers(results, "weights_total")[pair], total);
            QCOMPARE(skiplessNumbers(results, "weights_removed")[pair], 900.0);
            QCOMPARE(skiplessNumbers(results, "saving")[pair], 900 / total);
            QCOMPARE(skiplessNumbers(results, "speedup")[pair], total / (total - 900));
        }
    }

    void conditionNumbersAreThoseOfASvd()
    {
        test::ToyOptions options = squareOptions();
        options.nKvHeads = 1; // K and V are not square
        const Circuits circuits = test::toyCircuits(options);
        AnalysisOptions f64;
        f64.precision = Precision::F64;
        const ResultSet results = test::analysed(circuits, {"skipless"}, f64);
        const auto found = skiplessNumbers(results, "log10_condition");
        QCOMPARE(found.size(), std::size_t{6});
        for (int layer = 0; layer < 2; ++layer) {
            const Matrix<double> Q = sideBySide(circuits.weights().original(), TensorKind::W_Q, layer, 3);
            const Eigen::VectorXd s = test::singularValuesOf(Q);
            const double expected = std::log10(s[0] / s[14]);
            QVERIFY(std::abs(found[static_cast<std::size_t>(layer) * 3] - expected) < std::log10(1.1));
            QVERIFY(std::isnan(found[static_cast<std::size_t>(layer) * 3 + 1]));
            QVERIFY(std::isnan(found[static_cast<std::size_t>(layer) * 3 + 2]));
        }
        QVERIFY(std::abs(*results.find("analyses/skipless/log10_condition")->nullMean - std::log10(15 * 4.65))
                < 1e-3);
    }

    void everyKindOfModelHasErrorsWhereAMergeIsExact()
    {
        auto classes = test::toyClasses();
        classes.emplace_back("square", squareOptions());
        for (const auto& [name, options] : classes) {
            const Circuits circuits = test::toyCircuits(options);
            const ResultSet results = test::analysed(circuits, {"skipless"});
            const auto errors = skiplessNumbers(results, "error");
            const auto rounding = skiplessNumbers(results, "error_null");
            QVERIFY2(rounding[0] == 0 && rounding[1] > 0 && rounding[2] > rounding[1], name);
            for (std::size_t pair = 0; pair < 3; ++pair) {
                const bool isExact = skiplessNumbers(results, "possible")[pair] == 1
                    && skiplessNumbers(results, "equivalent")[pair] == 1;
                if (!isExact) {
                    QVERIFY2(std::isnan(errors[pair * 3]), name);
                    continue;
                }
                QVERIFY2(errors[pair * 3] < 1e-10, name);
                QVERIFY2(errors[pair * 3] < errors[pair * 3 + 1]
                             && errors[pair * 3 + 1] < errors[pair * 3 + 2],
                         name);
            }
        }
    }

    void parallelBlocksLoseOneMatrixExactly()
    {
        for (const bool isParallel : {true, false}) {
            test::ToyOptions options = squareOptions();
            options.parallel = isParallel;
            options.attnOnly = !isParallel;
            const ResultSet results = test::analysed(test::toyCircuits(options), {"skipless"});
            const auto errors = skiplessNumbers(results, "single_error");
            const double total = skiplessNumbers(results, "weights_total")[0];
            QCOMPARE(skiplessNumbers(results, "single_removed"), std::vector<double>(3, 2 * 225.0));
            for (std::size_t matrix = 0; matrix < 3; ++matrix) {
                QVERIFY(errors[matrix * 3] < 1e-10);
                QVERIFY(errors[matrix * 3] < errors[matrix * 3 + 1]
                        && errors[matrix * 3 + 1] < errors[matrix * 3 + 2]);
                QCOMPARE(skiplessNumbers(results, "single_saving")[matrix], 450 / total);
                QCOMPARE(skiplessNumbers(results, "single_speedup")[matrix], total / (total - 450));
            }
        }
        QVERIFY(!test::analysed(test::toyCircuits(squareOptions()), {"skipless"})
                     .find("analyses/skipless/single_error"));
    }

    void parallelBlocksAreCountedAndNotMerged()
    {
        test::ToyOptions options = squareOptions();
        options.parallel = true;
        const ResultSet results = test::analysed(test::toyCircuits(options), {"skipless"});
        QCOMPARE(skiplessNumbers(results, "possible"), std::vector<double>(3, 1.0));
        QCOMPARE(skiplessNumbers(results, "equivalent"), std::vector<double>(3, 0.0));
        QCOMPARE(skiplessNumbers(results, "weights_removed"), std::vector<double>(3, 900.0));
        const auto reasons = std::get<std::vector<std::string>>(
            results.find("analyses/skipless/equivalent")->attributes.at("reasons"));
        QVERIFY(reasons[0].find("one of Q, K, V or P") != std::string::npos);
        for (const double error : skiplessNumbers(results, "error"))
            QVERIFY(std::isnan(error));
    }

    void neitherThreadsNorFoldingChangeAnything()
    {
        const auto options = squareOptions();
        const ResultSet one = test::analysed(test::toyCircuits(options, test::noProcessing()), {"skipless"},
                                             {}, Task{{}, {}, 1});
        const ResultSet four = test::analysed(test::toyCircuits(options), {"skipless"}, {}, Task{{}, {}, 4});
        QVERIFY(one == four);
        AnalysisOptions otherSeed;
        otherSeed.inputs.seed = 5;
        QVERIFY(skiplessNumbers(test::analysed(test::toyCircuits(options), {"skipless"}, otherSeed), "error")
                != skiplessNumbers(one, "error"));
    }

    void doesNotApplyToAMergedModel()
    {
        ModelConfig config = test::toyCircuits(squareOptions()).config();
        const Analysis* row = findAnalysis("skipless");
        QVERIFY(row && row->whyNot(config, {}).empty());
        QVERIFY(row->cost(config, {}).flops > 0);
        config.merged = MergePair::QP;
        QVERIFY(!row->whyNot(config, {}).empty());
    }
};

HEADWISE_TEST(SkiplessMergesTest)
#include "skipless_merges_test.moc"
