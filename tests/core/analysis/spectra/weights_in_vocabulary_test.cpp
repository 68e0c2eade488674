#include "core/circuits/random_matrix.h"
#include "tests/support/changed_toy.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

using namespace headwise;
using test::ChangedToy;

namespace {

AnalysisOptions vocabularyOptions()
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.tableSize = 4;
    return options;
}

std::vector<double> vocabularyNumbers(const ResultSet& results, const std::string& array)
{
    return test::numbers(results, "analyses/weights_in_vocabulary/" + array);
}

std::vector<int> rankedIds(const Eigen::VectorXd& scores)
{
    std::vector<int> ids(static_cast<std::size_t>(scores.size()));
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return scores(a) > scores(b); });
    return ids;
}

/// Tells whether the lists from `first` on belong to the longest columns. \param scores [tokens, columns]
bool partAgrees(const ResultSet& results, const std::string& part, std::size_t first,
                const Matrix<double>& columns, const Matrix<double>& scores)
{
    const std::vector<int> order = rankedIds(columns.colwise().norm().transpose());
    for (std::size_t i = 0; i < std::min<std::size_t>(5, order.size()); ++i) {
        const Eigen::VectorXd line = scores.col(order[i]);
        const std::size_t list = first + i;
        if (vocabularyNumbers(results, part + "_column")[list] != order[i])
            return false;
        for (std::size_t rank = 0; rank < 4; ++rank) {
            const int top = rankedIds(line)[rank];
            const int bottom = rankedIds(-line)[rank];
            if (vocabularyNumbers(results, part + "_ids")[list * 4 + rank] != top
                || vocabularyNumbers(results, part + "_lowest_ids")[list * 4 + rank] != bottom
                || std::abs(vocabularyNumbers(results, part + "_values")[list * 4 + rank] - line(top)) > 1e-9
                || std::abs(vocabularyNumbers(results, part + "_lowest_values")[list * 4 + rank]
                            - line(bottom))
                    > 1e-9) {
                qWarning("%s, list %d, rank %d", part.c_str(), int(list), int(rank));
                return false;
            }
        }
    }
    return true;
}

double jaccardOfLists(const std::vector<int>& a, const std::vector<int>& b, int n)
{
    const std::set<int> left(a.begin(), a.begin() + n);
    std::set<int> all(b.begin(), b.begin() + n);
    const auto both = std::count_if(left.begin(), left.end(), [&](int id) { return all.count(id) > 0; });
    all.insert(left.begin(), left.end());
    return static_cast<double>(both) / static_cast<double>(all.size());
}

} // namespace

