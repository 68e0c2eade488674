#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/reference_forward.h"
#include "tests/support/toy_model.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

using namespace headwise;
using test::Fault;

namespace {

const std::vector<int> referencePrompt{3, 1, 4, 1, 5, 9, 2, 6};

double largestDifference(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b)
{
    double largest = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (a[i].size() != b[i].size())
            return INFINITY;
        for (std::size_t j = 0; j < a[i].size(); ++j)
            largest = std::fmax(largest, std::isfinite(a[i][j]) ? std::abs(a[i][j] - b[i][j]) : INFINITY);
    }
    return largest;
}

/// The author's own numbers, rows of `width`, from the n-th of the three inputs.
class Partials {
public:
    Partials()
    {
        QFile file(QString::fromStdString(
            test::testData("models/gpt-nano-sort/gpt-nano-sort-t0-partials.json").string()));
        if (file.open(QIODevice::ReadOnly))
            m_all = QJsonDocument::fromJson(file.readAll()).object();
    }

    std::vector<int> input(std::size_t batch) const
    {
        std::vector<int> ids;
        for (const std::vector<double>& row : read("idx", batch, 1))
            ids.push_back(static_cast<int>(row[0]));
        return ids;
    }

    std::vector<std::vector<double>> rows(const char* name, std::size_t batch, std::size_t width) const
    {
        return read(name, batch, width);
    }

    /// [heads, n, width] turned into [n, heads · width].
    std::vector<std::vector<double>> heads(const char* name, std::size_t batch, std::size_t width) const
    {
        const auto stacked = read(name, batch, width);
        const std::size_t n = stacked.size() / 3;
        std::vector<std::vector<double>> rows(n);
        for (std::size_t i = 0; i < stacked.size(); ++i)
            rows[i % n].insert(rows[i % n].end(), stacked[i].begin(), stacked[i].end());
        return rows;
    }

private:
    std::vector<std::vector<double>> read(const char* name, std::size_t batch, std::size_t width) const
    {
        const QByteArray bytes =
            QByteArray::fromBase64(m_all[QLatin1String(name)]["data"].toString().toLatin1());
        const std::size_t rowCount = static_cast<std::size_t>(bytes.size()) / 4 / 3 / width;
        std::vector<std::vector<double>> rows(rowCount, std::vector<double>(width));
        for (std::size_t i = 0; i < rowCount; ++i)
            for (std::size_t j = 0; j < width; ++j) {
                float value = 0;
                std::memcpy(&value, bytes.constData() + 4 * ((batch * rowCount + i) * width + j), 4);
                rows[i][j] = static_cast<double>(value);
            }
        return rows;
    }

    QJsonObject m_all;
};

std::vector<std::vector<double>> sideBySide(const std::vector<std::vector<std::vector<double>>>& patterns)
{
    std::vector<std::vector<double>> rows(patterns[0].size());
    for (const auto& pattern : patterns)
        for (std::size_t i = 0; i < pattern.size(); ++i)
            rows[i].insert(rows[i].end(), pattern[i].begin(), pattern[i].end());
    return rows;
}

} // namespace

/// The reference measures the forward pass, so it is first compared with independent numbers.
class ReferenceTest : public QObject {
    Q_OBJECT

private slots:
    void decodesThePublishedStory()
    {
        const std::vector<int> published{1,   403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395,
                                         317, 426, 338, 401, 396, 267, 337, 410, 408, 419, 292, 411, 322, 265,
                                         282, 295, 433, 426, 385, 328, 432, 358, 394, 261, 370, 432, 352};
        QCOMPARE(test::referenceGreedy(test::testData("models/stories260k"), {1}, 40), published);
        QCOMPARE(test::referenceGreedy(test::testData("models/stories260k-sharded"), {1}, 40), published);
    }

    void meetsTheAuthorsIntermediatesOfTheSortingModel()
    {
        const Partials partials;
        for (std::size_t batch = 0; batch < 3; ++batch) {
            const test::ReferenceRun run =
                test::referenceForward(test::testData("models/gpt-nano-sort"), partials.input(batch));
            const auto check = [&](const char* step, const std::vector<std::vector<double>>& expected) {
                const double difference = largestDifference(run.steps.at(step), expected);
                return difference < 1e-5 || (qWarning("%s differs by %g", step, difference), false);
            };
            QVERIFY(check("0.ln1", partials.rows("ln1", batch, 48)));
            QVERIFY(check("0.q", partials.heads("q", batch, 16)));
            QVERIFY(check("0.k", partials.heads("k", batch, 16)));
            QVERIFY(check("0.v", partials.heads("v", batch, 16)));
            QVERIFY(check("0.attention", partials.rows("y", batch, 48)));
            QVERIFY(check("0.attention_out", partials.rows("yProj", batch, 48)));
            QVERIFY(check("0.resid_mid", partials.rows("attnResid", batch, 48)));
            QVERIFY(check("0.ln2", partials.rows("ln2", batch, 48)));
            QVERIFY(check("0.mlp_out", partials.rows("mlp", batch, 48)));
            QVERIFY(check("0.resid_post", partials.rows("block0", batch, 48)));
            QVERIFY(check("1.resid_post", partials.rows("block1", batch, 48)));
            QVERIFY(check("2.resid_post", partials.rows("block2", batch, 48)));
            QVERIFY(check("ln_final", partials.rows("ln_f", batch, 48)));
            QVERIFY(largestDifference(sideBySide(run.patterns[0]), partials.heads("attSm", batch, 11))
                    < 1e-6);
            QVERIFY(largestDifference(run.logits, partials.rows("lm_head", batch, 3)) < 1e-5);
        }
    }

