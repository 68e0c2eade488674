#include "core/model/merges.h"

#include "core/model/architecture.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

#include <random>

using namespace headwise;

namespace {

ModelConfig pythia6_9b()
{
    ModelConfig c;
    c.nLayers = 32, c.nHeads = c.nKvHeads = 32, c.dModel = 4096, c.dHead = 128, c.dMlp = 16384;
    c.dVocab = c.dVocabOut = 50432, c.nCtx = 2048;
    c.parallelBlocks = true;
    return c;
}

ModelConfig llama2_7b()
{
    ModelConfig c;
    c.nLayers = 32, c.nHeads = c.nKvHeads = 32, c.dModel = 4096, c.dHead = 128, c.dMlp = 11008;
    c.dVocab = c.dVocabOut = 32000, c.nCtx = 4096;
    c.gatedMlp = true;
    return c;
}

ModelConfig mistral7b()
{
    ModelConfig c = llama2_7b();
    c.nKvHeads = 8, c.dMlp = 14336;
    return c;
}

ModelConfig gpt2Small()
{
    ModelConfig c;
    c.nLayers = 12, c.nHeads = c.nKvHeads = 12, c.dModel = 768, c.dHead = 64, c.dMlp = 3072;
    c.dVocab = c.dVocabOut = 50257, c.nCtx = 1024;
    c.tiedEmbeddings = true;
    return c;
}

} // namespace

class MergesTest : public QObject {
    Q_OBJECT

private slots:
    void countsAsThePaperDoes()
    {
        // Graef's table: 6.855 → 5.781 and 7.241 → 6.168 billion weights; 16 %, 1.19× and 15 %, 1.17×.
        const Merge pythia = mergesOf(pythia6_9b())[0];
        QCOMPARE(pythia.weightsTotal, std::int64_t{6'855'589'888});
        QCOMPARE(pythia.weightsRemoved, std::int64_t{2} * 4096 * 4096 * 32);
        QCOMPARE(qRound(pythia.saving * 100), 16);
        QCOMPARE(qRound(pythia.speedup * 100), 119);
        QVERIFY(pythia.possible && !pythia.equivalent);
        const Merge mistral = mergesOf(mistral7b())[0];
        QCOMPARE(mistral.weightsTotal, std::int64_t{7'241'465'856});
        QCOMPARE(qRound(mistral.saving * 100), 15);
        QCOMPARE(qRound(mistral.speedup * 100), 117);
        QVERIFY(mistral.possible && mistral.equivalent);
        const Merge llama = mergesOf(llama2_7b())[2];
        QCOMPARE(qRound(static_cast<double>(llama.weightsTotal) / 1e6), 6738);
        QCOMPARE(qRound(llama.saving * 1000), 159);
        QCOMPARE(qRound(llama.speedup * 100), 119);
        // 84.93 M in the blocks and 38.60 M once for the tied embeddings; no W_pos.
        const Merge gpt2 = mergesOf(gpt2Small())[1];
        QCOMPARE(gpt2.weightsTotal, std::int64_t{12 * 12 * 768 * 768 + 50257 * 768});
        QCOMPARE(gpt2.weightsRemoved, std::int64_t{14'155'776});
        QCOMPARE(qRound(gpt2.speedup * 100), 113);
    }

    void needsASquareMatrixToInvert()
    {
        const auto merges = mergesOf(mistral7b());
        QVERIFY(merges[0].possible && !merges[1].possible && !merges[2].possible);
        QCOMPARE(merges[1].weightsRemoved, std::int64_t{0});
        QCOMPARE(merges[1].speedup, 1.0);
        QVERIFY(merges[2].reason.find("8 key/value heads of 128") != std::string::npos);
        ModelConfig wide = gpt2Small();
        wide.dHead = 128;
        for (const Merge& merge : mergesOf(wide))
            QVERIFY(!merge.possible && merge.saving == 0);
    }

    void saysWhatTheModelItselfHas()
    {
        ModelConfig c = gpt2Small();
        QVERIFY(mergesOf(c)[0].reason.find("skip connections and normalisation") != std::string::npos);
        c.norm = NormKind::None;
        QVERIFY(mergesOf(c)[0].reason.find("skip connections,") != std::string::npos);
        QVERIFY(mergesOf(c)[0].equivalent);
        c.attentionOnly = true;
        QVERIFY(!mergesOf(c)[0].equivalent);
    }

    void estimatesConditionNumbersAsASvdFindsThem()
    {
        std::mt19937 engine(7);
        std::normal_distribution<double> normal;
        for (const double wanted : {1.0, 30.0, 1e4, 1e6, 1e8}) {
            const Eigen::Index n = 40;
            const auto random = [&] {
                return Matrix<double>::NullaryExpr(n, n, [&] { return normal(engine); }).eval();
            };
            const Matrix<double> U = test::orthonormalBasis(random());
            const Matrix<double> V = test::orthonormalBasis(random());
            Eigen::VectorXd s(n);
            for (Eigen::Index i = 0; i < n; ++i)
                s[i] = std::pow(wanted, -static_cast<double>(i) / static_cast<double>(n - 1));
            const double found = conditionNumber(U * s.asDiagonal() * V.transpose());
            QVERIFY2(std::abs(found / wanted - 1) < 0.05, QByteArray::number(found));
        }
        QVERIFY(std::isinf(conditionNumber(Matrix<double>::Zero(3, 3))));
        QVERIFY(std::isnan(conditionNumber(Matrix<double>::Constant(3, 3, NAN))));
    }

    void asksTheWeightsWhetherAnInverseExists()
    {
        const QTemporaryDir folder;
        test::ToyOptions options = test::gpt2Options();
        options.float64 = true;
        test::ToyModel toy = test::writeToyModel(folder.path().toStdString(), options);
        const auto merges = [&] {
            const auto weights = loadModel({toy.folder, std::nullopt, {}}, Task{});
            return *mergesOf(**weights, Task{});
        };
        for (const Merge& merge : merges())
            QVERIFY(merge.possible);
        // Two columns of K in layer 1 are equal up to 10⁻⁹: the smallest singular value falls below 10⁻⁷ σ₁.
        test::StoredTensor& fused = toy.tensors["transformer.h.1.attn.c_attn.weight"];
        for (std::size_t row = 0; row < 15; ++row)
            fused.values[row * 45 + 15 + 3] = fused.values[row * 45 + 15 + 9] + (row == 4 ? 1e-9 : 0);
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, true);
        const auto damaged = merges();
        QVERIFY(damaged[0].possible && !damaged[1].possible && damaged[2].possible);
        QVERIFY(damaged[1].reason.find("K of layer 1") != std::string::npos);
    }

    void countsFlopsTokenByToken()
    {
        ModelConfig c = gpt2Small();
        c.nLayers = 2, c.nCtx = 5;
        // Computed a second way: every token attends to itself and all before it.
        const double perLayer = 2.0 * (4.0 * 768 * 768 + 2.0 * 768 * 3072);
        double sum = 0, last = 0;
        for (int token = 0; token < c.nCtx; ++token) {
            last = 2 * (perLayer + 2 * 2.0 * (token + 1) * 768) + 2.0 * 768 * 50257;
            sum += last;
        }
        QCOMPARE(countFlops(c).perToken, last);
        QCOMPARE(countFlops(c).perSequence, sum);
        c.bidirectional = true; // every token attends to all
        QCOMPARE(countFlops(c).perToken, last);
        QCOMPARE(countFlops(c).perSequence, c.nCtx * last);
    }
};

HEADWISE_TEST(MergesTest)
#include "merges_test.moc"
