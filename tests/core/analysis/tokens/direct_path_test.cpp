#include "core/circuits/gaussian_order.h"
#include "core/circuits/token_table.h"
#include "core/runs/queue.h"
#include "tests/support/analysed.h"
#include "tests/support/program.h"

#include <algorithm>
#include <cmath>

using namespace headwise;

class DirectPathTest : public QObject {
    Q_OBJECT

private:
    /// Checks the three largest and smallest of a row of E W_U + b_U, and their ranks in it.
    static void isTheRowOf(const Circuits& circuits, const ResultSet& results, int token)
    {
        const int V = circuits.config().dVocabOut;
        const auto& weights = circuits.weights();
        const RowVector<double> row = weights.W_E<double>(token, 1) * weights.W_U<double>(0, V)
            + RowVector<double>(weights.b_U<double>(0, V));
        std::vector<std::pair<double, int>> order;
        for (int id = 0; id < V; ++id)
            order.emplace_back(row(id), id);
        std::sort(order.begin(), order.end());
        const std::string start = "analyses/direct_path/token_";
        const double deviation = std::sqrt((row.array() - row.mean()).square().mean());
        for (const bool isTop : {true, false}) {
            const std::string end = start + (isTop ? "" : "lowest_");
            for (std::size_t i = 0; i < 3; ++i) {
                const auto& [value, id] = order[isTop ? order.size() - 1 - i : i];
                QVERIFY(std::abs(test::numbers(results, end + "values")[i] - value) < 1e-5 * row.norm());
                QCOMPARE(test::numbers(results, end + "ids")[i], double(id));
            }
            const ResultArray& values = *results.find(end + "values");
            QVERIFY(std::abs(*values.nullMean - row.mean()) < 1e-5 * deviation);
            QVERIFY(std::abs(*values.nullDeviation - deviation) < 1e-5 * deviation);
            QCOMPARE(std::get<double>(values.attributes.at("token")), double(token));
        }
    }

private slots:
    void theEndsOfTheUnembeddingBiasAreListed()
    {
        const Circuits circuits = test::toyCircuits({});
        const int V = circuits.config().dVocabOut;
        AnalysisOptions options;
        options.tableSize = 4;
        options.precision = Precision::F64;
        options.unusedTokens.assign(static_cast<std::size_t>(V), false);
        options.unusedTokens[2] = true;
        const auto results = test::analysed(circuits, {"direct_path"}, options);
        const RowVector<double> bias = circuits.weights().b_U<double>(0, V);
        std::vector<std::pair<double, double>> order; // value, id
        for (int id = 0; id < V; ++id) {
            if (id != 2)
                order.emplace_back(bias(id), id);
        }
        std::sort(order.begin(), order.end());
        const std::string start = "analyses/direct_path/b_U_";
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(test::numbers(results, start + "lowest_ids")[i], order[i].second);
            QCOMPARE(test::numbers(results, start + "lowest_values")[i], order[i].first);
            QCOMPARE(test::numbers(results, start + "ids")[i], order[order.size() - 1 - i].second);
            QCOMPARE(test::numbers(results, start + "values")[i], order[order.size() - 1 - i].first);
        }
        double sum = 0, squares = 0;
        for (const auto& [value, id] : order)
            sum += value, squares += value * value;
        const double n = static_cast<double>(order.size());
        for (const char* name : {"values", "lowest_values"}) {
            const ResultArray& values = *results.find(start + name);
            QVERIFY(std::abs(*values.nullMean - sum / n) < 1e-12);
            QVERIFY(std::abs(*values.nullDeviation - std::sqrt(squares / n - sum / n * sum / n)) < 1e-12);
        }
    }

    void rowsHaveBothEndsAndTheTokenAskedForItsBias()
    {
        const Circuits circuits = test::toyCircuits({});
        const int V = circuits.config().dVocab, out = circuits.config().dVocabOut;
        AnalysisOptions options;
        options.tableSize = 3;
        options.precision = Precision::F64;
        options.inputs.token = 4;
        const auto results = test::analysed(circuits, {"direct_path"}, options);
        const Matrix<double> dense =
            circuits.weights().W_E<double>(0, V) * circuits.weights().W_U<double>(0, out);
        const std::string start = "analyses/direct_path/";
        for (int row = 0; row < V; ++row) {
            const TokenEnds expected = ends(dense.row(row), 3, {});
            for (std::size_t i = 0; i < 3; ++i) {
                const std::size_t at = 3 * static_cast<std::size_t>(row) + i;
                QCOMPARE(test::numbers(results, start + "ids")[at], double(expected.top[i].id));
                QCOMPARE(test::numbers(results, start + "lowest_ids")[at], double(expected.bottom[i].id));
                QVERIFY(
                    std::abs(test::numbers(results, start + "lowest_values")[at] - expected.bottom[i].value)
                    < 1e-12 * dense.norm());
            }
        }
        isTheRowOf(circuits, results, 4);
    }

    // Too many operations for a scan of every row.
    void ofALargeModelTheRowAskedForAndTheBiasAreGiven()
    {
        test::ToyOptions toy; // 2 V² d > 2e13
        toy.dVocab = 1200000, toy.nLayers = toy.nHeads = toy.dHead = 1, toy.nCtx = 2, toy.attnOnly = true;
        const Circuits circuits = test::toyCircuits(toy);
        const Analysis& analysis = *findAnalysis("direct_path");
        AnalysisOptions options;
        options.tableSize = 3;
        QVERIFY(analysis.whyNot(circuits.config(), options).empty());
        QVERIFY(analysis.cost(circuits.config(), options).flops < 1e8);
        const auto alone = test::analysed(circuits, {"direct_path"}, options);
        QVERIFY(!alone.find("analyses/direct_path/ids") && !alone.find("analyses/direct_path/token_ids"));
        QVERIFY(alone.find("analyses/direct_path/b_U")
                && alone.find("analyses/direct_path/b_U_lowest_values"));
        QVERIFY(alone.warnings.size() == 1 && alone.warnings[0].find("2e13") != std::string::npos);
        options.inputs.token = 999999;
        const auto asked = test::analysed(circuits, {"direct_path"}, options);
        QVERIFY(!asked.find("analyses/direct_path/values"));
        isTheRowOf(circuits, asked, 999999);
    }

    void aTokenOutsideTheVocabularyIsRefused()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options;
        options.inputs.token = circuits.config().dVocab;
        QVERIFY(
            test::failsWith(runAnalyses(circuits, std::vector{findAnalysis("direct_path")}, options, Task{}),
                            ErrorCode::InvalidArgument, "There is no token"));
    }

    void everyRowSaysWhatItsEntriesAreLike()
    {
        const Circuits circuits = test::toyCircuits({});
        const int V = circuits.config().dVocab;
        AnalysisOptions options;
        options.unusedTokens.assign(static_cast<std::size_t>(V), false);
        options.unusedTokens[2] = true;
        const Matrix<double> dense = circuits.weights().W_E<double>(0, V)
            * circuits.weights().W_U<double>(0, circuits.config().dVocabOut);
        for (const Precision precision : {Precision::F64, Precision::F32}) {
            options.precision = precision;
            const double tolerance = precision == Precision::F64 ? 1e-12 : 1e-5; // E and W_U in float
            const auto results = test::analysed(circuits, {"direct_path"}, options);
            const auto mean = test::numbers(results, "analyses/direct_path/row_mean");
            const auto deviation = test::numbers(results, "analyses/direct_path/row_deviation");
            QCOMPARE(mean.size(), static_cast<std::size_t>(V));
            for (int row = 0; row < V; ++row) {
                const auto at = static_cast<std::size_t>(row);
                if (row == 2) {
                    QVERIFY(std::isnan(mean[at]) && std::isnan(deviation[at]));
                    continue;
                }
                const LineStatistics expected = lineStatistics(dense.row(row), options.unusedTokens);
                QVERIFY(std::abs(mean[at] - expected.mean) < tolerance * expected.norm);
                QVERIFY(std::abs(deviation[at] - expected.deviation) < tolerance * expected.norm);
            }
            const auto null = test::numbers(results, "analyses/direct_path/row_null_z");
            QVERIFY(std::abs(null[0] - expectedPlace(0, V - 1)) < 1e-5);
        }
    }
};

HEADWISE_TEST(DirectPathTest)
#include "direct_path_test.moc"
