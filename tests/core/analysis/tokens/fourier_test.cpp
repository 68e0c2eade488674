#include "core/analysis/inputs/token_cycle.h"
#include "core/runs/plan.h"

#include "tests/support/planted_tokens.h"
#include "tests/support/program.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <stop_token>

using namespace headwise;
using test::PlantedModel;

namespace {

const std::string fourierPath = "analyses/fourier/";

std::vector<double> fourierNumbers(const ResultSet& results, const std::string& name)
{
    return test::numbers(results, fourierPath + name);
}

std::complex<double> turned(double turns)
{
    return std::polar(1.0, -2 * std::numbers::pi * turns);
}

/// Returns the share of each number of turns, 0 to ⌊N/2⌋, by sums of complex exponentials over the rows less their mean.
std::vector<double> denseShares(const Matrix<double>& rows)
{
    const auto N = rows.rows();
    const Matrix<double> centred = rows.rowwise() - rows.colwise().mean();
    std::vector<double> power(static_cast<std::size_t>(N / 2 + 1), 0.0);
    for (Eigen::Index f = 0; f < N; ++f) {
        Eigen::VectorXcd sum = Eigen::VectorXcd::Zero(rows.cols());
        for (Eigen::Index t = 0; t < N; ++t)
            sum += turned(static_cast<double>(f * t) / static_cast<double>(N)) * centred.row(t).transpose();
        power[static_cast<std::size_t>(std::min(f, N - f))] += sum.squaredNorm();
    }
    const double all = std::accumulate(power.begin(), power.end(), 0.0);
    for (double& one : power)
        one /= all;
    return power;
}

/// Returns the share of f turns of the rows with g of the columns, [F · F], from the two-dimensional transform.
std::vector<double> densePairs(Matrix<double> M)
{
    M.rowwise() -= M.colwise().mean().eval();
    M.colwise() -= M.rowwise().mean().eval();
    const auto N = M.rows();
    const auto F = static_cast<std::size_t>(N / 2 + 1);
    Eigen::MatrixXcd turns(N, N);
    for (Eigen::Index f = 0; f < N; ++f)
        for (Eigen::Index t = 0; t < N; ++t)
            turns(f, t) = turned(static_cast<double>(f * t) / static_cast<double>(N));
    const Eigen::MatrixXcd transformed = turns * M * turns.transpose();
    std::vector<double> power(F * F, 0.0);
    for (Eigen::Index f = 0; f < N; ++f)
        for (Eigen::Index g = 0; g < N; ++g)
            power[static_cast<std::size_t>(std::min(f, N - f)) * F
                  + static_cast<std::size_t>(std::min(g, N - g))] += std::norm(transformed(f, g));
    for (double& one : power)
        one /= transformed.squaredNorm();
    return power;
}

bool areClose(const std::vector<double>& found, const std::vector<double>& expected, double tolerance = 1e-9)
{
    if (found.size() != expected.size())
        return false;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (!(std::abs(found[i] - expected[i]) <= tolerance))
            return false;
    return true;
}

/// Returns the numbers of one head of an array [layer, head, …].
std::vector<double> ofFourierHead(const Circuits& circuits, const ResultSet& results, const std::string& name,
                                  HeadId head)
{
    const auto all = fourierNumbers(results, name);
    const auto heads = circuits.config().nLayers * circuits.config().nHeads;
    const auto size = all.size() / static_cast<std::size_t>(heads);
    const auto first = all.begin()
        + static_cast<std::ptrdiff_t>(size)
            * (static_cast<std::ptrdiff_t>(head.layer) * circuits.config().nHeads + head.head);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
}

ResultSet fourierOf(const Circuits& circuits, const std::vector<int>& cycle, std::uint64_t seed = 0)
{
    AnalysisOptions options = test::inDouble();
    options.inputs.cycle = cycle;
    options.inputs.seed = seed;
    return test::analysed(circuits, {"fourier"}, options);
}

std::vector<int> firstIds(int count)
{
    std::vector<int> ids(static_cast<std::size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

/// Rows cos and sin of f turns per cycle of N tokens, [N, 2 · frequencies], and zeros for `more` tokens after them.
Matrix<double> circles(int N, const std::vector<int>& frequencies, int more)
{
    Matrix<double> rows = Matrix<double>::Zero(N + more, 2 * static_cast<Eigen::Index>(frequencies.size()));
    for (std::size_t i = 0; i < frequencies.size(); ++i)
        for (int t = 0; t < N; ++t) {
            const double angle = 2 * std::numbers::pi * frequencies[i] * t / N;
            rows(t, 2 * static_cast<Eigen::Index>(i)) = std::cos(angle);
            rows(t, 2 * static_cast<Eigen::Index>(i) + 1) = std::sin(angle);
        }
    return rows;
}

} // namespace

/// Spectra over a cycle of tokens.
class FourierTest : public QObject {
    Q_OBJECT

private slots:
    // Modular addition as it is learned: tokens on circles of 3 and 7 turns, the second of half the size; head 0 moves the
    // first circle, head 1 the second; queries of head 0 meet keys of the same frequency, those of head 1 other ones.
    void aPlantedModularAddition()
    {
        constexpr int N = 23, d = 8, r = 2;
        test::ToyOptions sizes = test::plantedSizes(d, r, N + 1);
        sizes.nLayers = 1;
        PlantedModel model(sizes);
        Matrix<double> E = Matrix<double>::Zero(N + 1, d);
        E.leftCols(4) = circles(N, {3, 7}, 1);
        E.middleCols(2, 2) /= 2;
        E(N, 7) = 5; // the equals sign, far from all
        model.set("embed.W_E", E);
        model.set("unembed.W_U", E.transpose());
        const Matrix<double> first = Matrix<double>::Identity(d, d).leftCols(2),
                             second = Matrix<double>::Identity(d, d).middleCols(2, 2);
        for (const int head : {0, 1}) {
            const Matrix<double>& own = head == 0 ? first : second;
            model.set("W_V", {0, head}, own);
            model.set("W_O", {0, head}, own.transpose());
            model.set("W_Q", {0, head}, own);
            model.set("W_K", {0, head}, first);
        }
        const Circuits circuits = model.circuits();
        const ResultSet results = fourierOf(circuits, firstIds(N));
        const auto shares = fourierNumbers(results, "embedding_shares");
        QCOMPARE(shares.size(), std::size_t{12});
        QVERIFY(std::abs(shares[3] - 0.8) < 1e-12 && std::abs(shares[7] - 0.2) < 1e-12); // 1 : ¼
        QVERIFY(fourierNumbers(results, "embedding_chance")[0] == 1.0 / 201);
        for (const char* side : {"ov", "full_ov_source", "full_ov_output", "qk_query", "full_qk_query"}) {
            for (const int head : {0, 1}) {
                const std::string name = side;
                const auto found = ofFourierHead(circuits, results, name + "_frequencies", {0, head});
                QVERIFY2(found[0] == (head == 0 ? 3 : 7), side);
                QVERIFY2(std::abs(ofFourierHead(circuits, results, name + "_largest", {0, head})[0] - 1)
                             < 1e-12,
                         side);
                QVERIFY2(ofFourierHead(circuits, results, name + "_chance", {0, head})[0] == 1.0 / 201, side);
            }
        }
        QCOMPARE(ofFourierHead(circuits, results, "qk_key_frequencies", {0, 1})[0], 3.0);
        const auto coupling = fourierNumbers(results, "full_qk_coupling");
        QVERIFY(std::abs(coupling[0] - 1) < 1e-12 && coupling[1] < 1e-12);
        const auto pairs = ofFourierHead(circuits, results, "full_qk_pairs", {0, 1});
        QVERIFY(std::abs(pairs[7 * 12 + 3] - 1) < 1e-12);
        // Among all ids the equals sign is one more place of the cycle, and no frequency is left alone.
        const ResultSet ofAll = fourierOf(circuits, {});
        QVERIFY(fourierNumbers(ofAll, "embedding_largest")[0] < 0.5);
    }

    // The same tokens under other ids, in any order, have the same spectra.
    void aCycleIsAnyListOfIds()
    {
        constexpr int N = 10;
        PlantedModel model(test::plantedSizes(6, 2, 31));
        Matrix<double> E = test::evenNumbers(31, 6, 3);
        const Matrix<double> circle = circles(N, {4}, 0);
        std::vector<int> ids;
        for (int t = 0; t < N; ++t) {
            ids.push_back((7 * t + 5) % 31);
            E.row(ids.back()).setZero();
            E.row(ids.back()).head(2) = circle.row(t);
        }
        model.set("embed.W_E", E);
        const ResultSet results = fourierOf(model.circuits(), ids);
        QVERIFY(std::abs(fourierNumbers(results, "embedding_shares")[4] - 1) < 1e-12);
        std::ranges::sort(ids);
        QVERIFY(fourierNumbers(fourierOf(model.circuits(), ids), "embedding_largest")[0] < 0.9);
    }

    void everyNumberIsThatOfTheDenseTransform_data()
    {
        QTest::addColumn<int>("length");
        QTest::newRow("odd") << 9;
        QTest::newRow("even") << 8;
    }
    void everyNumberIsThatOfTheDenseTransform()
    {
        QFETCH(int, length);
        test::ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        std::vector<int> cycle{7, 2, 9, 4, 1, 10, 3, 8, 0};
        cycle.resize(static_cast<std::size_t>(length));
        const ResultSet results = fourierOf(circuits, cycle);
        const ModelConfig& config = circuits.config();
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab)(cycle, Eigen::all);
        const Matrix<double> U =
            circuits.weights().W_U<double>(0, config.dVocabOut)(Eigen::all, cycle).transpose();
        QVERIFY(areClose(fourierNumbers(results, "embedding_shares"), denseShares(E)));
        QVERIFY(areClose(fourierNumbers(results, "unembedding_shares"), denseShares(U)));
        const auto centred = [](const Matrix<double>& rows) -> Matrix<double> {
            return rows.rowwise() - rows.colwise().mean();
        };
        for (int i = 0; i < config.nLayers * config.nHeads; ++i) {
            const HeadId head{i / config.nHeads, i % config.nHeads};
            const auto w = circuits.weights().head<double>(head);
            const Matrix<double> qk = w.W_Q * w.W_K.transpose(), ov = w.W_V * w.W_O;
            const auto isLike = [&](const char* side, const Matrix<double>& rows) {
                return areClose(ofFourierHead(circuits, results, std::string(side) + "_shares", head),
                                denseShares(rows));
            };
            QVERIFY(isLike("qk_query", E * qk) && isLike("qk_key", E * qk.transpose())
                    && isLike("ov", E * ov));
            QVERIFY(isLike("full_qk_query", E * qk * centred(E).transpose()));
            QVERIFY(isLike("full_qk_key", E * qk.transpose() * centred(E).transpose()));
            QVERIFY(isLike("full_ov_source", E * ov * centred(U).transpose()));
            QVERIFY(isLike("full_ov_output", U * ov.transpose() * centred(E).transpose()));
            for (const bool isQk : {true, false}) {
                const std::string name = isQk ? "full_qk" : "full_ov";
                const auto pairs = densePairs(isQk ? E * qk * E.transpose() : E * ov * U.transpose());
                QVERIFY(areClose(ofFourierHead(circuits, results, name + "_pairs", head), pairs));
                double same = 0;
                const auto F = static_cast<std::size_t>(length / 2 + 1);
                for (std::size_t f = 0; f < F; ++f)
                    same += pairs[f * F + f];
                QVERIFY(areClose(ofFourierHead(circuits, results, name + "_coupling", head), {same}));
            }
            const auto explained = ofFourierHead(circuits, results, "ov_explained", head);
            auto sorted = denseShares(E * ov);
            std::ranges::sort(sorted, std::greater<>());
            QCOMPARE(explained.size(), static_cast<std::size_t>(length / 2));
            QVERIFY(std::abs(explained[0] - sorted[0]) < 1e-9);
            QVERIFY(std::abs(explained[1] - sorted[0] - sorted[1]) < 1e-9);
            QVERIFY(std::abs(explained.back() - 1) < 1e-9);
        }
    }

    // Tokens in no order: the chance is even, and shuffled ids explain as much as the ids themselves.
    void idsWithoutOrderAreAtTheNull()
    {
        constexpr int N = 31;
        double chance = 0, explained = 0, null = 0, coupling = 0, couplingNull = 0;
        int small = 0, count = 0;
        for (unsigned seed = 1; seed <= 12; ++seed) {
            test::ToyOptions toy;
            toy.dVocab = N;
            toy.seed = seed;
            const Circuits circuits = test::toyCircuits(toy);
            const ResultSet results = fourierOf(circuits, firstIds(N), seed);
            for (const char* side : {"ov", "full_qk_query", "full_ov_output"}) {
                const std::string name = side;
                for (const double one : fourierNumbers(results, name + "_chance")) {
                    chance += one;
                    small += one < 0.05 ? 1 : 0;
                    ++count;
                }
                for (const double one : fourierNumbers(results, name + "_largest"))
                    explained += one;
                const auto shuffled = fourierNumbers(results, name + "_explained_null");
                for (std::size_t i = 0; i < shuffled.size(); i += 10)
                    null += shuffled[i];
            }
            for (const double one : fourierNumbers(results, "full_ov_coupling"))
                coupling += one;
            for (const double one : fourierNumbers(results, "full_ov_coupling_null"))
                couplingNull += one;
            const ResultArray* shares = results.find(fourierPath + "ov_shares");
            QCOMPARE(*shares->nullMean, 2.0 / (N - 1));
        }
        QCOMPARE(count, 216);
        QVERIFY2(std::abs(chance / count - 0.5) < 0.1, qPrintable(QString::number(chance / count)));
        QVERIFY2(small < count / 8, qPrintable(QString::number(small)));
        QVERIFY2(std::abs(explained / null - 1) < 0.1, qPrintable(QString::number(explained / null)));
        QVERIFY2(std::abs(coupling / couplingNull - 1) < 0.15,
                 qPrintable(QString::number(coupling / couplingNull)));
    }

    // A head that copies joins equal frequencies whatever the order of the ids; that is no sign of a cycle.
    void copyingCouplesFrequenciesInAnyOrder()
    {
        constexpr int N = 12;
        PlantedModel model(test::plantedSizes(N, N, N));
        const Matrix<double> one = Matrix<double>::Identity(N, N);
        model.set("embed.W_E", one);
        model.set("unembed.W_U", one);
        model.set("W_V", {0, 0}, one);
        model.set("W_O", {0, 0}, one);
        model.set("W_O", {0, 1}, Matrix<double>::Zero(N, N));
        const ResultSet results = fourierOf(model.circuits(), {});
        QVERIFY(std::abs(fourierNumbers(results, "full_ov_coupling")[0] - 1) < 1e-12);
        QVERIFY(std::abs(fourierNumbers(results, "full_ov_coupling_null")[0] - 1) < 1e-12);
        QCOMPARE(fourierNumbers(results, "ov_chance")[0], 1.0); // every order has the same spectrum
        for (const char* name : {"ov_largest", "ov_chance", "full_ov_coupling", "full_ov_coupling_null"})
            QVERIFY2(std::isnan(fourierNumbers(results, name)[1]), name); // a zero head
    }

    // The trained model adds modulo 113 with a few frequencies, which its heads share out among themselves.
    void theTrainedModelUsesFewFrequencies()
    {
        const Circuits circuits = test::circuitsOf(test::testData("models/modadd-1l"));
        const ResultSet results = fourierOf(circuits, firstIds(113));
        const Matrix<double> E = circuits.weights().W_E<double>(0, 113);
        QVERIFY(areClose(fourierNumbers(results, "embedding_shares"), denseShares(E), 1e-6));
        const auto w = circuits.weights().head<double>({0, 2});
        QVERIFY(areClose(ofFourierHead(circuits, results, "ov_shares", {0, 2}),
                         denseShares(E * w.W_V * w.W_O), 1e-6));
        const auto strongest = [&](const std::string& side, int head) {
            return ofFourierHead(circuits, results, side + "_frequencies", {0, head})[0];
        };
        const auto listed = fourierNumbers(results, "embedding_frequencies");
        QCOMPARE(std::vector<double>(listed.begin(), listed.begin() + 6),
                 (std::vector<double>{15, 18, 1, 8, 56, 36}));
        QVERIFY(fourierNumbers(results, "embedding_explained")[5] > 0.94);
        QVERIFY(fourierNumbers(results, "embedding_explained_null")[5] < 0.17);
        QCOMPARE(fourierNumbers(results, "embedding_chance")[0], 1.0 / 201);
        const auto outputs = fourierNumbers(results, "unembedding_frequencies");
        QCOMPARE(std::vector<double>(outputs.begin(), outputs.begin() + 5),
                 (std::vector<double>{18, 15, 1, 8, 56}));
        for (const int head : {0, 1, 2, 3}) {
            const double own = head == 0 || head == 3 ? 1 : 15;
            QCOMPARE(strongest("ov", head), own);
            QCOMPARE(strongest("qk_key", head), own);
            QVERIFY(ofFourierHead(circuits, results, "qk_key_largest", {0, head})[0] > 0.95);
            QCOMPARE(ofFourierHead(circuits, results, "qk_key_chance", {0, head})[0], 1.0 / 201);
        }
    }

    void wrongCyclesAreRefused()
    {
        QVERIFY(parseTokenCycle("0-3").value() == (std::vector<int>{0, 1, 2, 3}));
        QVERIFY(parseTokenCycle("9,2-4, 7").value() == (std::vector<int>{9, 2, 3, 4, 7}));
        QCOMPARE(tokenCycleText({9, 2, 3, 4, 7, 8}), std::string("9,2-4,7-8"));
        for (const char* wrong :
             {"", "0-2", "1,2,3,2", "5-1", "x", "1,,2,3,4", "0-", "-3", "0-4096", "0-99999999999", "0-3;4"})
            QVERIFY2(test::failsWith(parseTokenCycle(wrong), ErrorCode::InvalidArgument, "as in 0-112"),
                     wrong);
        const Analysis& fourier = *findAnalysis("fourier");
        ModelConfig config = test::toyCircuits({}).config();
        AnalysisOptions options;
        QVERIFY(whyLeftOut(fourier, config, options).empty());
        options.inputs.cycle = {0, 1, 2, 99};
        QVERIFY(whyLeftOut(fourier, config, options).find("id 99") != std::string::npos);
        options.inputs.cycle.clear();
        config.dVocab = config.dVocabOut = 50257;
        QVERIFY(whyLeftOut(fourier, config, options).find("--cycle") != std::string::npos);
    }

    void itCanBeCancelled()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisContext context{circuits, test::tokensOf(circuits), {}};
        std::stop_source source;
        source.request_stop();
        const auto run = findAnalysis("fourier")->run(context, Task{source.get_token(), {}, 1});
        QVERIFY(!run && run.error().code == ErrorCode::Cancelled);
    }
};

HEADWISE_TEST(FourierTest)
#include "fourier_test.moc"
