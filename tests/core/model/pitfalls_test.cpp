#include "core/circuits/circuits.h"
#include "tests/core/model/family_folder.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QJsonArray>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace headwise;
using test::Fault;
using Kind = TensorKind;

namespace {

const std::vector<int> pitfallsPrompt{3, 1, 4, 1, 5, 0, 2, 6, 5};

double largestGap(const Matrix<double>& a, const Matrix<double>& b)
{
    if (a.rows() != b.rows() || a.cols() != b.cols())
        return INFINITY;
    return (a - b).cwiseAbs().maxCoeff();
}

/// Element (row, column) of a stored matrix.
double at(const test::FamilyModel& model, const std::string& name, std::size_t row, std::size_t column)
{
    const test::StoredTensor& tensor = model.tensors.at(name);
    return tensor.values.at(row * tensor.shape.at(1) + column);
}

const StepOutcome* stepOf(const ProcessingPlan& plan, std::string_view name)
{
    const auto found = std::find_if(plan.steps.begin(), plan.steps.end(),
                                    [&](const StepOutcome& step) { return step.name == name; });
    return found == plan.steps.end() ? nullptr : &*found;
}

bool isApplied(const ProcessedWeights& weights, std::string_view name)
{
    const StepOutcome* step = stepOf(weights.plan(), name);
    return step && step->applied;
}

bool speaksOf(const std::vector<std::string>& sentences, std::string_view word)
{
    return std::any_of(sentences.begin(), sentences.end(),
                       [&](const std::string& sentence) { return sentence.find(word) != std::string::npos; });
}

} // namespace

