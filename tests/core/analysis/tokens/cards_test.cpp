#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/shared/mean_tokens.h"
#include "core/circuits/gaussian_order.h"
#include "core/runs/queue.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/support/analysed.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;

namespace {

/// Places of the `count` largest numbers, ties to the lower.
std::vector<int> largestOfLine(const RowVector<double>& line, std::size_t count, int unused = -1)
{
    std::vector<int> ids;
    for (int id = 0; id < line.size(); ++id) {
        if (id != unused)
            ids.push_back(id);
    }
    std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) { return line(a) > line(b); });
    ids.resize(std::min(ids.size(), count));
    return ids;
}

struct HeadOf {
    const ResultSet& results;
    int nHeads;
    HeadId head;

    double one(const std::string& path) const { return row(path, 1).front(); }
    std::vector<double> row(const std::string& path, std::size_t width) const
    {
        const auto all = numbers(results, path);
        const auto first = all.begin() + (head.layer * nHeads + head.head) * std::ptrdiff_t(width);
        return {first, first + std::ptrdiff_t(width)};
    }
    bool lists(const std::string& path, const RowVector<double>& line, std::size_t k, int unused = -1) const
    {
        const auto expected = largestOfLine(line, k, unused);
        const auto ids = row(path + "_ids", k);
        const auto values = row(path + "_values", k);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const double value = line(expected[i]);
            if (int(ids[i]) != expected[i]
                || std::abs(values[i] - value) > 1e-11 * line.cwiseAbs().maxCoeff()) {
                qWarning("%s rank %d: %d %g, expected %d %g", path.c_str(), int(i), int(ids[i]), values[i],
                         expected[i], value);
                return false;
            }
        }
        return true;
    }
};

bool isNearOnScale(double found, double expected, double scale, const char* what)
{
    if (std::isnan(found) && std::isnan(expected))
        return true;
    if (std::abs(found - expected) <= 1e-10 * scale)
        return true;
    qWarning("%s: %.17g, expected %.17g", what, found, expected);
    return false;
}

AnalysisOptions cardOptions(int token)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.tableSize = 4;
    options.inputs.token = token;
    return options;
}

double deviationOf(const RowVector<double>& line)
{
    return std::sqrt((line.array() - line.mean()).square().mean());
}

/// LN(e) with the rest of the layer's norm, written out.
RowVector<double> normed(const ProcessedWeights& weights, int layer, RowVector<double> e)
{
    const Norm<double> norm = weights.ln1<double>(layer);
    if (norm.kind == NormKind::None)
        return e;
    if (norm.kind == NormKind::LayerNorm)
        e.array() -= e.mean();
    e /= std::sqrt(e.squaredNorm() / double(e.size()) + norm.eps);
    if (norm.w.size() > 0)
        e = e.cwiseProduct(norm.w);
    if (norm.b.size() > 0)
        e += norm.b;
    return e;
}

} // namespace

class CardsTest : public QObject {
    Q_OBJECT

private slots:
    void theTokenCardOfEveryClass()
    {
        for (const auto& [name, toy] : toyClasses()) {
            for (const bool isRaw : {false, true}) {
                const Circuits circuits = isRaw ? toyCircuits(toy, noProcessing()) : toyCircuits(toy);
                AnalysisOptions options = cardOptions(3);
                options.heads = {{1, 2}};
                options.unusedTokens.assign(std::size_t(toy.dVocab), false);
                options.unusedTokens[1] = true;
                const ResultSet results = analysed(circuits, {"token_card"}, options);
                QVERIFY2(isTokenCardRight(circuits, {results, circuits.config().nHeads, {1, 2}}), name);
                QVERIFY(std::isnan(numbers(results, "analyses/token_card/row_norm")[0]));
            }
        }
    }

