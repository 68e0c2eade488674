#include "core/circuits/singular_search.h"
#include "core/runs/plan.h"

#include "tests/core/analysis/spectra/dense_directions.h"
#include "tests/support/changed_toy.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

using namespace headwise;
using test::DenseDirections;
using test::denseDirections;
using test::ranked;

namespace {

constexpr const char* directionSearchFolder = "analyses/direction_search/";

AnalysisOptions asking(int token)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.inputs.token = token;
    return options;
}

std::vector<double> directionSearchNumbers(const ResultSet& results, const char* name)
{
    return test::numbers(results, std::string(directionSearchFolder) + name);
}

/// How many directions of the hit's circuit have nearly its σ, from neighbour to neighbour.
int sharers(const Circuits& circuits, const DirectionHit& hit)
{
    const auto svd = singularDirections(circuits, hit.circuit, hit.head);
    const auto isTogether = [&](Eigen::Index k) {
        return k > 0 && k < svd->rank && svd->S(k - 1) - svd->S(k) < 0.01 * svd->S(k - 1);
    };
    int count = 1;
    for (Eigen::Index k = hit.direction; isTogether(k); --k)
        ++count;
    for (Eigen::Index k = hit.direction + 1; isTogether(k); ++k)
        ++count;
    return count;
}

/// The expected hits, from full rankings of every direction.
std::vector<DirectionHit> bruteForce(const Circuits& circuits, int token, int top)
{
    std::vector<DirectionHit> hits;
    const ModelConfig& config = circuits.config();
    for (int layer = 0; layer < config.nLayers; ++layer) {
        for (int head = 0; head < config.nHeads; ++head) {
            for (const CircuitKind kind : {CircuitKind::Ov, CircuitKind::Qk}) {
                const DenseDirections dense = denseDirections(circuits, kind, {layer, head});
                const double smallest = config.dModel * std::ldexp(1.0, -23) * dense.S(0);
                const auto rank = static_cast<int>((dense.S.array() > smallest).count());
                for (const VectorSide side : {VectorSide::First, VectorSide::Second}) {
                    const Matrix<double>& scores = side == VectorSide::First ? dense.first : dense.second;
                    for (int k = 0; k < rank && token < scores.rows(); ++k) {
                        for (const int sign : {1, -1}) {
                            const std::vector<int> order = ranked(sign * scores.col(k));
                            const auto at = std::find(order.begin(), order.end(), token) - order.begin();
                            if (at < top)
                                hits.push_back({{layer, head},
                                                kind,
                                                side,
                                                k,
                                                static_cast<int>(at),
                                                sign,
                                                scores(token, k),
                                                dense.S(k)});
                        }
                    }
                }
            }
        }
    }
    return hits;
}

auto place(const DirectionHit& hit)
{
    return std::tuple(hit.rank, hit.head, hit.circuit, hit.side, hit.direction, -hit.sign);
}

std::vector<DirectionHit> sortedHits(const Circuits& circuits, int token, int top)
{
    std::vector<DirectionHit> hits = bruteForce(circuits, token, top);
    std::sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return place(a) < place(b); });
    return hits;
}

} // namespace

class DirectionSearchTest : public QObject {
    Q_OBJECT

private slots:
    void searchFindsWhatWholeRankingsShow_data()
    {
        QTest::addColumn<int>("at");
        const auto classes = test::toyClasses();
        for (const std::size_t i : {0, 2, 7, 9, 33})
            QTest::newRow(classes.at(i).first) << static_cast<int>(i);
    }
    void searchFindsWhatWholeRankingsShow()
    {
        QFETCH(int, at);
        const Circuits circuits = test::toyCircuits(test::toyClasses()[static_cast<std::size_t>(at)].second);
        const auto tokens = test::tokensOf(circuits, Embedding::Raw, Precision::F64);
        for (int token = 0; token < circuits.config().dVocab; ++token) {
            const auto found = findInDirections(circuits, *tokens, {.token = token, .top = 3}, Task{});
            QVERIFY(test::isOk(found));
            const std::vector<DirectionHit> expected = sortedHits(circuits, token, 3);
            QCOMPARE(found->size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                QVERIFY(place((*found)[i]) == place(expected[i]));
                QVERIFY(std::abs((*found)[i].score - expected[i].score) < 1e-9);
                QVERIFY(std::abs((*found)[i].sigma - expected[i].sigma) < 1e-9);
                QCOMPARE((*found)[i].blockSize, sharers(circuits, (*found)[i]));
            }
        }
    }

