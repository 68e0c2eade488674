#include "core/base/decompositions.h"

#include "tests/core/model/processing_cases.h"
#include "tests/support/program.h"

using namespace headwise;
using test::change;
using test::difference;
using test::nothing;
using test::processed;
using test::stored;
using test::Toy;

namespace {

constexpr int dModelOfToy = 7, dHeadOfToy = 5;
const HeadId earlier{0, 1}, later{1, 2};

ProcessingWish with(ProcessingWish wish, std::vector<HeadChange> changes)
{
    wish.headChanges = std::move(changes);
    return wish;
}

std::string nameOf(const char* matrix, int layer)
{
    return "blocks." + std::to_string(layer) + ".attn." + matrix;
}

/// Writes a matrix of one head into the file of a toy, rows first.
void put(Toy& toy, const std::string& name, int head, const Matrix<double>& m)
{
    std::vector<double>& values = toy.toy.tensors.at(name).values;
    for (Eigen::Index i = 0; i < m.rows(); ++i)
        for (Eigen::Index j = 0; j < m.cols(); ++j)
            values[static_cast<std::size_t>((head * m.rows() + i) * m.cols() + j)] = m(i, j);
}

/// b_O of layer 1 takes `bias` in.
void addToOutputBias(Toy& toy, const Matrix<double>& bias)
{
    std::vector<double>& b_O = toy.toy.tensors.at(nameOf("b_O", 1)).values;
    for (Eigen::Index i = 0; i < bias.size(); ++i)
        b_O[static_cast<std::size_t>(i)] += bias(i);
}

Matrix<double> product(const ProcessedWeights& weights, HeadId id)
{
    const HeadWeights<double> head = weights.head<double>(id);
    return head.W_V * head.W_O;
}

/// U S Vᵀ without its k-th part, of the dense product.
Matrix<double> truncated(const Matrix<double>& dense, int k)
{
    const auto svd = thinSvd(dense);
    if (!svd)
        qFatal("%s", test::printed(svd.error()).constData());
    return dense - svd->S(k) * svd->U.col(k) * svd->V.col(k).transpose();
}

bool isSame(const HeadWeights<double>& a, const HeadWeights<double>& b)
{
    return a.W_Q == b.W_Q && a.W_K == b.W_K && a.W_V == b.W_V && a.W_O == b.W_O && a.b_V == b.b_V
        && a.b_Q == b.b_Q && a.b_K == b.b_K;
}

QString refusal(const Toy& toy, std::vector<HeadChange> changes)
{
    const auto plan = toy.plan(with({}, std::move(changes)));
    return plan ? QString() : QString::fromStdString(plan.error().message);
}

} // namespace

/// Changed heads: a singular component removed, or a virtual head in a head's place.
class ChangedHeadsTest : public QObject {
    Q_OBJECT

private slots:
    void aHeadWithoutAComponentIsTheTruncatedProduct()
    {
        const Toy toy({.float64 = true});
        for (const ProcessingWish& wish : {nothing(), ProcessingWish(), test::refactoring()}) {
            const ProcessedWeights before = processed(toy.model(), wish);
            for (int k = 0; k < dHeadOfToy; ++k) {
                const ProcessedWeights after =
                    processed(toy.model(), with(wish, {{.head = later, .withoutComponent = k}}));
                QVERIFY(difference(product(after, later), truncated(product(before, later), k)) < 1e-13);
                QVERIFY(isSame(after.head<double>(earlier), before.head<double>(earlier)));
                QCOMPARE(after.plan().steps.back().name, "without-component 1.2:" + std::to_string(k));
            }
        }
    }

    void itRunsAsAModelThatIsStoredSo()
    {
        Toy toy({.float64 = true});
        const ProcessedWeights changed =
            processed(toy.model(), with(nothing(), {{.head = later, .withoutComponent = 1}}));
        QVERIFY(change(toy.toy.folder, changed) > 1e-3); // another function
        const Matrix<double> W_V = stored(toy.toy, nameOf("W_V", 1), dModelOfToy, dHeadOfToy, later.head);
        const Matrix<double> W_O = stored(toy.toy, nameOf("W_O", 1), dHeadOfToy, dModelOfToy, later.head);
        const auto svd = thinSvd(W_V * W_O);
        QVERIFY(svd);
        const Eigen::VectorXd v = svd->V.col(1);
        Toy other({.float64 = true});
        put(other, nameOf("W_O", 1), later.head, W_O - W_O * v * v.transpose());
        // The output of the value bias is not part of W_V W_O.
        addToOutputBias(
            other, stored(toy.toy, nameOf("b_V", 1), 1, dHeadOfToy, later.head) * W_O * v * v.transpose());
        other.save();
        QVERIFY(change(other.toy.folder, changed) < 1e-12);
    }

