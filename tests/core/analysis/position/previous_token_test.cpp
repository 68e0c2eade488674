#include "tests/support/program.h"

#include "tests/core/analysis/small_models.h"
#include "tests/support/family_model.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numeric>

using namespace headwise;
using test::allHeads;
using test::number;
using test::ToyOptions;

/// scores/previous_token, compared with the formula in plain loops.
class PreviousTokenTest : public QObject {
    Q_OBJECT

private slots:
    // The formula of CONTRACTS.md §6 in plain loops, on weights read one by one.
    void previousTokenIsTheFormulaInPlainLoops()
    {
        for (const bool folded : {true, false}) {
            ToyOptions options;
            options.scoreSoftCap = folded ? 0 : 3;
            const Circuits circuits =
                test::toyCircuits(options, folded ? ProcessingWish() : test::noProcessing());
            QVERIFY(everyScoreIs(learnedScore, circuits));
        }
    }

    void previousTokenOfRotaryModelsTurnsTheMeanToken()
    {
        ToyOptions adjacent;
        adjacent.positional = "rotary";
        adjacent.rotaryAdjacent = true;
        adjacent.rotaryDim = 4;
        for (const ToyOptions& options : {test::llamaOptions(), adjacent}) {
            QVERIFY(everyScoreIs(rotaryScore, test::toyCircuits(options)));
        }
    }

    void aSinkIsOneMoreLogitOfTheSoftmax()
    {
        test::FamilyModel model = test::familyModel("gpt_oss"); // one layer of three has a window of 4
        model.config["rope_scaling"] = QJsonObject{{"rope_type", "default"}};
        const QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "model";
        const Circuits circuits = test::circuitsOf(test::writeFamily(path, model));
        QVERIFY(circuits.config().attentionSinks && circuits.config().windowOf(1) == 4);
        QVERIFY(everyScoreIs(rotaryScore, circuits));
        const auto results = test::analysed(circuits, {"previous_token"});
        const ResultArray* scores = results.find("scores/previous_token");
        QVERIFY(scores->definition.find("the head's sink beside the scores") != std::string::npos);
        // The null of a layer has the sinks of its heads.
        QVERIFY(!scores->nullMean && results.find("analyses/previous_token/null_mean") != nullptr);
    }

    void previousTokenNeedsPositions()
    {
        ToyOptions options;
        options.positional = "none";
        const Circuits circuits = test::toyCircuits(options);
        for (const double score :
             test::numbers(test::analysed(circuits, {"previous_token"}), "scores/previous_token"))
            QVERIFY(std::isnan(score));
    }

    void theDefinitionSaysWhatIsComputed()
    {
        const auto definition = [](const ToyOptions& options, const ProcessingWish& wish) {
            const auto results = test::analysed(test::toyCircuits(options, wish), {"previous_token"});
            return QString::fromStdString(results.find("scores/previous_token")->definition);
        };
        ToyOptions options;
        QVERIFY(definition(options, {}).contains("(p_i/σ(p_i) W_Q + b_Q)"));
        QVERIFY(definition(options, test::noProcessing()).contains("(ln1(p_i) W_Q + b_Q)"));
        options.normalization.reset();
        options.scoreSoftCap = 3;
        const QString capped = definition(options, {});
        QVERIFY2(capped.contains("c · tanh(u_ij/c), c = 3, u_ij = (p_i W_Q + b_Q)"), qPrintable(capped));
        QVERIFY(!capped.contains("window"));
    }

private:
    static bool everyScoreIs(double (*expected)(const Circuits&, HeadId), const Circuits& circuits)
    {
        const auto results = test::analysed(circuits, {"previous_token"});
        for (const HeadId head : allHeads(circuits)) {
            const double score = number(circuits, results, "scores/previous_token", head);
            if (!(std::abs(score - expected(circuits, head)) < 1e-6)) {
                qWarning("L%dH%d has %g, the formula %g", head.layer, head.head, score,
                         expected(circuits, head));
                return false;
            }
        }
        return true;
    }