    // More tokens than one block, so that directions are dropped on the way; the last direction of the last head is not lost.
    void searchMeetsEveryToken()
    {
        test::ToyOptions options = test::bareAttention();
        options.dVocab = 3500;
        const Circuits circuits = test::toyCircuits(options, test::noProcessing());
        const auto tokens = test::tokensOf(circuits, Embedding::Raw, Precision::F64);
        const DenseDirections last = denseDirections(circuits, CircuitKind::Qk, {1, 2});
        const int token = ranked(last.second.col(4))[6];
        const auto found = findInDirections(circuits, *tokens, {.token = token}, Task{});
        QVERIFY(test::isOk(found));
        const std::vector<DirectionHit> expected = sortedHits(circuits, token, 20);
        QCOMPARE(found->size(), expected.size());
        bool isThere = false;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QVERIFY(place((*found)[i]) == place(expected[i]));
            isThere |=
                expected[i].head == HeadId{1, 2} && expected[i].direction == 4 && expected[i].rank == 6;
        }
        QVERIFY(isThere);
    }

    void searchKeepsToItsHeads()
    {
        const Circuits circuits = test::toyCircuits({});
        const auto tokens = test::tokensOf(circuits);
        const auto found = findInDirections(circuits, *tokens, {.token = 3, .heads = {{1, 0}}}, Task{});
        QVERIFY(test::isOk(found) && !found->empty());
        for (const DirectionHit& hit : *found)
            QVERIFY((hit.head == HeadId{1, 0}));
    }

    void searchRefusesWhatIsNotThere()
    {
        const Circuits circuits = test::toyCircuits({});
        const auto tokens = test::tokensOf(circuits);
        const auto search = [&](const DirectionSearch& wish, const Task& task = {}) {
            return findInDirections(circuits, *tokens, wish, task);
        };
        QVERIFY(test::failsWith(search({.token = 11}), ErrorCode::InvalidArgument, "no token 11"));
        QVERIFY(test::failsWith(search({.token = -1}), ErrorCode::InvalidArgument, "no token -1"));
        QVERIFY(test::failsWith(search({.token = 1, .top = 0}), ErrorCode::InvalidArgument, "top 0"));
        QVERIFY(test::failsWith(search({.token = 1, .heads = {{2, 0}}}), ErrorCode::InvalidArgument, "2.0"));
        std::vector<bool> unused(11, false);
        unused[5] = true;
        QVERIFY(test::failsWith(search({.token = 5, .unusedTokens = unused}), ErrorCode::InvalidArgument,
                                "Id 5"));
        std::stop_source stop;
        stop.request_stop();
        Task cancelled;
        cancelled.stop = stop.get_token();
        QVERIFY(test::failsWith(search({.token = 1}, cancelled), ErrorCode::Cancelled, ""));
    }

    // W_V W_O = 3 e_1 e_2ᵀ of one head, all others zero: one direction, whose tokens are ranked by a column of W_E, a row of W_U.
    void oneDirectionByHand()
    {
        test::ChangedToy toy(test::bareAttention());
        for (int layer = 0; layer < 2; ++layer) {
            for (int head = 0; head < 3; ++head) {
                toy.set(test::ChangedToy::attn(layer, "W_V"), head, Matrix<double>::Zero(7, 5));
                toy.set(test::ChangedToy::attn(layer, "W_Q"), head, Matrix<double>::Zero(7, 5));
            }
        }
        Matrix<double> read = Matrix<double>::Zero(7, 5), write = Matrix<double>::Zero(5, 7);
        read(1, 3) = 3;
        write(3, 2) = 1;
        toy.set("blocks.1.attn.W_V", 2, read);
        toy.set("blocks.1.attn.W_O", 2, write);
        const auto results = test::analysed(toy.circuits(), {"direction_search"}, asking(6));
        // All 11 tokens are among the first 20 at both ends, of both sides.
        QCOMPARE(directionSearchNumbers(results, "hit_layer"), std::vector<double>(4, 1));
        QCOMPARE(directionSearchNumbers(results, "hit_head"), std::vector<double>(4, 2));
        QCOMPARE(directionSearchNumbers(results, "direction"), std::vector<double>(4, 0));
        const Eigen::VectorXd E = toy.matrix("embed.W_E").col(1);
        const Eigen::VectorXd U = toy.matrix("unembed.W_U").row(2).transpose();
        const double sign = std::abs(E.minCoeff()) > E.maxCoeff() ? -1 : 1;
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(directionSearchNumbers(results, "sigma")[i], 3.0);
            const bool isOut = directionSearchNumbers(results, "side")[i] == 1;
            const double end = directionSearchNumbers(results, "end")[i];
            const Eigen::VectorXd& column = isOut ? U : E;
            const auto order = ranked(end * sign * column);
            const auto at = std::find(order.begin(), order.end(), 6) - order.begin();
            QCOMPARE(directionSearchNumbers(results, "rank")[i], static_cast<double>(at));
            QVERIFY(std::abs(directionSearchNumbers(results, "score")[i] - sign * column(6)) < 1e-14);
            const Eigen::VectorXd token = isOut ? Eigen::VectorXd(toy.matrix("unembed.W_U").col(6))
                                                : Eigen::VectorXd(toy.matrix("embed.W_E").row(6).transpose());
            QVERIFY(std::abs(directionSearchNumbers(results, "score_null")[i] - token.norm() / std::sqrt(7.0))
                    < 1e-14);
        }
        const auto labels = std::get<std::vector<std::string>>(
            results.find("analyses/direction_search/score")->attributes.at("labels"));
        QCOMPARE(
            labels[0],
            std::string(directionSearchNumbers(results, "side")[0] == 1 ? "written by OV" : "read by OV"));
        QCOMPARE(directionSearchNumbers(results, "hits"), (std::vector<double>{0, 0, 0, 0, 0, 4}));
    }

    void listsWhatTheSearchFinds()
    {
        test::ToyOptions options;
        options.dVocab = 120;
        const Circuits circuits = test::toyCircuits(options);
        AnalysisOptions wish = asking(17);
        wish.heads = {{0, 1}, {1, 2}};
        const auto results = test::analysed(circuits, {"direction_search"}, wish);
        std::vector<DirectionHit> expected = sortedHits(circuits, 17, 20);
        std::erase_if(expected, [](const auto& hit) {
            return hit.head != HeadId{0, 1} && hit.head != HeadId{1, 2};
        });
        QVERIFY(expected.size() > 4);
        QCOMPARE(directionSearchNumbers(results, "rank").size(), expected.size());
        std::vector<double> perHead(6, std::numeric_limits<double>::quiet_NaN());
        perHead[1] = perHead[5] = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const DirectionHit& hit = expected[i];
            QCOMPARE(directionSearchNumbers(results, "hit_layer")[i], double(hit.head.layer));
            QCOMPARE(directionSearchNumbers(results, "hit_head")[i], double(hit.head.head));
            QCOMPARE(directionSearchNumbers(results, "direction")[i], double(hit.direction));
            QCOMPARE(directionSearchNumbers(results, "rank")[i], double(hit.rank));
            QCOMPARE(directionSearchNumbers(results, "end")[i], double(hit.sign));
            QVERIFY(std::abs(directionSearchNumbers(results, "score")[i] - hit.score) < 1e-9);
            QVERIFY(std::abs(directionSearchNumbers(results, "sigma")[i] - hit.sigma) < 1e-9);
            QCOMPARE(directionSearchNumbers(results, "block_size")[i], double(sharers(circuits, hit)));
            ++perHead[static_cast<std::size_t>(hit.head.layer * 3 + hit.head.head)];
        }
        const auto hits = directionSearchNumbers(results, "hits");
        for (std::size_t i = 0; i < hits.size(); ++i)
            QVERIFY(hits[i] == perHead[i] || (std::isnan(hits[i]) && std::isnan(perHead[i])));
        // Four sides of five directions with two ends each, 20 tokens of 120 at each end.
        const ResultArray* grid = results.find("analyses/direction_search/hits");
        QVERIFY(std::abs(*grid->nullMean - 40 / 6.0) < 1e-12);
        QVERIFY(std::abs(*grid->nullDeviation - std::sqrt(40 * 5 / 36.0)) < 1e-12);
    }

    void saysWhyItCannotSearch()
    {
        const Circuits circuits = test::toyCircuits({});
        const Analysis* row = findAnalysis("direction_search");
        QVERIFY(row);
        QVERIFY(whyLeftOut(*row, circuits.config(), {}).find("--token") != std::string::npos);
        QVERIFY(whyLeftOut(*row, circuits.config(), asking(11)).find("11") != std::string::npos);
        AnalysisOptions unused = asking(5);
        unused.unusedTokens.assign(11, false);
        unused.unusedTokens[5] = true;
        QVERIFY(whyLeftOut(*row, circuits.config(), unused).find("Id 5 is not a token in use")
                != std::string::npos);
        QVERIFY(whyLeftOut(*row, circuits.config(), asking(5)).empty());
    }
};

HEADWISE_TEST(DirectionSearchTest)
#include "direction_search_test.moc"
