#include "core/circuits/shared_spectra.h"

#include "core/base/parallel.h"
#include "core/runs/estimate.h"
#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/program.h"

using namespace headwise;

namespace {

/// Six query heads over two key heads, with one matrix for both ends.
Circuits tiedAndGrouped()
{
    test::ToyOptions options = test::llamaOptions();
    options.tied = true;
    return test::toyCircuits(options);
}

std::shared_ptr<const TokenSide> gramsAlone(const Circuits& circuits, Precision precision = Precision::F32)
{
    const auto side = tokenSide(circuits, Embedding::Raw, Task{}, precision, TokenParts::GramsAlone);
    if (!side)
        qFatal("%s", test::printed(side.error()).constData());
    return *side;
}

std::vector<HeadId> headsOf(const ModelConfig& config)
{
    std::vector<HeadId> heads;
    for (int layer = 0; layer < config.nLayers; ++layer)
        for (int head = 0; head < config.nHeads; ++head)
            heads.push_back({layer, head});
    return heads;
}

/// The numbers of one circuit by an object that has computed nothing else.
struct Alone {
    std::vector<double> sigma;
    std::vector<std::complex<double>> lambda;

    Alone(const Circuits& circuits, const std::shared_ptr<const TokenSide>& tokens, CircuitKind kind,
          HeadId head)
    {
        SharedSpectra spectra(circuits, tokens, SharedSpectra::Keep::Groups);
        sigma = *spectra.singularValues(kind, HeadFactors(circuits.weights(), head));
        lambda = *spectra.eigenvalues(kind, head);
    }
};

} // namespace

class SharedSpectraTest : public QObject {
    Q_OBJECT

private slots:
    void valuesAreThoseOfTheDenseCircuits()
    {
        const Circuits circuits = tiedAndGrouped();
        const auto tokens = gramsAlone(circuits);
        SharedSpectra spectra(circuits, tokens, SharedSpectra::Keep::All);
        for (const HeadId head : headsOf(circuits.config())) {
            for (const CircuitKind kind : circuitKinds) {
                const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
                const auto sigma = spectra.singularValues(kind, HeadFactors(circuits.weights(), head));
                QVERIFY(sigma);
                const Eigen::VectorXd expected = test::DenseSvd(dense).singularValues();
                for (std::size_t i = 0; i < sigma->size(); ++i) {
                    const double value = static_cast<Eigen::Index>(i) < expected.size()
                        ? expected(static_cast<Eigen::Index>(i))
                        : 0;
                    QVERIFY(std::abs((*sigma)[i] - value) <= 1e-5 * expected(0));
                }
                const auto lambda = spectra.eigenvalues(kind, head);
                QVERIFY(lambda);
                std::complex<double> sum = 0, squares = 0;
                for (const std::complex<double>& one : *lambda) {
                    sum += one;
                    squares += one * one;
                }
                const double size = dense.squaredNorm();
                QVERIFY(std::abs(sum - dense.trace()) < 1e-9 * std::sqrt(size));
                QVERIFY(std::abs(squares - (dense * dense).trace()) < 1e-9 * size);
            }
        }
    }

    void whatIsAtHandChangesNoBit_data()
    {
        QTest::addColumn<bool>("areEigenvaluesFirst");
        QTest::addColumn<int>("threads");
        for (const int threads : {1, 4}) {
            QTest::addRow("singular values first, %d threads", threads) << false << threads;
            QTest::addRow("eigenvalues first, %d threads", threads) << true << threads;
        }
    }
    void whatIsAtHandChangesNoBit()
    {
        QFETCH(const bool, areEigenvaluesFirst);
        QFETCH(const int, threads);
        const Circuits circuits = tiedAndGrouped();
        const auto tokens = gramsAlone(circuits);
        const std::vector<HeadId> heads = headsOf(circuits.config());
        SharedSpectra spectra(circuits, tokens, SharedSpectra::Keep::All);
        const auto ask = [&](bool eigenvalues) {
            return parallelFor(
                static_cast<int>(heads.size()), Task{{}, {}, threads}, "heads", [&](int i) -> Result<Done> {
                    const HeadId head = heads[static_cast<std::size_t>(i)];
                    for (const CircuitKind kind : circuitKinds) {
                        const Alone alone(circuits, tokens, kind, head);
                        const bool isSame = eigenvalues
                            ? *spectra.eigenvalues(kind, head) == alone.lambda
                            : *spectra.singularValues(kind, HeadFactors(circuits.weights(), head))
                                == alone.sigma;
                        if (!isSame)
                            return Error{ErrorCode::Internal, headLabel(head) + " differs"};
                    }
                    return Done{};
                });
        };
        for (const bool eigenvalues : {areEigenvaluesFirst, !areEigenvaluesFirst, areEigenvaluesFirst}) {
            const auto done = ask(eigenvalues);
            QVERIFY2(done, done ? "" : test::printed(done.error()).constData());
        }
    }

