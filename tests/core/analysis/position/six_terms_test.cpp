#include "core/analysis/catalogue.h"
#include "core/analysis/position/position_terms.h"
#include "core/analysis/position/score_terms.h"
#include "core/analysis/shared/positions_shown.h"
#include "core/model/forward.h"
#include "core/runs/queue.h"

#include "tests/support/analysed.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace headwise;
using test::ToyOptions;

namespace {

const std::string sixTermsFolder = "analyses/six_terms/";

AnalysisOptions sixTermsOptions(std::vector<int> prompt = {})
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.inputs.prompt = std::move(prompt);
    return options;
}

std::vector<int> randomPrompt(const ModelConfig& config, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<int> ids;
    ids.reserve(static_cast<std::size_t>(config.nCtx));
    for (int i = 0; i < config.nCtx; ++i)
        ids.push_back(static_cast<int>(random() % static_cast<unsigned>(config.dVocab)));
    return ids;
}

/// [n, width] of one head out of an array [L, H, n, width]; width 1 for [L, H, n].
Matrix<double> termsOfHead(const ResultSet& results, const std::string& name, int head)
{
    const ResultArray* array = results.find(sixTermsFolder + name);
    const std::vector<double> all = test::numbers(results, sixTermsFolder + name);
    const auto rows = static_cast<Eigen::Index>(array->shape[2]);
    const Eigen::Index cols = array->shape.size() > 3 ? static_cast<Eigen::Index>(array->shape[3]) : 1;
    Matrix<double> out(rows, cols);
    for (Eigen::Index i = 0; i < rows; ++i)
        for (Eigen::Index j = 0; j < cols; ++j)
            out(i, j) = all[static_cast<std::size_t>((head * rows + i) * cols + j)];
    return out;
}

/// The scores of layer 0 without scale, from the weights in the file, by the definition of LayerNorm.
Matrix<double> plainScores(const Circuits& raw, const std::vector<int>& ids, int head)
{
    const auto& weights = raw.weights();
    const auto norm = weights.ln1<double>(0);
    const auto h = weights.head<double>({0, head});
    const auto n = static_cast<Eigen::Index>(ids.size());
    Matrix<double> x(n, raw.config().dModel);
    for (Eigen::Index i = 0; i < n; ++i) {
        RowVector<double> row =
            weights.W_E<double>(ids[static_cast<std::size_t>(i)], 1) + weights.W_pos<double>(i, 1);
        row.array() -= row.mean();
        row /= std::sqrt(row.array().square().mean() + norm.eps);
        if (norm.w.size() > 0)
            row = (row.array() * norm.w.array() + norm.b.array()).matrix();
        x.row(i) = row;
    }
    const Matrix<double> q = (x * h.W_Q).rowwise() + h.b_Q;
    const Matrix<double> k = (x * h.W_K).rowwise() + h.b_K;
    return q * k.transpose();
}

std::vector<std::pair<const char*, ToyOptions>> fittingClasses()
{
    auto classes = test::toyClasses();
    std::erase_if(classes, [](const auto& entry) {
        const ToyOptions& o = entry.second;
        const std::string norm = o.normalization.value_or("");
        return !norm.starts_with("LN") || o.layout == test::ToyLayout::Llama || o.positional != "standard"
            || o.scoreSoftCap > 0;
    });
    return classes;
}

double largest(const Matrix<double>& values)
{
    return values.cwiseAbs().maxCoeff();
}

} // namespace

