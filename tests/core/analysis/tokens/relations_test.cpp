#include "core/analysis/tokens/entry_ranks.h"
#include "core/analysis/tokens/relation_lists.h"
#include "core/analysis/tokens/relation_questions.h"
#include "core/analysis/tokens/token_factors.h"
#include "core/tokenizer/tokenizer.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/planted_tokens.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace headwise;
using test::failsWith;
using test::isOk;
using test::numbers;

namespace {

/// " w0" … : token i is the word "w" + i after a space.
Tokenizer wordVocabulary(int count)
{
    std::vector<std::string> shown, bytes;
    for (int i = 0; i < count; ++i) {
        shown.push_back("␣w" + std::to_string(i));
        bytes.push_back(" w" + std::to_string(i));
    }
    return Tokenizer::fromVocabulary(shown, bytes);
}

std::string word(int id)
{
    return "w" + std::to_string(id);
}

Relation relation(const std::string& name, const std::vector<std::pair<int, int>>& ids)
{
    Relation out{name, {}};
    for (const auto& [source, target] : ids)
        out.pairs.emplace_back(word(source), word(target));
    return out;
}

AnalysisOptions optionsWith(std::vector<Relation> relations, int vocabulary)
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.inputs.relations = std::move(relations);
    options.inputs.tokenizer = std::make_shared<const Tokenizer>(wordVocabulary(vocabulary));
    return options;
}

/// The score by sorting a dense row.
double denseScore(const Matrix<double>& circuit, const std::vector<std::pair<int, int>>& pairs, int k,
                  double sign)
{
    double hits = 0;
    for (const auto& [source, target] : pairs) {
        std::vector<double> others;
        for (Eigen::Index j = 0; j < circuit.cols(); ++j) {
            if (j != target)
                others.push_back(sign * circuit(source, j));
        }
        std::sort(others.rbegin(), others.rend());
        const bool isHit = k > static_cast<int>(others.size())
            || sign * circuit(source, target) > others[static_cast<std::size_t>(k) - 1];
        hits += isHit ? 1 : 0;
    }
    return hits / static_cast<double>(pairs.size());
}

std::vector<std::pair<int, int>> somePairs(int count, int vocabulary, unsigned seed)
{
    std::mt19937 random(seed);
    std::set<std::pair<int, int>> pairs;
    while (static_cast<int>(pairs.size()) < count)
        pairs.emplace(random() % static_cast<unsigned>(vocabulary),
                      random() % static_cast<unsigned>(vocabulary));
    return {pairs.begin(), pairs.end()};
}

std::size_t headIndex(const Circuits& circuits, HeadId head)
{
    return static_cast<std::size_t>(head.layer) * circuits.config().nHeads + head.head;
}

} // namespace

class RelationsTest : public QObject {
    Q_OBJECT

private slots:
    void ranksByHand()
    {
        // One row: (3, −1, 3, 0, 7); asked about column 0, then 3, then 0 with 4 unused.
        Matrix<double> rows = Matrix<double>::Ones(1, 2);
        Matrix<double> cols(1, 5);
        cols << 3, -1, 3, 0, 7;
        const auto all = entryRanks({rows, RankColumns(cols, {}), {0, 3}}, Task{});
        QVERIFY(isOk(all));
        QCOMPARE((*all)[0], (EntryRank{3, 1, 2, 1}));
        QCOMPARE((*all)[1], (EntryRank{0, 3, 1, 0}));
        const auto some =
            entryRanks({rows, RankColumns(cols, {false, false, false, false, true}), {0, 3}}, Task{});
        QCOMPARE((*some)[0], (EntryRank{3, 0, 2, 1}));
    }

    // Entries that float32 cannot separate, over more rows and columns than a tile has.
    void ranksAreThoseOfDoubleProducts()
    {
        Matrix<double> cols = test::evenNumbers(7, 1300, 1);
        for (Eigen::Index j = 0; j < 600; ++j) // near twins of one another
            cols.col(j + 600) = cols.col(j) * (1 + 1e-12 * static_cast<double>(j % 3 - 1));
        const Matrix<double> rows = test::evenNumbers(7, 300, 2);
        std::vector<int> targets(300);
        for (std::size_t i = 0; i < targets.size(); ++i)
            targets[i] = static_cast<int>(i) * 4;
        std::vector<bool> unused(1300, false);
        unused[5] = unused[1299] = true;
        const auto found = entryRanks({rows, RankColumns(cols, unused), targets}, Task{});
        QVERIFY(isOk(found));
        for (int i = 0; i < 300; ++i) {
            const auto entry = [&](Eigen::Index j) { return rows.col(i).dot(cols.col(j)); };
            EntryRank expected{entry(targets[static_cast<std::size_t>(i)]), 0, 0, 0};
            for (int j = 0; j < 1300; ++j) {
                if (unused[static_cast<std::size_t>(j)] || j == targets[static_cast<std::size_t>(i)])
                    continue;
                expected.above += entry(j) > expected.value ? 1 : 0;
                expected.below += entry(j) < expected.value ? 1 : 0;
                expected.equal += entry(j) == expected.value ? 1 : 0;
            }
            QCOMPARE((*found)[static_cast<std::size_t>(i)], expected);
        }
    }

