#include "core/model/processing.h"

#include "tests/support/loaded.h"
#include "tests/support/toy_classes.h"

#include <QTemporaryDir>

using namespace headwise;

namespace {

const std::vector<int> tokens{3, 1, 4, 1, 5, 0, 2, 6, 5};

ProcessingWish refactoring()
{
    ProcessingWish wish;
    wish.refactorAttention = StepWish::Default;
    return wish;
}

ProcessingWish nothing()
{
    return {StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, true, true};
}

const StepOutcome* outcome(const ProcessingPlan& plan, std::string_view name)
{
    for (const StepOutcome& step : plan.steps)
        if (step.name == name)
            return &step;
    return nullptr;
}

double difference(const Matrix<double>& a, const Matrix<double>& b)
{
    const Matrix<double> d = (a - b).cwiseAbs();
    return d.allFinite() ? d.maxCoeff() : INFINITY;
}

/// max |Δ log-softmax| against the reference, which knows the stored weights alone.
double change(const std::filesystem::path& folder, const ProcessedWeights& weights)
{
    const auto reference = test::matrixOf(test::referenceForward(folder, tokens).logits);
    return difference(test::logSoftmax(test::ran<double>(weights, tokens).logits),
                      test::logSoftmax(reference));
}

/// Rows of a stored tensor whose last two dimensions are [rows, cols]; matrix `index` of the stack.
Matrix<double> stored(const test::ToyModel& toy, const std::string& name, Eigen::Index rows,
                      Eigen::Index cols, Eigen::Index index = 0)
{
    const std::vector<double>& values = toy.tensors.at(name).values;
    return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
        values.data() + index * rows * cols, rows, cols);
}

class Toy {
public:
    explicit Toy(const test::ToyOptions& options = {})
        : toy(test::writeToyModel(m_folder.path().toStdString(), options))
    {
    }

    /// After `toy.tensors` was changed.
    void save() const
    {
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, toy.options.float64);
    }
    void set(const char* key, const QByteArray& json) const
    {
        QFile file(QString::fromStdString((toy.folder / "config.json").string()));
        if (!file.open(QIODevice::ReadWrite))
            qFatal("no config.json");
        QByteArray text = file.readAll();
        text.insert(text.indexOf('{') + 1, "\"" + QByteArray(key) + "\": " + json + ",");
        file.resize(0);
        file.seek(0);
        file.write(text);
    }
    std::shared_ptr<const ModelWeights> model() const { return test::loaded(toy.folder); }
    double changeBy(const ProcessingWish& wish) const
    {
        return change(toy.folder, test::processed(model(), wish));
    }
    Result<ProcessingPlan> plan(const ProcessingWish& wish) const { return planProcessing(*model(), wish); }

    QTemporaryDir m_folder;
    test::ToyModel toy;
};

/// An attention-only model of one layer whose ln1 has a bias alone.
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

/// Each step alone on top of nothing, as a Default wish.
std::vector<ProcessingWish> singleSteps()
{
    std::vector<ProcessingWish> wishes;
    for (StepWish ProcessingWish::*step :
         {&ProcessingWish::foldLayerNorm, &ProcessingWish::centerWritingWeights,
          &ProcessingWish::centerUnembed, &ProcessingWish::foldValueBiases,
          &ProcessingWish::refactorAttention}) {
        wishes.push_back(nothing());
        wishes.back().*step = StepWish::Default;
    }
    return wishes;
}

} // namespace

