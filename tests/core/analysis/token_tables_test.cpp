#include "core/analysis/block.h"
#include "core/analysis/token_table.h"

#include "tests/core/analysis/small_models.h"
#include "tests/support/dense_algebra.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace headwise;
using test::addModels;
using test::circuitsNamed;

/// Tables, single lines and blocks of full circuits against the dense ones.
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
            const auto same = denseBlock(circuits.circuit<float>(kind, head, tokens.get()), rows, cols);
            QVERIFY(test::isClose(*same, expected, 1e-5));
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

private:
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

QTEST_APPLESS_MAIN(TokenTablesTest)
#include "token_tables_test.moc"
