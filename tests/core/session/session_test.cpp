#include "core/analysis/catalogue.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/model/architecture.h"
#include "core/runs/queue.h"
#include "core/session/partial_run.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QCryptographicHash>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <set>

using namespace headwise;
using namespace headwise::test;

/// From the demo's files to a session and back.
class SessionTest : public QObject {
    Q_OBJECT

private:
    std::shared_ptr<const ProcessedWeights> m_weights;

private slots:
    void initTestCase()
    {
        const ModelSource source{HEADWISE_DEMO_MODEL, {}, {}};
        const auto model = loadModel(source, Task{});
        QVERIFY(isOk(model));
        const auto plan = planProcessing(**model, ProcessingWish{});
        QVERIFY(isOk(plan));
        const auto weights = process(*model, *plan, Task{});
        QVERIFY(isOk(weights));
        m_weights = *weights;
    }

    void theCardSaysWhatTheModelIs()
    {
        const ModelCard card = modelCard(m_weights->original());
        QCOMPARE(card.nLayers, 2);
        QCOMPARE(card.nHeads, 8);
        QCOMPARE(card.nKvHeads, 8);
        QCOMPARE(card.dModel, 256);
        QCOMPARE(card.dHead, 32);
        QCOMPARE(card.dMlp, 0);
        QCOMPARE(card.dVocab, 2048);
        QCOMPARE(card.nCtx, 128);
        QCOMPARE(card.positional, std::string("learned"));
        QCOMPARE(card.normalization, std::string("LN")); // of the file, not of the folded weights
        QCOMPARE(card.source, std::string(HEADWISE_DEMO_MODEL));
        QVERIFY(!card.name.empty() && !card.architecture.empty());
    }

    /// FORMAT.md: the digest covers config.json and each safetensors header, in name order.
    void theDigestIsOfConfigAndHeader()
    {
        const QString folder = HEADWISE_DEMO_MODEL;
        QFile config(folder + "/config.json");
        QFile weights(folder + "/model.safetensors");
        QVERIFY(config.open(QIODevice::ReadOnly) && weights.open(QIODevice::ReadOnly));
        quint64 length = 0;
        QVERIFY(weights.read(reinterpret_cast<char*>(&length), 8) == 8);
        QCryptographicHash hash(QCryptographicHash::Sha256);
        hash.addData(config.readAll());
        hash.addData(weights.read(qint64(length)));
        QCOMPARE(QByteArray::fromStdString(modelCard(m_weights->original()).sha256), hash.result().toHex());
    }

    void aSessionHoldsTokensProcessingAndEveryWarning()
    {
        const auto tokenizer = Tokenizer::open(HEADWISE_DEMO_MODEL);
        QVERIFY(isOk(tokenizer));
        ResultSet results;
        results.warnings = {"an analysis was left out"};
        const Session session = makeSession(*m_weights, "raw", &*tokenizer, results);
        QVERIFY(session.processing == m_weights->plan().applied && session.processing.foldLayerNorm);
        QCOMPARE(session.warnings.back(), std::string("an analysis was left out"));
        QVERIFY(session.results.warnings.empty());
        QCOMPARE(session.tokens.size(), std::size_t(2048));
        QCOMPARE(session.tokens[0], std::string("<|endoftext|>"));
        QCOMPARE(session.tokenBytes[0], tokenizer->bytes(0));
        QVERIFY(makeSession(*m_weights, "raw", nullptr, {}).tokens.empty());
    }

    // Only a run with the same question resumes a killed one.
    void everyInputIsAnotherQuestion()
    {
        const Session frame = makeSession(*m_weights, "raw", nullptr, {});
        const auto question = [&](const auto& change) {
            AnalysisOptions options;
            options.inputs.token = 3;
            change(options.inputs);
            return runQuestion(*m_weights, frame.configFile, options);
        };
        const auto counts = [](double last) {
            return std::make_shared<const TokenCounts>("c.csv", std::vector<double>{1, 2, last});
        };
        const auto pairs = [](double last) {
            return std::make_shared<const BigramCounts>("b.csv",
                                                        std::vector<BigramCounts::Pair>{{1, 2, last}});
        };
        const std::string plain = question([](AnalysisInputs&) {});
        QCOMPARE(question([](AnalysisInputs&) {}), plain);
        const std::set<std::string> all{
            plain,
            question([](AnalysisInputs& inputs) { inputs.token = 4; }),
            question([](AnalysisInputs& inputs) { inputs.keyToken = 4; }),
            question([](AnalysisInputs& inputs) { inputs.names = {"Anna"}; }),
            question([&](AnalysisInputs& inputs) { inputs.tokenCounts = counts(3); }),
            question([&](AnalysisInputs& inputs) { inputs.tokenCounts = counts(4); }),
            question([&](AnalysisInputs& inputs) { inputs.bigramCounts = pairs(3); }),
            question([&](AnalysisInputs& inputs) { inputs.bigramCounts = pairs(4); }),
        };
        QCOMPARE(all.size(), std::size_t(8));
        QCOMPARE(question([&](AnalysisInputs& inputs) { inputs.tokenCounts = counts(3); }), // read again
                 question([&](AnalysisInputs& inputs) { inputs.tokenCounts = counts(3); }));
    }

    void whatTheAnalysesComputeComesBack()
    {
        AnalysisOptions options;
        options.heads = {{0, 1}, {1, 5}};
        const Circuits circuits(m_weights);
        const auto chosen = defaultAnalyses(circuits.config(), options);
        const auto results = runAnalyses(circuits, chosen, options, Task{});
        QVERIFY(isOk(results));
        const Session session = makeSession(*m_weights, "raw", nullptr, *results);
        QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("demo.h5").toStdString();
        QVERIFY(isOk(writeSession(path, session, Task{})));
        const Result<Session> read = readSession(path, Task{});
        QVERIFY(isOk(read));
        QCOMPARE(read->results.arrays.size(), session.results.arrays.size());
        for (const ResultArray& array : session.results.arrays) {
            const ResultArray* back = read->results.find(array.path);
            QVERIFY2(back && back->shape == array.shape && back->axes == array.axes
                         && back->definition == array.definition && back->attributes == array.attributes
                         && back->values.index() == array.values.index(),
                     array.path.c_str());
            std::visit(
                [&]<typename T>(const std::vector<T>& values) {
                    const auto& others = std::get<std::vector<T>>(back->values);
                    for (std::size_t i = 0; i < values.size(); ++i)
                        QVERIFY2(values[i] == others[i] || values[i] != values[i], array.path.c_str());
                },
                array.values);
        }
        QVERIFY(read->results.groupAttributes == session.results.groupAttributes);
        QVERIFY(read->model == session.model);
    }
};

HEADWISE_TEST(SessionTest)
#include "session_test.moc"
