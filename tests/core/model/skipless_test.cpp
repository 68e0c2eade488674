#include "core/model/skipless.h"

#include "core/model/checkpoint_writer.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

#include <numbers>

using namespace headwise;

namespace {

const std::vector<int> skiplessPrompt{3, 1, 4, 1, 5, 0, 2, 6, 5};
constexpr std::array pairs{MergePair::QP, MergePair::KP, MergePair::VP};

/// Heads side by side make the residual stream: 15 = 3 · 5.
test::ToyOptions squareOptions()
{
    test::ToyOptions options;
    options.dModel = 15;
    return options;
}

struct ToyClass {
    const char* name;
    test::ToyOptions options;
    std::vector<MergePair> possible;
};

/// Every kind of model with serial blocks whose counterpart can lose a pair.
std::vector<ToyClass> mergeableClasses()
{
    std::vector<ToyClass> classes;
    const std::vector<MergePair> all(pairs.begin(), pairs.end());
    const auto add = [&](const char* name, std::vector<MergePair> possible, auto change) {
        test::ToyOptions options = squareOptions();
        change(options);
        classes.push_back({name, options, std::move(possible)});
    };
    add("MHA, every bias", all, [](test::ToyOptions&) {});
    add("MHA, no biases, no norms", all, [](test::ToyOptions& o) {
        o.qkvBias = o.outBias = o.mlpBias = o.unembedBias = false;
        o.normalization.reset();
    });
    add("GQA, gated, rotary", {MergePair::QP}, [](test::ToyOptions& o) {
        o.nHeads = 6, o.nKvHeads = 2, o.dHead = 4, o.dModel = 24;
        o.normalization = "RMS", o.positional = "rotary", o.activation = "silu", o.gatedMlp = true;
    });
    add("MQA", {MergePair::QP}, [](test::ToyOptions& o) { o.nKvHeads = 1; });
    add("MHA, rotary of a part, adjacent", all,
        [](test::ToyOptions& o) { o.positional = "rotary", o.rotaryAdjacent = true, o.rotaryDim = 4; });
    add("gated, biases inside the product", all, [](test::ToyOptions& o) { o.gatedMlp = o.gateBias = true; });
    add("gated, no bias but b_O", all,
        [](test::ToyOptions& o) { o.gatedMlp = true, o.qkvBias = o.mlpBias = false; });
    add("soft caps", all, [](test::ToyOptions& o) { o.scoreSoftCap = 1, o.logitSoftCap = 3; });
    add("solu_ln", all, [](test::ToyOptions& o) { o.activation = "solu_ln"; });
    add("one layer", all, [](test::ToyOptions& o) { o.nLayers = 1; });
    add("GPT-2, tied", all, [](test::ToyOptions& o) { o = test::gpt2Options(), o.tied = true; });
    add("Llama, grouped", {MergePair::QP},
        [](test::ToyOptions& o) { o = test::llamaOptions(), o.dModel = 24; });
    add("grouped, K and V square, P not", {MergePair::KP, MergePair::VP},
        [](test::ToyOptions& o) { o.nHeads = 6, o.nKvHeads = 2, o.dHead = 4, o.dModel = 8; });
    add("float64", all, [](test::ToyOptions& o) { o.float64 = true; });
    return classes;
}

Matrix<double> skiplessTensor(const std::map<std::string, test::StoredTensor>& stored,
                              const std::string& name, Eigen::Index rows, Eigen::Index cols,
                              Eigen::Index first = 0)
{
    Matrix<double> m(rows, cols);
    for (Eigen::Index i = 0; i < rows; ++i)
        for (Eigen::Index j = 0; j < cols; ++j)
            m(i, j) = stored.at(name).values[static_cast<std::size_t>(first + i * cols + j)];
    return m;
}

double geluNew(double x)
{
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// A skipless model with learned positions and every bias, from the stored numbers, one position at a time.
Matrix<double> denseLogits(const test::ToyModel& toy)
{
    const auto& o = toy.options;
    const auto& s = toy.tensors;
    const auto n = static_cast<Eigen::Index>(skiplessPrompt.size());
    const Eigen::Index d = o.dModel, r = o.dHead, f = o.dMlp, V = o.dVocab;
    Matrix<double> x(n, d);
    for (Eigen::Index i = 0; i < n; ++i)
        x.row(i) = skiplessTensor(s, "embed.W_E", 1, d, skiplessPrompt[static_cast<std::size_t>(i)] * d)
            + skiplessTensor(s, "pos_embed.W_pos", 1, d, i * d);
    for (int layer = 0; layer < o.nLayers; ++layer) {
        const std::string block = "blocks." + std::to_string(layer) + ".";
        Matrix<double> written = skiplessTensor(s, block + "attn.b_O", 1, d).replicate(n, 1);
        for (Eigen::Index h = 0; h < o.nHeads; ++h) {
            const auto read = [&](const std::string& letter) -> Matrix<double> {
                return (x * skiplessTensor(s, block + "attn.W_" + letter, d, r, h * d * r)).rowwise()
                    + RowVector<double>(skiplessTensor(s, block + "attn.b_" + letter, 1, r, h * r));
            };
            const Matrix<double> q = read("Q"), k = read("K"), v = read("V");
            const Matrix<double> W_O = skiplessTensor(s, block + "attn.W_O", r, d, h * r * d);
            for (Eigen::Index i = 0; i < n; ++i) {
                Eigen::VectorXd weights =
                    (k.topRows(i + 1) * q.row(i).transpose() / std::sqrt(static_cast<double>(r)))
                        .array()
                        .exp();
                written.row(i) += (weights.transpose() / weights.sum()) * v.topRows(i + 1) * W_O;
            }
        }
        const auto mlp = [&](const Matrix<double>& in) -> Matrix<double> {
            const Matrix<double> inside = (in * skiplessTensor(s, block + "mlp.W_in", d, f)).rowwise()
                + RowVector<double>(skiplessTensor(s, block + "mlp.b_in", 1, f));
            return (inside.unaryExpr(&geluNew) * skiplessTensor(s, block + "mlp.W_out", f, d)).rowwise()
                + RowVector<double>(skiplessTensor(s, block + "mlp.b_out", 1, d));
        };
        if (o.attnOnly)
            x = written;
        else if (o.parallel)
            x = (written + mlp(x)).eval();
        else
            x = mlp(written);
    }
    return (x * skiplessTensor(s, "unembed.W_U", d, V)).rowwise()
        + RowVector<double>(skiplessTensor(s, "unembed.b_U", 1, V));
}

double relative(const Matrix<double>& logits, const Matrix<double>& expected)
{
    return (logits - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
}

} // namespace

/// Models without skip connections, with and without a pair of their matrices.
class SkiplessTest : public QObject {
    Q_OBJECT

private slots:
    void theCounterpartHasNeitherSkipsNorNorms()
    {
        for (const int kind : {0, 1, 2}) {
            test::ToyOptions options;
            options.parallel = kind == 1;
            options.attnOnly = kind == 2;
            const test::ToyModel toy = write(options);
            const ProcessedWeights counterpart = skipless(toy.folder);
            QCOMPARE(counterpart.config().norm, NormKind::None);
            const Matrix<double> logits = test::ran<double>(counterpart, skiplessPrompt).logits;
            QVERIFY(relative(logits, denseLogits(toy)) < 1e-12);
            // The function differs.
            QVERIFY(relative(logits,
                             test::ran<double>(test::raw(test::loaded(toy.folder)), skiplessPrompt).logits)
                    > 0.1);
        }
    }

    void aSkiplessFolderIsReadBack()
    {
        const test::ToyModel toy = write({});
        const ProcessedWeights counterpart = skipless(toy.folder);
        const auto folder = fresh();
        QVERIFY(test::isOk(
            writeTransformerLensFolder(counterpart, toy.folder, folder, ExistingFolder::Refuse, Task{})));
        const auto again = test::loaded(folder);
        QVERIFY(again->config().skipless && !again->config().merged);
        QVERIFY(again->warnings().empty());
        QCOMPARE(normalizationName(again->config()), std::string_view("none"));
        QVERIFY(relative(test::ran<double>(test::raw(again), skiplessPrompt).logits, denseLogits(toy))
                < 1e-12);
        const auto merges = mergesOf(*again, Task{});
        for (const Merge& merge : *merges)
            QVERIFY(merge.reason.find("skip connections") == std::string::npos);
    }

    void mergesKeepTheFunction_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = mergeableClasses();
        for (int i = 0; i < static_cast<int>(classes.size()); ++i)
            QTest::newRow(classes[static_cast<std::size_t>(i)].name) << i;
    }
    void mergesKeepTheFunction()
    {
        QFETCH(int, index);
        const ToyClass toyClass = mergeableClasses()[static_cast<std::size_t>(index)];
        const test::ToyModel toy = write(toyClass.options);
        for (const bool isProcessed : {false, true}) {
            const ProcessedWeights counterpart = skipless(toy.folder, isProcessed);
            const auto expected = test::ran<double>(counterpart, skiplessPrompt);
            for (const MergePair pair : pairs) {
                const auto merged = mergePair(counterpart, pair, Task{});
                if (std::ranges::find(toyClass.possible, pair) == toyClass.possible.end()) {
                    QVERIFY(test::failsWith(merged, ErrorCode::InvalidArgument, "is not square"));
                    continue;
                }
                QVERIFY(test::isOk(merged));
                const auto run = test::ran<double>(*merged, skiplessPrompt);
                const double difference = relative(run.logits, expected.logits);
                QVERIFY2(difference < 1e-10, QByteArray::number(difference));
                for (std::size_t layer = 0; layer < run.patterns.size(); ++layer)
                    for (std::size_t head = 0; head < run.patterns[layer].size(); ++head)
                        QVERIFY(
                            (run.patterns[layer][head] - expected.patterns[layer][head]).cwiseAbs().maxCoeff()
                            < 1e-10);
                checkFolder(*merged, pair, toy, run.logits);
            }
        }
    }

    void removesTheWeightsItSaysItRemoves()
    {
        for (const ToyClass& toyClass : mergeableClasses()) {
            const auto counterpart = skipless(write(toyClass.options).folder);
            for (const MergePair pair : toyClass.possible) {
                const Merge merge = mergesOf(counterpart.config())[static_cast<std::size_t>(pair)];
                const ModelConfig after = mergePair(counterpart, pair, Task{})->config();
                ModelConfig before = counterpart.config();
                before.tiedEmbeddings = false; // W_E changes and W_U does not
                QCOMPARE(countWeights(before).total - countWeights(after).total, merge.weightsRemoved);
            }
        }
    }

    // Q, K or V of a parallel block, or of one without an MLP: P stays, and the function too.
    void oneMatrixOfParallelBlocksKeepsTheFunction()
    {
        for (const int kind : {0, 1, 2, 3}) {
            test::ToyOptions options = squareOptions();
            options.parallel = kind != 1;
            options.attnOnly = kind == 1;
            options.nKvHeads = kind == 2 ? 1 : 0;
            options.gatedMlp = kind == 3;
            options.positional = kind == 3 ? "rotary" : "standard";
            options.rotaryDim = kind == 3 ? 4 : 0;
            const test::ToyModel toy = write(options);
            const ProcessedWeights counterpart = skipless(toy.folder, kind % 2 == 0);
            const auto expected = test::ran<double>(counterpart, skiplessPrompt);
            for (const MergePair pair : pairs) {
                QVERIFY(!whyNotMerge(counterpart, pair, Task{})->empty());
                const auto merged = mergePair(counterpart, pair, Task{});
                if (kind == 2 && pair != MergePair::QP) {
                    QVERIFY(test::failsWith(merged, ErrorCode::InvalidArgument, "is not square"));
                    continue;
                }
                QVERIFY(test::isOk(merged) && !merged->config().merged);
                const auto run = test::ran<double>(*merged, skiplessPrompt);
                const double difference = relative(run.logits, expected.logits);
                QVERIFY2(difference < 1e-10, QByteArray::number(difference));
                QVERIFY((run.patterns[1][2] - expected.patterns[1][2]).cwiseAbs().maxCoeff() < 1e-10);
                // The matrix is gone: the heads' columns of the identity replace it.
                const HeadWeights<double> head = merged->head<double>({1, 0});
                const Matrix<double>& gone = pair == MergePair::QP ? head.W_Q
                    : pair == MergePair::KP                        ? head.W_K
                                                                   : head.W_V;
                QVERIFY(gone == Matrix<double>(Matrix<double>::Identity(15, 15).leftCols(5)));
            }
        }
    }

    void errorsGrowWithTheRounding()
    {
        const test::ToyModel toy = write(squareOptions());
        const ProcessedWeights counterpart = skipless(toy.folder);
        const auto logits = roundedLogits(counterpart, skiplessPrompt, Task{});
        QVERIFY(test::isOk(logits));
        const OutputErrors rounding = roundingErrors(*logits);
        for (const MergePair pair : pairs) {
            const auto errors =
                outputErrors(*mergePair(counterpart, pair, Task{}), counterpart, skiplessPrompt, Task{});
            QVERIFY(test::isOk(errors));
            QVERIFY(errors->f64 > 0 && errors->f64 < 1e-10);
            QVERIFY(errors->f32 > 10 * errors->f64 && errors->f32 < 1e-3);
            QVERIFY(errors->bf16 > 10 * errors->f32 && std::isfinite(errors->bf16));
        }
        QCOMPARE(rounding.f64, 0.0);
        QVERIFY(rounding.f32 > 0 && rounding.f32 < 1e-5);
        QVERIFY(rounding.bf16 > 1e-4 && rounding.bf16 < 0.1);
    }

    void refusesWhatCannotBeMerged()
    {
        const auto refusal = [&](const test::ToyOptions& options, bool isSkipless = true) {
            const auto folder = write(options).folder;
            const ProcessedWeights model = isSkipless ? skipless(folder) : test::raw(test::loaded(folder));
            const std::string reason = *whyNotMerge(model, MergePair::QP, Task{});
            const auto merged = mergePair(model, MergePair::QP, Task{});
            // If the pair cannot be removed but one matrix can, that matrix is removed.
            return merged && !losesOneMatrix(model.config()) ? std::string()
                : merged                                     ? reason
                                                             : merged.error().message;
        };
        test::ToyOptions options = squareOptions();
        QVERIFY(refusal(options).empty()); // it could have been merged
        QVERIFY(refusal(options, false).find("skip connections and normalisation") != std::string::npos);
        options.normalization.reset();
        QVERIFY(refusal(options, false).find("has skip connections, so") != std::string::npos);
        options.parallel = true;
        QVERIFY(refusal(options).find("one of Q, K, V or P") != std::string::npos);
        options.parallel = false, options.attnOnly = true;
        QVERIFY(refusal(options).find("without MLPs") != std::string::npos);
        QVERIFY(refusal({}).find("3 heads of 5 dimensions are not the 7") != std::string::npos);

        // Two equal columns of Q in layer 1.
        test::ToyModel toy = write(squareOptions());
        auto& Q = toy.tensors.at("blocks.1.attn.W_Q").values;
        for (std::size_t row = 0; row < 15; ++row)
            Q[row * 5 + 1] = Q[row * 5 + 2];
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, false);
        QVERIFY(test::failsWith(mergePair(skipless(toy.folder), MergePair::QP, Task{}),
                                ErrorCode::InvalidArgument, "Q of layer 1"));
        QVERIFY(test::isOk(mergePair(skipless(toy.folder), MergePair::KP, Task{})));

        ProcessingWish refactoring;
        refactoring.refactorAttention = StepWish::Required;
        const auto model = std::make_shared<const ModelWeights>(
            skiplessCounterpart(*test::loaded(write(squareOptions()).folder)));
        QVERIFY(test::failsWith(mergePair(test::processed(model, refactoring), MergePair::QP, Task{}),
                                ErrorCode::InvalidArgument, "refactored"));
    }

