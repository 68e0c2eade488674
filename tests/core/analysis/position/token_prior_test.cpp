#include "core/analysis/catalogue.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/position/token_pairs.h"
#include "core/analysis/shared/norm_divisors.h"
#include "core/runs/queue.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/support/analysed.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using namespace headwise;
using test::ToyOptions;

namespace {

const std::string priorFolder = "analyses/token_prior/", pairFolder = "analyses/detokenization/";
const std::vector<std::string> texts{"a", "b", "c", "ab", "bc", "abc", "ca", "cab", "x", "xa", "zzz"};

AnalysisOptions tokenPriorOptions(int k = 4)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.tableSize = k;
    options.unusedTokens.assign(11, false);
    options.unusedTokens[9] = true;
    return options;
}

/// ê, [V, d], by its definition, from weights whose norms are folded.
Matrix<double> meanDivided(const Circuits& circuits)
{
    const ModelConfig& config = circuits.config();
    const auto norm = circuits.weights().ln1<double>(0);
    Matrix<double> out(config.dVocab, config.dModel);
    const int n = config.positional == Positional::Learned ? config.nCtx : 1;
    for (int token = 0; token < config.dVocab; ++token) {
        RowVector<double> e = circuits.weights().W_E<double>(token, 1);
        double sum = 0;
        for (int position = 0; position < n; ++position) {
            RowVector<double> x = e;
            if (config.positional == Positional::Learned)
                x += circuits.weights().W_pos<double>(position, 1);
            if (norm.kind == NormKind::LayerNorm)
                x.array() -= x.mean();
            sum += norm.kind == NormKind::None ? 1.0 : std::sqrt(x.array().square().mean() + norm.eps);
        }
        if (norm.kind == NormKind::LayerNorm)
            e.array() -= e.mean();
        out.row(token) = e * n / sum;
    }
    return out;
}

/// Count of token i, with some equal counts.
const std::vector<double> occurrences{7, 0, 3, 3, 1000, 12, 0, 1, 45, 99, 2};

/// Ranks from 0 by counting; equal values share a rank.
std::vector<double> ranksOf(const std::vector<double>& values)
{
    std::vector<double> ranks;
    for (const double value : values) {
        double below = 0, equal = 0;
        for (const double other : values) {
            below += other < value ? 1 : 0;
            equal += other == value ? 1 : 0;
        }
        ranks.push_back(below + (equal - 1) / 2);
    }
    return ranks;
}

double pearson(const std::vector<double>& a, const std::vector<double>& b)
{
    const Eigen::Map<const Eigen::ArrayXd> x(a.data(), static_cast<Eigen::Index>(a.size()));
    const Eigen::Map<const Eigen::ArrayXd> y(b.data(), static_cast<Eigen::Index>(b.size()));
    const double both = ((x - x.mean()) * (y - y.mean())).mean();
    return both / std::sqrt((x - x.mean()).square().mean() * (y - y.mean()).square().mean());
}

/// Counts of prefixes before the suffixes 1, 4 and 6; 9 is not in use.
std::shared_ptr<const BigramCounts> plantedBigrams()
{
    return std::make_shared<const BigramCounts>(
        "b.csv",
        std::vector<BigramCounts::Pair>{
            {0, 1, 5}, {3, 1, 1}, {9, 1, 100}, {2, 4, 2}, {4, 4, 2}, {10, 6, 0.5}, {9, 9, 3}, {9, 8, 2}});
}

std::vector<int> order(const RowVector<double>& values)
{
    std::vector<int> ids;
    for (int id = 0; id < values.size(); ++id)
        if (id != 9)
            ids.push_back(id);
    std::sort(ids.begin(), ids.end(), [&](int a, int b) { return values(a) > values(b); });
    return ids;
}

} // namespace