    /// README of the demo: L0H1 attends to the previous token (0.93), L1H5, L1H0 and L1H7 are induction heads (0.99,
    /// 0.86, 0.77).
    void seesTheKnownHeadsOfTheDemo()
    {
        std::mt19937 engine(1);
        std::vector<int> ids{0};
        for (int i = 0; i < 60; ++i)
            ids.push_back(static_cast<int>(1 + engine() % 2047));
        ids.insert(ids.end(), ids.begin() + 1, ids.end());
        const test::ReferenceRun run = test::referenceForward(HEADWISE_DEMO_MODEL, ids);
        const auto attention = [&](std::size_t layer, std::size_t head, std::size_t back) {
            double sum = 0;
            for (std::size_t query = 61; query < ids.size(); ++query)
                sum += run.patterns[layer][head][query][query - back] / 60;
            return sum;
        };
        QCOMPARE_GT(attention(0, 1, 1), 0.85);
        QCOMPARE_LT(attention(0, 0, 1), 0.45);
        QCOMPARE_GT(attention(1, 5, 59), 0.95);
        QCOMPARE_GT(attention(1, 0, 59), 0.75);
        QCOMPARE_GT(attention(1, 7, 59), 0.65);
        for (const std::size_t other : {1, 2, 3, 4, 6})
            QCOMPARE_LT(attention(1, other, 59), 0.1);
    }

    void noticesEachPlantedFault_data()
    {
        using test::ToyOptions;
        QTest::addColumn<int>("fault");
        QTest::addColumn<std::function<ToyOptions()>>("options");
        const std::function<ToyOptions()> gpt2 = test::gpt2Options;
        const std::function<ToyOptions()> llama = test::llamaOptions;
        const std::function<ToyOptions()> offset = [] {
            return ToyOptions{.normalization = "RMS", .normOffset = true};
        };
        QTest::newRow("transposed projection, GPT-2") << int(Fault::TransposedProjection) << gpt2;
        QTest::newRow("transposed projection, Llama") << int(Fault::TransposedProjection) << llama;
        QTest::newRow("tile instead of repeat") << int(Fault::TileInsteadOfRepeat) << llama;
        QTest::newRow("wrong rotary pairing") << int(Fault::WrongRotaryPairing) << llama;
        QTest::newRow("scale 1, GPT-2") << int(Fault::ScaleOne) << gpt2;
        QTest::newRow("scale 1, Llama") << int(Fault::ScaleOne) << llama;
        QTest::newRow("gate and up swapped") << int(Fault::GateAndUpSwapped) << llama;
        QTest::newRow("missing 1 + w") << int(Fault::MissingOnePlusW) << offset;
    }
    void noticesEachPlantedFault()
    {
        QFETCH(int, fault);
        QFETCH(std::function<test::ToyOptions()>, options);
        const QTemporaryDir folder;
        const test::ToyModel toy = test::writeToyModel(folder.path().toStdString(), options());
        const test::ReferenceRun right = test::referenceForward(toy.folder, referencePrompt);
        const test::ReferenceRun wrong = test::referenceForward(toy.folder, referencePrompt, Fault(fault));
        QCOMPARE_GT(largestDifference(wrong.logits, right.logits), 0.05);
    }

