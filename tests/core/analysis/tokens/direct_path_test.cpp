#include "tests/support/analysed.h"

#include <algorithm>

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
    }
};

QTEST_APPLESS_MAIN(DirectPathTest)
#include "direct_path_test.moc"