/// Known ways in which tools silently give wrong numbers, one test each.
class PitfallsTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder.renew(); }

    void a1NamesThatDoNotMatchAreAnErrorAndNeverZeros()
    {
        test::FamilyModel model = test::familyModel("opt");
        auto node = model.tensors.extract("model.decoder.layers.1.fc1.weight");
        node.key() = "model.decoder.layers.1.fc1.wieght";
        model.tensors.insert(std::move(node));
        QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::NotFound,
                                "'model.decoder.layers.1.fc1.weight'"));
        model = test::familyModel("opt");
        model.tensors["model.decoder.layers.1.fc3.weight"] = {{2, 2}, {1, 2, 3, 4}};
        QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Unsupported,
                                "'model.decoder.layers.1.fc3.weight'"));
    }

    void a2ConvAndLinearLayoutsComeFromTheFamilyAndNotFromShapes()
    {
        const test::FamilyModel linear = test::familyModel("nanogpt");
        const auto nano = load(linear);
        const auto nanoOutput = nano->read<double>(Kind::W_O, 1, 2);
        const test::FamilyModel conv = test::familyModel("openai-gpt");
        const auto gpt1 = load(conv);
        const auto convOutput = gpt1->read<double>(Kind::W_O, 1, 2);
        for (std::size_t j = 0; j < 8; ++j)
            for (std::size_t a = 0; a < 24; ++a) { // both are stored [24, 24] under the same name
                const auto row = static_cast<Eigen::Index>(j), column = static_cast<Eigen::Index>(a);
                QCOMPARE(nanoOutput(row, column),
                         at(linear, "transformer.h.1.attn.c_proj.weight", a, 16 + j));
                QCOMPARE(convOutput(row, column), at(conv, "h.1.attn.c_proj.weight", 16 + j, a));
            }
    }

    void a3FusedQueriesKeysAndValuesAreSplitAsEachFamilyStoresThem_data()
    {
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("tensor");
        QTest::addColumn<QList<int>>("rows"); // in units of d_head: of head 3's query, its key, its value
        const auto row = [](const char* family, const char* tensor, QList<int> rows) {
            QTest::newRow(family) << QString(family) << QString(tensor) << rows;
        };
        row("gpt_neox", "gpt_neox.layers.1.attention.query_key_value.weight", {6, 7, 8}); // head 2, the last
        row("bloom", "transformer.h.1.self_attention.query_key_value.weight", {6, 7, 8});
        row("falcon, one key/value head", "transformer.h.1.self_attention.query_key_value.weight", {2, 7, 8});
        row("falcon, groups", "transformer.h.1.self_attention.query_key_value.weight", {2, 3, 4});
        row("falcon, per head, ALiBi", "transformer.h.1.self_attention.query_key_value.weight", {6, 7, 8});
        row("phi3", "model.layers.1.self_attn.qkv_proj.weight", {2, 6, 8});
        row("nanogpt", "transformer.h.1.attn.c_attn.weight", {2, 5, 8});
        row("internlm2", "model.layers.1.attention.wqkv.weight", {2, 3, 4});
        row("baichuan, rotary", "model.layers.1.self_attn.W_pack.weight", {2, 8, 14});
        row("mpt", "transformer.blocks.1.attn.Wqkv.weight", {2, 6, 10});
    }
    void a3FusedQueriesKeysAndValuesAreSplitAsEachFamilyStoresThem()
    {
        QFETCH(QString, family);
        QFETCH(QString, tensor);
        QFETCH(QList<int>, rows);
        const test::FamilyModel model = test::familyModel(family.toStdString());
        const auto weights = load(model);
        const int h = weights->config().dHead;
        const int kv = 2 / (weights->config().nHeads / weights->config().nKvHeads);
        const Kind kinds[] = {Kind::W_Q, Kind::W_K, Kind::W_V};
        for (int part = 0; part < 3; ++part) {
            const Matrix<double> W = weights->read<double>(kinds[part], 1, part == 0 ? 2 : kv);
            for (int j = 0; j < h; ++j)
                for (Eigen::Index a = 0; a < W.rows(); ++a)
                    QCOMPARE(W(a, j),
                             at(model, tensor.toStdString(), static_cast<std::size_t>(rows[part] * h + j),
                                static_cast<std::size_t>(a)));
        }
    }

    void a4NeighbouringQueryHeadsShareAKeyValueHead()
    {
        const ProcessedWeights weights = test::raw(load("mistral")); // 6 heads over 2
        const auto key = [&](int head) { return weights.head<double>({1, head}).W_K; };
        QCOMPARE(largestGap(key(0), key(2)), 0.0);
        QCOMPARE(largestGap(key(3), key(5)), 0.0);
        QVERIFY(largestGap(key(0), key(3)) > 0.1);
    }

    void a5RotaryPairsAreAdjacentWhereTheFamilySaysSoAndOnlyLaterTokensTellTheDifference()
    {
        for (const std::string& name : test::familyNames()) {
            const auto weights = load(name);
            if (weights->config().positional == Positional::Rotary)
                QCOMPARE(weights->config().rotary.adjacentPairs,
                         name == "gptj" || name.starts_with("cohere")
                             || (name.starts_with("deepseek")
                                 && test::familyModel(name).config["rope_interleave"].toBool(true)));
        }
        const auto folder = m_folder.write(test::familyModel("gptj"));
        const auto right = test::ran<double>(test::raw(test::loaded(folder)), pitfallsPrompt).logits;
        const auto wrong =
            test::matrixOf(test::referenceForward(folder, pitfallsPrompt, Fault::WrongRotaryPairing).logits);
        QVERIFY(largestGap(right.topRows(1), wrong.topRows(1)) < 1e-10);
        QVERIFY(largestGap(right.bottomRows(1), wrong.bottomRows(1)) > 1e-3);
    }

    void a6TheRotaryBaseAndScalingAreReadWhereverTheyStandAndUnknownOnesAreRefused()
    {
        test::FamilyModel model = test::familyModel("llama, llama3 scaling");
        const auto old = load(model)->config();
        QJsonObject parameters = model.config["rope_scaling"].toObject();
        parameters["rope_theta"] = model.config["rope_theta"];
        model.config.remove("rope_scaling");
        model.config.remove("rope_theta");
        model.config["rope_parameters"] = parameters;
        QCOMPARE(load(model)->config().rotary.base, 523.0);
        QVERIFY(load(model)->config().rotary == old.rotary);
        parameters["rope_type"] = "mystery";
        model.config["rope_parameters"] = parameters;
        QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Unsupported, "mystery"));

        // One object for layers of either kind.
        model = test::familyModel("gemma3");
        const auto two = load(model)->config();
        model.config.remove("rope_theta");
        model.config.remove("rope_scaling");
        model.config.remove("rope_local_base_freq");
        model.config["rope_parameters"] = QJsonObject{
            {"full_attention", QJsonObject{{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 523}}},
            {"sliding_attention", QJsonObject{{"rope_type", "default"}, {"rope_theta", 29}}}};
        QVERIFY(load(model)->config().layerRotary == two.layerRotary);
        QCOMPARE(two.rotaryOf(0).base, 29.0);
        QVERIFY(two.rotaryOf(0).scaling.kind == RotaryScaling::Kind::None);
        QCOMPARE(two.rotaryOf(2).scaling.factor, 8.0);
    }

    void a7TheAttentionScaleIsTheFamilysOwn()
    {
        QCOMPARE(load("gpt_neo")->config().attentionScale, 1.0);
        QCOMPARE(load("gemma2")->config().attentionScale, 1 / 3.0); // query_pre_attn_scalar 9, d_head 4
        QCOMPARE(load("gemma3")->config().attentionScale, 1 / 3.0);
        QCOMPARE(load("gemma")->config().attentionScale, 0.5);
        QCOMPARE(load("falcon, per head, ALiBi")->config().alibiScale, 0.5);
        ModelConfig crfm;
        crfm.attentionScale = 0.5;
        crfm.scaleByInverseLayer = true;
        QCOMPARE(crfm.attentionScaleOf(3), 0.125);
    }

    void a8GemmasNormsMultiplyByOnePlusTheirWeightOnce()
    {
        test::FamilyModel model = test::familyModel("gemma3");
        std::vector<double>& stored = model.tensors["model.layers.0.input_layernorm.weight"].values;
        stored[0] = 3.140625; // adding 1 in bfloat16 would give 4.125
        const ProcessedWeights weights = test::raw(load(model));
        QCOMPARE(weights.ln1<double>(0).w(0), 4.140625);
        QCOMPARE(weights.lnFinal<double>().w(2), 1 + model.tensors.at("model.norm.weight").values[2]);
        const double head = model.tensors.at("model.layers.1.self_attn.q_norm.weight").values[1];
        QCOMPARE(weights.head<double>({1, 4}).qNorm.w(1), 1 + head);
    }

    void a9GemmasEmbeddingIsScaledOnItsWayInAndNotOnItsWayOut()
    {
        const test::FamilyModel model = test::familyModel("gemma");
        const ProcessedWeights weights = test::raw(load(model));
        const double stored = at(model, "model.embed_tokens.weight", 5, 3);
        QCOMPARE(weights.W_E<double>(5, 1)(0, 3), stored * std::sqrt(7.0));
        QCOMPARE(weights.W_U<double>(5, 1)(3, 0), stored);
    }

    void a10ASoftCapOnTheLogitsForbidsCentringTheUnembeddingAndMinusOneIsNone()
    {
        test::FamilyModel model = test::familyModel("gemma2");
        const ProcessedWeights capped = test::processed(load(model));
        QVERIFY(!isApplied(capped, "center-unembed"));
        QVERIFY(speaksOf(circuitNotes(capped.config()), "Logits go through a soft cap"));
        model.config["final_logit_softcapping"] = -1.0;
        QCOMPARE(load(model)->config().outputSoftCap, 0.0);
        QVERIFY(isApplied(test::processed(load(model)), "center-unembed"));
    }

    void a11NormsBehindAttentionAndMlpStayWhereTheyAre()
    {
        for (const char* name : {"gemma2", "gemma3", "olmo2"}) {
            const auto loaded = load(name);
            const ProcessedWeights weights = test::processed(loaded);
            QVERIFY(isApplied(weights, "fold-layer-norm"));
            QCOMPARE(largestGap(weights.head<double>({1, 2}).W_O, loaded->read<double>(Kind::W_O, 1, 2)),
                     0.0);
            QVERIFY(weights.ln1Post<double>(1).w.size() > 0);
            QVERIFY(speaksOf(circuitNotes(weights.config()), "normalised before they are added"));
        }
    }

    void a12ModelsThatNormaliseTheirResidualStreamAreNotFolded_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"bert", "openai-gpt", "opt, post-norm with projections", "bloom, residual from the norm",
              "TransformerLens, norms behind the additions", "TransformerLens, norms before and behind"})
            QTest::newRow(name) << QString(name);
    }
    void a12ModelsThatNormaliseTheirResidualStreamAreNotFolded()
    {
        QFETCH(QString, name);
        const auto loaded = load(name.toStdString());
        const ProcessedWeights weights = test::processed(loaded);
        for (const char* step : {"fold-layer-norm", "center-writing-weights"}) {
            QVERIFY(!isApplied(weights, step));
            QVERIFY(!stepOf(weights.plan(), step)->reason.empty());
        }
        ProcessingWish wish;
        wish.foldLayerNorm = StepWish::Required;
        QVERIFY(
            test::failsWith(planProcessing(*loaded, wish), ErrorCode::InvalidArgument, "--fold-layer-norm"));
        QVERIFY(speaksOf(circuitNotes(loaded->config()), "paths over several layers"));
    }

    void a13TheGateIsFoldedLikeTheMatrixBesideItAndSoAreRouterAndExperts()
    {
        const auto loaded = load("mixtral");
        const ProcessedWeights raw = test::raw(loaded);
        const ProcessedWeights folded = test::processed(loaded);
        const RowVector<double> w = raw.ln2<double>(1).w;
        const auto isFolded = [&](const Matrix<double>& before, const Matrix<double>& after) {
            return largestGap(w.transpose().asDiagonal() * before, after) < 1e-14;
        };
        const auto before = raw.mlp<double>(1), after = folded.mlp<double>(1);
        QVERIFY(isFolded(before.W_router, after.W_router));
        QCOMPARE(after.experts.size(), std::size_t{3});
        for (std::size_t e = 0; e < 3; ++e) {
            QVERIFY(isFolded(before.experts[e].W_gate, after.experts[e].W_gate));
            QVERIFY(isFolded(before.experts[e].W_in, after.experts[e].W_in));
            QCOMPARE(largestGap(before.experts[e].W_out, after.experts[e].W_out), 0.0);
        }
    }

    void a14FoldingTheLastNormLeavesATiedEmbeddingAlone()
    {
        const auto loaded = load("gemma3");
        QVERIFY(loaded->config().tiedEmbeddings);
        const ProcessedWeights weights = test::processed(loaded);
        QVERIFY(isApplied(weights, "fold-layer-norm"));
        QVERIFY(!weights.config().tiedEmbeddings);
        const Matrix<double> scaled = loaded->read<double>(Kind::W_E) * std::sqrt(7.0);
        QCOMPARE(largestGap(weights.W_E<double>(0, 11), scaled), 0.0);
        QVERIFY(largestGap(weights.W_U<double>(0, 11), loaded->read<double>(Kind::W_U)) > 0.01);
    }

    void a15AnOutputMatrixInTheFileWinsOverATieInTheConfig()
    {
        test::FamilyModel model = test::familyModel("smollm3");
        model.tensors["lm_head.weight"] = model.tensors.at("model.embed_tokens.weight");
        QVERIFY(load(model)->config().tiedEmbeddings);
        model.tensors["lm_head.weight"].values.front() += 0.5;
        const auto weights = load(model);
        QVERIFY(!weights->config().tiedEmbeddings);
        QVERIFY(speaksOf(weights->warnings(), "0.5"));
        QCOMPARE(weights->read<double>(Kind::W_U)(0, 0), model.tensors.at("lm_head.weight").values.front());
    }

    void a16BiasesThatNoKeySpeaksOfAreReadAndUnexpectedOnesAreAnError()
    {
        test::FamilyModel model = test::familyModel("qwen2");
        QVERIFY(load(model)->has(Kind::b_K, 1, 0));
        test::FamilyModel without = model;
        without.tensors.erase("model.layers.1.self_attn.k_proj.bias");
        QVERIFY(test::failsWith(m_folder.open(without), ErrorCode::NotFound, "k_proj.bias"));
        model.tensors["model.layers.1.self_attn.o_proj.bias"] = {{24}, std::vector<double>(24, 1)};
        QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Unsupported, "o_proj.bias"));
    }

    void a17AMaskThatIsCalledBiasIsNoneByItsRank()
    {
        for (const char* name : {"gpt_neo", "nanogpt", "openai-gpt"}) {
            test::FamilyModel model = test::familyModel(name);
            const auto mask = std::find_if(model.tensors.begin(), model.tensors.end(),
                                           [](const auto& entry) { return entry.second.shape.size() == 4; });
            QVERIFY(mask != model.tensors.end());
            QVERIFY(test::isOk(m_folder.open(model)));
            mask->second = {{4}, {1, 2, 3, 4}};
            QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Unsupported, "'" + mask->first + "'"));
        }
    }

    void a18ValueBiasesOfSharedHeadsAreFoldedOncePerQueryHead()
    {
        const auto loaded = load("qwen2");
        const ProcessedWeights raw = test::raw(loaded);
        const ProcessedWeights folded = test::processed(loaded);
        QVERIFY(isApplied(folded, "fold-value-biases"));
        RowVector<double> expected = raw.b_O<double>(1);
        for (int head = 0; head < 6; ++head)
            expected +=
                loaded->read<double>(Kind::b_V, 1, head / 3) * loaded->read<double>(Kind::W_O, 1, head);
        QCOMPARE_LT(largestGap(folded.b_O<double>(1), expected), 1e-13);
        QCOMPARE(folded.head<double>({1, 4}).b_V.norm(), 0.0);
    }

    void a19KeyBiasesStayInRotaryModels()
    {
        const auto loaded = load("gpt_neox");
        const ProcessedWeights folded = test::processed(loaded);
        QVERIFY(isApplied(folded, "fold-layer-norm"));
        const RowVector<double> b = loaded->read<double>(Kind::ln1_b, 1);
        const RowVector<double> expected = RowVector<double>(loaded->read<double>(Kind::b_K, 1, 2))
            + b * loaded->read<double>(Kind::W_K, 1, 2);
        QCOMPARE_LT(largestGap(folded.head<double>({1, 2}).b_K, expected), 1e-13);
    }

    void a20GemmasFirstLayerSlidesUnlessTheConfigListsTheLayers()
    {
        test::FamilyModel model = test::familyModel("gemma2");
        QCOMPARE(load(model)->config().windows, (std::vector<int>{4, 0, 4}));
        model.config["layer_types"] = QJsonArray{"full_attention", "sliding_attention", "full_attention"};
        QCOMPARE(load(model)->config().windows, (std::vector<int>{0, 4, 0}));
        model = test::familyModel("gemma3"); // every third layer sees everything
        QCOMPARE(load(model)->config().windows, (std::vector<int>{4, 4, 0}));
    }

    void a21NormsOfQueriesAndKeysAreSaidWithTheCircuitsAndNotRefactoredAway()
    {
        for (const char* name : {"qwen3", "gemma3", "olmo2", "stablelm, parallel with head norms"}) {
            const auto loaded = load(name);
            QVERIFY(loaded->config().qkNorm != NormKind::None);
            QCOMPARE(loaded->config().qkNormOverAllHeads, std::string(name) == "olmo2");
            QVERIFY(speaksOf(circuitNotes(loaded->config()), "direction of the scores"));
            ProcessingWish wish;
            wish.refactorAttention = StepWish::Required;
            QVERIFY(!planProcessing(*loaded, wish));
        }
    }

    void a22ParallelBlocksFoldTheNormsTheirHalvesRead()
    {
        const auto shared = load("phi");
        const ProcessedWeights folded = test::processed(shared);
        const Matrix<double> W = shared->read<double>(Kind::W_in, 1);
        const RowVector<double> expected = RowVector<double>(shared->read<double>(Kind::b_in, 1))
            + RowVector<double>(shared->read<double>(Kind::ln1_b, 1)) * W;
        QCOMPARE_LT(largestGap(folded.mlp<double>(1).b_in, expected), 1e-13);
        QVERIFY(!shared->has(Kind::ln2_w, 1));
        QVERIFY(load("gpt_neox")->has(Kind::ln2_w, 1));
        QVERIFY(load("gpt_neox")->config().parallelBlocks);
        QVERIFY(!load("gpt_neox, sequential")->config().parallelBlocks);
        QVERIFY(!load("falcon, one key/value head")->has(Kind::ln2_w, 1));
        QVERIFY(load("falcon, groups")->has(Kind::ln2_w, 1));
        QVERIFY(!load("falcon, per head, ALiBi")->config().parallelBlocks);
    }

    void a23AHeadsSizeNeedNotBeItsShareOfTheResidualStream()
    {
        for (const char* name : {"mistral", "qwen3", "gemma", "gemma3", "mixtral"}) {
            const auto loaded = load(name);
            QCOMPARE(loaded->config().dHead, 4); // 6 heads, d_model 7
            QCOMPARE(loaded->read<double>(Kind::W_Q, 0, 5).cols(), Eigen::Index{4});
        }
    }

    void a24TheFirstTwoRowsOfOptsPositionsBelongToNone()
    {
        const test::FamilyModel model = test::familyModel("opt");
        const Matrix<double> positions = load(model)->read<double>(Kind::W_pos);
        QCOMPARE(positions.rows(), Eigen::Index{17});
        QCOMPARE(positions(0, 3), at(model, "model.decoder.embed_positions.weight", 2, 3));
        QCOMPARE(positions(16, 0), at(model, "model.decoder.embed_positions.weight", 18, 0));
    }

    void a25TinyStoriesEndsWhereItsTrainingDid()
    {
        test::FamilyModel model = test::familyModel("gpt_neo");
        model.config["max_position_embeddings"] = 600;
        test::StoredTensor& positions = model.tensors["transformer.wpe.weight"];
        positions = {{600, 24}, std::vector<double>(std::size_t{600} * 24, 0.25)};
        QCOMPARE(load(model)->config().nCtx, 600);
        model.config["_name_or_path"] = "roneneldan/TinyStories-1M";
        const auto capped = load(model);
        QCOMPARE(capped->config().nCtx, 512);
        QVERIFY(speaksOf(capped->warnings(), "512"));
        model.config["n_ctx"] = 600; // --set n_ctx=600
        QCOMPARE(load(model)->config().nCtx, 600);
    }

    void a26AQuantisedCheckpointIsRefusedByName()
    {
        for (const char* name :
             {"llama, llama3 scaling", "opt", "falcon, groups", "gemma3", "bloom", "bert"}) {
            test::FamilyModel model = test::familyModel(name);
            model.config["quantization_config"] = QJsonObject{{"quant_method", "hqq"}, {"bits", 4}};
            QVERIFY(test::failsWith(m_folder.open(model), ErrorCode::Unsupported, "quantization_config"));
        }
        test::FamilyModel outer = test::familyModel("gemma3, part of a multimodal model");
        outer.config["quantization_config"] = QJsonObject{{"quant_method", "aqlm"}};
        QVERIFY(test::failsWith(m_folder.open(outer), ErrorCode::Unsupported, "quantization_config"));
    }

    void a27SquareMatricesAreReadAndFoldedTheRightWayRound()
    {
        for (const test::ToyLayout layout : {test::ToyLayout::TransformerLens, test::ToyLayout::Llama}) {
            test::ToyOptions options;
            if (layout == test::ToyLayout::Llama)
                options = test::llamaOptions();
            options.dMlp = options.dVocab = options.dModel;
            options.float64 = true;
            const auto folder =
                test::writeToyModel(m_folder.root() / std::to_string(int(layout)), options).folder;
            const auto reference = test::matrixOf(test::referenceForward(folder, pitfallsPrompt).logits);
            const auto loaded = test::loaded(folder);
            QCOMPARE_LT(largestGap(test::ran<double>(test::raw(loaded), pitfallsPrompt).logits, reference),
                        1e-10);
            const auto folded = test::ran<double>(test::processed(loaded), pitfallsPrompt).logits;
            QCOMPARE_LT(largestGap(test::logSoftmax(folded), test::logSoftmax(reference)), 1e-9);
        }
    }

    void a28LayersWithoutPositionsAndAlibiModelsAreNotRotated()
    {
        const ModelConfig smol = load("smollm3")->config(); // every second layer
        QCOMPARE(smol.rotaryOf(0).dim, 4);
        QCOMPARE(smol.rotaryOf(1).dim, 0);
        QCOMPARE(load("smollm3, listed")->config().rotaryOf(0).dim,
                 0); // 0 means none, whatever the key is called
        QVERIFY(speaksOf(circuitNotes(smol), "no positions in layer 1"));
        for (const char* name : {"bloom", "falcon, per head, ALiBi"}) {
            const ModelConfig config = load(name)->config();
            QCOMPARE(config.positional, Positional::Alibi);
            QVERIFY(speaksOf(circuitNotes(config), "ALiBi"));
        }
    }

private:
    std::shared_ptr<const ModelWeights> load(const test::FamilyModel& model) const
    {
        return test::loaded(m_folder.write(model));
    }
    std::shared_ptr<const ModelWeights> load(const std::string& name) const
    {
        return load(test::familyModel(name));
    }

    test::FamilyFolder m_folder;
};

HEADWISE_TEST(PitfallsTest)
#include "pitfalls_test.moc"
