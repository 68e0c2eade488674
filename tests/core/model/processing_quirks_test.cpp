#include "tests/support/program.h"

#include "tests/core/model/processing_cases.h"

using namespace headwise;
using test::change;
using test::outcome;
using test::refactoring;
using test::stored;
using test::Toy;

namespace {

/// An attention-only model of one layer whose ln1 has only a bias.
std::shared_ptr<const ModelWeights> withoutTheWeightOfLn1(const ModelConfig& config,
                                                          const std::filesystem::path& folder)
{
    using enum TensorKind;
    auto opened = WeightMap::open(folder);
    if (!opened)
        qFatal("%s", test::printed(opened.error()).constData());
    const auto file = std::make_shared<const WeightMap>(std::move(opened).value());
    auto weights = std::make_shared<ModelWeights>(config, file);
    const auto add = [&](TensorKind kind, const char* name, int index, Eigen::Index rows, Eigen::Index cols) {
        weights->add(kind, 0, index, TensorView{file->find(name), index * rows * cols, cols, 1, rows, cols});
    };
    for (int head = 0; head < config.nHeads; ++head) {
        add(W_Q, "blocks.0.attn.W_Q", head, 7, 5);
        add(W_K, "blocks.0.attn.W_K", head, 7, 5);
        add(W_V, "blocks.0.attn.W_V", head, 7, 5);
        add(W_O, "blocks.0.attn.W_O", head, 5, 7);
        add(b_Q, "blocks.0.attn.b_Q", head, 1, 5);
        add(b_K, "blocks.0.attn.b_K", head, 1, 5);
        add(b_V, "blocks.0.attn.b_V", head, 1, 5);
    }
    add(W_E, "embed.W_E", 0, 11, 7);
    add(W_pos, "pos_embed.W_pos", 0, 17, 7);
    add(b_O, "blocks.0.attn.b_O", 0, 1, 7);
    add(ln1_b, "blocks.0.ln1.b", 0, 1, 7);
    add(ln_final_w, "ln_final.w", 0, 1, 7);
    add(ln_final_b, "ln_final.b", 0, 1, 7);
    add(W_U, "unembed.W_U", 0, 7, 11);
    add(b_U, "unembed.b_U", 0, 1, 11);
    return weights;
}

} // namespace

/// Models that a plain implementation of the processing gets wrong, one each.
class ProcessingQuirksTest : public QObject {
    Q_OBJECT

private slots:
    void quirk1WithoutB_UTheFinalNormsBiasMovesIntoANewOne()
    {
        test::ToyOptions options;
        options.unembedBias = false;
        const Toy toy(options);
        const ProcessedWeights weights = test::processed(toy.model());
        RowVector<double> expected =
            stored(toy.toy, "ln_final.b", 1, 7).row(0) * stored(toy.toy, "unembed.W_U", 7, 11);
        expected.array() -= expected.mean();
        QVERIFY(test::isClose(weights.b_U<double>(0, 11), expected, 1e-13));
        QVERIFY(toy.changeBy({}) < 1e-10);
        options.normalization = "LNPre";
        QVERIFY(Toy(options).changeBy({}) < 1e-10);
    }

    void quirk2WithoutAttentionBiasesTheNormsBiasMovesIntoNewOnes()
    {
        test::ToyOptions options;
        options.qkvBias = false;
        const Toy toy(options);
        ProcessingWish wish;
        wish.foldValueBiases = StepWish::Off;
        const auto head = test::processed(toy.model(), wish).head<double>({1, 2});
        const Matrix<double> b = stored(toy.toy, "blocks.1.ln1.b", 1, 7);
        QVERIFY(test::isClose(head.b_Q, b * stored(toy.toy, "blocks.1.attn.W_Q", 7, 5, 2), 1e-13));
        QVERIFY(test::isClose(head.b_K, b * stored(toy.toy, "blocks.1.attn.W_K", 7, 5, 2), 1e-13));
        QVERIFY(test::isClose(head.b_V, b * stored(toy.toy, "blocks.1.attn.W_V", 7, 5, 2), 1e-13));
        QVERIFY(toy.changeBy(wish) < 1e-10);
        QVERIFY(toy.changeBy({}) < 1e-10);
    }