    // Heads of both layers together, although layer 0 may read another Gram matrix.
    void severalHeadsAtOnceHaveTheirOwnValues()
    {
        const Circuits circuits = tiedAndGrouped();
        const auto tokens = gramsAlone(circuits);
        std::vector<HeadFactors> heads;
        for (const HeadId head : headsOf(circuits.config()))
            heads.emplace_back(circuits.weights(), head);
        SharedSpectra spectra(circuits, tokens, SharedSpectra::Keep::All);
        spectra.multiply(heads);
        for (const HeadFactors& head : heads) {
            for (const CircuitKind kind : circuitKinds) {
                const Alone alone(circuits, tokens, kind, head.id);
                const auto sigma = spectra.singularValues(kind, head);
                const auto lambda = spectra.eigenvalues(kind, head.id, &head.weights);
                QVERIFY(sigma && lambda);
                QCOMPARE(sigma->size(), alone.sigma.size());
                for (std::size_t i = 0; i < sigma->size(); ++i) {
                    QVERIFY(std::abs((*sigma)[i] - alone.sigma[i]) <= 1e-9 * alone.sigma[0]);
                    QVERIFY(std::abs((*lambda)[i] - alone.lambda[i]) <= 1e-9 * alone.sigma[0]);
                }
            }
        }
    }

    // Three heads a layer and four at once, so that some products serve heads of two layers.
    void aWideModelHasTheValuesOfItsHeadsAlone()
    {
        test::ToyOptions wide;
        wide.dModel = 512;
        wide.dHead = 64;
        const Circuits circuits = test::toyCircuits(wide);
        QCOMPARE(SharedSpectra::headsAtOnce(circuits.config()), 4);
        const auto together = test::analysed(circuits, {"spectra"}, test::inDouble());
        for (const HeadId head : headsOf(circuits.config())) {
            AnalysisOptions one = test::inDouble();
            one.heads = {head};
            const auto alone = test::analysed(circuits, {"spectra"}, one);
            for (const CircuitKind kind : circuitKinds) {
                const std::string path = "spectra/" + std::string(circuitName(kind)) + "/singular_values";
                const auto all = test::numbers(together, path), own = test::numbers(alone, path);
                const auto first =
                    static_cast<std::size_t>(head.layer * circuits.config().nHeads + head.head) * 64;
                QVERIFY(own[first] > 0);
                for (std::size_t i = first; i < first + 64; ++i)
                    QVERIFY(std::abs(all[i] - own[i]) <= 1e-9 * own[first]);
            }
        }
    }

    void gramsComeWithoutTheMatrices()
    {
        const Circuits circuits = tiedAndGrouped();
        for (const Precision precision : {Precision::F32, Precision::F64}) {
            const auto whole = test::tokensOf(circuits, Embedding::Raw, precision);
            const auto alone = gramsAlone(circuits, precision);
            QVERIFY(whole->E.isHeld() && whole->W_U.isHeld() && !alone->E.isHeld() && !alone->W_U.isHeld());
            QCOMPARE(alone->E.count(), whole->E.count());
            QCOMPARE(alone->W_U.count(), whole->W_U.count());
            QVERIFY(alone->EtE == whole->EtE && alone->UUt == whole->UUt && alone->UE == whole->UE);
            for (const CircuitKind kind : circuitKinds) { // a block at a time from the file
                const auto circuit = circuits.circuit<double>(kind, {1, 4}, alone.get());
                QVERIFY(test::isClose(circuit.dense(), test::denseCircuit(circuits, kind, {1, 4}),
                                      precision == Precision::F64 ? 1e-12 : 1e-6));
                QVERIFY(test::isClose(circuits.circuit<float>(kind, {1, 4}, alone.get()).dense(),
                                      circuit.dense(), 1e-5));
            }
        }
    }

    void gramsOfAnUntiedModelAreReadFromTheFile()
    {
        const Circuits untied = test::toyCircuits(test::llamaOptions());
        const auto tokens = gramsAlone(untied), held = test::tokensOf(untied);
        QVERIFY(!tokens->E.isHeld() && !tokens->W_U.isHeld());
        QVERIFY(tokens->EtE == held->EtE && tokens->UUt == held->UUt && tokens->UE == held->UE);
    }

    void oneRunGivesTheNumbersOfSeveral()
    {
        const Circuits circuits = tiedAndGrouped();
        const std::vector<std::string> names{"spectra", "eigenvalues", "copying", "matching"};
        const ResultSet together = test::analysed(circuits, names, test::inDouble());
        std::size_t compared = 0;
        for (const std::string& name : names) {
            const ResultSet alone = test::analysed(circuits, {name}, test::inDouble());
            for (const ResultArray& array : alone.arrays) {
                const ResultArray* const same = together.find(array.path);
                QVERIFY2(same && same->values == array.values, array.path.c_str());
                ++compared;
            }
        }
        QCOMPARE(compared, together.arrays.size());
    }

    void workOfAnotherAnalysisIsNotCountedAgain()
    {
        const ModelConfig config = tiedAndGrouped().config();
        const std::vector<const Analysis*> run{findAnalysis("spectra"), findAnalysis("eigenvalues"),
                                               findAnalysis("matching"), findAnalysis("copying")};
        double alone = 0;
        for (const Analysis* analysis : run) {
            const double one = runCost(*analysis, config, {}).flops;
            const double inRun = runCost(*analysis, config, {}, run).flops;
            QVERIFY(analysis->after.empty() ? inRun == one : inRun < one && inRun > 0);
            alone += one;
        }
        QVERIFY(estimateRun(run, config, {}).flops < alone);
    }
};

HEADWISE_TEST(SharedSpectraTest)
#include "shared_spectra_test.moc"