    /// Each option of the TransformerLens layout affects the numbers; otherwise a test over it would prove nothing.
    void everyOptionOfTheToyModelChangesTheOutput_data()
    {
        using test::ToyOptions;
        QTest::addColumn<std::function<ToyOptions()>>("base");
        QTest::addColumn<std::function<void(ToyOptions&)>>("change");
        const auto row = [](const char* name, ToyOptions base, void (*change)(ToyOptions&)) {
            QTest::newRow(name) << std::function<ToyOptions()>([base] { return base; })
                                << std::function<void(ToyOptions&)>(change);
        };
        const ToyOptions plain{.normalization = "LNPre", .positional = "none"};
        const ToyOptions rotary{.normalization = "LNPre", .positional = "rotary", .rotaryDim = 4};
        row("eps", plain, [](ToyOptions& o) { o.eps = 0.1; });
        row("relu", plain, [](ToyOptions& o) { o.activation = "relu"; });
        row("silu", plain, [](ToyOptions& o) { o.activation = "silu"; });
        row("solu_ln", plain, [](ToyOptions& o) { o.activation = "solu_ln"; });
        row("RMSPre", plain, [](ToyOptions& o) { o.normalization = "RMSPre"; });
        row("no norms", plain, [](ToyOptions& o) { o.normalization = std::nullopt; });
        row("final_rms", plain, [](ToyOptions& o) { o.finalRms = true; });
        row("parallel", plain, [](ToyOptions& o) { o.parallel = true; });
        row("attn_scale", plain, [](ToyOptions& o) { o.attnScale = 1.3; });
        row("score cap", plain, [](ToyOptions& o) { o.scoreSoftCap = 0.7; });
        row("logit cap", plain, [](ToyOptions& o) { o.logitSoftCap = 0.7; });
        row("attn_only", plain, [](ToyOptions& o) { o.attnOnly = true; });
        row("rotary", plain, [](ToyOptions& o) { o.positional = "rotary", o.rotaryDim = 4; });
        row("rotary_dim", rotary, [](ToyOptions& o) { o.rotaryDim = 2; });
        row("rotary_base", rotary, [](ToyOptions& o) { o.rotaryBase = 7; });
        row("adjacent pairs", rotary, [](ToyOptions& o) { o.rotaryAdjacent = true; });
    }
    void everyOptionOfTheToyModelChangesTheOutput()
    {
        QFETCH(std::function<test::ToyOptions()>, base);
        QFETCH(std::function<void(test::ToyOptions&)>, change);
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        test::ToyOptions changed = base();
        change(changed);
        const test::ToyModel before = test::writeToyModel(root / "before", base());
        const test::ToyModel after = test::writeToyModel(root / "after", changed);
        if (!changed.attnOnly)
            QCOMPARE(after.tensors.size(), before.tensors.size());
        const auto expected = test::referenceForward(before.folder, referencePrompt).logits;
        QCOMPARE_GT(largestDifference(test::referenceForward(after.folder, referencePrompt).logits, expected),
                    0.01);
    }

    /// gelu and gelu_new differ by less than 5e-4 everywhere: a bound of their own.
    void tellsGeluFromItsApproximation()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        const auto exact = test::writeToyModel(root / "exact", {.activation = "gelu"});
        const auto approximate = test::writeToyModel(root / "approximate", {.activation = "gelu_new"});
        const double difference =
            largestDifference(test::referenceForward(exact.folder, referencePrompt).logits,
                              test::referenceForward(approximate.folder, referencePrompt).logits);
        QCOMPARE_GT(difference, 1e-5);
        QCOMPARE_LT(difference, 1e-2);
    }

    void everyTensorOfTheToyModelReachesTheOutput_data()
    {
        QTest::addColumn<std::function<test::ToyOptions()>>("options");
        const auto row = [](const char* name, const test::ToyOptions& options) {
            QTest::newRow(name) << std::function<test::ToyOptions()>([options] { return options; });
        };
        row("GPT-2", test::gpt2Options());
        test::ToyOptions llama = test::llamaOptions();
        llama.qkvBias = llama.mlpBias = true;
        row("Llama with biases", llama);
        row("TransformerLens", {});
        row("TransformerLens, grouped", {.nHeads = 6, .nKvHeads = 2});
        row("TransformerLens, gated", {.gatedMlp = true, .gateBias = true});
        row("TransformerLens, solu_ln", {.activation = "solu_ln"});
        row("TransformerLens, parallel", {.parallel = true});
        row("TransformerLens, parallel and shared", {.parallel = true, .sharedNorm = true});
        row("TransformerLens, RMS with offset", {.normalization = "RMS", .normOffset = true});
    }
    void everyTensorOfTheToyModelReachesTheOutput()
    {
        QFETCH(std::function<test::ToyOptions()>, options);
        const QTemporaryDir folder;
        const test::ToyModel toy = test::writeToyModel(folder.path().toStdString(), options());
        const auto expected = test::referenceForward(toy.folder, referencePrompt).logits;
        for (const auto& [name, tensor] : toy.tensors) {
            auto changed = toy.tensors;
            for (std::size_t i = 0; i < tensor.values.size(); i += 2)
                changed[name].values[i] += 0.5;
            test::writeSafetensors(toy.folder / "model.safetensors", changed, false);
            const double difference =
                largestDifference(test::referenceForward(toy.folder, referencePrompt).logits, expected);
            // A key bias moves all scores of a query alike, unless keys are rotated: softmax does not see it.
            const bool unseen = name.ends_with("b_K");
            QVERIFY2(unseen ? difference < 1e-12 : difference > 1e-3, name.c_str());
        }
    }

    void writesTheSameBytesForTheSameSeed()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        const test::ToyModel first = test::writeToyModel(root / "first", {.seed = 5, .float64 = true});
        const test::ToyModel again = test::writeToyModel(root / "again", {.seed = 5, .float64 = true});
        const test::ToyModel other = test::writeToyModel(root / "other", {.seed = 6, .float64 = true});
        QCOMPARE(again.tensors.at("embed.W_E").values, first.tensors.at("embed.W_E").values);
        QVERIFY(other.tensors.at("embed.W_E").values != first.tensors.at("embed.W_E").values);
        QCOMPARE(test::readStoredTensors(first.folder).at("embed.W_E").values,
                 first.tensors.at("embed.W_E").values);
    }
};

HEADWISE_TEST(ReferenceTest)
#include "reference_test.moc"