    void aCancelledMergeStops()
    {
        std::stop_source stop;
        stop.request_stop();
        const auto merged =
            mergePair(skipless(write(squareOptions()).folder), MergePair::QP, Task{stop.get_token(), {}, 1});
        QVERIFY(!merged && merged.error().code == ErrorCode::Cancelled);
    }

    void readsOnlyWhatItCanBe()
    {
        const test::ToyModel toy = write(squareOptions());
        const auto code = [&](const std::map<std::string, std::string>& overrides) {
            const auto model = loadModel({toy.folder, std::nullopt, overrides}, Task{});
            return model ? std::string() : model.error().message;
        };
        QVERIFY(code({}).empty());
        QVERIFY(code({{"skipless", "true"}}).find("normalization_type null") != std::string::npos);
        QVERIFY(code({{"merged", "\"qp\""}}).find("skipless") != std::string::npos);
        test::ToyOptions options = squareOptions();
        options.normalization.reset();
        const test::ToyModel bare = write(options);
        const auto read = [&](const std::map<std::string, std::string>& overrides) {
            const auto model = loadModel({bare.folder, std::nullopt, overrides}, Task{});
            return model ? std::string() : model.error().message;
        };
        QVERIFY(read({{"skipless", "true"}}).empty());
        QVERIFY(read({{"skipless", "true"}, {"merged", "\"q\""}}).find("qp, kp, vp") != std::string::npos);
        // The matrices that should be gone still exist.
        QVERIFY(read({{"skipless", "true"}, {"merged", "\"qp\""}}).find("attn.W_Q") != std::string::npos);
        QVERIFY(
            read({{"skipless", "true"}, {"merged", "\"qp\""}, {"parallel_attn_mlp", "true"}}).find("'merged'")
            != std::string::npos);
    }

private:
    test::ToyModel write(const test::ToyOptions& options) { return test::writeToyModel(fresh(), options); }

