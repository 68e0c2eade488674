#include "core/circuits/circuits.h"

#include "core/model/forward.h"
#include "tests/support/analysed.h"
#include "tests/support/family_model.h"
#include "tests/support/program.h"

#include <QTemporaryDir>

#include <algorithm>
#include <barrier>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

using namespace headwise;
using test::ToyOptions;

class CircuitsTest : public QObject {
    Q_OBJECT

private slots:
    void factorsMultiplyToTheirDefinitions()
    {
        for (const ToyOptions& options : {ToyOptions(), test::gpt2Options(), test::llamaOptions()}) {
            const Circuits circuits = test::toyCircuits(options);
            const auto tokens = test::tokensOf(circuits);
            const auto exact = test::tokensOf(circuits, Embedding::Raw, Precision::F64);
            for (const HeadId head : {HeadId{0, 0}, HeadId{1, circuits.config().nHeads - 1}}) {
                for (const CircuitKind kind : circuitKinds) {
                    const Matrix<double> dense = test::denseCircuit(circuits, kind, head);
                    QVERIFY(test::isClose(circuits.circuit<float>(kind, head, tokens.get()).dense(), dense,
                                          1e-5));
                    QVERIFY(test::isClose(circuits.circuit<double>(kind, head, tokens.get()).dense(), dense,
                                          1e-6));
                    QVERIFY(test::isClose(circuits.circuit<double>(kind, head, exact.get()).dense(), dense,
                                          1e-12));
                }
            }
        }
    }

    // Products of four matrices in different orders differ only by rounding, within the stored precision.
    void theOrderOfTheProductsDoesNotMatter()
    {
        const Circuits circuits = test::circuitsOf(test::testData("models/stories260k"));
        const ModelConfig& config = circuits.config();
        const auto rounded = test::tokensOf(circuits),
                   exact = test::tokensOf(circuits, Embedding::Raw, Precision::F64);
        const Matrix<double> E = circuits.weights().W_E<double>(0, config.dVocab);
        const Matrix<double> W_U = circuits.weights().W_U<double>(0, config.dVocabOut);
        const HeadId head{config.nLayers - 1, config.nHeads - 1};
        const auto w = circuits.weights().head<double>(head);
        const Matrix<double> inside = (E * (w.W_V * w.W_O)) * W_U;           // through [d, d]
        const Matrix<double> outside = (((E * w.W_V) * w.W_O) * W_U).eval(); // from the left
        const Matrix<double> scores = E * ((w.W_Q * w.W_K.transpose()) * E.transpose());
        QVERIFY(test::isClose(inside, outside, 1e-13));
        QVERIFY(test::isClose(circuits.fullOv<double>(head, *exact).dense(), inside, 1e-13));
        QVERIFY(test::isClose(circuits.fullQk<double>(head, *exact).dense(), scores, 1e-13));
        const Matrix<float> kept = circuits.fullOv<float>(head, *rounded).dense();
        QVERIFY(test::isClose(kept, inside, 1e-6));
        QVERIFY(!test::isClose(kept, inside, 1e-10)); // it is float32: the bound above is meaningful
    }

    void aGroupedHeadReadsTheKeysOfItsGroup()
    {
        const Circuits circuits =
            test::toyCircuits(test::llamaOptions(), test::noProcessing()); // 6 heads over 2 key/value heads
        const auto& file = circuits.weights().original();
        for (int head = 0; head < 6; ++head) {
            const Matrix<double> W_K = file.read<double>(TensorKind::W_K, 1, head / 3);
            const Matrix<double> W_Q = file.read<double>(TensorKind::W_Q, 1, head);
            QVERIFY(test::isClose(circuits.qk({1, head}).dense(), W_Q * W_K.transpose(), 1e-12));
        }
    }

    void gramProductsAreThoseOfTheWholeMatrices()
    {
        const Circuits circuits = test::circuitsOf(test::testData("models/stories260k"));
        const auto tokens = test::tokensOf(circuits);
        const Matrix<double> E = *tokens->E.whole<double>();
        const Matrix<double> W_U = circuits.weights().W_U<double>(0, 512); // tied: from the file's numbers
        QVERIFY(test::isClose(tokens->EtE, E.transpose() * E, 1e-13));
        QVERIFY(test::isClose(tokens->UUt, W_U * W_U.transpose(), 1e-13));
        QVERIFY(test::isClose(tokens->UE, W_U * E, 1e-13));
        QVERIFY(test::isClose(E, circuits.weights().W_E<double>(0, 512), 1e-7));
    }