    /// The card and the analysis of token priors give the same number under the same name.
    void thePriorIsThatOfTheTokenPrior()
    {
        for (const bool isRaw : {false, true}) {
            const Circuits circuits = isRaw ? toyCircuits({}, noProcessing()) : toyCircuits({});
            AnalysisOptions options = cardOptions(3);
            options.tableSize = circuits.config().dVocab;
            options.embedding = Embedding::Effective; // T^e is of raw tokens all the same
            const ResultSet results = analysed(circuits, {"token_card", "token_prior"}, options);
            for (const HeadId head : {HeadId{0, 0}, HeadId{1, 2}}) {
                const HeadOf found{results, circuits.config().nHeads, head};
                const auto width = static_cast<std::size_t>(options.tableSize);
                const auto ids = found.row("analyses/token_prior/ids", width);
                const auto values = found.row("analyses/token_prior/values", width);
                const auto at = std::find(ids.begin(), ids.end(), 3.0) - ids.begin();
                QVERIFY(isNearOnScale(found.one("analyses/token_card/prior"),
                                      values[static_cast<std::size_t>(at)], 1, "prior"));
            }
        }
    }

    // Tokens " w0" … " w10"; 3 is the source of two pairs of one relation and one of another, of which no other token is.
    void theBestRelationOfTheToken()
    {
        const Circuits circuits = toyCircuits({});
        AnalysisOptions options = cardOptions(3);
        QVERIFY(!analysed(circuits, {"token_card"}, options).find("analyses/token_card/relation_rank"));
        std::vector<std::string> shown, bytes;
        for (int i = 0; i < 11; ++i) {
            shown.push_back("␣w" + std::to_string(i));
            bytes.push_back(" w" + std::to_string(i));
        }
        options.inputs.tokenizer = std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(shown, bytes));
        options.inputs.relations = {{"one", {{"w1", "w2"}, {"w3", "w7"}, {"w3", "w9"}}},
                                    {"two", {{"w3", "w5"}}}};
        const ResultSet results = analysed(circuits, {"token_card"}, options);
        const ResultArray* array = results.find("analyses/token_card/relation_rank");
        QVERIFY(array);
        // The smallest of three ranks of 0 … 10, and its square: Σ_k ((11 − k)/11)³ and Σ_k (2k − 1)(…)³.
        double mean = 0, square = 0;
        for (int k = 1; k < 11; ++k) {
            mean += std::pow((11 - k) / 11.0, 3);
            square += (2 * k - 1) * std::pow((11 - k) / 11.0, 3);
        }
        QVERIFY(std::abs(*array->nullMean - mean) < 1e-12);
        QVERIFY(std::abs(*array->nullDeviation - std::sqrt(square - mean * mean)) < 1e-12);
        for (int layer = 0; layer < 2; ++layer) {
            for (int head = 0; head < 3; ++head) {
                const RowVector<double> row =
                    denseCircuit(circuits, CircuitKind::FullOv, {layer, head}).row(3);
                const auto rank = [&](int target) { return int((row.array() > row(target)).count()); };
                const int one = std::min(rank(7), rank(9)), two = rank(5);
                const HeadOf found{results, 3, {layer, head}};
                QCOMPARE(found.one("analyses/token_card/relation_rank"), double(std::min(one, two)));
                QCOMPARE(found.one("analyses/token_card/relation"), two < one ? 1.0 : 0.0);
            }
        }
        options.inputs.token = 2; // a target alone
        QVERIFY(!analysed(circuits, {"token_card"}, options).find("analyses/token_card/relation_rank"));
    }

    void skipTrigramsOfTheToken()
    {
        for (const auto& [name, toy] : toyClasses()) {
            const Circuits circuits = toyCircuits(toy);
            const ResultSet results = analysed(circuits, {"skip_trigrams"}, cardOptions(5));
            const HeadOf head{results, circuits.config().nHeads, {1, 0}};
            const RowVector<double> column =
                denseCircuit(circuits, CircuitKind::FullQk, head.head).col(5).transpose();
            const RowVector<double> row = denseCircuit(circuits, CircuitKind::FullOv, head.head).row(5);
            QVERIFY2(head.lists("analyses/skip_trigrams/destination", column, 4), name);
            QVERIFY2(head.lists("analyses/skip_trigrams/output", row, 4), name);
            const double z = head.row("analyses/skip_trigrams/output_z", 4)[1];
            const double expected = (row(largestOfLine(row, 2)[1]) - row.mean()) / deviationOf(row);
            QVERIFY2(isNearOnScale(z, expected, 1, "z"), name);
            QCOMPARE(numbers(results, "analyses/skip_trigrams/source_ids"), std::vector<double>(4, 5));
        }
    }

    /// z and the expected largest value are over the tokens that pass the filter.
    void skipTrigramsOfTokensInUse()
    {
        const Circuits circuits = toyCircuits({});
        AnalysisOptions options = cardOptions(5);
        options.unusedTokens.assign(11, false);
        for (const std::size_t id : {1, 2, 8})
            options.unusedTokens[id] = true;
        const std::vector<Eigen::Index> used{0, 3, 4, 5, 6, 7, 9, 10};
        const ResultSet results = analysed(circuits, {"skip_trigrams"}, options);
        const HeadOf head{results, circuits.config().nHeads, {1, 0}};
        const Matrix<double> qk = denseCircuit(circuits, CircuitKind::FullQk, head.head);
        const Matrix<double> ov = denseCircuit(circuits, CircuitKind::FullOv, head.head);
        const auto z = [](const RowVector<double>& line) {
            return (line.maxCoeff() - line.mean()) / deviationOf(line);
        };
        const RowVector<double> row = ov.row(5)(used);
        QVERIFY(isNearOnScale(head.row("analyses/skip_trigrams/output_z", 4)[0], z(row), 1, "z"));
        const auto places = numbers(results, "analyses/skip_trigrams/output_z_null");
        for (std::size_t rank = 0; rank < places.size(); ++rank)
            QVERIFY(std::abs(places[rank] - expectedPlace(double(rank), 8)) < 1e-12);
        double largest = 0;
        for (const Eigen::Index s : used) {
            const RowVector<double> column = qk.col(s)(used).transpose();
            largest = std::max(largest, z(column) * z(ov.row(s)(used)));
        }
        QVERIFY(isNearOnScale(head.row("analyses/skip_trigrams/ranked_source_values", 11)[0], largest, 1,
                              "strength"));
        const auto null = numbers(results, "analyses/skip_trigrams/ranked_null");
        // A place for each of the eight tokens in use, falling; none behind them.
        for (std::size_t rank = 0; rank < null.size(); ++rank)
            QCOMPARE(std::isfinite(null[rank]), rank < used.size());
        for (std::size_t rank = 1; rank < used.size(); ++rank)
            QVERIFY(null[rank] <= null[rank - 1]);
    }

    // Every pair of the two lists that the text lacks, strongest first; counts of the strongest of all.
    void skipTrigramsThatNoTextHas()
    {
        const Circuits circuits = toyCircuits({});
        AnalysisOptions options = cardOptions(5);
        std::vector<BigramCounts::Pair> pairs;
        for (int first = 0; first < 11; ++first)
            for (int second = 0; second < 11; ++second)
                if ((first * 7 + second * 3) % 4 != 0)
                    pairs.push_back({first, second, 1.0 + first + 20 * second});
        options.inputs.bigramCounts = std::make_shared<const BigramCounts>("b.csv", pairs);
        const std::string folder = "analyses/skip_trigrams/";
        QVERIFY(!analysed(circuits, {"skip_trigrams"}, cardOptions(5)).find(folder + "absent_share"));
        const ResultSet results = analysed(circuits, {"skip_trigrams"}, options);
        double any = 0;
        for (const HeadId id : {HeadId{0, 0}, HeadId{1, 2}}) {
            const HeadOf head{results, circuits.config().nHeads, id};
            const RowVector<double> column =
                denseCircuit(circuits, CircuitKind::FullQk, id).col(5).transpose();
            const RowVector<double> row = denseCircuit(circuits, CircuitKind::FullOv, id).row(5);
            struct Crossing {
                double strength;
                int first, second;
            };
            std::vector<Crossing> absent;
            double raised = 0;
            for (const int first : largestOfLine(column, 4))
                for (const int second : largestOfLine(row, 4)) {
                    const double a = (column(first) - column.mean()) / deviationOf(column);
                    const double b = (row(second) - row.mean()) / deviationOf(row);
                    raised += a > 0 && b > 0 ? 1 : 0;
                    if (a > 0 && b > 0 && (first * 7 + second * 3) % 4 == 0)
                        absent.push_back({a * b, first, second});
                }
            std::sort(absent.begin(), absent.end(),
                      [](const Crossing& a, const Crossing& b) { return a.strength > b.strength; });
            QVERIFY(
                isNearOnScale(head.one(folder + "absent_share"), double(absent.size()) / raised, 1, "share"));
            const auto k = static_cast<std::size_t>(options.tableSize);
            const auto firsts = head.row(folder + "absent_destination_ids", k);
            const auto seconds = head.row(folder + "absent_output_ids", k);
            const auto strengths = head.row(folder + "absent_strength", k);
            for (std::size_t i = 0; i < k; ++i) {
                const bool isThere = i < absent.size();
                QCOMPARE(int(firsts[i]), isThere ? absent[i].first : -1);
                QCOMPARE(int(seconds[i]), isThere ? absent[i].second : -1);
                QVERIFY(isThere ? isNearOnScale(strengths[i], absent[i].strength, 1, "strength")
                                : std::isnan(strengths[i]));
            }
            any += static_cast<double>(absent.size());
            const auto ranked = head.row(folder + "ranked_destination_ids", 11);
            const auto outs = head.row(folder + "ranked_output_ids", 11);
            const auto counts = head.row(folder + "ranked_count", 11);
            for (std::size_t i = 0; i < 11; ++i)
                if (ranked[i] >= 0)
                    QCOMPARE(counts[i], options.inputs.bigramCounts->of(int(ranked[i]), int(outs[i])));
        }
        QVERIFY(any > 0);
        QCOMPARE(std::get<std::string>(results.find(folder + "absent_share")->attributes.at("bigram_counts")),
                 std::string("b.csv"));
    }

    void theStrongestSkipTrigrams()
    {
        for (const auto& [name, toy] : toyClasses()) {
            const Circuits circuits = toyCircuits(toy);
            AnalysisOptions options;
            options.precision = Precision::F64;
            const ResultSet results = analysed(circuits, {"skip_trigrams"}, options);
            const HeadOf head{results, circuits.config().nHeads, {0, 1}};
            const Matrix<double> qk = denseCircuit(circuits, CircuitKind::FullQk, head.head);
            const Matrix<double> ov = denseCircuit(circuits, CircuitKind::FullOv, head.head);
            RowVector<double> strength(toy.dVocab);
            for (int s = 0; s < toy.dVocab; ++s) {
                const RowVector<double> column = qk.col(s).transpose();
                const RowVector<double> row = ov.row(s);
                strength(s) = (column.maxCoeff() - column.mean()) / deviationOf(column)
                    * ((row.maxCoeff() - row.mean()) / deviationOf(row));
            }
            const auto width = std::size_t(toy.dVocab);
            QVERIFY2(head.lists("analyses/skip_trigrams/ranked_source", strength, width), name);
            const auto destinations = head.row("analyses/skip_trigrams/ranked_destination_ids", width);
            const auto outputs = head.row("analyses/skip_trigrams/ranked_output_ids", width);
            const auto scores = head.row("analyses/skip_trigrams/ranked_destination_values", width);
            const auto sources = largestOfLine(strength, width);
            for (std::size_t i = 0; i < width; ++i) {
                const RowVector<double> column = qk.col(sources[i]).transpose();
                QCOMPARE(int(destinations[i]), largestOfLine(column, 1)[0]);
                QCOMPARE(int(outputs[i]), largestOfLine(ov.row(sources[i]), 1)[0]);
                QVERIFY(isNearOnScale(scores[i], column.maxCoeff(), qk.cwiseAbs().maxCoeff(), "score"));
            }
        }
    }

    /// The null ranks what it is made of, and falls.
    void theNullOfTheRankingIsThatOfGaussianCircuits()
    {
        ToyOptions toy;
        toy.dVocab = 101;
        AnalysisOptions options;
        options.precision = Precision::F64;
        const ResultSet results = analysed(toyCircuits(toy), {"skip_trigrams"}, options);
        const auto null = numbers(results, "analyses/skip_trigrams/ranked_null");
        QCOMPARE(null.size(), std::size_t(100));
        QVERIFY(std::is_sorted(null.rbegin(), null.rend()));
        // The largest of 101 Gaussian numbers is 2.51 ± 0.43 on average; its square root at the middle rank is near.
        QVERIFY(std::abs(std::sqrt(null[50]) - 2.46) < 0.1);
        QVERIFY(null[0] > 1.4 * null[50]);
        const ResultSet again = analysed(toyCircuits(toy), {"skip_trigrams"}, options);
        QVERIFY(again == results);
    }

    void theDirectionCardOfEveryClass()
    {
        for (const auto& [name, toy] : toyClasses()) {
            const Circuits circuits = toyCircuits(toy);
            const int dModel = circuits.config().dModel;
            RowVector<double> x(dModel);
            for (int i = 0; i < dModel; ++i)
                x(i) = std::sin(i + 1.0);
            AnalysisOptions options = cardOptions(0);
            options.inputs.direction.assign(x.begin(), x.end());
            const ResultSet results = analysed(circuits, {"direction_card"}, options);
            const HeadOf head{results, circuits.config().nHeads, {1, 1}};
            const Matrix<double> ov = denseCircuit(circuits, CircuitKind::Ov, head.head);
            const Matrix<double> qk = denseCircuit(circuits, CircuitKind::Qk, head.head);
            const Matrix<double> E = circuits.weights().W_E<double>(0, circuits.config().dVocab);
            const Matrix<double> W_U = circuits.weights().W_U<double>(0, circuits.config().dVocabOut);
            const std::string at = "analyses/direction_card/";
            QVERIFY2(isNearOnScale(head.one(at + "gain"), (x * ov).norm() / x.norm(), ov.norm(), "gain"),
                     name);
            QVERIFY2(
                isNearOnScale(head.one(at + "gain_null"), ov.norm() / std::sqrt(dModel), ov.norm(), "null"),
                name);
            QVERIFY2(head.lists(at + "output", x * ov * W_U, 4), name);
            QVERIFY2(head.lists(at + "key", x * qk * E.transpose(), 4), name);
            QVERIFY2(head.lists(at + "query", x * qk.transpose() * E.transpose(), 4), name);
        }
    }

    /// A token's own row is a direction: both cards then agree.
    void theDirectionOfATokenGivesTheCardOfTheToken()
    {
        const Circuits circuits = toyCircuits({});
        AnalysisOptions options = cardOptions(7);
        const RowVector<double> e = circuits.weights().W_E<double>(7, 1);
        options.inputs.direction.assign(e.begin(), e.end());
        const ResultSet results = analysed(circuits, {"token_card", "direction_card"}, options);
        for (const char* list : {"output_ids", "key_ids"})
            QCOMPARE(numbers(results, std::string("analyses/token_card/") + list),
                     numbers(results, std::string("analyses/direction_card/") + list));
    }

    void refusals()
    {
        const Circuits circuits = toyCircuits({});
        const auto reason = [&](const char* name, const AnalysisOptions& options) {
            return QString::fromStdString(whyLeftOut(*findAnalysis(name), circuits.config(), options));
        };
        QVERIFY(reason("token_card", {}).contains("--token"));
        QVERIFY(reason("token_card", cardOptions(11)).contains("0 to 10"));
        QVERIFY(reason("skip_trigrams", cardOptions(-1)).contains("0 to 10"));
        QVERIFY(reason("direction_card", {}).contains("--direction"));
        AnalysisOptions wrong;
        wrong.inputs.direction = {1, 2, 3};
        QVERIFY(reason("direction_card", wrong).contains("3 numbers"));
        wrong.inputs.direction.assign(7, std::numeric_limits<double>::infinity());
        QVERIFY(reason("direction_card", wrong).contains("NaN or infinity"));
        ModelConfig large = circuits.config();
        large.dVocab = large.dVocabOut = 50257;
        large.nHeads = 100;
        large.dHead = 64;
        QVERIFY(findAnalysis("skip_trigrams")->whyNot(large, {}).find("--heads") != std::string::npos);

        std::stop_source stop;
        stop.request_stop();
        const Task cancelled{stop.get_token(), {}, 0};
        AnalysisOptions options = cardOptions(1);
        options.inputs.direction.assign(7, 1.0);
        for (const char* name : {"token_card", "skip_trigrams", "direction_card"}) {
            const std::vector<const Analysis*> chosen{findAnalysis(name)};
            QVERIFY(failsWith(runAnalyses(circuits, chosen, options, cancelled), ErrorCode::Cancelled,
                              "cancelled"));
        }
    }