    void ranksRefuseWhatHasNoOrder()
    {
        Matrix<double> cols = Matrix<double>::Ones(1, 3);
        cols(0, 1) = std::nan("");
        QVERIFY(failsWith(entryRanks({Matrix<double>::Ones(1, 1), RankColumns(cols, {}), {0}}, Task{}),
                          ErrorCode::Corrupt, "NaN"));
        std::stop_source stop;
        stop.request_stop();
        Task task;
        task.stop = stop.get_token();
        QVERIFY(failsWith(
            entryRanks({Matrix<double>::Ones(1, 1), RankColumns(Matrix<double>::Ones(1, 3), {}), {0}}, task),
            ErrorCode::Cancelled, ""));
    }

    // W_OV = Σ E⁺(s) t over all pairs: this head scores 1, all others about k/V.
    void aPlantedRelationHead()
    {
        constexpr int V = 101, d = 53, r = 37, pairCount = 33;
        test::PlantedModel model(test::plantedSizes(d, r, V));
        Matrix<double> E = test::evenNumbers(V, d, 5);
        Matrix<double> W_U = test::evenNumbers(d, V, 6);
        for (Eigen::Index j = 0; j < V; ++j)
            W_U.col(j).normalize();
        model.set("embed.W_E", E);
        model.set("unembed.W_U", W_U);
        std::vector<std::pair<int, int>> pairs;
        Matrix<double> sources(pairCount, d);
        Matrix<double> W_O = Matrix<double>::Zero(r, d);
        for (int i = 0; i < pairCount; ++i) {
            pairs.emplace_back(2 * i + 1, 100 - 3 * i);
            sources.row(i) = E.row(2 * i + 1);
            W_O.row(i) = W_U.col(100 - 3 * i).transpose();
        }
        Matrix<double> W_V = Matrix<double>::Zero(d, r);
        W_V.leftCols(pairCount) = test::pseudoInverseOf(sources);
        model.set("W_V", {1, 0}, W_V);
        model.set("W_O", {1, 0}, W_O);
        model.set("W_V", {0, 1}, W_V);
        model.set("W_O", {0, 1}, -W_O);
        model.set("W_O", {0, 0}, Matrix<double>::Zero(r, d));
        const Circuits circuits = model.circuits();
        const auto results = test::analysed(
            circuits, {"relations"},
            optionsWith({relation("planted", pairs), relation("other", somePairs(60, V, 1))}, V));
        const auto scores = numbers(results, "analyses/relations/by_head");
        const auto suppression = numbers(results, "analyses/relations/suppression");
        QCOMPARE(scores[headIndex(circuits, {1, 0}) * 2], 1.0);
        QCOMPARE(suppression[headIndex(circuits, {1, 0}) * 2], 0.0);
        QCOMPARE(scores[headIndex(circuits, {0, 1}) * 2], 0.0);
        QCOMPARE(suppression[headIndex(circuits, {0, 1}) * 2], 1.0);
        QVERIFY(std::isnan(scores[0]) && std::isnan(suppression[0])); // a zero circuit
        const double chance = 10.0 / V;
        QCOMPARE(numbers(results, "analyses/relations/null"), (std::vector<double>{chance, chance}));
        const double spread = numbers(results, "analyses/relations/null_deviation")[0];
        QCOMPARE(spread, std::sqrt(chance * (1 - chance) / pairCount));
        QVERIFY(std::abs(scores[headIndex(circuits, {1, 1}) * 2] - chance) < 4 * spread);
        QCOMPARE(numbers(results, "analyses/relations/best_layer")[0], 1.0);
        QCOMPARE(numbers(results, "analyses/relations/best_head")[0], 0.0);
        QCOMPARE(numbers(results, "analyses/relations/best_score")[0], 1.0);
        QCOMPARE(numbers(results, "analyses/relations/best")[headIndex(circuits, {1, 0})], 1.0);
        QCOMPARE(numbers(results, "analyses/relations/best_relation")[headIndex(circuits, {1, 0})], 0.0);
        QCOMPARE(numbers(results, "analyses/relations/best_relation")[0], -1.0);
        QCOMPARE(numbers(results, "analyses/relations/hits")[headIndex(circuits, {1, 0}) * 2], 33.0);
        QCOMPARE(numbers(results, "analyses/relations/misses")[headIndex(circuits, {1, 0}) * 2], 0.0);
        QCOMPARE(numbers(results, "analyses/relations/valid"), (std::vector<double>{1, 1}));
    }

