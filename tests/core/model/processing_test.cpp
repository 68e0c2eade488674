#include "tests/support/program.h"

#include "tests/core/model/processing_cases.h"

using namespace headwise;
using test::change;
using test::difference;
using test::nothing;
using test::outcome;
using test::refactoring;
using test::stored;
using test::Toy;

namespace {

/// Each step alone, as a Default wish.
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

    void aLargeVocabularyIsProcessedAsTheFormulaSays()
    {
        test::ToyOptions options;
        options.dVocab = 2048 + 64 + 3; // a whole block, a panel of the next one and a rest
        options.float64 = true;
        const Toy toy(options);
        const ProcessedWeights weights = test::processed(toy.model());
        const Matrix<double> W_U = stored(toy.toy, "unembed.W_U", 7, options.dVocab);
        Matrix<double> folded = stored(toy.toy, "ln_final.w", 1, 7).row(0).asDiagonal() * W_U;
        folded.rowwise() -= folded.colwise().mean().eval();
        folded.colwise() -= folded.rowwise().mean().eval();
        QVERIFY(test::isClose(weights.W_U<double>(0, options.dVocab), folded, 1e-13));
        Matrix<double> E = stored(toy.toy, "embed.W_E", options.dVocab, 7);
        E.colwise() -= E.rowwise().mean().eval();
        QVERIFY(test::isClose(weights.W_E<double>(30, 100), E.middleRows(30, 100), 1e-14));
        Matrix<double> bias =
            stored(toy.toy, "unembed.b_U", 1, options.dVocab) + stored(toy.toy, "ln_final.b", 1, 7) * W_U;
        bias.array() -= bias.mean();
        const Matrix<double> found = weights.b_U<double>(0, options.dVocab);
        QVERIFY(test::isClose(found, bias, 1e-13));
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

HEADWISE_TEST(ProcessingTest)
#include "processing_test.moc"