private:
    static bool isTokenCardRight(const Circuits& circuits, const HeadOf& head)
    {
        const std::string at = "analyses/token_card/";
        const Matrix<double> ov = denseCircuit(circuits, CircuitKind::FullOv, head.head);
        const Matrix<double> qk = denseCircuit(circuits, CircuitKind::FullQk, head.head);
        const RowVector<double> row = ov.row(3);
        const RowVector<double> keys = qk.row(3);
        const auto rank = [](const RowVector<double>& line) { // token 1 does not count
            double larger = 0;
            for (Eigen::Index i = 0; i < line.size(); ++i)
                larger += i != 1 && line(i) > line(3) ? 1 : 0;
            return larger;
        };
        return isNearOnScale(head.one(at + "row_norm"), row.norm(), row.norm(), "row_norm")
            && isNearOnScale(head.one(at + "row_norm_null"), ov.norm() / std::sqrt(double(ov.rows())),
                             ov.norm(), "row_norm_null")
            && isNearOnScale(head.one(at + "ov_rank"), rank(row), 1, "ov_rank")
            && isNearOnScale(head.one(at + "qk_rank"), rank(keys), 1, "qk_rank")
            && head.lists(at + "output", row, 4, 1) && head.lists(at + "key", keys, 4, 1)
            && isPriorRight(circuits, head);
    }

    static bool isPriorRight(const Circuits& circuits, const HeadOf& head)
    {
        const auto w = circuits.weights().head<double>(head.head);
        const Matrix<double> E = circuits.weights().W_E<double>(0, circuits.config().dVocab);
        const bool isOfC4 = whyNotOneScore(circuits.config()).empty();
        const FoldedHead h = foldedHead(circuits.weights(), head.head);
        RowVector<double> prior(E.rows());
        for (Eigen::Index i = 0; i < E.rows(); ++i) {
            prior(i) = isOfC4 ? (meanOverPositions(circuits.weights(), E.row(i)) * h.W_K).dot(h.b_Q)
                              : (normed(circuits.weights(), head.head.layer, E.row(i)) * w.W_K).dot(w.b_Q);
        }
        const std::string at = "analyses/token_card/prior";
        if ((isOfC4 ? h.b_Q : w.b_Q).isZero(0))
            return std::isnan(head.one(at)) && std::isnan(head.one(at + "_null_mean"));
        const double scale = prior.cwiseAbs().maxCoeff();
        std::vector<Eigen::Index> used; // token 1 does not count
        for (Eigen::Index i = 0; i < E.rows(); ++i)
            if (i != 1)
                used.push_back(i);
        const RowVector<double> others = prior(used);
        return isNearOnScale(head.one(at), prior(3), scale, "prior")
            && isNearOnScale(head.one(at + "_null_mean"), others.mean(), scale, "mean of priors")
            && isNearOnScale(head.one(at + "_null_deviation"), deviationOf(others), scale,
                             "deviation of priors");
    }

    /// e/σ̄, σ̄ the mean of σ(p + e) over positions, from the definition of layer 0's norm.
    static RowVector<double> meanOverPositions(const ProcessedWeights& weights, RowVector<double> e)
    {
        const ModelConfig& config = weights.config();
        const Norm<double> norm = weights.ln1<double>(0);
        const Eigen::Index n = config.positional == Positional::Learned ? config.nCtx : 1;
        const Matrix<double> positions = config.positional == Positional::Learned
            ? weights.W_pos<double>(0, n)
            : Matrix<double>(Matrix<double>::Zero(1, e.size()));
        double sigma = 0;
        for (Eigen::Index i = 0; i < n; ++i) {
            RowVector<double> x = e + positions.row(i);
            if (norm.kind == NormKind::LayerNorm)
                x.array() -= x.mean();
            sigma += norm.kind == NormKind::None
                ? 1.0
                : std::sqrt(x.squaredNorm() / static_cast<double>(x.size()) + norm.eps);
        }
        if (norm.kind == NormKind::LayerNorm)
            e.array() -= e.mean();
        return e * (static_cast<double>(n) / sigma);
    }
};

HEADWISE_TEST(CardsTest)
#include "cards_test.moc"