/// The token prior and detokenization of layer-0 heads.
class TokenPriorTest : public QObject {
    Q_OBJECT

private slots:
    void theTablesAreThoseOfTheDenseProducts_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); ++i)
            if (classes[i].second.positional != "rotary" && classes[i].second.layout != test::ToyLayout::Llama
                && classes[i].second.dVocab == 11)
                QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void theTablesAreThoseOfTheDenseProducts()
    {
        QFETCH(int, index);
        ToyOptions toy = test::toyClasses()[static_cast<std::size_t>(index)].second;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = tokenPriorOptions();
        options.inputs.token = 2;
        const ResultSet results = test::analysed(circuits, {"token_prior", "detokenization"}, options);
        const std::string& definition = results.find(pairFolder + "prefix_values")->definition;
        QVERIFY2(definition.find("heads of layer 0 only") != std::string::npos
                     && definition.ends_with("; i = " + shownToken(options.inputs.tokenizer.get(), 2)),
                 definition.c_str());
        const Matrix<double> E = meanDivided(circuits);
        for (int head = 0; head < circuits.config().nHeads; ++head) {
            const auto h = circuits.weights().head<double>({0, head});
            const RowVector<double> prior = h.b_Q * h.W_K.transpose() * E.transpose();
            const RowVector<double> scores = E.row(2) * h.W_Q * h.W_K.transpose() * E.transpose();
            const auto isTable = [&](const std::string& path, const RowVector<double>& values) {
                const auto ids = test::numbers(results, path + "ids");
                const auto found = test::numbers(results, path + "values");
                const std::size_t slash = path.rfind('/') + 1;
                const auto lowest =
                    test::numbers(results, path.substr(0, slash) + "lowest_" + path.substr(slash) + "ids");
                const std::vector<int> ranked = order(values);
                for (std::size_t rank = 0; rank < 4; ++rank) {
                    const std::size_t at = static_cast<std::size_t>(head) * 4 + rank;
                    if (static_cast<int>(ids[at]) != ranked[rank]
                        || static_cast<int>(lowest[at]) != ranked[ranked.size() - 1 - rank]
                        || std::abs(found[at] - values(ranked[rank])) > 1e-11 * values.norm())
                        return false;
                }
                return true;
            };
            if (prior.norm() > 0)
                QVERIFY(isTable(priorFolder, prior));
            QVERIFY(isTable(pairFolder + "prefix_", scores));
        }
    }

    void theRankCorrelationIsThatOfRanks()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const ResultSet results = test::analysed(circuits, {"token_prior"}, tokenPriorOptions());
        const auto found = test::numbers(results, priorFolder + "rank_correlation");
        const auto h = circuits.weights().head<double>({0, 1});
        const RowVector<double> prior = h.b_Q * h.W_K.transpose() * meanDivided(circuits).transpose();
        std::vector<int> ids(11);
        std::iota(ids.begin(), ids.end(), 0);
        ids.erase(ids.begin() + 9);
        double distance = 0; // ρ = 1 − 6 Σ d² / (n (n² − 1)) where no values are equal
        for (std::size_t place = 0; place < ids.size(); ++place) {
            const double rank = static_cast<double>(std::count_if(
                ids.begin(), ids.end(), [&](int other) { return prior(other) < prior(ids[place]); }));
            distance += std::pow(rank - static_cast<double>(place), 2);
        }
        QVERIFY(std::abs(found[1] - (1 - 6 * distance / (10.0 * 99))) < 1e-12);
        const ResultArray* array = results.find(priorFolder + "rank_correlation");
        QVERIFY(*array->nullMean == 0 && std::abs(*array->nullDeviation - 1 / 3.0) < 1e-12);
    }

    void theCorrelationWithCountsIsThatOfRanks()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = tokenPriorOptions();
        QVERIFY(!test::analysed(circuits, {"token_prior"}, options).find(priorFolder + "count_correlation"));
        options.inputs.tokenCounts = std::make_shared<const TokenCounts>("c.csv", occurrences);
        const ResultSet results = test::analysed(circuits, {"token_prior"}, options);
        const auto found = test::numbers(results, priorFolder + "count_correlation");
        const auto ids = test::numbers(results, priorFolder + "rank_correlation");
        const Matrix<double> E = meanDivided(circuits);
        for (int head = 0; head < circuits.config().nHeads; ++head) {
            const auto h = circuits.weights().head<double>({0, head});
            const RowVector<double> prior = h.b_Q * h.W_K.transpose() * E.transpose();
            std::vector<double> counts, values;
            for (int id = 0; id < 11; ++id) {
                if (id == 9)
                    continue;
                counts.push_back(occurrences[static_cast<std::size_t>(id)]);
                values.push_back(prior(id));
            }
            const double expected = pearson(ranksOf(counts), ranksOf(values));
            QVERIFY(std::abs(found[static_cast<std::size_t>(head)] - expected) < 1e-12);
            QVERIFY(std::abs(ids[static_cast<std::size_t>(head)] - expected) > 1e-3);
        }
        const ResultArray* array = results.find(priorFolder + "count_correlation");
        QVERIFY(*array->nullMean == 0 && std::abs(*array->nullDeviation - 1 / 3.0) < 1e-12);
        QCOMPARE(std::get<std::string>(array->attributes.at("token_counts")), std::string("c.csv"));
        const auto sampled = test::numbers(results, priorFolder + "sampled_tokens");
        const auto logs = test::numbers(results, priorFolder + "sampled_counts");
        QCOMPARE(logs.size(), std::size_t(10));
        for (std::size_t i = 0; i < 10; ++i) {
            const double expected = std::log10(1 + occurrences[static_cast<std::size_t>(sampled[i])]);
            QVERIFY(std::abs(logs[i] - expected) < 1e-12);
        }
    }

    // Counts that grow with the prior give 1 at any scale, the reverse −1.
    void plantedCountsCorrelateFully()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const auto h = circuits.weights().head<double>({0, 1});
        const RowVector<double> prior = h.b_Q * h.W_K.transpose() * meanDivided(circuits).transpose();
        for (const double sign : {1.0, -1.0}) {
            std::vector<double> counts;
            for (const double value : prior)
                counts.push_back(std::exp(sign * value / prior.cwiseAbs().maxCoeff()));
            AnalysisOptions options = tokenPriorOptions();
            options.inputs.tokenCounts = std::make_shared<const TokenCounts>("c.csv", counts);
            const ResultSet results = test::analysed(circuits, {"token_prior"}, options);
            QVERIFY(std::abs(test::numbers(results, priorFolder + "count_correlation")[1] - sign) < 1e-12);
        }
    }

    void theWeightedCurveByHand()
    {
        // 3 counts thrice and beats 0, 1, 2; 1 counts once, beats 0 and ties with 1.
        const Roc roc = weightedRoc({{1, 1}, {3, 3}}, {0, 1, 2, 4});
        QVERIFY(std::abs(roc.area - (3 * 3 + 1.5) / (4 * 4)) < 1e-15);
        QCOMPARE(roc.curve(0), 0.0);
        QCOMPARE(roc.curve(25), 0.75);
        QCOMPARE(roc.curve(50), 0.75);
        QCOMPARE(roc.curve(75), 1.0);
        QCOMPARE(roc.curve(100), 1.0);
    }

    void theCurveByHand()
    {
        const Roc roc = rocOf({3, 1}, {0, 1, 2, 4});
        QVERIFY(std::abs(roc.area - (3 + 1.5) / 8) < 1e-15); // 3 beats 0, 1, 2; 1 beats 0 and ties with 1
        QCOMPARE(roc.curve(0), 0.0);                         // above 4: none
        QCOMPARE(roc.curve(25), 0.5);                        // above 2: the 3
        QCOMPARE(roc.curve(50), 0.5);                        // above 1
        QCOMPARE(roc.curve(75), 1.0);                        // above 0
        QCOMPARE(roc.curve(100), 1.0);                       // all
        QCOMPARE(rocOf({5, 6}, {1, 2}).area, 1.0);
        QCOMPARE(rocOf({1}, {2, 3}).area, 0.0);
    }

    void pairsAreTokensThatFormAToken()
    {
        const Tokenizer tokenizer = Tokenizer::fromVocabulary(texts, texts);
        std::vector<bool> unused(11, false);
        unused[9] = true;
        const TokenPairs pairs(tokenizer, 11, unused);
        QCOMPARE(pairs.merged(0, 1), 3);  // a b → ab
        QCOMPARE(pairs.merged(0, 4), 5);  // a bc → abc
        QCOMPARE(pairs.merged(3, 2), 5);  // ab c → abc
        QCOMPARE(pairs.merged(8, 0), -1); // xa is not in use
        QCOMPARE(pairs.merged(1, 0), -1);
        // Suffixes: b (a, ca), c (b, ab), bc (a), a (c), ab (c).
        QCOMPARE(pairs.someSuffixes(99, 0), (std::vector<int>{0, 1, 2, 3, 4}));
        QCOMPARE(pairs.someSuffixes(2, 3).size(), std::size_t(2));
        Eigen::VectorXd scores = Eigen::VectorXd::Zero(11);
        scores(0) = 2, scores(6) = 1; // the prefixes of b
        QCOMPARE(pairs.rocOf(1, scores).area, 1.0);
        QVERIFY(std::abs(pairs.randomDeviation({1}) - std::sqrt(11.0 / (12 * 2 * 8))) < 1e-15);
    }

    // Random heads have chance-level scores; the deviation is that of many of them.
    void randomScoresMeetTheirNull()
    {
        const Tokenizer tokenizer = Tokenizer::fromVocabulary(texts, texts);
        const TokenPairs pairs(tokenizer, 11, {});
        std::srand(5);
        double sum = 0, squares = 0;
        constexpr int times = 4000;
        for (int i = 0; i < times; ++i) {
            const double area = pairs.rocOf(1, Eigen::VectorXd::Random(11)).area;
            sum += area / times, squares += area * area / times;
        }
        QVERIFY(std::abs(sum - 0.5) < 0.02);
        QVERIFY(std::abs(std::sqrt(squares - sum * sum) / pairs.randomDeviation({1}) - 1) < 0.06);
    }

    // The same for correct prefixes of unequal weight, with one left out.
    void randomScoresMeetTheirWeightedNull()
    {
        std::vector<bool> unused(11, false);
        unused[9] = true;
        const TokenPairs pairs(*plantedBigrams(), nullptr, 11, unused);
        QCOMPARE(pairs.someSuffixes(99, 0), (std::vector<int>{1, 4, 6}));
        QCOMPARE(pairs.merged(0, 1), -1); // without a tokenizer
        std::srand(5);
        double sum = 0, squares = 0;
        constexpr int times = 8000;
        for (int i = 0; i < times; ++i) {
            const double area = pairs.rocOf(1, Eigen::VectorXd::Random(11)).area;
            sum += area / times, squares += area * area / times;
        }
        const double S = (25.0 + 1) / 36, N = 8;
        QVERIFY(std::abs(pairs.randomDeviation({1}) - std::sqrt((S * (N + 1) + 1) / (12 * N))) < 1e-15);
        QVERIFY(std::abs(sum - 0.5) < 0.02);
        QVERIFY(std::abs(std::sqrt(squares - sum * sum) / pairs.randomDeviation({1}) - 1) < 0.04);
    }

    void areasAgainstBigramsAreThoseOfAllWeightedPairs()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = tokenPriorOptions();
        options.inputs.tokenizer = std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(texts, texts));
        options.inputs.token = 1;
        options.inputs.bigramCounts = plantedBigrams();
        const BigramCounts& bigrams = *options.inputs.bigramCounts;
        const ResultSet results = test::analysed(circuits, {"detokenization"}, options);
        const Matrix<double> E = meanDivided(circuits);
        QCOMPARE(test::numbers(results, pairFolder + "suffixes"), (std::vector<double>{1, 4, 6}));
        const auto areas = test::numbers(results, pairFolder + "auroc");
        const auto means = test::numbers(results, pairFolder + "mean_auroc");
        for (std::size_t head = 0; head < 3; ++head) {
            const auto h = circuits.weights().head<double>({0, static_cast<int>(head)});
            double mean = 0;
            for (std::size_t i = 0; i < 3; ++i) {
                const int suffix = std::array{1, 4, 6}[i];
                const RowVector<double> scores = E.row(suffix) * h.W_Q * h.W_K.transpose() * E.transpose();
                double wins = 0, count = 0;
                for (int right = 0; right < 11; ++right)
                    for (int wrong = 0; wrong < 11; ++wrong)
                        if (right != 9 && wrong != 9 && bigrams.of(wrong, suffix) == 0) {
                            wins += scores(right) > scores(wrong) ? bigrams.of(right, suffix) : 0;
                            count += bigrams.of(right, suffix);
                        }
                QVERIFY(std::abs(areas[head * 3 + i] - wins / count) < 1e-12);
                mean += wins / count / 3;
            }
            QVERIFY(std::abs(means[head] - mean) < 1e-12);
        }
        for (const char* which : {"", "lowest_"}) {
            const std::string start = pairFolder + which + "prefix_";
            const auto ids = test::numbers(results, start + "ids");
            const auto counts = test::numbers(results, start + "counts");
            for (std::size_t i = 0; i < 12; ++i)
                QCOMPARE(counts[i], bigrams.of(static_cast<int>(ids[i]), 1));
        }
        const auto merged = test::numbers(results, pairFolder + "merged_ids");
        QVERIFY(std::any_of(merged.begin(), merged.end(), [](double id) { return id == 3 || id == 7; }));
        const ResultArray* mean = results.find(pairFolder + "mean_auroc");
        QCOMPARE(std::get<std::string>(mean->attributes.at("bigram_counts")), std::string("b.csv"));
        QVERIFY(mean->definition.find("drawn as often as it does") != std::string::npos);
    }

    // Counts of exactly the prefixes with the highest scores: the area is 1; of the lowest: 0.
    void plantedBigramsAreToldApartFully()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        const Matrix<double> E = meanDivided(circuits);
        const auto h = circuits.weights().head<double>({0, 2});
        const std::vector<int> ranked = order(E.row(5) * h.W_Q * h.W_K.transpose() * E.transpose());
        AnalysisOptions options = tokenPriorOptions();
        for (const bool areHighest : {true, false}) {
            std::vector<BigramCounts::Pair> pairs;
            for (std::size_t i = 0; i < 3; ++i)
                pairs.push_back({ranked[areHighest ? i : ranked.size() - 1 - i], 5, 1.0 + double(i)});
            options.inputs.bigramCounts = std::make_shared<const BigramCounts>("b.csv", pairs);
            const ResultSet results = test::analysed(circuits, {"detokenization"}, options);
            QCOMPARE(test::numbers(results, pairFolder + "auroc")[2], areHighest ? 1.0 : 0.0);
        }
    }

    void theAreasAreThoseOfTheDenseScores()
    {
        ToyOptions toy;
        toy.float64 = true;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = tokenPriorOptions();
        options.inputs.tokenizer = std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(texts, texts));
        options.inputs.token = 1;
        const ResultSet results = test::analysed(circuits, {"detokenization"}, options);
        const TokenPairs pairs(*options.inputs.tokenizer, 11, options.unusedTokens);
        const Matrix<double> E = meanDivided(circuits);
        const auto suffixes = test::numbers(results, pairFolder + "suffixes");
        const auto areas = test::numbers(results, pairFolder + "auroc");
        const auto means = test::numbers(results, pairFolder + "mean_auroc");
        QCOMPARE(suffixes.size(), std::size_t(5));
        for (std::size_t head = 0; head < 3; ++head) {
            const auto h = circuits.weights().head<double>({0, static_cast<int>(head)});
            double mean = 0;
            for (std::size_t i = 0; i < 5; ++i) {
                const int suffix = static_cast<int>(suffixes[i]);
                const RowVector<double> scores = E.row(suffix) * h.W_Q * h.W_K.transpose() * E.transpose();
                double wins = 0, count = 0;
                for (int right = 0; right < 11; ++right)
                    for (int wrong = 0; wrong < 11; ++wrong)
                        if (right != 9 && wrong != 9 && pairs.merged(right, suffix) >= 0
                            && pairs.merged(wrong, suffix) < 0) {
                            wins += scores(right) > scores(wrong) ? 1 : 0;
                            count += 1;
                        }
                QVERIFY(std::abs(areas[head * 5 + i] - wins / count) < 1e-12);
                mean += wins / count / 5;
            }
            QVERIFY(std::abs(means[head] - mean) < 1e-12);
        }
        QVERIFY(std::isnan(means[3])); // layer 1
        const auto ids = test::numbers(results, pairFolder + "prefix_ids");
        const auto merged = test::numbers(results, pairFolder + "merged_ids");
        for (std::size_t i = 0; i < 12; ++i)
            QCOMPARE(static_cast<int>(merged[i]), pairs.merged(static_cast<int>(ids[i]), 1));
        for (const char* name : {"token_prior", "detokenization"}) {
            const ResultSet both = test::analysed(circuits, {"token_prior", "detokenization"}, options);
            for (const Picture& picture : findAnalysis(name)->pictures)
                for (const std::string& path : picture.arrays)
                    QVERIFY2(both.find(path) || path.find("count") != std::string::npos, path.c_str());
        }
    }

    void otherModelsAndTokensAreRefused()
    {
        const auto reason = [](const char* name, const ToyOptions& toy, std::optional<int> token) {
            AnalysisOptions options;
            options.inputs.token = token;
            return findAnalysis(name)->whyNot(test::toyCircuits(toy).config(), options);
        };
        QVERIFY(reason("token_prior", test::llamaOptions(), {}).find("rotary") != std::string::npos);
        QVERIFY(reason("detokenization", test::llamaOptions(), 1).find("rotary") != std::string::npos);
        QVERIFY(reason("detokenization", {}, {}).find("--token") != std::string::npos);
        QVERIFY(reason("detokenization", {}, 3).empty() && reason("token_prior", {}, {}).empty());
        AnalysisOptions options = tokenPriorOptions();
        options.inputs.token = 11;
        const Circuits circuits = test::toyCircuits({});
        QVERIFY(test::failsWith(
            runAnalyses(circuits, std::vector{findAnalysis("detokenization")}, options, Task{}),
            ErrorCode::InvalidArgument, "no token 11"));
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(test::failsWith(
            runAnalyses(circuits, std::vector{findAnalysis("token_prior")}, tokenPriorOptions(), task),
            ErrorCode::Cancelled, "cancelled"));
    }
};

HEADWISE_TEST(TokenPriorTest)
#include "token_prior_test.moc"