    void quirk3SquareMatricesAreFoldedAlongTheirInput()
    {
        test::ToyOptions options;
        options.dMlp = options.dVocab = options.dModel;
        options.dHead = options.dModel;
        QVERIFY(Toy(options).changeBy({}) < 1e-10);
        QVERIFY(Toy(options).changeBy(refactoring()) < 1e-10);
    }

    void quirk4Float64StaysFloat64()
    {
        test::ToyOptions options;
        options.float64 = true;
        const Toy toy(options);
        const ProcessedWeights weights = test::processed(toy.model());
        QVERIFY(weights.config().isFloat64);
        QVERIFY(weights.asStored().head<double>({0, 0}).W_Q == weights.head<double>({0, 0}).W_Q);
        QVERIFY(change(toy.toy.folder, weights.asStored()) < 1e-10);
    }

    void quirk5AGatedMlpKeepsTheNormsBiasInsideTheProduct()
    {
        test::ToyOptions options;
        options.gatedMlp = true;
        const Toy toy(options);
        const auto mlp = test::processed(toy.model()).mlp<double>(1);
        const Matrix<double> b = stored(toy.toy, "blocks.1.ln2.b", 1, 7);
        QVERIFY(test::isClose(mlp.b_gate, b * stored(toy.toy, "blocks.1.mlp.W_gate", 7, 13), 1e-13));
        QVERIFY(test::isClose(mlp.b_up, b * stored(toy.toy, "blocks.1.mlp.W_in", 7, 13), 1e-13));
        QVERIFY(mlp.b_in == stored(toy.toy, "blocks.1.mlp.b_in", 1, 13));
        QVERIFY(toy.changeBy({}) < 1e-10);
    }

    void quirk6ANormBiasThatIsNotFoldedIsRescaled()
    {
        ProcessingWish wish;
        wish.foldBiases = false;
        Toy toy;
        QVERIFY(toy.changeBy(wish) < 1e-10);
        const ProcessedWeights weights = test::processed(toy.model(), wish);
        QVERIFY(weights.config().normHasParameters);
        QCOMPARE(weights.ln1<double>(0).w.size(), 0);
        QVERIFY(test::isClose(
            weights.ln1<double>(0).b,
            stored(toy.toy, "blocks.0.ln1.b", 1, 7).cwiseQuotient(stored(toy.toy, "blocks.0.ln1.w", 1, 7)),
            1e-14));

        toy.toy.tensors.at("blocks.1.ln2.w").values[3] = 0;
        toy.save();
        const auto skipped = toy.plan(wish);
        QVERIFY(test::isOk(skipped));
        QVERIFY(!skipped->applied.foldLayerNorm);
        QVERIFY(toy.changeBy(wish) < 1e-10);
        wish.foldLayerNorm = StepWish::Required;
        QVERIFY(test::failsWith(toy.plan(wish), ErrorCode::InvalidArgument, "weight is 0"));
        wish.foldBiases = true;
        QVERIFY(toy.changeBy(wish) < 1e-10);
    }

    void quirk7ASoftCapOnTheLogitsForbidsCentringTheUnembedding()
    {
        test::ToyOptions options;
        options.logitSoftCap = 3;
        const Toy toy(options);
        const auto plan = toy.plan({});
        QVERIFY(test::isOk(plan));
        QVERIFY(!plan->applied.centerUnembed);
        QVERIFY(outcome(*plan, "center-unembed")->reason.find("soft cap of 3") != std::string::npos);
        QCOMPARE(plan->warnings.size(), std::size_t{1});
        QVERIFY(toy.changeBy({}) < 1e-10);
        ProcessingWish wish;
        wish.centerUnembed = StepWish::Required;
        QVERIFY(test::failsWith(toy.plan(wish), ErrorCode::InvalidArgument, "--center-unembed"));

        ProcessingPlan forced; // the positive control: done anyway, the step changes the function
        forced.applied.centerUnembed = true;
        QVERIFY(change(toy.toy.folder, test::processedBy(toy.model(), forced)) > 1e-3);
    }