    void aVirtualHeadIsTheProductOfBothAndRunsAsStored()
    {
        Toy toy({.float64 = true});
        const ProcessedWeights before = processed(toy.model());
        const ProcessedWeights folded =
            processed(toy.model(), with({}, {{.head = later, .earlier = earlier}}));
        QVERIFY(difference(product(folded, later), product(before, earlier) * product(before, later))
                < 1e-13);
        QVERIFY(folded.head<double>(later).W_Q == before.head<double>(later).W_Q);

        const ProcessedWeights changed =
            processed(toy.model(), with(nothing(), {{.head = later, .earlier = earlier}}));
        const Matrix<double> chain = stored(toy.toy, nameOf("W_O", 0), dHeadOfToy, dModelOfToy, earlier.head)
            * stored(toy.toy, nameOf("W_V", 1), dModelOfToy, dHeadOfToy, later.head)
            * stored(toy.toy, nameOf("W_O", 1), dHeadOfToy, dModelOfToy, later.head);
        Toy other({.float64 = true});
        put(other, nameOf("W_V", 1), later.head,
            stored(toy.toy, nameOf("W_V", 0), dModelOfToy, dHeadOfToy, earlier.head));
        put(other, nameOf("b_V", 1), later.head, Matrix<double>::Zero(1, dHeadOfToy));
        addToOutputBias(other,
                        stored(toy.toy, nameOf("b_V", 1), 1, dHeadOfToy, later.head)
                            * stored(toy.toy, nameOf("W_O", 1), dHeadOfToy, dModelOfToy, later.head));
        put(other, nameOf("W_O", 1), later.head, chain);
        other.save();
        QVERIFY(change(other.toy.folder, changed) < 1e-12);
    }

    void foldingTheBiasesOfValuesKeepsTheFunctionOfAChangedModel()
    {
        const Toy toy({.float64 = true});
        for (const HeadChange& made : {HeadChange{.head = later, .withoutComponent = 0},
                                       HeadChange{.head = later, .earlier = earlier}}) {
            ProcessingWish unfolded = with({}, {made});
            unfolded.foldValueBiases = StepWish::Off;
            const auto logits = [](const ProcessedWeights& weights) {
                return test::logSoftmax(test::ran<double>(weights, test::tokens).logits);
            };
            QVERIFY(difference(logits(processed(toy.model(), with({}, {made}))),
                               logits(processed(toy.model(), unfolded)))
                    < 1e-12);
        }
    }

    void changesAreMadeOfTheHeadsAsTheyWere()
    {
        const Toy toy({.float64 = true});
        const HeadChange cut{.head = earlier, .withoutComponent = 0},
            chain{.head = later, .earlier = earlier};
        const ProcessedWeights one = processed(toy.model(), with({}, {cut, chain}));
        const ProcessedWeights two = processed(toy.model(), with({}, {chain, cut}));
        const ProcessedWeights alone = processed(toy.model(), with({}, {chain}));
        QVERIFY(isSame(one.head<double>(later), two.head<double>(later)));
        QVERIFY(isSame(one.head<double>(later), alone.head<double>(later)));
        QVERIFY(isSame(one.head<double>(earlier), two.head<double>(earlier)));
    }

    void headsThatShareKeysAndValuesChangeOneByOne()
    {
        const Toy toy(test::llamaOptions());
        const ProcessedWeights before = processed(toy.model());
        const ProcessedWeights after =
            processed(toy.model(), with({}, {{.head = {1, 4}, .earlier = HeadId{0, 0}}}));
        QCOMPARE(after.config().nKvHeads, after.config().nHeads);
        for (int head = 0; head < after.config().nHeads; ++head)
            QCOMPARE(isSame(after.head<double>({1, head}), before.head<double>({1, head})), head != 4);
        QVERIFY(difference(product(after, {1, 4}), product(before, {0, 0}) * product(before, {1, 4}))
                < 1e-12);
    }

    void whatCannotBeDoneIsRefused()
    {
        const Toy toy;
        QVERIFY(refusal(toy, {{.head = {2, 0}, .withoutComponent = 0}}).contains("2 layers of 3 heads"));
        QVERIFY(refusal(toy, {{.head = {1, 0}, .withoutComponent = dHeadOfToy}}).contains("5 components"));
        QVERIFY(refusal(toy, {{.head = {1, 0}, .withoutComponent = -1}}).contains("5 components"));
        QVERIFY(refusal(toy, {{.head = {0, 0}, .earlier = HeadId{0, 1}}}).contains("earlier layer"));
        QVERIFY(refusal(toy, {{.head = {1, 0}, .earlier = HeadId{0, 3}}}).contains("2 layers of 3 heads"));
        QVERIFY(refusal(toy, {{.head = later, .withoutComponent = 0}, {.head = later, .earlier = earlier}})
                    .contains("L1H2 is changed twice"));
        QCOMPARE(refusal(toy, {}), QString());
    }

    void namesAreReadAsTheyAreWritten()
    {
        for (const HeadChange& change : {HeadChange{.head = later, .earlier = earlier},
                                         HeadChange{.head = earlier, .withoutComponent = 12}})
            QCOMPARE(parseHeadChange(headChangeName(change)), std::optional(change));
        QCOMPARE(headChangeText({.head = later, .earlier = earlier}),
                 std::string("L1H2: virtual head L0H1 → L1H2"));
        QCOMPARE(headChangeText({.head = earlier, .withoutComponent = 3}),
                 std::string("L0H1 without its singular component 4"));
        for (const char* wrong :
             {"", "virtual-head", "virtual-head 0.1", "virtual-head 0.1,", "virtual-head a,1.2",
              "without-component 0.1", "without-component 0.1:", "without-component 0.1:-1",
              "without-component 0.1:3x", "without-component 0.1:99999999999", "another 0.1:3"})
            QVERIFY2(!parseHeadChange(wrong), wrong);
    }
};

HEADWISE_TEST(ChangedHeadsTest)
#include "changed_heads_test.moc"
