#include "core/analysis/tokens/relation_lists.h"

#include "core/tokenizer/tokenizer.h"
#include "tests/support/program.h"

#include "tests/core/analysis/tokens/token_oracles.h"

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;

namespace {

/// The final norm of one row, from its definition.
RowVector<double> finalNorm(const Norm<double>& norm, RowVector<double> x)
{
    if (norm.kind == NormKind::None)
        return x;
    const auto d = static_cast<double>(x.size());
    if (norm.kind == NormKind::LayerNorm)
        x.array() -= x.sum() / d;
    x /= std::sqrt(x.squaredNorm() / d + norm.eps);
    if (norm.w.size() > 0)
        x = x.cwiseProduct(norm.w);
    if (norm.b.size() > 0)
        x += norm.b;
    return x;
}

} // namespace

/// Name copying and salient tokens, compared with their formulas.
class NamesSalientTest : public QObject {
    Q_OBJECT

private slots:
    void nameCopyingAgreesWithTheFormula_data()
    {
        QTest::addColumn<int>("index");
        QTest::addColumn<bool>("isRaw");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); ++i) {
            if (classes[i].second.attnOnly)
                continue;
            QTest::newRow(classes[i].first) << static_cast<int>(i) << false;
            QTest::newRow((std::string(classes[i].first) + ", raw").c_str()) << static_cast<int>(i) << true;
        }
    }
    void nameCopyingAgreesWithTheFormula()
    {
        QFETCH(int, index);
        QFETCH(bool, isRaw);
        const test::ToyOptions toy = test::toyClasses()[static_cast<std::size_t>(index)].second;
        const Circuits circuits = test::toyCircuits(toy, isRaw ? test::noProcessing() : ProcessingWish{});
        const int names = toy.dVocab - 2;
        auto options = exactOptions();
        options.inputs.tokenizer = nameVocabulary(toy.dVocab, names);
        const auto results = test::analysed(circuits, {"name_copying"}, options);
        const Matrix<double> x = denseEmbedding(circuits, Embedding::Mlp0, 1);
        // Uses the file's weights: anything that folding moves, such as β into b_U, must not count.
        const Circuits file = test::toyCircuits(toy, test::noProcessing());
        const Matrix<double> W_U = file.weights().W_U<double>(0, circuits.config().dVocabOut);
        const Norm<double> norm = file.weights().lnFinal<double>();
        for (const HeadId head : headsOf(circuits)) {
            const auto w = circuits.weights().head<double>(head);
            for (const double sign : {1.0, -1.0}) {
                double hits = 0;
                for (int t = 0; t < names; ++t) {
                    const Matrix<double> logits = finalNorm(norm, sign * x.row(t) * w.W_V * w.W_O) * W_U;
                    const int rank = rankIn(logits, 0, t);
                    const auto all = numbers(results,
                                             std::string("analyses/name_copying/")
                                                 + (sign > 0 ? "ranks" : "negative_ranks"));
                    QCOMPARE(all[at(circuits, head) * static_cast<std::size_t>(names)
                                 + static_cast<std::size_t>(t)],
                             static_cast<double>(rank));
                    hits += rank < 5 ? 1 : 0;
                }
                const auto score = numbers(
                    results, std::string("analyses/name_copying/") + (sign > 0 ? "score" : "negative_score"));
                QVERIFY(std::abs(score[at(circuits, head)] - hits / names) < 1e-12);
            }
        }
        QCOMPARE(*results.find("analyses/name_copying/score")->nullMean, std::min(1.0, 5.0 / toy.dVocab));
    }

    // The first norm is 1 and rows are centred either way, so that folding changes nothing but where β of the last is kept.
    void namesRankTheSameFoldedAndUnfolded()
    {
        test::ToyOptions toy = test::gpt2Options();
        toy.layout = test::ToyLayout::Gpt2;
        const QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "toy";
        test::ToyModel model = test::writeToyModel(path, toy);
        std::size_t ones = 0;
        for (auto& [name, tensor] : model.tensors) {
            if (name.ends_with("ln_1.weight")) {
                std::fill(tensor.values.begin(), tensor.values.end(), 1.0);
                ++ones;
            }
            if (name.ends_with("ln_f.bias")) {
                for (double& value : tensor.values)
                    value *= 20;
                ++ones;
            }
        }
        QCOMPARE(ones, 3U);
        test::writeSafetensors(path / "model.safetensors", model.tensors, toy.float64);
        auto options = exactOptions();
        options.inputs.tokenizer = nameVocabulary(toy.dVocab, toy.dVocab - 2);
        ProcessingWish unfolded, centred;
        unfolded.foldLayerNorm = StepWish::Off;
        centred.centerUnembed = StepWish::Off;
        const auto folded = test::analysed(test::circuitsOf(path), {"name_copying"}, options);
        for (const ProcessingWish& wish : {unfolded, centred}) {
            const auto other = test::analysed(test::circuitsOf(path, wish), {"name_copying"}, options);
            for (const char* name : {"ranks", "negative_ranks"})
                QCOMPARE(numbers(folded, std::string("analyses/name_copying/") + name),
                         numbers(other, std::string("analyses/name_copying/") + name));
        }
    }

    // The user's own words replace the names and get the same rows as in a list of all words.
    void ownWordsTakeThePlaceOfNames()
    {
        const test::ToyOptions toy = test::toyClasses()[0].second;
        const Circuits circuits = test::toyCircuits(toy);
        const int count = toy.dVocab;
        auto options = exactOptions();
        options.inputs.tokenizer = nameVocabulary(count, 3);
        const auto names = test::analysed(circuits, {"name_copying"}, options);
        options.inputs.names = {"q5", firstNames()[1], "absent", "q4", "not one token"};
        const auto results = test::analysed(circuits, {"name_copying"}, options);
        QCOMPARE(numbers(results, "analyses/name_copying/names"), (std::vector<double>{5, 1, 4}));
        const auto ranks = numbers(results, "analyses/name_copying/ranks");
        const auto ofNames = numbers(names, "analyses/name_copying/ranks");
        const auto score = numbers(results, "analyses/name_copying/score");
        for (const HeadId head : headsOf(circuits)) {
            const std::size_t place = at(circuits, head) * 3;
            QCOMPARE(ranks[place + 1], ofNames[place + 1]); // the one word that both lists have
            const auto hits =
                std::count_if(&ranks[place], &ranks[place] + 3, [](double rank) { return rank < 5; });
            QCOMPARE(score[at(circuits, head)], static_cast<double>(hits) / 3);
        }
        QCOMPARE(
            results.find("analyses/name_copying/names")->definition,
            std::string(
                "the words of the list given that are single tokens, with a leading space or else without"));
        QVERIFY(std::any_of(results.warnings.begin(), results.warnings.end(), [](const std::string& warning) {
            return warning.find("2 of the 5 words") != std::string::npos;
        }));
        options.inputs.names = {"absent"};
        const auto none = test::analysed(circuits, {"name_copying"}, options);
        QVERIFY(none.arrays.empty() && none.warnings[0].find("none of the words") != std::string::npos);
    }

    void salientTokensAgreeWithDenseNorms_data() { addClasses(); }
    void salientTokensAgreeWithDenseNorms()
    {
        QFETCH(int, index);
        test::ToyOptions toy = test::toyClasses()[static_cast<std::size_t>(index)].second;
        if (toy.dVocab != toy.dModel)
            toy.dVocab = 41; // more than are listed
        const Circuits circuits = test::toyCircuits(toy);
        auto options = exactOptions();
        options.unusedTokens.assign(static_cast<std::size_t>(toy.dVocab), false);
        options.unusedTokens[3] = true;
        const auto results = test::analysed(circuits, {"salient_tokens"}, options);
        const Matrix<double> E = circuits.weights().W_E<double>(0, toy.dVocab);
        const std::size_t listed = std::min<std::size_t>(30, static_cast<std::size_t>(toy.dVocab));
        const auto ids = numbers(results, "analyses/salient_tokens/ids");
        const auto norms = numbers(results, "analyses/salient_tokens/norms");
        const auto outputs = numbers(results, "analyses/salient_tokens/output_ids");
        const auto values = numbers(results, "analyses/salient_tokens/output_values");
        for (const HeadId head : headsOf(circuits)) {
            const Matrix<double> dense = test::denseCircuit(circuits, CircuitKind::FullOv, head);
            const Matrix<double> ov = test::denseCircuit(circuits, CircuitKind::Ov, head);
            std::vector<std::pair<double, int>> order;
            for (int t = 0; t < toy.dVocab; ++t) {
                if (t != 3)
                    order.emplace_back((E.row(t) * ov).norm() / E.row(t).norm(), t);
            }
            std::sort(order.rbegin(), order.rend());
            for (std::size_t i = 0; i < std::min(listed, order.size()); ++i) {
                const std::size_t place = at(circuits, head) * listed + i;
                QCOMPARE(ids[place], static_cast<double>(order[i].second));
                QVERIFY(std::abs(norms[place] - order[i].first) < 1e-10 * order[0].first);
                std::vector<std::pair<double, int>> raised;
                for (int j = 0; j < toy.dVocab; ++j) {
                    if (j != 3)
                        raised.emplace_back(dense(order[i].second, j), -j);
                }
                std::sort(raised.rbegin(), raised.rend());
                for (std::size_t j = 0; j < 5; ++j) {
                    QCOMPARE(outputs[place * 5 + j], static_cast<double>(-raised[j].second));
                    QVERIFY(std::abs(values[place * 5 + j] - raised[j].first) < 1e-10 * dense.norm());
                }
            }
            if (order.size() < listed)
                QCOMPARE(ids[(at(circuits, head) + 1) * listed - 1], -1.0);
            const double null = ov.norm() / std::sqrt(static_cast<double>(toy.dModel));
            QVERIFY(std::abs(numbers(results, "analyses/salient_tokens/null_norm")[at(circuits, head)] - null)
                    < 1e-10 * null);
        }
    }

    void namesThatAreNoTokensLeaveAWarning()
    {
        auto options = exactOptions();
        options.inputs.tokenizer = nameVocabulary(11, 0);
        const auto results = test::analysed(test::toyCircuits({}), {"name_copying"}, options);
        QVERIFY(results.arrays.empty());
        QVERIFY(results.warnings.at(0).find("single token") != std::string::npos);
    }
};

HEADWISE_TEST(NamesSalientTest)
#include "names_salient_test.moc"
