#include "core/model/forward.h"

#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/sorting_partials.h"
#include "tests/support/toy_classes.h"

#include <QTemporaryDir>

using namespace headwise;

namespace {

const std::vector<int> tokens{3, 1, 4, 1, 5, 0, 2, 6, 5};

/// Compares the pass under test with the reference: logits, patterns, residuals and output norms.
template <typename Scalar>
bool agree(const test::ReferenceRun& reference, const ForwardResult<Scalar>& run, double tolerance)
{
    bool close = test::isClose(run.logits, test::matrixOf(reference.logits), tolerance);
    for (std::size_t layer = 0; layer < run.patterns.size(); ++layer) {
        for (std::size_t head = 0; head < run.patterns[layer].size(); ++head)
            close = close
                && test::isClose(run.patterns[layer][head], test::matrixOf(reference.patterns[layer][head]),
                                 tolerance);
        close = close
            && test::isClose(run.residuals[layer + 1],
                             test::matrixOf(reference.steps.at(std::to_string(layer) + ".resid_post")),
                             tolerance);
    }
    return close;
}

} // namespace

class ForwardTest : public QObject {
    Q_OBJECT

private slots:
    void agreesWithTheReferenceOnEveryKindOfModel_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = test::toyClasses();
        for (int i = 0; i < static_cast<int>(classes.size()); ++i)
            QTest::newRow(classes[static_cast<std::size_t>(i)].first) << i;
    }
    void agreesWithTheReferenceOnEveryKindOfModel()
    {
        QFETCH(int, index);
        const QTemporaryDir folder;
        const test::ToyModel toy = test::writeToyModel(
            folder.path().toStdString(), test::toyClasses()[static_cast<std::size_t>(index)].second);
        const auto reference = test::referenceForward(toy.folder, tokens);
        const ProcessedWeights weights = test::raw(test::loaded(toy.folder));
        QVERIFY(agree(reference, test::ran<double>(weights, tokens), 1e-10));
        QVERIFY(agree(reference, test::ran<float>(weights, tokens), 1e-4));
    }

    void outputNormsAreThoseOfTheMixedValuesTimesW_O()
    {
        const QTemporaryDir folder;
        test::ToyOptions options;
        options.nHeads = 6, options.nKvHeads = 2;
        const test::ToyModel toy = test::writeToyModel(folder.path().toStdString(), options);
        const auto reference = test::referenceForward(toy.folder, tokens);
        const auto run = test::ran<double>(test::raw(test::loaded(toy.folder)), tokens);
        for (std::size_t layer = 0; layer < 2; ++layer) {
            const std::string name = std::to_string(layer);
            const Matrix<double> mixed =
                test::matrixOf(reference.steps.at(name + ".attention")); // [n, heads · r]
            const std::vector<double>& stored = toy.tensors.at("blocks." + name + ".attn.W_O").values;
            for (Eigen::Index head = 0; head < 6; ++head) {
                for (Eigen::Index i = 0; i < mixed.rows(); ++i) {
                    double square = 0;
                    for (Eigen::Index m = 0; m < 7; ++m) {
                        double sum = 0;
                        for (Eigen::Index h = 0; h < 5; ++h)
                            sum += mixed(i, head * 5 + h)
                                * stored[static_cast<std::size_t>((head * 5 + h) * 7 + m)];
                        square += sum * sum;
                    }
                    QVERIFY(std::abs(run.outputNorms[layer](head, i) - std::sqrt(square)) < 1e-12);
                }
            }
        }
    }

    void theOrderOfTheSumsDoesNotDependOnTheNumberOfThreads()
    {
        const QTemporaryDir folder;
        const auto weights = test::raw(test::loaded(test::writeToyModel(folder.path().toStdString()).folder));
        const auto one = forward<float>(weights, tokens, Task{{}, {}, 1});
        const auto four = forward<float>(weights, tokens, Task{{}, {}, 4});
        QVERIFY(test::isOk(one) && test::isOk(four));
        QVERIFY(one->logits == four->logits);
    }

    void largeScoresGiveNoNan()
    {
        const QTemporaryDir folder;
        test::ToyModel toy = test::writeToyModel(folder.path().toStdString());
        for (double& value : toy.tensors.at("blocks.0.attn.W_Q").values)
            value *= 1e5;
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, false);
        const auto run = test::ran<float>(test::raw(test::loaded(toy.folder)), tokens);
        QVERIFY(run.logits.allFinite());
        for (const auto& pattern : run.patterns[0])
            QVERIFY((pattern.rowwise().sum().array() - 1).abs().maxCoeff() < 1e-5F);
    }

    void decodesThePublishedStory()
    {
        const std::vector<int> published{1,   403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395,
                                         317, 426, 338, 401, 396, 267, 337, 410, 408, 419, 292, 411, 322, 265,
                                         282, 295, 433, 426, 385, 328, 432, 358, 394, 261, 370, 432, 352};
        for (const char* name : {"models/stories260k", "models/stories260k-sharded"}) {
            const auto model = test::loaded(test::testData(name));
            const auto ids = greedyDecode<float>(test::raw(model), {1}, 40, Task{});
            QVERIFY(test::isOk(ids));
            QCOMPARE(*ids, published);
            const auto processedIds = greedyDecode<float>(test::processed(model), {1}, 40, Task{});
            QVERIFY(test::isOk(processedIds));
            QCOMPARE(*processedIds, published);
        }
    }

    void meetsTheAuthorsIntermediatesOfTheSortingModel()
    {
        const ProcessedWeights weights = test::raw(test::loaded(test::testData("models/gpt-nano-sort")));
        const test::SortingPartials partials;
        for (std::size_t input = 0; input < 3; ++input) {
            const auto run = test::ran<double>(weights, partials.tokens(input));
            const auto same = [&](const Matrix<double>& actual, const char* name, double bound = 1e-5) {
                const Matrix<double> expected = partials.read(name, input, actual.cols());
                const double error =
                    actual.rows() == expected.rows() ? (actual - expected).cwiseAbs().maxCoeff() : 1;
                return error < bound || (qWarning("%s differs by %g", name, error), false);
            };
            const Matrix<double> x = run.residuals[0];
            QVERIFY(same(x, "x"));
            const Norm<double> norm = weights.ln1<double>(0);
            Matrix<double> ln1 = x.colwise() - x.rowwise().mean();
            for (Eigen::Index i = 0; i < ln1.rows(); ++i)
                ln1.row(i) =
                    (ln1.row(i) / std::sqrt(ln1.row(i).squaredNorm() / 48 + 1e-5)).cwiseProduct(norm.w)
                    + norm.b;
            QVERIFY(same(ln1, "ln1"));
            Matrix<double> q(33, 16);
            Matrix<double> k(33, 16);
            Matrix<double> v(33, 16);
            Matrix<double> patterns(33, 11);
            Matrix<double> y(11, 48);
            Matrix<double> attention = weights.b_O<double>(0).replicate(11, 1);
            for (int h = 0; h < 3; ++h) {
                const auto head = weights.head<double>({0, h});
                q.middleRows(11 * h, 11) = (ln1 * head.W_Q).rowwise() + head.b_Q;
                k.middleRows(11 * h, 11) = (ln1 * head.W_K).rowwise() + head.b_K;
                v.middleRows(11 * h, 11) = (ln1 * head.W_V).rowwise() + head.b_V;
                patterns.middleRows(11 * h, 11) = run.patterns[0][static_cast<std::size_t>(h)];
                y.middleCols(16 * h, 16) = patterns.middleRows(11 * h, 11) * v.middleRows(11 * h, 11);
                attention += y.middleCols(16 * h, 16) * head.W_O;
            }
            QVERIFY(same(q, "q"));
            QVERIFY(same(k, "k"));
            QVERIFY(same(v, "v"));
            QVERIFY(same(patterns, "attSm", 1e-6));
            QVERIFY(same(y, "y"));
            QVERIFY(same(attention, "yProj"));
            QVERIFY(same(run.residuals[1], "block0"));
            QVERIFY(same(run.residuals[2], "block1"));
            QVERIFY(same(run.residuals[3], "block2"));
            QVERIFY(same(run.logits, "lm_head"));
        }
    }

    void refusesPromptsThatDoNotFitAndSaysWhy()
    {
        const QTemporaryDir folder;
        const auto weights = test::raw(test::loaded(test::writeToyModel(folder.path().toStdString()).folder));
        const auto run = [&](std::vector<int> ids) { return forward<float>(weights, ids, Task{}); };
        QVERIFY(test::failsWith(run({}), ErrorCode::InvalidArgument, "empty"));
        QVERIFY(
            test::failsWith(run({1, 11}), ErrorCode::InvalidArgument, "Token 2 of the prompt has the id 11"));
        QVERIFY(test::failsWith(run({-1}), ErrorCode::InvalidArgument, "-1"));
        QVERIFY(test::isOk(run(std::vector<int>(17, 1))));
        QVERIFY(test::failsWith(run(std::vector<int>(18, 1)), ErrorCode::InvalidArgument, "18 tokens"));
        QVERIFY(test::failsWith(greedyDecode<float>(weights, {1}, 17, Task{}), ErrorCode::InvalidArgument,
                                "18 tokens"));
    }

    void doesNotContinueATextWithoutACausalMask()
    {
        const QTemporaryDir folder;
        test::ToyOptions options;
        options.bidirectional = true;
        const auto weights =
            test::raw(test::loaded(test::writeToyModel(folder.path().toStdString(), options).folder));
        QVERIFY(test::isOk(forward<float>(weights, std::vector<int>{1, 2}, Task{})));
        QVERIFY(test::failsWith(greedyDecode<float>(weights, {1}, 2, Task{}), ErrorCode::InvalidArgument,
                                "attention_dir"));
    }

    void stopsWhenItIsTold()
    {
        const QTemporaryDir folder;
        const auto weights = test::raw(test::loaded(test::writeToyModel(folder.path().toStdString()).folder));
        std::stop_source stop;
        int layers = 0;
        const Task task{stop.get_token(), [&](int, int, std::string_view) { ++layers, stop.request_stop(); },
                        1};
        QVERIFY(test::failsWith(forward<float>(weights, tokens, task), ErrorCode::Cancelled, ""));
        QCOMPARE(layers, 1);
    }
};

HEADWISE_TEST(ForwardTest)
#include "forward_test.moc"