class ProcessingTest : public QObject {
    Q_OBJECT

private slots:
    void everyStepKeepsTheFunctionOfEveryKindOfModel_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = test::toyClasses();
        for (int i = 0; i < static_cast<int>(classes.size()); ++i)
            QTest::newRow(classes[static_cast<std::size_t>(i)].first) << i;
    }
    void everyStepKeepsTheFunctionOfEveryKindOfModel()
    {
        QFETCH(int, index);
        const Toy toy(test::toyClasses()[static_cast<std::size_t>(index)].second);
        QVERIFY(toy.changeBy({}) < 1e-10);
        QVERIFY(toy.changeBy(refactoring()) < 1e-10);
        for (const ProcessingWish& wish : singleSteps())
            QVERIFY(toy.changeBy(wish) < 1e-10);
        ProcessingWish unfoldedBiases;
        unfoldedBiases.foldBiases = false;
        QVERIFY(toy.changeBy(unfoldedBiases) < 1e-10);
        ProcessingWish uncentred;
        uncentred.centerWeights = false;
        QVERIFY(toy.changeBy(uncentred) < 1e-10);
    }

    void nothingAskedForGivesTheStoredNumbers()
    {
        const Toy toy;
        const ProcessedWeights weights = test::processed(toy.model(), nothing());
        QVERIFY(weights.plan().steps.empty());
        QVERIFY(weights.head<double>({1, 2}).W_K == stored(toy.toy, "blocks.1.attn.W_K", 7, 5, 2));
        QVERIFY(weights.W_U<double>(3, 4) == stored(toy.toy, "unembed.W_U", 7, 11).middleCols(3, 4));
        QVERIFY(weights.config() == weights.original().config());
    }

    void foldedWeightsAreThoseOfTheFormula()
    {
        const Toy toy;
        const ProcessedWeights weights = test::processed(toy.model());
        const Matrix<double> W = stored(toy.toy, "blocks.1.attn.W_Q", 7, 5, 2);
        const Matrix<double> w = stored(toy.toy, "blocks.1.ln1.w", 1, 7);
        const Matrix<double> b = stored(toy.toy, "blocks.1.ln1.b", 1, 7);
        Matrix<double> folded = w.row(0).asDiagonal() * W;
        folded.rowwise() -= folded.colwise().mean().eval();
        const auto head = weights.head<double>({1, 2});
        QVERIFY(test::isClose(head.W_Q, folded, 1e-14));
        QVERIFY(test::isClose(head.b_Q, stored(toy.toy, "blocks.1.attn.b_Q", 1, 5, 2) + b * W, 1e-14));
        QCOMPARE(head.b_V, (RowVector<double>::Zero(5)));
        QVERIFY(head.W_O.rowwise().mean().cwiseAbs().maxCoeff() < 1e-15);
        QVERIFY(weights.W_E<double>(0, 11).rowwise().mean().cwiseAbs().maxCoeff() < 1e-15);
        QVERIFY(weights.W_U<double>(0, 11).rowwise().mean().cwiseAbs().maxCoeff() < 1e-15);
        QVERIFY(weights.W_U<double>(0, 11).colwise().mean().cwiseAbs().maxCoeff() < 1e-15);
        QVERIFY(std::abs(weights.b_U<double>(0, 11).mean()) < 1e-15);
        QCOMPARE(weights.ln1<double>(1).w.size(), 0);
        QCOMPARE(normalizationName(weights.config()), std::string_view("LNPre"));
    }

    void floatsAreTheRoundedDoubles()
    {
        const Toy toy;
        const ProcessedWeights weights = test::processed(toy.model());
        const ProcessedWeights stored = weights.asStored();
        const Matrix<double> exact = weights.head<double>({0, 1}).W_V;
        QVERIFY(weights.head<float>({0, 1}).W_V == exact.cast<float>());
        QVERIFY(stored.head<double>({0, 1}).W_V == exact.cast<float>().cast<double>());
        QVERIFY(stored.head<double>({0, 1}).W_V != exact);
        QVERIFY(change(toy.toy.folder, stored) < 1e-4);
    }

    // --- quirks of the reference implementation, by their numbers ---------------------------------------------------
    // 8, 11 and 16 are about names in Python dictionaries, editing the caller's dictionary and docstrings: ModelWeights is
    // const, its tensors have an enumerator instead of a name, and every layout was checked by the loader.

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

        ProcessingPlan forced; // the positive control: done all the same, it does change the function
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
        // The loader asks for both, so the recipes are written down here, those of ln1.w left out.
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

    // --- refactoring ------------------------------------------------------------------------------------------------

    void refactoringRefusesRotaryPositions()
    {
        const Toy toy(test::llamaOptions());
        ProcessingWish wish;
        wish.refactorAttention = StepWish::Required;
        QVERIFY(test::failsWith(toy.plan(wish), ErrorCode::InvalidArgument,
                                "--refactor-factored-attention cannot be done on this model: rotary"));
        const auto skipped = toy.plan(refactoring());
        QVERIFY(test::isOk(skipped));
        QVERIFY(!skipped->applied.refactorAttention);
    }

    void refactoringImpliesFoldingValueBiases()
    {
        ProcessingWish wish = nothing();
        wish.refactorAttention = StepWish::Required;
        const Toy toy;
        const auto plan = toy.plan(wish);
        QVERIFY(test::isOk(plan));
        QVERIFY(plan->applied.foldValueBiases);
        QVERIFY(outcome(*plan, "fold-value-biases")->applied);
        QVERIFY(toy.changeBy(wish) < 1e-10);
    }

    void refactoredHeadsAreBalancedAndWriteOrthonormally_data()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<bool>("centred");
        for (const char* kind : {"plain", "grouped", "no biases", "lost rank", "zero"}) {
            QTest::addRow("%s", kind) << kind << true;
            QTest::addRow("%s, not centred", kind) << kind << false;
        }
    }
    void refactoredHeadsAreBalancedAndWriteOrthonormally()
    {
        QFETCH(QString, kind);
        QFETCH(bool, centred);
        test::ToyOptions options;
        if (kind == "grouped")
            options.nHeads = 6, options.nKvHeads = 2;
        if (kind == "no biases") {
            options.qkvBias = false;
            options.normalization = "LNPre";
        }
        Toy toy(options);
        if (kind == "lost rank" || kind == "zero") {
            // Head 0 of layer 0: W_O has its last two rows again, W_Q its last two columns; or both are 0.
            auto& W_O = toy.toy.tensors.at("blocks.0.attn.W_O").values;
            auto& W_Q = toy.toy.tensors.at("blocks.0.attn.W_Q").values;
            auto& b_Q = toy.toy.tensors.at("blocks.0.attn.b_Q").values;
            for (std::size_t m = 0; m < 7; ++m) {
                for (std::size_t h = 0; h < (kind == "zero" ? 5U : 2U); ++h) {
                    W_O[(4 - h) * 7 + m] = kind == "zero" ? 0 : W_O[m];
                    W_Q[m * 5 + 4 - h] = kind == "zero" ? 0 : W_Q[m * 5];
                    b_Q[4 - h] = kind == "zero" ? 0 : b_Q[0];
                }
            }
            toy.save();
        }
        ProcessingWish wish = refactoring();
        if (!centred)
            wish.centerWritingWeights = StepWish::Off;
        const ProcessedWeights before = test::processed(toy.model(), [&] {
            ProcessingWish folded = wish;
            folded.refactorAttention = StepWish::Off;
            return folded;
        }());
        const ProcessedWeights after = test::processed(toy.model(), wish);
        QVERIFY(change(toy.toy.folder, after) < 1e-10);
        QCOMPARE(after.config().nKvHeads, after.config().nHeads);
        QCOMPARE(after.plan().warnings.size(), std::size_t{kind == "grouped" ? 1U : 0U});
        for (int index = 0; index < 2 * options.nHeads; ++index) {
            const HeadId id{index / options.nHeads, index % options.nHeads};
            const auto h = after.head<double>(id);
            const auto old = before.head<double>(id);
            const RowVector<double> q = h.W_Q.colwise().squaredNorm() + h.b_Q.cwiseAbs2();
            const RowVector<double> k = h.W_K.colwise().squaredNorm() + h.b_K.cwiseAbs2();
            QVERIFY((q - k).cwiseAbs().maxCoeff() <= 1e-13 * std::max(1.0, q.maxCoeff()));
            QVERIFY((q.head(4).array() >= q.tail(4).array() - 1e-13).all()); // by falling singular value
            QVERIFY(test::isClose((h.W_O * h.W_O.transpose()).eval(), Matrix<double>::Identity(5, 5), 1e-13));
            QVERIFY(difference(h.W_V * h.W_O, old.W_V * old.W_O) < 1e-12);
            QVERIFY(difference(h.W_Q * h.W_K.transpose(), old.W_Q * old.W_K.transpose()) < 1e-12);
            QVERIFY(difference(h.W_Q * h.b_K.transpose(), old.W_Q * old.b_K.transpose()) < 1e-12);
            QVERIFY(difference(h.b_Q * h.W_K.transpose(), old.b_Q * old.W_K.transpose()) < 1e-12);
            QVERIFY(h.b_V.isZero(0));
            if (centred)
                QVERIFY(h.W_O.rowwise().mean().cwiseAbs().maxCoeff() < 1e-14);
        }
    }

    void refactoringWeightsThatAreNotFiniteFailsAndNamesTheHead()
    {
        Toy toy;
        toy.toy.tensors.at("blocks.1.attn.W_Q").values[2 * 35 + 3] = INFINITY;
        toy.save();
        const auto model = toy.model();
        const auto plan = planProcessing(*model, refactoring());
        QVERIFY(test::isOk(plan));
        QVERIFY(test::failsWith(process(model, *plan, Task{}), ErrorCode::Corrupt, "L1H2"));
    }

    void processingStopsWhenItIsTold()
    {
        const Toy toy;
        const auto model = toy.model();
        std::stop_source stop;
        stop.request_stop();
        const auto plan = planProcessing(*model, {});
        QVERIFY(test::isOk(plan));
        QVERIFY(
            test::failsWith(process(model, *plan, Task{stop.get_token(), {}, 0}), ErrorCode::Cancelled, ""));
    }

    void planNamesTheStepsInTheirOrder()
    {
        const Toy toy(test::llamaOptions());
        const auto plan = toy.plan({});
        QVERIFY(test::isOk(plan));
        QCOMPARE(plan->steps.size(), std::size_t{4});
        QCOMPARE(plan->steps[0], (StepOutcome{"fold-layer-norm", true, ""}));
        QCOMPARE(plan->steps[1].name, std::string("center-writing-weights"));
        QVERIFY(!plan->steps[1].applied);
        QCOMPARE(plan->steps[2], (StepOutcome{"center-unembed", true, ""}));
        QCOMPARE(plan->steps[3], (StepOutcome{"fold-value-biases", true, ""}));
        QCOMPARE(plan->warnings.size(), std::size_t{1});
    }
};

QTEST_APPLESS_MAIN(ProcessingTest)
#include "processing_test.moc"