    ProcessedWeights skipless(const std::filesystem::path& folder, bool isProcessed = false)
    {
        const auto model = std::make_shared<const ModelWeights>(skiplessCounterpart(*test::loaded(folder)));
        return isProcessed ? test::processed(model) : test::raw(model);
    }

    /// After writing and reading it is the same, without the removed matrices.
    void checkFolder(const ProcessedWeights& merged, MergePair pair, const test::ToyModel& toy,
                     const Matrix<double>& logits)
    {
        const auto folder = fresh();
        QVERIFY(test::isOk(
            writeTransformerLensFolder(merged, toy.folder, folder, ExistingFolder::Refuse, Task{})));
        const auto again = test::loaded(folder);
        QVERIFY(again->config().skipless && again->config().merged == pair);
        QVERIFY(again->warnings().empty());
        const std::string gone(1, "QKV"[static_cast<std::size_t>(pair)]);
        for (const StoredTensor& stored : again->file().tensors())
            for (const std::string& part : {"W_" + gone, "b_" + gone, std::string("W_O"), std::string("b_O")})
                QVERIFY2(!stored.name.ends_with(part), stored.name.c_str());
        const Matrix<double> read = test::ran<double>(test::raw(again), skiplessPrompt).logits;
        QVERIFY(relative(read, test::ran<double>(merged.asStored(), skiplessPrompt).logits) < 1e-12);
        const double difference = relative(read, logits);
        QVERIFY2(difference < (toy.options.float64 ? 1e-10 : 1e-3), QByteArray::number(difference));
        QCOMPARE(countWeights(again->config()).total, countWeights(merged.config()).total);
        QCOMPARE(mergeSource(*again).path, std::filesystem::absolute(toy.folder).lexically_normal().string());
        const auto merges = mergesOf(*again, Task{});
        for (const Merge& merge : *merges)
            QVERIFY(!merge.possible && merge.reason.find("already") != std::string::npos);
    }

    std::filesystem::path fresh()
    {
        return std::filesystem::path(m_folder.path().toStdString()) / std::to_string(m_count++);
    }

    QTemporaryDir m_folder;
    int m_count = 0;
};

HEADWISE_TEST(SkiplessTest)
#include "skipless_test.moc"