    void scoresAgreeWithDenseRows_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = test::toyClasses();
        for (std::size_t i = 0; i < classes.size(); ++i)
            QTest::newRow(classes[i].first) << static_cast<int>(i);
    }
    void scoresAgreeWithDenseRows()
    {
        QFETCH(int, index);
        test::ToyOptions toy = test::toyClasses()[static_cast<std::size_t>(index)].second;
        if (toy.dVocab != toy.dModel)
            toy.dVocab = 41;
        const Circuits circuits = test::toyCircuits(toy);
        const int V = toy.dVocab;
        const std::vector<std::pair<int, int>> pairs = somePairs(std::min(31, V), V, 2);
        std::vector<std::pair<int, int>> same;
        for (int i = 0; i < V; i += 2)
            same.emplace_back(i, i);
        const auto results = test::analysed(
            circuits, {"relations"}, optionsWith({relation("some", pairs), relation("same", same)}, V));
        const auto byHead = numbers(results, "analyses/relations/by_head");
        const auto suppression = numbers(results, "analyses/relations/suppression");
        const auto scores = numbers(results, "analyses/relations/scores");
        const std::size_t heads =
            static_cast<std::size_t>(circuits.config().nLayers) * circuits.config().nHeads;
        for (int layer = 0; layer < circuits.config().nLayers; ++layer) {
            for (int head = 0; head < circuits.config().nHeads; ++head) {
                const Matrix<double> dense = test::denseCircuit(circuits, CircuitKind::FullOv, {layer, head});
                const std::size_t place = headIndex(circuits, {layer, head});
                QCOMPARE(byHead[place * 2], denseScore(dense, pairs, 10, 1));
                QCOMPARE(byHead[place * 2 + 1], denseScore(dense, same, 1, 1));
                QCOMPARE(suppression[place * 2], denseScore(dense, pairs, 10, -1));
                QCOMPARE(suppression[place * 2 + 1], denseScore(dense, same, 1, -1));
                QCOMPARE(scores[place], byHead[place * 2]);
                QCOMPARE(scores[heads + place], byHead[place * 2 + 1]);
            }
        }
        const ResultArray& array = *results.find("analyses/relations/by_head");
        QCOMPARE(std::get<std::vector<std::string>>(array.attributes.at("labels")),
                 (std::vector<std::string>{"some", "same"}));
        QCOMPARE(std::get<std::string>(array.attributes.at("embedding")), std::string("raw"));
    }

    void theBasisOfAHeadAndTheThreadsDoNotMatter()
    {
        const auto options = optionsWith({relation("some", somePairs(31, 97, 3))}, 97);
        const auto scoresOf = [&](const Matrix<double>& turn, int threads) {
            test::PlantedModel model(test::plantedSizes(13, 5, 97));
            const Matrix<double> W_V = test::evenNumbers(13, 5, 8);
            const Matrix<double> W_O = test::evenNumbers(5, 13, 9);
            model.set("W_V", {0, 1}, W_V * turn);
            model.set("W_O", {0, 1}, test::inverseOf(turn) * W_O);
            Task task;
            task.threads = threads;
            const auto results = test::analysed(model.circuits(), {"relations"}, options, task);
            return numbers(results, "analyses/relations/by_head");
        };
        const Matrix<double> turn =
            test::evenNumbers(5, 5, 10) + 3 * Matrix<double>::Identity(5, 5); // well conditioned
        const auto expected = scoresOf(Matrix<double>::Identity(5, 5), 1);
        QCOMPARE(scoresOf(turn, 1), expected);
        QCOMPARE(scoresOf(turn, 3), expected);
        QVERIFY(std::any_of(expected.begin(), expected.end(), [](double score) { return score > 0; }));
    }

    // Few pairs go through W_U as outputs of many heads at once, many through W_O W_U of each.
    void fewPairsScoreAsTheyDoAmongMany()
    {
        constexpr int V = 97, r = 5;
        test::PlantedModel model(test::plantedSizes(13, r, V));
        Matrix<double> broken = test::evenNumbers(13, r, 8);
        broken(2, 3) = std::nan("");
        model.set("W_V", {0, 1}, broken);
        model.set("W_O", {1, 0}, Matrix<double>::Zero(r, 13));
        const Circuits circuits = model.circuits();
        const Relation some = relation("some", somePairs(2 * r, V, 6));
        auto options = optionsWith({some}, V);
        options.unusedTokens.assign(V, false);
        options.unusedTokens[7] = options.unusedTokens[90] = true;
        const auto few = test::analysed(circuits, {"relations"}, options);
        options.inputs.relations.push_back(relation("more", somePairs(31, V, 4)));
        const auto many = test::analysed(circuits, {"relations"}, options);
        const auto one = numbers(few, "analyses/relations/hits");
        const auto both = numbers(many, "analyses/relations/hits");
        const auto lowered = numbers(few, "analyses/relations/suppression");
        const auto bothLowered = numbers(many, "analyses/relations/suppression");
        for (std::size_t i = 0; i < one.size(); ++i) {
            QCOMPARE(one[i], both[2 * i]);
            QVERIFY(lowered[i] == bothLowered[2 * i]
                    || (std::isnan(lowered[i]) && std::isnan(bothLowered[2 * i])));
        }
        QCOMPARE(one[headIndex(circuits, {0, 1})], -1.0);
        QCOMPARE(one[headIndex(circuits, {1, 0})], -1.0);
        QVERIFY(std::any_of(one.begin(), one.end(), [](double hits) { return hits > 0; }));
        QCOMPARE(few.warnings.front(), many.warnings.front());
        QVERIFY(few.warnings.front().find("L0H1") != std::string::npos);
    }

    void headsThatWereNotAskedForAreAbsent()
    {
        test::ToyOptions toy;
        toy.dVocab = 41;
        const Circuits circuits = test::toyCircuits(toy);
        auto options = optionsWith({relation("some", somePairs(31, 41, 2))}, 41);
        options.heads = {{1, 2}};
        const auto results = test::analysed(circuits, {"relations"}, options);
        const auto best = numbers(results, "analyses/relations/best");
        const auto index = numbers(results, "analyses/relations/best_relation");
        for (std::size_t i = 0; i < best.size(); ++i) {
            QCOMPARE(std::isnan(best[i]), i != 5);
            QCOMPARE(index[i], i == 5 ? 0.0 : -1.0);
        }
    }

    // Too few pairs: the relation is marked, reported, and does not compete with valid ones.
    void aShortListIsMarkedAndDoesNotCompete()
    {
        test::ToyOptions toy;
        toy.dVocab = 41;
        const Circuits circuits = test::toyCircuits(toy);
        const auto long31 = relation("long", somePairs(31, 41, 2));
        Relation shortOne = relation("short", {{1, 1}, {2, 5}});
        shortOne.pairs.emplace_back("nothing", "w3");
        shortOne.pairs.emplace_back("w3", "nothing");
        shortOne.pairs.emplace_back("w1", "w1");
        const auto results = test::analysed(circuits, {"relations"}, optionsWith({shortOne, long31}, 41));
        QCOMPARE(numbers(results, "analyses/relations/pairs_given"), (std::vector<double>{5, 31}));
        QCOMPARE(numbers(results, "analyses/relations/pairs_used"), (std::vector<double>{2, 31}));
        QCOMPARE(numbers(results, "analyses/relations/valid"), (std::vector<double>{0, 1}));
        const auto& attributes = results.groupAttributes.at("analyses/relations");
        QCOMPARE(std::get<std::vector<std::string>>(attributes.at("not_valid")),
                 (std::vector<std::string>{"short"}));
        QCOMPARE(std::get<std::vector<std::string>>(attributes.at("relations")),
                 (std::vector<std::string>{"short", "long"}));
        QCOMPARE(results.warnings.size(), std::size_t(1));
        QVERIFY(results.warnings[0].find("1 of the 2 relations has fewer than 30") == 0);
        const auto best = numbers(results, "analyses/relations/best");
        const auto byHead = numbers(results, "analyses/relations/by_head");
        for (std::size_t i = 0; i < best.size(); ++i)
            QCOMPARE(best[i], byHead[i * 2 + 1]);
    }

    void pairsWithATokenThatIsLeftOutDoNotCount()
    {
        test::ToyOptions toy;
        toy.dVocab = 41;
        const auto pairs = somePairs(31, 41, 2);
        const int leftOut = pairs.front().second;
        const auto kept = std::count_if(pairs.begin(), pairs.end(), [leftOut](const auto& pair) {
            return pair.first != leftOut && pair.second != leftOut;
        });
        QVERIFY(kept < 31);
        AnalysisOptions options = optionsWith({relation("long", pairs)}, 41);
        options.unusedTokens.assign(41, false);
        options.unusedTokens[static_cast<std::size_t>(leftOut)] = true;
        const auto results = test::analysed(test::toyCircuits(toy), {"relations"}, options);
        QCOMPARE(numbers(results, "analyses/relations/pairs_used"),
                 (std::vector<double>{static_cast<double>(kept)}));
        QCOMPARE(numbers(results, "analyses/relations/valid"), std::vector<double>{0});
    }

    // With a single relation of 31 pairs, the null of the best score is the null of its score: hits/31, each with p =
    // 10/41.
    void theNullOfTheBestIsThatOfABinomial()
    {
        RelationQuestions questions;
        questions.outputs = 41;
        AskedRelation asked{"one", 31, {}, 10, true};
        for (std::size_t i = 0; i < 31; ++i)
            asked.rows.push_back(i);
        questions.relations = {asked};
        const RelationNull null = bestByChance(questions, {0}, 0);
        const double p = 10.0 / 41;
        const double deviation = std::sqrt(p * (1 - p) / 31);
        QVERIFY(std::abs(null.mean - p) < 4 * deviation / std::sqrt(2000.0));
        QVERIFY(std::abs(null.deviation - deviation) < 0.07 * deviation); // 4/√(2·2000)
        questions.relations = {asked, asked};
        QVERIFY(bestByChance(questions, {0, 1}, 0).mean > null.mean + 0.4 * deviation); // 0.56 of two normals
    }

    void withoutATokenizerItIsLeftOut()
    {
        const auto results = test::analysed(test::toyCircuits({}), {"relations"});
        QVERIFY(results.arrays.empty());
        QVERIFY(results.warnings.at(0).find("tokenizer") != std::string::npos);
    }

    void builtInListsAreTwentyAndSurviveInOpenVocabularies_data()
    {
        QTest::addColumn<QString>("tokenizer");
        QTest::newRow("gpt2") << "tokenizers/gpt2/tokenizer.json";
        QTest::newRow("gpt-neox-20b") << "tokenizers/gpt-neox-20b/tokenizer.json";
    }
    void builtInListsAreTwentyAndSurviveInOpenVocabularies()
    {
        QFETCH(QString, tokenizer);
        const auto opened = Tokenizer::open(test::testData(tokenizer.toStdString()));
        QVERIFY(isOk(opened));
        const std::vector<Relation> lists = builtInRelations();
        QCOMPARE(lists.size(), std::size_t(20));
        std::set<std::string> names;
        for (const Relation& list : lists) {
            QVERIFY2(names.insert(list.name).second, list.name.c_str());
            const std::set<std::pair<std::string, std::string>> unique(list.pairs.begin(), list.pairs.end());
            QVERIFY2(unique.size() == list.pairs.size(), list.name.c_str());
            int single = 0;
            for (const auto& [source, target] : list.pairs) {
                const WordTokens a = wordTokens(*opened, source);
                const WordTokens b = wordTokens(*opened, target);
                const bool fits = (a.spaced && b.spaced) || (a.bare && b.bare);
                single += fits ? 1 : 0;
            }
            QVERIFY2(single >= 30, (list.name + ": " + std::to_string(single)).c_str());
        }
        QVERIFY(firstNames().size() >= 50);
    }

    void wordsInRealVocabularies()
    {
        const auto gpt2 = Tokenizer::open(test::testData("tokenizers/gpt2/tokenizer.json"));
        QVERIFY(isOk(gpt2));
        const WordTokens paris = wordTokens(*gpt2, "Paris");
        QCOMPARE(gpt2->bytes(paris.spaced.value()), std::string(" Paris"));
        QCOMPARE(gpt2->bytes(paris.bare.value()), std::string("Paris"));
        QVERIFY(!wordTokens(*gpt2, "antidisestablishmentarianism").spaced);
        const auto bert = Tokenizer::open(test::testData("tokenizers/shapes/bert.json"));
        QVERIFY(isOk(bert));
        QVERIFY(!wordTokens(*bert, "ꙮ").bare); // its unknown token is a token but not a word
    }
};

HEADWISE_TEST(RelationsTest)
#include "relations_test.moc"
