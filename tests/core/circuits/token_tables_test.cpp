#include "core/circuits/block.h"
#include "core/circuits/gaussian_order.h"
#include "core/circuits/row_moments.h"
#include "core/circuits/token_table.h"

#include "tests/core/analysis/small_models.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace headwise;
using test::addModels;
using test::circuitsNamed;

/// Tables, single lines and blocks of full circuits, compared with dense ones.
class TokenTablesTest : public QObject {
    Q_OBJECT

private slots:
    void tablesAreThoseOfBruteForce_data() { addModels(); }
    void tablesAreThoseOfBruteForce()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        AnalysisOptions options;
        options.precision = Precision::F64;
        options.tableSize = 4;
        options.heads = {{1, 2}, {0, 1}};
        const int V = circuits.config().dVocab;
        const std::size_t k = static_cast<std::size_t>(std::min(4, V));
        options.unusedTokens.assign(static_cast<std::size_t>(V), false);
        if (V > 3)
            options.unusedTokens[3] = true;
        const auto results = test::analysed(circuits, {"tables"}, options);
        const auto& names =
            std::get<std::vector<std::string>>(results.groupAttributes.at("tables/full_ov").at("heads"));
        QCOMPARE(names, (std::vector<std::string>{"0.1", "1.2"}));
        for (const CircuitKind kind : {CircuitKind::FullOv, CircuitKind::FullQk}) {
            const std::string folder = "tables/" + std::string(circuitName(kind)) + "/";
            QCOMPARE(results.find(folder + "ids")->shape,
                     (std::vector<std::size_t>{2, static_cast<std::size_t>(V), k}));
            for (std::size_t h = 0; h < 2; ++h) {
                const HeadId head = h == 0 ? HeadId{0, 1} : HeadId{1, 2};
                const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
                checkTable(results, folder, "ids", "values", h, k, dense, 1, options.unusedTokens);
                checkTable(results, folder, "lowest_ids", "lowest_values", h, k, dense, -1,
                           options.unusedTokens);
                checkTable(results, folder, "column_ids", "column_values", h, k, dense.transpose(), 1,
                           options.unusedTokens);
                const std::string moments = "analyses/tables/" + std::string(circuitName(kind));
                checkMoments(results, moments + "_row_", h, dense, options.unusedTokens);
                checkMoments(results, moments + "_column_", h, dense.transpose(), options.unusedTokens);
            }
        }
    }

    void tokenLinesAreRowsAndColumnsOfTheDenseCircuit_data() { addModels(); }
    void tokenLinesAreRowsAndColumnsOfTheDenseCircuit()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        const auto tokens = test::tokensOf(circuits);
        const HeadId head{1, 1};
        for (const CircuitKind kind : {CircuitKind::FullQk, CircuitKind::FullOv}) {
            const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
            const auto row = tokenLine(circuits, *tokens, {kind, head}, TableSide::Row, 1);
            const auto column = tokenLine(circuits, *tokens, {kind, head}, TableSide::Column, 1);
            QVERIFY(test::isOk(row) && test::isOk(column));
            QVERIFY(test::isClose(*row, dense.row(1), 1e-6));
            QVERIFY(test::isClose(*column, dense.col(1).transpose(), 1e-6));
            const auto factored = circuits.circuit<double>(kind, head, tokens.get());
            QVERIFY(
                test::isClose(lineNorms(factored, TableSide::Row), dense.rowwise().norm().transpose(), 1e-6));
            QVERIFY(test::isClose(lineNorms(factored, TableSide::Column), dense.colwise().norm(), 1e-6));
            const std::vector<int> rows{1, 0};
            const std::vector<int> cols{0, 1, 1};
            const auto block = circuitBlock(circuits, tokens.get(), {kind, head}, rows, cols);
            QVERIFY(test::isOk(block));
            const Matrix<double> expected = dense(rows, cols);
            QVERIFY(test::isClose(*block, expected, 1e-5));
            const Matrix<float> same = circuits.circuit<float>(kind, head, tokens.get()).at(rows, cols);
            QVERIFY(test::isClose(same, expected, 1e-5));
        }
        for (const CircuitKind kind : {CircuitKind::Qk, CircuitKind::Ov})
            QVERIFY(test::isClose(*wholeCircuit(circuits, {kind, head}),
                                  test::denseCircuit(circuits, kind, head), 1e-5));
        QVERIFY(
            test::failsWith(tokenLine(circuits, *tokens, {CircuitKind::FullQk, {9, 0}}, TableSide::Row, 0),
                            ErrorCode::InvalidArgument, "head 9.0"));
        QVERIFY(
            test::failsWith(tokenLine(circuits, *tokens, {CircuitKind::FullQk, head}, TableSide::Row, 100000),
                            ErrorCode::InvalidArgument, "token 100000"));
        QVERIFY(test::failsWith(circuitBlock(circuits, tokens.get(), {CircuitKind::FullOv, head}, {0}, {-1}),
                                ErrorCode::InvalidArgument, "column -1"));
        const std::vector<int> many(5000, 0);
        QVERIFY(test::failsWith(circuitBlock(circuits, tokens.get(), {CircuitKind::FullOv, head}, many, many),
                                ErrorCode::InvalidArgument, "5000 × 5000"));
    }

    void aRowReadOnceIsThatOfTheTokenSide_data() { addModels(); }
    void aRowReadOnceIsThatOfTheTokenSide()
    {
        QFETCH(QString, model);
        const Circuits circuits = circuitsNamed(model);
        for (const Embedding embedding :
             {Embedding::Raw, Embedding::Effective, Embedding::Mlp0, Embedding::Unembed}) {
            if (!whyNotEmbedding(circuits.config(), embedding).empty()) {
                QVERIFY(test::failsWith(
                    tokenRowOnce(circuits, embedding, {CircuitKind::FullOv, {1, 0}}, 1, Task{}),
                    ErrorCode::InvalidArgument, "embedding"));
                continue;
            }
            const auto tokens = test::tokensOf(circuits, embedding);
            for (const CircuitKind kind : {CircuitKind::FullQk, CircuitKind::FullOv}) {
                for (const HeadId head : {HeadId{0, 1}, HeadId{1, 1}}) {
                    const auto row = tokenRowOnce(circuits, embedding, {kind, head}, 1, Task{});
                    const auto kept = tokenLine(circuits, *tokens, {kind, head}, TableSide::Row, 1);
                    QVERIFY(test::isOk(row) && test::isOk(kept));
                    QVERIFY(test::isClose(*row, *kept, 1e-5)); // one token or many through the MLP, in float
                }
            }
        }
        const auto dense = test::denseCircuit(circuits, CircuitKind::FullOv, {1, 1});
        QVERIFY(
            test::isClose(*tokenRowOnce(circuits, Embedding::Raw, {CircuitKind::FullOv, {1, 1}}, 1, Task{}),
                          dense.row(1), 1e-6));
        QVERIFY(test::failsWith(
            tokenRowOnce(circuits, Embedding::Raw, {CircuitKind::FullQk, {1, 1}}, 100000, Task{}),
            ErrorCode::InvalidArgument, "token 100000"));
    }

    void endsOfALine()
    {
        const RowVector<double> values = (RowVector<double>(5) << 2, -1, 2, 7, -1).finished();
        const TokenEnds all = ends(values, 3, {});
        QVERIFY(all.top == (std::vector<TokenEntry>{{3, 7}, {0, 2}, {2, 2}}));
        QVERIFY(all.bottom == (std::vector<TokenEntry>{{1, -1}, {4, -1}, {0, 2}}));
        const TokenEnds used = ends(values, 9, {false, true, false, true, false});
        QVERIFY(used.top == (std::vector<TokenEntry>{{0, 2}, {2, 2}, {4, -1}}));
    }

    void theDirectPathListsNextTokens()
    {
        const Circuits circuits = circuitsNamed("stories260k");
        AnalysisOptions options;
        options.tableSize = 3;
        options.precision = Precision::F64;
        const auto results = test::analysed(circuits, {"direct_path"}, options);
        const Matrix<double> dense =
            circuits.weights().W_E<double>(0, 512) * circuits.weights().W_U<double>(0, 512);
        checkTable(results, "analyses/direct_path/", "ids", "values", 0, 3, dense, 1, {});
        QCOMPARE(test::numbers(results, "analyses/direct_path/b_U").size(), std::size_t(512));
    }

    /// Compared with whole rows in double; many more columns and tokens than a block holds.
    void momentsOfALargeProductAreThoseOfItsRows()
    {
        std::mt19937 random(5);
        std::normal_distribution<double> normal(0.3, 1);
        const auto number = [&] { return normal(random); };
        const Matrix<double> left = Matrix<double>::NullaryExpr(1100, 150, number);
        const Matrix<double> right = Matrix<double>::NullaryExpr(150, 2500, number);
        std::vector<bool> rows(1100, false), cols(2400, false); // what is past the end is left out
        rows[1050] = cols[0] = cols[2300] = true;
        const Matrix<double> dense = left * right;
        for (const int threads : {1, 3}) {
            Task task;
            task.threads = threads;
            const auto exact = rowMoments(left, right, {rows, cols}, task);
            const auto rounded =
                rowMoments<float>(left.cast<float>(), right.cast<float>(), {rows, cols}, task);
            QVERIFY(test::isOk(exact) && test::isOk(rounded));
            QCOMPARE(exact->entries, Eigen::Index(2398));
            for (const Eigen::Index row : {0, 1023, 1024, 1099}) {
                std::vector<bool> all = cols;
                all.resize(2500, true);
                const LineStatistics expected = lineStatistics(dense.row(row), all);
                QVERIFY(std::abs(exact->mean(row) - expected.mean) < 1e-12 * expected.deviation);
                QVERIFY(std::abs(exact->deviation(row) / expected.deviation - 1) < 1e-12);
                QVERIFY(std::abs(rounded->deviation(row) / expected.deviation - 1) < 1e-6);
            }
            QVERIFY(std::isnan(exact->mean(1050)) && std::isnan(exact->deviation(1050)));
            QVERIFY(!std::isnan(exact->mean(1049)));
        }
        const std::vector<bool> none(2500, true);
        QVERIFY(std::isnan(rowMoments(left, right, {rows, none}, Task{})->mean(0)));
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(
            test::failsWith(rowMoments(left, right, {rows, cols}, task), ErrorCode::Cancelled, "cancelled"));
    }

    /// The largest of n Gaussian numbers exceeds the expected position of its rank half of the time.
    void chanceListsWhatGaussianNumbersReach()
    {
        const std::vector<double> places = gaussianPlaces(4, 3);
        QVERIFY(std::isnan(places[3]));
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(std::abs(0.5 * std::erfc(places[i] / std::sqrt(2.0)) - (double(i) + 0.5) / 3) < 1e-12);
    }