    void quirk9AFinalRmsNormSeesTheMean()
    {
        test::ToyOptions options;
        options.finalRms = true;
        const Toy toy(options);
        const auto plan = toy.plan({});
        QVERIFY(test::isOk(plan));
        QVERIFY(plan->applied.foldLayerNorm);
        QVERIFY(!plan->applied.centerWritingWeights);
        QVERIFY(outcome(*plan, "center-writing-weights")->reason.find("final norm is an RMSNorm")
                != std::string::npos);
        QVERIFY(toy.changeBy({}) < 1e-10);
        ProcessingWish wish;
        wish.centerWritingWeights = StepWish::Required;
        QVERIFY(test::failsWith(toy.plan(wish), ErrorCode::InvalidArgument, "--center-writing-weights"));

        ProcessingPlan forced;
        forced.applied.centerWritingWeights = true;
        QVERIFY(change(toy.toy.folder, test::processedBy(toy.model(), forced)) > 1e-3);
    }

    void quirk10MixturesOfExpertsAreRefusedByName()
    {
        const Toy toy;
        toy.set("num_experts", "4");
        const auto model = loadModel({toy.toy.folder, std::nullopt, {}}, Task{});
        QVERIFY(test::failsWith(model, ErrorCode::Unsupported, "num_experts"));
    }

    void quirk12AModelWithoutPositionsIsCentred()
    {
        test::ToyOptions options;
        options.positional = "none";
        const Toy toy(options);
        ProcessingWish wish;
        wish.centerWritingWeights = StepWish::Required;
        QVERIFY(test::isOk(toy.plan(wish)));
        QVERIFY(toy.changeBy(wish) < 1e-10);
    }

    void quirk13ANormWithABiasAndNoWeightIsFolded()
    {
        // The loader requires both, so the recipes are listed here without ln1.w.
        test::ToyOptions options;
        options.attnOnly = true;
        options.nLayers = 1;
        Toy toy(options);
        toy.toy.tensors.at("blocks.0.ln1.w").values.assign(7, 1);
        toy.save();
        const auto whole = toy.model();
        const auto partial = withoutTheWeightOfLn1(whole->config(), toy.toy.folder);
        QVERIFY(change(toy.toy.folder, test::raw(partial)) < 1e-10);
        QVERIFY(change(toy.toy.folder, test::processed(partial)) < 1e-10);
        QCOMPARE(test::processed(partial).ln1<double>(0).b.size(), 0);
        QVERIFY(test::isClose(test::processed(partial).head<double>({0, 1}).b_Q,
                              test::processed(whole).head<double>({0, 1}).b_Q, 1e-14));
    }

    void quirk14AFoldedModelIsLeftAloneButForWhatIsMissing()
    {
        test::ToyOptions options;
        options.normalization = "LNPre";
        const Toy toy(options);
        const ProcessedWeights weights = test::processed(toy.model());
        QVERIFY(toy.changeBy({}) < 1e-10);
        const Matrix<double> W_U = weights.W_U<double>(0, 11);
        QVERIFY(W_U.colwise().mean().cwiseAbs().maxCoeff() < 1e-15);
        QVERIFY(W_U.rowwise().mean().cwiseAbs().maxCoeff() < 1e-15);
        const auto head = weights.head<double>({1, 0});
        QVERIFY(head.W_K.colwise().mean().cwiseAbs().maxCoeff() < 1e-15);
        QVERIFY(head.b_Q == stored(toy.toy, "blocks.1.attn.b_Q", 1, 5));
    }

    void quirk15QueryAndKeyNormsAreNotRefactoredAway()
    {
        Toy toy;
        toy.set("use_qk_norm", "true");
        QVERIFY(test::failsWith(loadModel({toy.toy.folder, std::nullopt, {}}, Task{}), ErrorCode::NotFound,
                                "q_norm.w"));
        for (const char* name : {"blocks.0.attn.q_norm.w", "blocks.0.attn.k_norm.w", "blocks.1.attn.q_norm.w",
                                 "blocks.1.attn.k_norm.w"})
            toy.toy.tensors[name] = {{5}, {0.5, 1.5, -1, 2, 0.75}};
        toy.save();
        ProcessingWish wish;
        wish.refactorAttention = StepWish::Required;
        QVERIFY(test::failsWith(planProcessing(*toy.model(), wish), ErrorCode::InvalidArgument,
                                "queries and keys are normalised"));
        QVERIFY(change(toy.toy.folder, test::processed(toy.model())) < 1e-10);
    }
};

HEADWISE_TEST(ProcessingQuirksTest)
#include "processing_quirks_test.moc"