    void oneGramOfATiedEmbeddingGivesAll_data()
    {
        QTest::addColumn<bool>("isLlama");
        QTest::addColumn<bool>("isProcessed");
        for (const bool isProcessed : {true, false}) {
            QTest::addRow("GPT-2, %d", isProcessed) << false << isProcessed;
            QTest::addRow("Llama, %d", isProcessed) << true << isProcessed;
        }
    }
    void oneGramOfATiedEmbeddingGivesAll()
    {
        QFETCH(const bool, isLlama);
        QFETCH(const bool, isProcessed);
        test::ToyOptions options = isLlama ? test::llamaOptions() : test::gpt2Options();
        options.tied = true;
        const Circuits circuits =
            test::toyCircuits(options, isProcessed ? ProcessingWish{} : test::noProcessing());
        const ProcessedWeights& weights = circuits.weights();
        QVERIFY(weights.tiedEnds());
        QVERIFY(!weights.rounded(Rounding::BFloat16).tiedEnds());
        const Matrix<double> E = weights.W_E<double>(0, weights.config().dVocab);
        const Matrix<double> W_U = weights.W_U<double>(0, weights.config().dVocab);
        for (const Embedding embedding : {Embedding::Raw, Embedding::Effective, Embedding::Unembed}) {
            const auto tokens = test::tokensOf(circuits, embedding);
            QVERIFY(test::isClose(tokens->UUt, W_U * W_U.transpose(), 1e-7));
            if (embedding == Embedding::Unembed) {
                QVERIFY(test::isClose(tokens->EtE, tokens->UUt, 1e-15));
                QVERIFY(test::isClose(tokens->UE, tokens->UUt, 1e-15));
                continue;
            }
            QVERIFY(test::isClose(tokens->embeddingGramOf(0), E.transpose() * E, 1e-13));
            QVERIFY(test::isClose(tokens->unembedEmbedOf(0), W_U * E, 1e-13));
        }
    }

    void peersShareTheSumsOverTheVocabulary_data()
    {
        QTest::addColumn<bool>("isTied");
        QTest::addColumn<Embedding>("embedding");
        QTest::addRow("tied") << true << Embedding::Raw;
        QTest::addRow("untied") << false << Embedding::Raw;
        QTest::addRow("effective") << true << Embedding::Effective;
    }
    void peersShareTheSumsOverTheVocabulary()
    {
        QFETCH(const bool, isTied);
        QFETCH(const Embedding, embedding);
        test::ToyOptions options = test::llamaOptions();
        options.tied = isTied;
        options.dVocab = 7000; // four blocks of tokens for three processes
        const Circuits circuits = test::toyCircuits(options);
        const auto alone = test::tokensOf(circuits, embedding);
        constexpr int count = 3;
        std::vector<std::vector<double>> offered(count);
        std::barrier meeting(count);
        std::vector<std::shared_ptr<const TokenSide>> sides(count);
        {
            std::vector<std::jthread> processes;
            for (int index = 0; index < count; ++index)
                processes.emplace_back([&, index] {
                    const auto at = static_cast<std::size_t>(index);
                    const auto sum = [&](std::span<double> numbers) -> Result<Done> {
                        offered[at].assign(numbers.begin(), numbers.end());
                        meeting.arrive_and_wait();
                        std::ranges::fill(numbers, 0);
                        for (const auto& part : offered)
                            std::ranges::transform(numbers, part, numbers.begin(), std::plus());
                        meeting.arrive_and_wait();
                        return Done{};
                    };
                    const Peers peers{index, count, sum};
                    Task task;
                    task.peers = &peers;
                    const auto made = tokenSide(circuits, embedding, task);
                    if (made)
                        sides[at] = *made;
                });
        }
        for (const auto& side : sides) {
            QVERIFY(side);
            QVERIFY(test::isClose(side->UUt, alone->UUt, 1e-13));
            for (const int layer : {0, 1}) {
                QVERIFY(test::isClose(side->embeddingGramOf(layer), alone->embeddingGramOf(layer), 1e-13));
                QVERIFY(test::isClose(side->unembedEmbedOf(layer), alone->unembedEmbedOf(layer), 1e-13));
                const auto own = side->embeddingOf(layer).statistics(Task{}, "");
                const auto whole = alone->embeddingOf(layer).statistics(Task{}, "");
                QVERIFY(isOk(own) && isOk(whole));
                QVERIFY(test::isClose((*own)->mean, (*whole)->mean, 1e-13));
                QVERIFY(test::isClose((*own)->lengths, (*whole)->lengths, 1e-13));
            }
        }
    }