class WeightsInVocabularyTest : public QObject {
    Q_OBJECT

private slots:
    void agreesWithDenseProducts_data()
    {
        QTest::addColumn<int>("at");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); i += 3)
            QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void agreesWithDenseProducts()
    {
        QFETCH(int, at);
        const Circuits circuits = test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(at)].second);
        const ModelConfig& config = circuits.config();
        const auto results = test::analysed(circuits, {"weights_in_vocabulary"}, vocabularyOptions());
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const Matrix<double> W_U = circuits.weights().W_U<double>(0, config.dVocabOut);
        const int listed = std::min(5, config.dHead);
        const HeadId head{config.nLayers - 1, config.nHeads - 1};
        const auto first = static_cast<std::size_t>((head.layer * config.nHeads + head.head) * listed);
        const auto w = circuits.weights().head<double>(head);
        QVERIFY(partAgrees(results, "W_V", first, w.W_V, E * w.W_V));
        QVERIFY(partAgrees(results, "W_Q", first, w.W_Q, E * w.W_Q));
        QVERIFY(partAgrees(results, "W_K", first, w.W_K, E * w.W_K));
        QVERIFY(partAgrees(results, "W_O", first, w.W_O.transpose(), (w.W_O * W_U).transpose()));
        // The shortest weights of tokens that add up to a column, as Eigen's own pseudoinverse has them.
        const Matrix<double> inverseE = test::pseudoInverseOf(E.transpose());
        const Matrix<double> inverseU = test::pseudoInverseOf(W_U); // [tokens, d]
        QVERIFY(partAgrees(results, "W_V_pinv", first, w.W_V, inverseE * w.W_V));
        QVERIFY(partAgrees(results, "W_K_pinv", first, w.W_K, inverseE * w.W_K));
        QVERIFY(partAgrees(results, "W_O_pinv", first, w.W_O.transpose(), inverseU * w.W_O.transpose()));
        if (config.attentionOnly) {
            QVERIFY(!results.find("analyses/weights_in_vocabulary/W_in_ids"));
        } else {
            const auto mlp = circuits.weights().mlp<double>(1);
            QVERIFY(partAgrees(results, "W_in", 5, mlp.W_in, E * mlp.W_in));
            QVERIFY(partAgrees(results, "W_out_pinv", 5, mlp.W_out.transpose(),
                               inverseU * mlp.W_out.transpose()));
            QVERIFY(partAgrees(results, "W_out", 5, mlp.W_out.transpose(), (mlp.W_out * W_U).transpose()));
            QCOMPARE(results.find("analyses/weights_in_vocabulary/W_gate_ids") != nullptr, config.gatedMlp);
            if (config.gatedMlp) {
                QVERIFY(partAgrees(results, "W_gate", 5, mlp.W_gate, E * mlp.W_gate));
                QVERIFY(partAgrees(results, "W_gate_pinv", 5, mlp.W_gate, inverseE * mlp.W_gate));
                QVERIFY(vocabularyNumbers(results, "W_gate_values")
                        != vocabularyNumbers(results, "W_in_values"));
            }
        }
    }

    // Random directions as long as the column, through the same matrix to the same tokens.
    void theNullIsTheListOfRandomDirectionsAsLong_data()
    {
        QTest::addColumn<bool>("effective");
        QTest::newRow("raw") << false;
        QTest::newRow("effective: layer 0 reads other tokens than later layers") << true;
    }
    void theNullIsTheListOfRandomDirectionsAsLong()
    {
        QFETCH(bool, effective);
        test::ToyOptions toy;
        toy.gatedMlp = true;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = vocabularyOptions();
        options.embedding = effective ? Embedding::Effective : Embedding::Raw;
        options.inputs.seed = 3;
        options.unusedTokens.assign(11, false);
        options.unusedTokens[7] = true;
        const auto results = test::analysed(circuits, {"weights_in_vocabulary"}, options);
        const auto tokens = test::tokensOf(circuits, options.embedding, Precision::F64);
        Matrix<double> random = gaussianMatrix(toy.dModel, 32, 3);
        random.colwise().normalize();
        const auto expected = [&](const Matrix<double>& rows, double length, std::size_t rank) {
            double sum = 0;
            for (Eigen::Index k = 0; k < random.cols(); ++k) {
                Eigen::VectorXd scores = rows * random.col(k);
                scores(7) = -1e9;
                std::sort(scores.begin(), scores.end(), std::greater<>());
                sum += length * scores(static_cast<Eigen::Index>(rank)) / 32;
            }
            return sum;
        };
        const auto agreesWith = [&](const std::string& part, std::size_t first, const Matrix<double>& columns,
                                    const Matrix<double>& rows) {
            for (std::size_t i = 0; i < 5; ++i) {
                const auto column =
                    static_cast<Eigen::Index>(vocabularyNumbers(results, part + "_column")[first + i]);
                for (std::size_t rank = 0; rank < 4; ++rank) {
                    const double null = vocabularyNumbers(results, part + "_null")[(first + i) * 4 + rank];
                    if (std::abs(null - expected(rows, columns.col(column).norm(), rank)) > 1e-5)
                        return false;
                }
            }
            return true;
        };
        const Matrix<double> raw = *tokens->embeddingOf(0).whole<double>();
        const Matrix<double> ofLater = *tokens->E.whole<double>();
        QCOMPARE(tokens->isLayer0Special(0), effective);
        const auto inverse = [](const Matrix<double>& E) { return test::pseudoInverseOf(E.transpose()); };
        const Matrix<double> W_U = circuits.weights().W_U<double>(0, 11);
        const auto first = circuits.weights().head<double>({0, 1});
        const auto later = circuits.weights().head<double>({1, 1});
        QVERIFY(agreesWith("W_V", 5, first.W_V, raw));
        QVERIFY(agreesWith("W_K", 20, later.W_K, ofLater));
        QVERIFY(agreesWith("W_O", 20, later.W_O.transpose(), W_U.transpose()));
        QVERIFY(agreesWith("W_Q_pinv", 5, first.W_Q, inverse(raw)));
        QVERIFY(agreesWith("W_Q_pinv", 20, later.W_Q, inverse(ofLater)));
        QVERIFY(agreesWith("W_O_pinv", 5, first.W_O.transpose(), inverse(W_U.transpose())));
        QVERIFY(agreesWith("W_gate", 5, circuits.weights().mlp<double>(1).W_gate, ofLater));
    }

    // Row k of W_O writes the direction that column k of W_V reads: such pairs share all tokens, others a chance number.
    void overlapOfAPlantedHead()
    {
        test::ToyOptions options = test::bareAttention();
        options.dModel = 40;
        options.dVocab = 300;
        ChangedToy toy(options);
        toy.set("unembed.W_U", 0, toy.matrix("embed.W_E").transpose());
        toy.set("blocks.0.attn.W_O", 1, toy.matrix("blocks.0.attn.W_V", 1).transpose());
        const Circuits circuits = toy.circuits();
        const auto results = test::analysed(circuits, {"weights_in_vocabulary"}, vocabularyOptions());
        QCOMPARE(vocabularyNumbers(results, "overlap")[1], 1.0);
        QVERIFY(vocabularyNumbers(results, "overlap_null")[1] < 0.3);
        QVERIFY(vocabularyNumbers(results, "overlap")[0] < 0.3);
        // Another head, counted by hand: the first 30 of 300 tokens, 5 columns.
        const Matrix<double> E = toy.matrix("embed.W_E");
        const Matrix<double> read = E * toy.matrix("blocks.0.attn.W_V", 0);
        const Matrix<double> written = E * toy.matrix("blocks.0.attn.W_O", 0).transpose();
        double pairs = 0;
        double shuffled = 0;
        for (int k = 0; k < 5; ++k) {
            for (int l = 0; l < 5; ++l)
                (k == l ? pairs : shuffled) +=
                    jaccardOfLists(rankedIds(read.col(k)), rankedIds(written.col(l)), 30);
        }
        QVERIFY(std::abs(vocabularyNumbers(results, "overlap")[0] - pairs / 5) < 1e-12);
        QVERIFY(std::abs(vocabularyNumbers(results, "overlap_null")[0] - shuffled / 20) < 1e-12);
        const ResultArray& overlap = *results.find("analyses/weights_in_vocabulary/overlap");
        QVERIFY(std::abs(*overlap.nullMean - 0.1 / 1.9) < 1e-12);
    }

    void saysThatColumnsOfHeadsDependOnTheBasis()
    {
        const auto results =
            test::analysed(test::toyCircuits({}), {"weights_in_vocabulary"}, vocabularyOptions());
        const auto warned = [&](const char* array) {
            const auto& attributes =
                results.find(std::string("analyses/weights_in_vocabulary/") + array)->attributes;
            const auto vocabularyNumbers = attributes.find("warning");
            return vocabularyNumbers != attributes.end()
                && std::get<std::string>(vocabularyNumbers->second) == "basis-dependent (gauge)";
        };
        QVERIFY(warned("W_V_ids") && warned("W_O_values") && warned("overlap"));
        QVERIFY(!warned("W_in_ids") && !warned("W_out_values"));
        // … as they do: another basis inside the head, the same circuits, other columns.
        ChangedToy toy(test::bareAttention());
        const auto before =
            test::analysed(toy.circuits(), {"weights_in_vocabulary", "singular_tokens"}, vocabularyOptions());
        const Matrix<double> T = test::orthonormalColumns(5, 5, 3);
        toy.set("blocks.0.attn.W_V", 0, toy.matrix("blocks.0.attn.W_V", 0) * T);
        toy.set("blocks.0.attn.W_O", 0, T.transpose() * toy.matrix("blocks.0.attn.W_O", 0));
        const auto after =
            test::analysed(toy.circuits(), {"weights_in_vocabulary", "singular_tokens"}, vocabularyOptions());
        QVERIFY(vocabularyNumbers(after, "W_V_ids") != vocabularyNumbers(before, "W_V_ids"));
        QCOMPARE(test::numbers(after, "analyses/singular_tokens/ov_in_ids"),
                 test::numbers(before, "analyses/singular_tokens/ov_in_ids"));
    }

    // The pictures of these analyses exist, and every array is described.
    void picturesFindTheirArrays_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"symmetry", "singular_tokens", "degeneracy", "bands",
                                 "weights_in_vocabulary", "conditioning", "groups", "neurons"})
            QTest::newRow(name) << name;
    }
    void picturesFindTheirArrays()
    {
        QFETCH(QString, name);
        test::ToyOptions options;
        if (name == "groups")
            options.nHeads = 6, options.nKvHeads = 2;
        if (name == "weights_in_vocabulary" || name == "neurons")
            options.gatedMlp = true; // those of gates too
        const Circuits circuits = test::toyCircuits(options);
        const auto results = test::analysed(circuits, {name.toStdString()});
        const Analysis* row = findAnalysis(name.toStdString());
        QVERIFY(row && !row->pictures.empty() && !row->citation.empty());
        for (const Picture& picture : row->pictures) {
            for (const std::string& path : picture.arrays)
                QVERIFY2(results.find(path), path.c_str());
        }
        for (const ResultArray& array : results.arrays) {
            std::size_t size = 1;
            for (const std::size_t dimension : array.shape)
                size *= dimension;
            QVERIFY2(size == test::numbers(results, array.path).size()
                         && array.axes.size() == array.shape.size(),
                     array.path.c_str());
            QVERIFY2(!array.definition.empty() && !array.title.empty(), array.path.c_str());
            QVERIFY2(array.path.rfind("analyses/" + name.toStdString() + "/", 0) == 0, array.path.c_str());
        }
        const AnalysisCost cost = row->cost(circuits.config(), {});
        QVERIFY(cost.flops > 0 && cost.bytes > 0);
    }

    void otherHeadsAndUnusedTokensAreLeftOut()
    {
        AnalysisOptions options = vocabularyOptions();
        options.tableSize = 11;
        options.heads = {{1, 0}};
        options.unusedTokens.assign(11, false);
        options.unusedTokens[7] = true;
        const auto results = test::analysed(test::toyCircuits({}), {"weights_in_vocabulary"}, options);
        QCOMPARE(vocabularyNumbers(results, "W_Q_ids")[0], -1.0);
        QCOMPARE(vocabularyNumbers(results, "W_in_ids")[0], -1.0);
        const auto ids = vocabularyNumbers(results, "W_Q_ids");
        QVERIFY(ids[std::size_t(3) * 5 * 11] >= 0);
        QCOMPARE(std::count(ids.begin(), ids.end(), 7.0), 0);
        QVERIFY(std::isnan(vocabularyNumbers(results, "overlap")[0])
                && !std::isnan(vocabularyNumbers(results, "overlap")[3]));
    }
};

HEADWISE_TEST(WeightsInVocabularyTest)
#include "weights_in_vocabulary_test.moc"
