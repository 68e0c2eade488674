#include "core/analysis/gaussian_order.h"
#include "core/analysis/token_table.h"
#include "tests/support/analysed.h"

#include <algorithm>
#include <cmath>

using namespace headwise;

class DirectPathTest : public QObject {
    Q_OBJECT

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

QTEST_APPLESS_MAIN(DirectPathTest)
#include "direct_path_test.moc"