private:
    static void checkMoments(const ResultSet& results, const std::string& start, std::size_t headIndex,
                             const Matrix<double>& dense, const std::vector<bool>& unused)
    {
        const auto mean = test::numbers(results, start + "mean");
        const auto deviation = test::numbers(results, start + "deviation");
        const ResultArray& array = *results.find(start + "mean");
        QCOMPARE(array.shape, (std::vector<std::size_t>{2, static_cast<std::size_t>(dense.rows())}));
        QCOMPARE(std::get<std::vector<std::string>>(array.attributes.at("heads")),
                 (std::vector<std::string>{"0.1", "1.2"}));
        std::vector<bool> left = unused;
        left.resize(static_cast<std::size_t>(dense.cols()), true);
        const auto entries = std::count(left.begin(), left.end(), false);
        QCOMPARE(std::get<double>(array.attributes.at("entries")), static_cast<double>(entries));
        const double size = dense.cwiseAbs().maxCoeff();
        for (Eigen::Index token = 0; token < dense.rows(); ++token) {
            const std::size_t at =
                headIndex * static_cast<std::size_t>(dense.rows()) + static_cast<std::size_t>(token);
            if (static_cast<std::size_t>(token) >= unused.size() || unused[static_cast<std::size_t>(token)]) {
                QVERIFY(std::isnan(mean[at]) && std::isnan(deviation[at]));
                continue;
            }
            const LineStatistics expected = lineStatistics(dense.row(token), left);
            QVERIFY(std::abs(mean[at] - expected.mean) <= 1e-12 * size);
            QVERIFY(std::abs(deviation[at] - expected.deviation) <= 1e-12 * size);
        }
        const auto null = test::numbers(results, start + "null_z");
        QCOMPARE(null.size(), static_cast<std::size_t>(std::min<Eigen::Index>(4, dense.rows())));
        QVERIFY(std::abs(null[0] - expectedPlace(0, static_cast<double>(entries))) < 1e-12);
    }

    static void checkTable(const ResultSet& results, const std::string& folder, const char* idsName,
                           const char* valuesName, std::size_t headIndex, std::size_t k,
                           const Matrix<double>& dense, double sign, const std::vector<bool>& unused)
    {
        const auto ids = test::numbers(results, folder + idsName);
        const auto values = test::numbers(results, folder + valuesName);
        const double size = dense.cwiseAbs().maxCoeff();
        for (Eigen::Index token = 0; token < dense.rows(); ++token) {
            std::vector<int> order(static_cast<std::size_t>(dense.cols()));
            std::iota(order.begin(), order.end(), 0);
            std::erase_if(order,
                          [&](int id) { return !unused.empty() && unused[static_cast<std::size_t>(id)]; });
            std::stable_sort(order.begin(), order.end(),
                             [&](int a, int b) { return sign * dense(token, a) > sign * dense(token, b); });
            if (!unused.empty() && unused[static_cast<std::size_t>(token)])
                order.clear();
            for (std::size_t i = 0; i < k; ++i) {
                const std::size_t at =
                    (headIndex * static_cast<std::size_t>(dense.rows()) + static_cast<std::size_t>(token)) * k
                    + i;
                QCOMPARE(static_cast<int>(ids[at]), i < order.size() ? order[i] : -1);
                if (i < order.size())
                    QVERIFY(std::abs(values[at] - dense(token, order[i])) <= 1e-12 * size);
                else
                    QVERIFY(std::isnan(values[at]));
            }
        }
    }
};

HEADWISE_TEST(TokenTablesTest)
#include "token_tables_test.moc"