/// The six terms of a layer-0 score and the seventh (Kamoda et al. 2025, arXiv 2501.15754).
class SixTermsTest : public QObject {
    Q_OBJECT

private slots:
    void theSevenTermsAreTheScoreAndTheSoftmaxOfSixIsTheAttention_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = fittingClasses();
        QVERIFY(classes.size() > 12);
        for (std::size_t i = 0; i < classes.size(); ++i)
            QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void theSevenTermsAreTheScoreAndTheSoftmaxOfSixIsTheAttention()
    {
        QFETCH(int, index);
        ToyOptions toy = fittingClasses()[static_cast<std::size_t>(index)].second;
        toy.float64 = true;
        const Circuits folded = test::toyCircuits(toy);
        const Circuits raw = test::toyCircuits(toy, test::noProcessing());
        for (const Circuits& circuits : {folded, raw}) {
            for (const unsigned seed : {1u, 2u}) {
                const std::vector<int> ids = randomPrompt(circuits.config(), seed);
                const ResultSet results = test::analysed(circuits, {"six_terms"}, sixTermsOptions(ids));
                const auto run = forward<double>(circuits.weights(), ids, Task{});
                QVERIFY(test::isOk(run));
                for (int head = 0; head < circuits.config().nHeads; ++head) {
                    Matrix<double> sum = Matrix<double>::Zero(static_cast<Eigen::Index>(ids.size()),
                                                              static_cast<Eigen::Index>(ids.size()));
                    for (const char* name : {"ee", "ep", "pe", "pp"})
                        sum += termsOfHead(results, name, head);
                    for (const char* name : {"e", "p"})
                        sum.rowwise() += termsOfHead(results, name, head).col(0).transpose();
                    const Matrix<double> pattern =
                        maskedSoftmax(sum * circuits.config().attentionScaleOf(0), 0);
                    const Matrix<double>& expected = run->patterns[0][static_cast<std::size_t>(head)];
                    QVERIFY(largest(pattern - expected) < 1e-10);
                    QVERIFY(largest(termsOfHead(results, "pattern", head) - expected) < 1e-10);
                    sum.colwise() += termsOfHead(results, "query_constant", head).col(0);
                    const Matrix<double> score = plainScores(raw, ids, head);
                    QVERIFY(largest(sum - score) < 1e-10 * largest(score));
                    QVERIFY(largest(termsOfHead(results, "score", head) - score) < 1e-10 * largest(score));
                    QVERIFY(
                        test::numbers(results, sixTermsFolder + "residual")[static_cast<std::size_t>(head)]
                        < 1e-10);
                }
            }
        }
    }

    void inFloat32TheSumHoldsToFiveDigits()
    {
        const Circuits circuits = test::toyCircuits(test::gpt2Options());
        const std::vector<int> ids = randomPrompt(circuits.config(), 3);
        AnalysisOptions options = sixTermsOptions(ids);
        options.precision = Precision::F32;
        const ResultSet results = test::analysed(circuits, {"six_terms"}, options);
        const Circuits raw = test::toyCircuits(test::gpt2Options(), test::noProcessing());
        Matrix<double> sum = termsOfHead(results, "ee", 1) + termsOfHead(results, "ep", 1)
            + termsOfHead(results, "pe", 1) + termsOfHead(results, "pp", 1);
        sum.rowwise() += (termsOfHead(results, "e", 1) + termsOfHead(results, "p", 1)).col(0).transpose();
        sum.colwise() += termsOfHead(results, "query_constant", 1).col(0);
        const Matrix<double> score = plainScores(raw, ids, 1);
        QVERIFY(largest(sum - score) < 1e-5 * largest(score));
    }