    void someEndsFollowFromTheStoredOnesByDirection()
    {
        std::set<std::string> embeddings, unembeddings;
        for (const std::string& name : test::familyNames()) {
            const QTemporaryDir folder;
            const Circuits circuits = test::circuitsOf(test::writeFamily(
                std::filesystem::path(folder.path().toStdString()), test::familyModel(name)));
            const ProcessedWeights& weights = circuits.weights();
            const Eigen::Index V = weights.config().dVocab, outputs = weights.config().dVocabOut;
            if (const auto end = weights.storedEnd(TensorKind::W_E)) {
                const Matrix<double> stored = weights.original().readRows<double>(TensorKind::W_E, 0, V);
                QVERIFY2(weights.original().readTokens<double>(TensorKind::W_E, 1, V - 2)
                             == stored.middleRows(1, V - 2).transpose(),
                         name.c_str());
                QVERIFY2(test::isClose(weights.W_E<double>(0, V), stored * end->factors.asDiagonal(), 1e-13),
                         name.c_str());
                embeddings.insert(name);
            }
            if (const auto end = weights.storedEnd(TensorKind::W_U)) {
                const Matrix<double> stored =
                    weights.original().readColumns<double>(TensorKind::W_U, 0, outputs);
                const Matrix<double> W_U = (end->factors.asDiagonal() * stored).colwise() - end->mean;
                QVERIFY2(test::isClose(weights.W_U<double>(0, outputs), W_U, 1e-13), name.c_str());
                unembeddings.insert(name);
            }
        }
        for (const char* name : {"gemma", "granite", "qwen2"})
            QVERIFY2(embeddings.contains(name) && unembeddings.contains(name), name);
        QVERIFY(!embeddings.contains("gpt_neo") && !unembeddings.contains("gpt_neo")); // centred
    }

    /// A factor of the logits is a part of W_U (Cohere, Granite, T5).
    void theEndsOfATiedFamilyFollowFromItsEmbedding()
    {
        std::set<std::string> tied;
        for (const std::string& name : test::familyNames()) {
            const QTemporaryDir folder;
            const Circuits circuits = test::circuitsOf(test::writeFamily(
                std::filesystem::path(folder.path().toStdString()), test::familyModel(name)));
            const ProcessedWeights& weights = circuits.weights();
            const auto ends = weights.tiedEnds();
            if (!ends)
                continue;
            const Eigen::Index V = weights.config().dVocab;
            const Matrix<double> stored = weights.original().readRows<double>(TensorKind::W_E, 0, V);
            Matrix<double> W_U = ends->U * stored.transpose();
            W_U.colwise() -= ends->mean;
            QVERIFY2(test::isClose(weights.W_U<double>(0, V), W_U, 1e-12), name.c_str());
            QVERIFY2(test::isClose(weights.W_E<double>(0, V), Matrix<double>(stored * ends->E), 1e-12),
                     name.c_str());
            tied.insert(name);
        }
        for (const char* name : {"cohere", "granite", "t5", "gemma"})
            QVERIFY2(tied.contains(name), name);
    }