    /// LN(x) with the layer's remaining γ and β.
    static std::vector<double> normed(const ProcessedWeights& weights, int layer, const RowVector<double>& x)
    {
        const Norm<double> norm = weights.ln1<double>(layer);
        double mean = 0;
        if (norm.kind == NormKind::LayerNorm)
            mean = x.sum() / static_cast<double>(x.size());
        double square = 0;
        for (const double value : x)
            square += (value - mean) * (value - mean);
        const double sigma = std::sqrt(square / static_cast<double>(x.size()) + norm.eps);
        std::vector<double> out;
        for (Eigen::Index i = 0; i < x.size(); ++i)
            out.push_back((x(i) - mean) / sigma * (norm.w.size() > 0 ? norm.w(i) : 1)
                          + (norm.b.size() > 0 ? norm.b(i) : 0));
        return out;
    }

    static std::vector<double> affine(const std::vector<double>& x, const Matrix<double>& W,
                                      const RowVector<double>& b)
    {
        std::vector<double> out;
        for (Eigen::Index j = 0; j < W.cols(); ++j) {
            out.push_back(b(j));
            for (Eigen::Index i = 0; i < W.rows(); ++i)
                out.back() += x[static_cast<std::size_t>(i)] * W(i, j);
        }
        return out;
    }

    static double meanPrevious(int n, const std::function<double(int, int)>& score, int window = 0,
                               double sinkShare = 0)
    {
        double mean = 0;
        for (int i = 1; i < n; ++i) {
            double total = sinkShare;
            for (int j = window > 0 ? std::max(0, i + 1 - window) : 0; j <= i; ++j)
                total += std::exp(score(i, j));
            mean += std::exp(score(i, i - 1)) / total / (n - 1);
        }
        return mean;
    }

    static double learnedScore(const Circuits& circuits, HeadId head)
    {
        const auto& weights = circuits.weights();
        const auto w = weights.head<double>(head);
        const ModelConfig& config = circuits.config();
        std::vector<std::vector<double>> q, k;
        for (int i = 0; i < config.nCtx; ++i) {
            const auto x = normed(weights, head.layer, weights.W_pos<double>(i, 1).row(0));
            q.push_back(affine(x, w.W_Q, w.b_Q));
            k.push_back(affine(x, w.W_K, w.b_K));
        }
        return meanPrevious(config.nCtx, [&](int i, int j) {
            const double dot = std::inner_product(q[static_cast<std::size_t>(i)].begin(),
                                                  q[static_cast<std::size_t>(i)].end(),
                                                  k[static_cast<std::size_t>(j)].begin(), 0.0);
            const double score = dot * config.attentionScale;
            const double cap = config.attentionSoftCap;
            return cap > 0 ? cap * std::tanh(score / cap) : score;
        });
    }

    /// Rotates queries and keys by their own positions, with complex numbers; the code rotates queries by the offset.
    static double rotaryScore(const Circuits& circuits, HeadId head)
    {
        const auto& weights = circuits.weights();
        const auto w = weights.head<double>(head);
        const ModelConfig& config = circuits.config();
        const auto x = normed(weights, head.layer, weights.W_E<double>(0, config.dVocab).colwise().mean());
        const auto q = affine(x, w.W_Q, w.b_Q);
        const auto k = affine(x, w.W_K, w.b_K);
        const Rotary& rotary = config.rotary;
        const auto turned = [&](std::vector<double> v, int position) {
            for (int i = 0; i < rotary.dim / 2; ++i) {
                const auto a = static_cast<std::size_t>(rotary.adjacentPairs ? 2 * i : i);
                const auto b =
                    static_cast<std::size_t>(rotary.adjacentPairs ? 2 * i + 1 : i + rotary.dim / 2);
                const std::complex<double> z = std::complex<double>(v[a], v[b])
                    * std::polar(1.0, position / std::pow(rotary.base, 2.0 * i / rotary.dim));
                v[a] = z.real();
                v[b] = z.imag();
            }
            return v;
        };
        const auto score = [&](int i, int j) {
            const auto a = turned(q, i);
            const auto b = turned(k, j);
            return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) * config.attentionScale;
        };
        const Matrix<double> sink =
            weights.original().read<double>(TensorKind::sink_logit, head.layer, head.head);
        return meanPrevious(config.nCtx, score, config.windowOf(head.layer),
                            sink.size() > 0 ? std::exp(sink(0, 0)) : 0);
    }
};

HEADWISE_TEST(PreviousTokenTest)
#include "previous_token_test.moc"