    // d = 2: the norm leaves (±a, ∓a) of every row, so σ² = a² + ε and every product can be written down.
    void twoDimensionsByHand()
    {
        QTemporaryDir temporary;
        ToyOptions toy;
        toy.nLayers = 1, toy.dModel = 2, toy.nHeads = 1, toy.dHead = 1, toy.dVocab = 2, toy.nCtx = 2;
        toy.normalization = "LNPre", toy.attnOnly = true, toy.float64 = true;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        auto tensors = test::writeToyModel(path, toy).tensors;
        const auto set = [&](const char* name, std::vector<double> values) {
            QVERIFY(tensors.at(name).values.size() == values.size());
            tensors.at(name).values = std::move(values);
        };
        set("embed.W_E", {3, 1, 0, 4});        // less their means: (1, −1), (−2, 2)
        set("pos_embed.W_pos", {1, -1, 5, 1}); // (1, −1), (2, −2)
        set("blocks.0.attn.W_Q", {1, 0});
        set("blocks.0.attn.W_K", {0, 2});
        set("blocks.0.attn.b_Q", {0.5});
        set("blocks.0.attn.b_K", {3});
        test::writeSafetensors(path / "model.safetensors", tensors, true);
        const Circuits circuits = test::circuitsOf(path);
        const ResultSet results = test::analysed(circuits, {"six_terms"}, sixTermsOptions({0, 1}));
        // Sums: (2, −2) with σ = √(4 + ε), and (0, 0) with σ = √ε.
        const double eps = 1e-5, s0 = std::sqrt(4 + eps), s1 = std::sqrt(eps);
        const auto at = [&](const char* name, int i, int j) { return termsOfHead(results, name, 0)(i, j); };
        const auto isNear = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); };
        // q of (a, −a) is a, k of it −2a.
        QVERIFY(isNear(at("ee", 0, 0), 1 / s0 * -2 / s0));
        QVERIFY(isNear(at("ee", 1, 0), -2 / s1 * -2 / s0));
        QVERIFY(isNear(at("ep", 1, 0), -2 / s1 * -2 / s0));
        QVERIFY(isNear(at("ep", 1, 1), -2 / s1 * -4 / s1));
        QVERIFY(isNear(at("pe", 1, 0), 2 / s1 * -2 / s0));
        QVERIFY(isNear(at("pp", 1, 0), 2 / s1 * -2 / s0));
        QVERIFY(isNear(at("e", 1, 0), 0.5 * 4 / s1));
        QVERIFY(isNear(at("p", 0, 0), 0.5 * -2 / s0));
        QVERIFY(isNear(at("query_constant", 0, 0), 3 * 2 / s0 + 1.5));
        QVERIFY(isNear(at("query_constant", 1, 0), 1.5));
        QVERIFY(isNear(at("ee_without_norm", 1, 0), 4));
        QVERIFY(isNear(at("score", 1, 0), 0.5 * (-4 / s0 + 3)));
    }

    void positionsOverTheVocabularyAreTheMeanOverEveryToken()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ModelConfig& config = circuits.config();
        AnalysisOptions options = sixTermsOptions();
        options.unusedTokens.assign(static_cast<std::size_t>(config.dVocab), false);
        options.unusedTokens[4] = true;
        const ResultSet results = test::analysed(circuits, {"six_terms"}, options);
        const auto& weights = circuits.weights();
        const FoldedHead h = foldedHead(weights, {0, 1});
        const auto sigma = [&](int position, int token) {
            RowVector<double> x = weights.W_E<double>(token, 1) + weights.W_pos<double>(position, 1);
            x.array() -= x.mean();
            return std::sqrt(x.array().square().mean() + toy.eps);
        };
        const std::vector<int> queries = shownQueries(config.nCtx);
        for (int j = 0; j < config.nCtx; ++j) {
            double sum = 0, squares = 0, least = 1e300, most = 0, count = 0;
            for (int token = 0; token < config.dVocab; ++token) {
                if (token == 4)
                    continue;
                const double s = sigma(j, token);
                sum += 1 / s, squares += 1 / (s * s), count += 1;
                least = std::min(least, s), most = std::max(most, s);
            }
            const Matrix<double> p = seenPositions(weights, 0, config.nCtx);
            const double bare = (h.b_Q * h.W_K.transpose()).dot(p.row(j));
            const double mean = sum / count;
            const double deviation = std::sqrt(squares / count - mean * mean);
            const auto is = [&](const char* name, double expected) {
                return std::abs(termsOfHead(results, name, 1)(j, 0) - expected)
                    < 1e-9 * (1 + std::abs(expected));
            };
            QVERIFY(is("p_by_position", bare * mean));
            QVERIFY(is("p_by_position_low", bare * mean - 1.96 * std::abs(bare) * deviation));
            QVERIFY(is("p_by_position_high", bare * mean + 1.96 * std::abs(bare) * deviation));
            QVERIFY(is("p_at_min_sigma", bare / least));
            QVERIFY(is("p_at_max_sigma", bare / most));
            double sigmaOfQuery = 0;
            for (int token = 0; token < config.dVocab; ++token)
                sigmaOfQuery += token == 4 ? 0 : sigma(queries[1], token) / count;
            const double pair = p.row(queries[1]) * h.W_Q * h.W_K.transpose() * p.row(j).transpose();
            const auto isPair = [&](const char* name, double expected) {
                return std::abs(termsOfHead(results, name, 1)(1, j) - expected) < 1e-9 * (1 + std::abs(pair));
            };
            const double width = 1.96 * std::abs(pair) / sigmaOfQuery * deviation;
            QVERIFY(width > 1e-6 * std::abs(pair));
            QVERIFY(isPair("pp_by_position", pair / sigmaOfQuery * mean));
            QVERIFY(isPair("pp_by_position_low", pair / sigmaOfQuery * mean - width));
            QVERIFY(isPair("pp_by_position_high", pair / sigmaOfQuery * mean + width));
        }
    }

    void aFirstLookIsAtTokensInUseAtEvenDistances()
    {
        ToyOptions toy;
        toy.dVocab = 300, toy.dModel = 13;
        const Circuits circuits = test::toyCircuits(toy);
        const ProcessedWeights& weights = circuits.weights();
        std::vector<bool> unused(300, false);
        unused[2] = unused[150] = true;
        const auto all = divisorSpread(weights, unused, Precision::F64, Task{});
        const auto sampled = sampledDivisorSpread(weights, unused, 3, Task{});
        const auto whole = sampledDivisorSpread(weights, unused, 5000, Task{}); // more than one block
        QVERIFY(test::isOk(all) && test::isOk(sampled) && test::isOk(whole));
        const auto isNear = [](const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
            return (a - b).cwiseAbs().maxCoeff() < 1e-5 * b.cwiseAbs().maxCoeff(); // products in float32
        };
        QVERIFY(isNear(whole->positionMean, all->positionMean));
        QVERIFY(isNear(whole->inverseMean, all->inverseMean));
        QVERIFY(isNear(whole->inverseDeviation, all->inverseDeviation));
        QVERIFY(isNear(whole->positionMin, all->positionMin));
        QVERIFY(isNear(whole->positionMax, all->positionMax));
        // 298 in use: the places 0, 99 and 198 among them.
        const Norm<double> norm = weights.ln1<double>(0);
        const Matrix<double> positions = seenPositions(weights, 0, toy.nCtx);
        Matrix<double> sigma(toy.nCtx, 3);
        int column = 0;
        for (const int token : {0, 100, 200}) {
            const Matrix<double> e = seenRows(norm, weights.W_E<double>(token, 1));
            sigma.col(column++) =
                ((positions.rowwise() + e.row(0)).rowwise().squaredNorm() / toy.dModel).array() + toy.eps;
            QVERIFY(std::abs(all->tokenSquares(token) - e.squaredNorm()) < 1e-12 * e.squaredNorm());
        }
        sigma = sigma.cwiseSqrt().eval();
        QVERIFY(isNear(sampled->positionMean, sigma.rowwise().mean()));
        QVERIFY(isNear(sampled->positionMin, sigma.rowwise().minCoeff()));
        QVERIFY(isNear(sampled->inverseMean, sigma.cwiseInverse().rowwise().mean()));
        Task cancelled;
        std::stop_source stop;
        stop.request_stop();
        cancelled.stop = stop.get_token();
        QVERIFY(
            test::failsWith(sampledDivisorSpread(weights, unused, 3, cancelled), ErrorCode::Cancelled, ""));
    }

    void aTokenAtTheQueryBringsItsOwnTermAndSigma()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ModelConfig& config = circuits.config();
        const ProcessedWeights& weights = circuits.weights();
        const auto spread = divisorSpread(weights, {}, Precision::F64, Task{});
        QVERIFY(test::isOk(spread));
        const Matrix<double> p = seenPositions(weights, 0, config.nCtx);
        const PositionTerms terms(weights, {0, 1}, p, *spread);
        const FoldedHead h = foldedHead(weights, {0, 1});
        const int query = 3, token = 4;
        const QueryTokenTerms found = terms.at(query, token);
        // The seven terms of a prompt (i, j) with every token at the key in turn.
        double total = 0;
        std::vector<double> scores;
        for (int j = 0; j < config.nCtx; ++j) {
            double pp = 0, ep = 0, prior = 0;
            for (int key = 0; key < config.dVocab; ++key) {
                const RowVector<double> e = weights.W_E<double>(token, 1);
                const auto sigma = [&](int position, int id) {
                    RowVector<double> x = weights.W_E<double>(id, 1) + weights.W_pos<double>(position, 1);
                    x.array() -= x.mean();
                    return std::sqrt(x.array().square().mean() + toy.eps);
                };
                const RowVector<double> seen = e.array() - e.mean();
                const Eigen::VectorXd read =
                    h.W_Q * (h.W_K.transpose() * p.row(j).transpose()) / sigma(j, key);
                pp += p.row(query).dot(read) / sigma(query, token) / config.dVocab;
                ep += seen.dot(read) / sigma(query, token) / config.dVocab;
                prior += (h.b_Q * h.W_K.transpose()).dot(p.row(j)) / sigma(j, key) / config.dVocab;
            }
            const auto isNear = [](double a, double b) { return std::abs(a - b) < 1e-9 * (1 + std::abs(b)); };
            QVERIFY(isNear(found.pp(j), pp));
            QVERIFY(isNear(found.ep(j), ep));
            QVERIFY(isNear(terms.p(j), prior));
            scores.push_back(std::exp((pp + ep + prior) * config.attentionScaleOf(0)));
            total += j <= query ? scores.back() : 0;
        }
        for (int j = 0; j < config.nCtx; ++j)
            QVERIFY(
                std::abs(found.pattern(j) - (j <= query ? scores[static_cast<std::size_t>(j)] / total : 0))
                < 1e-9);
    }

    void theSizesAreThoseOfRandomDirectionsWhereDirectionsAreRandom()
    {
        ToyOptions toy;
        toy.dModel = 61, toy.dHead = 7, toy.nHeads = 40, toy.dVocab = 53, toy.nLayers = 1;
        toy.attnOnly = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"six_terms"}, sixTermsOptions());
        const std::vector<double> sizes = test::numbers(results, sixTermsFolder + "size");
        const std::vector<double> random = test::numbers(results, sixTermsFolder + "size_null");
        for (std::size_t term = 0; term < 6; ++term) {
            double found = 0, expected = 0;
            for (std::size_t head = 0; head < 40; ++head) {
                found += sizes[head * 7 + term] * sizes[head * 7 + term] / 40;
                expected += random[head * 7 + term] * random[head * 7 + term] / 40;
            }
            QVERIFY2(std::abs(std::sqrt(found / expected) - 1) < 0.12, QByteArray::number(found / expected));
        }
    }

    void withoutAPromptTheSampleFollowsTheSeed()
    {
        ToyOptions toy;
        toy.dVocab = 211, toy.nCtx = 113;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = sixTermsOptions();
        options.unusedTokens.assign(211, false);
        options.unusedTokens[7] = true;
        const auto tokens = [&](std::uint64_t seed) {
            options.inputs.seed = seed;
            return test::numbers(test::analysed(circuits, {"six_terms"}, options), sixTermsFolder + "tokens");
        };
        const auto first = tokens(0);
        QCOMPARE(first.size(), std::size_t(100));
        QVERIFY(first == tokens(0));
        QVERIFY(first != tokens(1));
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const auto ids = tokens(seed);
            QVERIFY(std::find(ids.begin(), ids.end(), 7.0) == ids.end());
        }
    }

    void laterLayersAndHeadsNotAskedForAreNotANumber()
    {
        const Circuits circuits = test::toyCircuits({});
        AnalysisOptions options = sixTermsOptions({1, 2, 3});
        options.heads = {{0, 1}, {1, 0}};
        const ResultSet results = test::analysed(circuits, {"six_terms"}, options);
        const auto residual = test::numbers(results, sixTermsFolder + "residual"); // [2, 3]
        for (std::size_t head = 0; head < residual.size(); ++head)
            QCOMPARE(std::isnan(residual[head]), head != 1);
        const auto ee = test::numbers(results, sixTermsFolder + "ee");
        QVERIFY(std::isnan(ee[0]) && !std::isnan(ee[9]) && std::isnan(ee[27]));
    }

    void theNumberOfThreadsChangesNothing()
    {
        ToyOptions toy;
        toy.nLayers = 1; // so that no number is NaN
        const Circuits circuits = test::toyCircuits(toy);
        Task one, many;
        one.threads = 1, many.threads = 4;
        QVERIFY(test::analysed(circuits, {"six_terms"}, sixTermsOptions(), one)
                == test::analysed(circuits, {"six_terms"}, sixTermsOptions(), many));
    }

    void aGaugeOfTheHeadChangesNothing()
    {
        QTemporaryDir temporary;
        ToyOptions toy;
        toy.float64 = true, toy.normalization = "LNPre", toy.qkvBias = false;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        auto tensors = test::writeToyModel(path, toy).tensors;
        const ResultSet before =
            test::analysed(test::circuitsOf(path), {"six_terms"}, sixTermsOptions({3, 1, 4}));
        for (double& value : tensors.at("blocks.0.attn.W_Q").values)
            value *= 4;
        for (double& value : tensors.at("blocks.0.attn.W_K").values)
            value /= 4;
        test::writeSafetensors(path / "model.safetensors", tensors, true);
        const ResultSet after =
            test::analysed(test::circuitsOf(path), {"six_terms"}, sixTermsOptions({3, 1, 4}));
        for (const char* name : {"ee", "ep", "pe", "pp"})
            QVERIFY(test::numbers(before, sixTermsFolder + name)[4]
                    == test::numbers(after, sixTermsFolder + name)[4]);
    }

    void otherModelsAreLeftOutSayingWhy()
    {
        const auto reason = [](auto change, std::vector<HeadId> heads = {}) {
            ToyOptions toy;
            change(toy);
            AnalysisOptions options;
            options.heads = std::move(heads);
            return findAnalysis("six_terms")->whyNot(test::toyCircuits(toy).config(), options);
        };
        QVERIFY(reason([](ToyOptions&) {}).empty());
        QVERIFY(reason([](ToyOptions& o) { o.positional = "rotary", o.dHead = 4; }).find("learned positions")
                != std::string::npos);
        QVERIFY(reason([](ToyOptions& o) { o.normalization = "RMS"; }).find("LayerNorm")
                != std::string::npos);
        QVERIFY(reason([](ToyOptions& o) { o.normalization.reset(); }).find("LayerNorm")
                != std::string::npos);
        QVERIFY(reason([](ToyOptions& o) { o.scoreSoftCap = 2; }).find("soft-caps") != std::string::npos);
        QVERIFY(reason([](ToyOptions&) {}, {{1, 0}}).find("layer 0") != std::string::npos);
    }

    void aTokenOutsideTheVocabularyIsRefusedAndALongPromptIsCut()
    {
        const Circuits circuits = test::toyCircuits({});
        const Analysis* analysis = findAnalysis("six_terms");
        const auto refused = runAnalyses(circuits, std::vector{analysis}, sixTermsOptions({1, 11}), Task{});
        QVERIFY(test::failsWith(refused, ErrorCode::InvalidArgument, "11"));
        const ResultSet cut =
            test::analysed(circuits, {"six_terms"}, sixTermsOptions(std::vector<int>(30, 2)));
        QCOMPARE(test::numbers(cut, sixTermsFolder + "tokens").size(), std::size_t(17));
        QVERIFY(std::any_of(cut.warnings.begin(), cut.warnings.end(), [](const std::string& warning) {
            return warning.find("first 17") != std::string::npos;
        }));
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(test::failsWith(runAnalyses(circuits, std::vector{analysis}, sixTermsOptions(), task),
                                ErrorCode::Cancelled, "cancelled"));
    }

    void everyPictureHasItsArrays()
    {
        const ResultSet results = test::analysed(test::toyCircuits({}), {"six_terms"}, sixTermsOptions());
        for (const Picture& picture : findAnalysis("six_terms")->pictures)
            for (const std::string& path : picture.arrays)
                QVERIFY2(results.find(path), path.c_str());
    }
};

HEADWISE_TEST(SixTermsTest)
#include "six_terms_test.moc"
