#include "tests/support/family_rows.h"

#include "core/analysis/catalogue.h"
#include "core/circuits/circuits.h"
#include "core/model/checkpoint_writer.h"
#include "core/model/circuit_badges.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

using namespace headwise;
using test::Fault;

class FamiliesTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void forwardPassIsTheReferences_data() { test::addFamilies(); }
    void forwardPassIsTheReferences()
    {
        const auto folder = write(model());
        const test::ReferenceRun reference = test::referenceForward(folder, prompt());
        const ProcessedWeights weights = test::raw(test::loaded(folder));
        const double exact = test::largestDifference(reference, test::ran<double>(weights, prompt()));
        qInfo("largest difference in double: %.1e", exact);
        QCOMPARE_LT(exact, 1e-10);
        QCOMPARE_LT(test::largestDifference(reference, test::ran<float>(weights, prompt())), 2e-4);
    }

    void foldsKeepTheFunction_data() { test::addFamilies(); }
    void foldsKeepTheFunction()
    {
        const auto folder = write(model());
        const auto reference = test::matrixOf(test::referenceForward(folder, prompt()).logits);
        const auto loaded = test::loaded(folder);
        ProcessingWish wish;
        wish.refactorAttention = StepWish::Default;
        for (const ProcessingWish& one : {ProcessingWish{}, wish}) {
            const ProcessedWeights weights = test::processed(loaded, one);
            for (const StepOutcome& step : weights.plan().steps)
                qInfo("%s: %s", step.name.c_str(), step.applied ? "applied" : step.reason.c_str());
            const auto logits = test::ran<double>(weights, prompt()).logits;
            QCOMPARE_LT(test::largestDifference(test::logSoftmax(logits), test::logSoftmax(reference)), 1e-9);
        }
    }

    void plantedFaultsAreNoticed_data() { test::addFamilies(); }
    void plantedFaultsAreNoticed()
    {
        const auto folder = write(model());
        const auto loaded = test::loaded(folder);
        const ModelConfig& config = loaded->config();
        const auto run = test::ran<double>(test::raw(loaded), prompt());
        std::vector<Fault> faults{Fault::TransposedProjection};
        if (config.attentionScale != 1)
            faults.push_back(Fault::ScaleOne);
        if (config.nKvHeads != config.nHeads && config.nKvHeads != 1)
            faults.push_back(Fault::TileInsteadOfRepeat);
        if (config.positional == Positional::Rotary)
            faults.push_back(Fault::WrongRotaryPairing);
        if (config.gatedMlp)
            faults.push_back(Fault::GateAndUpSwapped);
        if (config.rmsUsesOffset)
            faults.push_back(Fault::MissingOnePlusW);
        for (const Fault fault : faults)
            QVERIFY2(test::logitDifference(test::referenceForward(folder, prompt(), fault), run) > 1e-3,
                     std::to_string(static_cast<int>(fault)).c_str());
    }

    void stacksWithoutAForwardPassSaySo_data()
    {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::familyNames())
            if (!test::hasForward(name))
                QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    void stacksWithoutAForwardPassSaySo()
    {
        const auto loaded = test::loaded(write(model()));
        const std::string reason = whyNoForward(loaded->config());
        QVERIFY(!reason.empty());
        const auto run = forward<double>(test::raw(loaded), prompt(), Task{});
        QVERIFY(test::failsWith(run, ErrorCode::InvalidArgument, reason));
        const std::vector<std::string>& warnings = loaded->warnings();
        QVERIFY(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
            return warning.find("--set stack=") != std::string::npos;
        }));
        // Keys and values of cross-attention read another stream than the norm that a fold would put into them.
        const ProcessedWeights weights = test::processed(loaded);
        for (const StepOutcome& step : weights.plan().steps)
            if (step.name == "fold-layer-norm")
                QCOMPARE(step.applied, !loaded->config().crossAttention && loaded->config().hasPreNorms);
    }

    void analysesThatAStackCannotAnswerAreRefusedByName_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("analysis");
        QTest::addColumn<QByteArray>("part"); ///< Empty: it applies.
        const auto row = [](const char* name, const char* analysis, const char* part) {
            QTest::addRow("%s: %s", name, analysis)
                << QString::fromLatin1(name) << QByteArray(analysis) << QByteArray(part);
        };
        row("vit", "tables", "vocabulary");
        row("vit", "attention", "vocabulary");
        row("vit", "pattern_scores", "vocabulary");
        row("vit", "six_terms", "vocabulary");
        row("vit", "composition", "");
        row("vit", "spectra", "");
        row("vit", "position_geometry", "");
        row("clip", "tables", "");
        row("t5", "attention", "reads an encoder's output");
        row("t5", "position_kernel", "");
        row("t5", "composition", "");
        row("t5, encoder", "pattern_scores", "");
        row("t5, encoder", "position_kernel", "attention is bidirectional");
        row("t5, cross-attention", "composition", "cross-attention");
        row("t5, cross-attention", "norms", "");
        row("bart, encoder", "attention", "");
    }
    void analysesThatAStackCannotAnswerAreRefusedByName()
    {
        QFETCH(QByteArray, analysis);
        QFETCH(QByteArray, part);
        const Analysis* row = findAnalysis(analysis.toStdString());
        QVERIFY(row != nullptr);
        const std::string reason = whyNotOf(*row, test::loaded(write(model()))->config(), {});
        QVERIFY2(part.isEmpty() ? reason.empty() : reason.find(part.toStdString()) != std::string::npos,
                 reason.c_str());
    }

    /// Positions are counted from the padding token's id, and the head has its own activation whatever the config says.
    void keysThatMoveRobertasPositionsAreRefused()
    {
        for (const auto& [key, value] :
             {std::pair<const char*, QJsonValue>("pad_token_id", 0), {"hidden_act", "relu"}}) {
            test::FamilyModel roberta = test::familyModel("roberta");
            roberta.config[QLatin1String(key)] = value;
            const auto folder = test::writeFamily(root() / "model", roberta);
            QVERIFY(
                test::failsWith(loadModel({folder, std::nullopt, {}}, Task{}), ErrorCode::Unsupported, key));
        }
    }

    /// Buckets of one distance each, and a farthest distance behind them, are what the logarithm needs.
    void bucketsThatCannotBeAreRefused()
    {
        for (const char* key : {"relative_attention_num_buckets", "relative_attention_max_distance"}) {
            test::FamilyModel t5 = test::familyModel("t5, encoder");
            t5.config[QLatin1String(key)] = 1;
            const auto folder = test::writeFamily(root() / "model", t5);
            QVERIFY(
                test::failsWith(loadModel({folder, std::nullopt, {}}, Task{}), ErrorCode::Unsupported, key));
        }
    }

    void sinksTakeAPartOfEveryRowOfAttention()
    {
        const auto loaded = test::loaded(test::writeFamily(root() / "model", test::familyModel("gpt_oss")));
        const auto run = test::ran<double>(test::raw(loaded), {3, 1, 4, 1, 5});
        for (const auto& layer : run.patterns)
            for (const Matrix<double>& pattern : layer)
                QVERIFY(pattern.minCoeff() >= 0 && pattern.rowwise().sum().minCoeff() > 0
                        && pattern.rowwise().sum().maxCoeff() < 1);
        const auto badges = circuitBadges(loaded->config(), 0);
        QVERIFY(std::find(badges.begin(), badges.end(), "sink beside the scores") != badges.end());
        // So what b_V adds is no constant.
        ProcessingWish wish;
        wish.foldValueBiases = StepWish::Required;
        QVERIFY(test::failsWith(planProcessing(*loaded, wish), ErrorCode::InvalidArgument,
                                "--fold-value-biases cannot be done on this model: sinks take a part"));
        wish = {};
        wish.headChanges = {{.head = {1, 2}, .withoutComponent = 0}};
        QVERIFY(test::failsWith(planProcessing(*loaded, wish), ErrorCode::InvalidArgument,
                                "its sink takes a part of the attention"));
    }

    void anUnknownStackIsRefusedWithThoseThereAre()
    {
        const auto folder = test::writeFamily(root() / "model", test::familyModel("t5"));
        QVERIFY(test::failsWith(loadModel({folder, std::nullopt, {{"stack", "middle"}}}, Task{}),
                                ErrorCode::Unsupported, "decoder, encoder, cross"));
    }

    void theStacksOfAModelAreListedTheOpenOneFirst()
    {
        using Stacks = std::vector<std::string>;
        const auto stacks = [this](const char* name) {
            return test::loaded(test::writeFamily(root() / "model", test::familyModel(name)))
                ->config()
                .stacks;
        };
        QVERIFY(stacks("t5") == (Stacks{"decoder", "encoder", "cross"}));
        QVERIFY(stacks("bart, encoder") == (Stacks{"encoder", "decoder", "cross"}));
        QVERIFY(stacks("clip, vision stack") == (Stacks{"vision", "text"}));
        QVERIFY(stacks("nanogpt").empty());
    }

    void circuitsAreProductsOfTheStoredMatrices_data()
    {
        QTest::addColumn<QString>("name");
        for (const std::string& name : test::familyNames())
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
    }
    void circuitsAreProductsOfTheStoredMatrices()
    {
        const auto folder = write(model());
        const auto loaded = test::loaded(folder);
        const Circuits circuits(std::make_shared<const ProcessedWeights>(test::raw(loaded)));
        for (int layer = 0; layer < loaded->config().nLayers; ++layer)
            for (int head = 0; head < loaded->config().nHeads; ++head) {
                const auto stored = test::referenceHead(folder, std::size_t(layer), std::size_t(head));
                const Matrix<double> qk = test::matrixOf(stored.W_Q) * test::matrixOf(stored.W_K).transpose();
                const Matrix<double> ov = test::matrixOf(stored.W_V) * test::matrixOf(stored.W_O);
                QCOMPARE_LT(test::largestDifference(circuits.qk({layer, head}).dense(), qk), 1e-12);
                QCOMPARE_LT(test::largestDifference(circuits.ov({layer, head}).dense(), ov), 1e-12);
            }
    }

    /// A model that TransformerLens' keys cannot express is refused; others have the same function when read again.
    void writtenFoldersKeepTheFunctionOrAreRefused_data() { test::addFamilies(); }
    void writtenFoldersKeepTheFunctionOrAreRefused()
    {
        const auto folder = write(model());
        const auto reference = test::matrixOf(test::referenceForward(folder, prompt()).logits);
        const auto loaded = test::loaded(folder);
        for (const ProcessedWeights& weights : {test::raw(loaded), test::processed(loaded)}) {
            const auto target = root() / (weights.plan().steps.empty() ? "raw" : "processed");
            const auto done =
                writeTransformerLensFolder(weights, folder, target, ExistingFolder::Refuse, Task{});
            if (const std::string reason = whyNotTransformerLens(weights.config()); !reason.empty()) {
                qInfo("%s", reason.c_str());
                QVERIFY(test::failsWith(done, ErrorCode::Unsupported, reason));
                continue;
            }
            QVERIFY(test::isOk(done));
            const auto again = test::matrixOf(test::referenceForward(target, prompt()).logits);
            QCOMPARE_LT(test::largestDifference(test::logSoftmax(again), test::logSoftmax(reference)), 1e-9);
            const auto ours = test::ran<double>(test::raw(test::loaded(target)), prompt()).logits;
            QCOMPARE_LT(test::largestDifference(ours, again), 1e-10);
        }
    }

private:
    static test::FamilyModel model()
    {
        QFETCH(QString, name);
        return test::familyModel(name.toStdString());
    }
    static std::vector<int> prompt()
    {
        QFETCH(QString, name);
        return test::promptOf(name);
    }
    std::filesystem::path root() const { return m_folder->path().toStdString(); }
    std::filesystem::path write(const test::FamilyModel& model) const
    {
        return test::writeFamily(root() / "model", model);
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(FamiliesTest)
#include "families_test.moc"