    // Without positions, a prompt of one token is exactly "attention locked to self", so the forward pass is the oracle.
    void theEffectiveEmbeddingIsTheResidualAfterLayer0OfAOneTokenPrompt_data()
    {
        QTest::addColumn<ToyOptions>("options");
        ToyOptions plain;
        plain.positional = "none";
        QTest::newRow("serial, LayerNorm, biases") << plain;
        ToyOptions parallel = plain;
        parallel.parallel = true;
        QTest::newRow("parallel") << parallel;
        ToyOptions shared = parallel;
        shared.sharedNorm = true;
        QTest::newRow("parallel, one norm") << shared;
        ToyOptions attention = plain;
        attention.attnOnly = true;
        QTest::newRow("attention only") << attention;
        for (const char* activation : {"relu", "gelu", "silu", "solu_ln"}) {
            ToyOptions other = plain;
            other.activation = activation;
            QTest::newRow(activation) << other;
        }
        ToyOptions gated = plain;
        gated.gatedMlp = true;
        gated.gateBias = true;
        gated.normalization = "RMS";
        gated.activation = "silu";
        QTest::newRow("gated, RMS") << gated;
        QTest::newRow("llama, rotary, grouped") << test::llamaOptions();
    }
    void theEffectiveEmbeddingIsTheResidualAfterLayer0OfAOneTokenPrompt()
    {
        QFETCH(ToyOptions, options);
        for (const ProcessingWish& wish : {ProcessingWish(), test::noProcessing()}) {
            const Circuits circuits = test::toyCircuits(options, wish);
            const auto tokens = test::tokensOf(circuits, Embedding::Effective);
            const int V = circuits.config().dVocab;
            Matrix<double> expected(V, circuits.config().dModel);
            Matrix<double> raw(V, circuits.config().dModel);
            for (int token = 0; token < V; ++token) {
                const std::vector<int> prompt{token};
                const auto run = forward<double>(circuits.weights(), prompt, Task{});
                QVERIFY(test::isOk(run));
                expected.row(token) = run->residuals[1].row(0);
                raw.row(token) = run->residuals[0].row(0);
            }
            QVERIFY(test::isClose(*tokens->E.whole<double>(), expected, 1e-5));
            QVERIFY(
                test::isClose(*tokens->embeddingOf(0).whole<double>(), raw, 1e-6)); // layer 0 always uses raw
            QVERIFY(test::isClose(*tokens->embeddingOf(1).whole<double>(), expected, 1e-5));
            QVERIFY(test::isClose(tokens->layer0EtE, raw.transpose() * raw, 1e-6));
        }
    }

    void mlp0IsWhatTheMlpAddsAndUnembedIsTheTransposedUnembedding()
    {
        ToyOptions options;
        options.positional = "none";
        options.parallel = true; // so that the MLP reads the embedding itself and the parts add up
        const Circuits circuits = test::toyCircuits(options);
        const auto all = test::tokensOf(circuits, Embedding::Effective);
        const auto mlp = test::tokensOf(circuits, Embedding::Mlp0);
        const auto& weights = circuits.weights();
        Matrix<double> attention = Matrix<double>::Zero(11, 7);
        Matrix<double> x = weights.W_E<double>(0, 11);
        const auto norm = weights.ln1<double>(0);
        for (Eigen::Index t = 0; t < 11; ++t) { // by hand: LayerNorm without parameters after folding
            RowVector<double> row = x.row(t).array() - x.row(t).mean();
            row /= std::sqrt(row.squaredNorm() / 7 + norm.eps);
            attention.row(t) = weights.b_O<double>(0);
            for (int h = 0; h < 3; ++h) {
                const auto w = weights.head<double>({0, h});
                attention.row(t) += (row * w.W_V + w.b_V) * w.W_O;
            }
        }
        QVERIFY(test::isClose(*mlp->E.whole<double>(), *all->E.whole<double>() - x - attention, 1e-5));
        QVERIFY(mlp->layer0E.isEmpty());
        const auto unembed = test::tokensOf(circuits, Embedding::Unembed);
        QVERIFY(test::isClose(*unembed->E.whole<double>(), weights.W_U<double>(0, 11).transpose(), 1e-6));
    }

    void refusesAnMlpEmbeddingWithoutAnMlp()
    {
        ToyOptions options;
        options.attnOnly = true;
        const Circuits circuits = test::toyCircuits(options);
        QVERIFY(test::failsWith(tokenSide(circuits, Embedding::Mlp0, Task{}), ErrorCode::InvalidArgument,
                                "mlp0"));
    }

    void namesEmbeddingsAndCircuitsAsTheCommandLineDoes()
    {
        for (const Embedding embedding :
             {Embedding::Raw, Embedding::Effective, Embedding::Mlp0, Embedding::Unembed})
            QVERIFY(parseEmbedding(embeddingName(embedding)) == embedding);
        QVERIFY(!parseEmbedding("Raw"));
        QVERIFY(embeddingName(Embedding::Mlp0) == "mlp0" && circuitName(CircuitKind::FullOv) == "full_ov");
    }

    void theTokenSideStopsWhenAsked()
    {
        const Circuits circuits = test::toyCircuits({});
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(
            test::failsWith(tokenSide(circuits, Embedding::Raw, task), ErrorCode::Cancelled, "cancelled"));
    }
};

HEADWISE_TEST(CircuitsTest)
#include "circuits_test.moc"
