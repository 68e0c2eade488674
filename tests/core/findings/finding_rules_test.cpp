#include "core/findings/findings_text.h"
#include "core/findings/rule_numbers.h"

#include "tests/core/findings/planted_results.h"
#include "tests/support/program.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace headwise;
using test::PlantedResults;

namespace {

/// Adds the arrays that a rule reads. \param fires whether it must find something in them
using Plant = void (*)(PlantedResults& made, bool fires);

void withNull(ResultArray& array, double mean, double deviation)
{
    array.nullMean = mean;
    array.nullDeviation = deviation;
}

void plantPreviousToken(PlantedResults& made, bool fires)
{
    ResultArray& scores = made.perHead("scores/previous_token", 0.1F);
    withNull(scores, 0.1, 0.01);
    made.setHead(scores, {0, 1}, fires ? 0.93 : 0.35); // 0.35 is 25 deviations off, but little
}

void plantOffset(PlantedResults& made, bool fires)
{
    withNull(made.perHead("scores/previous_token", 0.1F), 0.1, 0.01);
    made.perHead("analyses/position_kernel/mean_score", 64, 0);
    made.perHead("analyses/position_kernel/second_previous_token", 0.05F).nullMean = 0.05;
    ResultArray& current = made.perHead("analyses/position_kernel/current_token", 0.05F);
    current.nullMean = 0.05;
    made.setHead(current, {1, 2}, fires ? 0.9 : 0.3);
}

void plantNearby(PlantedResults& made, bool fires)
{
    made.card.positional = "rotary";
    ResultArray& scores = made.perHead("analyses/rotary/mean_token_score", 128, 0);
    for (std::size_t offset = 0; offset < 128; ++offset)
        PlantedResults::set(scores, made.place({1, 0}) * 128 + offset,
                            -(fires ? 0.2 : 0.01) * static_cast<double>(offset));
}

void plantNearerThanSlope(PlantedResults& made, bool fires)
{
    made.card.positional = "alibi";
    made.results.arrays.reserve(3);
    made.perHead("analyses/pattern_scores/induction", 0); // the row of the analysis
    made.perHead("analyses/pattern_scores/slope_distance", 20);
    made.setHead(made.perHead("analyses/pattern_scores/distance", 19), {1, 0}, fires ? 2 : 11);
}

/// Adds the scores on random tokens, without any pattern.
std::array<ResultArray*, 3> putPatternScores(PlantedResults& made)
{
    made.results.arrays.reserve(3);
    std::array<ResultArray*, 3> arrays{};
    std::size_t i = 0;
    for (const char* name : {"first", "induction", "duplicate"}) {
        const bool isFirst = i == 0;
        arrays[i] = &made.perHead(std::string("analyses/pattern_scores/") + name, isFirst ? 0.05F : 0);
        arrays[i++]->nullMean = isFirst ? 0.05 : 0;
    }
    return arrays;
}

void plantFirstToken(PlantedResults& made, bool fires)
{
    made.setHead(*putPatternScores(made)[0], {1, 3}, fires ? 0.8 : 0.4);
}

void plantInductionAttention(PlantedResults& made, bool fires)
{
    made.setHead(*putPatternScores(made)[1], {1, 3}, fires ? 0.8 : 0.2);
}

void plantDuplicateToken(PlantedResults& made, bool fires)
{
    made.setHead(*putPatternScores(made)[2], {0, 3}, fires ? 0.8 : 0.2);
}

void plantTerm(PlantedResults& made, std::size_t term, double size)
{
    PlantedResults::set(made.perHead("analyses/six_terms/size", 7, 1), term, size);
    made.perHead("analyses/six_terms/size_null", 7, 1);
}

void plantPositional(PlantedResults& made, bool fires)
{
    plantTerm(made, 3, fires ? 20 : 4);
}

void plantContent(PlantedResults& made, bool fires)
{
    plantTerm(made, 0, fires ? 20 : 4);
}

void plantInduction(PlantedResults& made, bool fires)
{
    made.setPair(made.pairs("analyses/induction/combined", 0), {0, 1}, {1, 2}, 0.2);
    made.setPair(made.pairs("analyses/induction/role_percentile", 0), {0, 1}, {1, 2}, fires ? 0.995 : 0.98);
    made.setPair(made.pairs("analyses/induction/k_composition", 0.125F), {0, 1}, {1, 2}, 0.3);
    made.setHead(made.perHead("analyses/induction/previous_token", 0.1F), {0, 1}, 0.9);
    made.setHead(made.perHead("analyses/induction/copying", 0), {1, 2}, 0.9);
}

void plantCopyingScore(PlantedResults& made, double value)
{
    ResultArray& scores = made.perHead("scores/copying", 0);
    withNull(scores, 0, 0.1);
    made.setHead(scores, {0, 3}, value);
}

void plantCopying(PlantedResults& made, bool fires)
{
    plantCopyingScore(made, fires ? 0.9 : 0.45); // 4.5 deviations
}

void plantSuppression(PlantedResults& made, bool fires)
{
    plantCopyingScore(made, fires ? -0.9 : -0.45);
}

void plantNames(PlantedResults& made, const char* name, double value)
{
    made.put("analyses/name_copying/names", {20}, 1);
    for (const char* each : {"score", "negative_score"}) {
        ResultArray& scores = made.perHead(std::string("analyses/name_copying/") + each, 0);
        withNull(scores, 0.005, 0.01);
        if (each == std::string_view(name))
            made.setHead(scores, {1, 1}, value);
    }
}

void plantNameMover(PlantedResults& made, bool fires)
{
    plantNames(made, "score", fires ? 0.9 : 0.4);
}

void plantNegativeNameMover(PlantedResults& made, bool fires)
{
    plantNames(made, "negative_score", fires ? 0.9 : 0.4);
}

void plantRelation(PlantedResults& made, bool fires)
{
    ResultArray& shares = made.perHead("analyses/relations/by_head", 3, 0.01F);
    shares.attributes["labels"] = std::vector<std::string>{"capital", "language", "few pairs"};
    PlantedResults::set(shares, made.place({1, 2}) * 3 + (fires ? 1 : 2), 0.6); // the last one is not valid
    PlantedResults::set(made.put("analyses/relations/valid", {3}, 1), 2, 0);
    made.put("analyses/relations/pairs_used", {3}, 40);
    made.put("analyses/relations/null", {3}, 0.01F);
    made.put("analyses/relations/null_deviation", {3}, 0.016F);
}

void plantSkipTrigram(PlantedResults& made, bool fires)
{
    made.put("analyses/skip_trigrams/ranked_null", {2}, 10);
    PlantedResults::set(made.perHead("analyses/skip_trigrams/ranked_source_values", 2, 12),
                        made.place({0, 2}) * 2, fires ? 100 : 25);
    made.perHead("analyses/skip_trigrams/ranked_source_ids", 2, 5);
    made.perHead("analyses/skip_trigrams/ranked_destination_ids", 2, 6);
    made.perHead("analyses/skip_trigrams/ranked_output_ids", 2, 7);
}

void plantDominantToken(PlantedResults& made, bool fires)
{
    ResultArray& ids = made.perHead("analyses/salient_tokens/ids", 1, 0);
    for (std::size_t i = 0; i < 8; ++i)
        PlantedResults::set(ids, i, i < (fires ? 5U : 3U) ? 7.0 : 100.0 + static_cast<double>(i));
}

void plantComposition(PlantedResults& made, bool fires)
{
    for (const char* mode : {"q", "k", "v"}) {
        const bool isPlanted = *mode == 'k';
        ResultArray& scores = made.pairs(std::string("composition/") + mode, 0.125F);
        made.setPair(scores, {0, 1}, {1, 2}, isPlanted ? 0.3 : 0.125);
        ResultArray& zs = made.pairs(std::string("analyses/composition_nulls/") + mode + "_z", 0);
        made.setPair(zs, {0, 1}, {1, 2}, !isPlanted ? 0 : fires ? 20 : 4);
    }
}

void plantNearDuplicate(PlantedResults& made, bool fires)
{
    made.setPair(made.pairs("analyses/similarity/cosine_qk", 0), {1, 0}, {1, 3}, fires ? 0.98 : 0.5);
    made.setPair(made.pairs("analyses/similarity/cosine_ov", 0), {1, 0}, {1, 3}, 0.99);
}

void plantLowRank(PlantedResults& made, bool fires)
{
    made.perHead("spectra/qk/effective_rank", 12);
    made.setHead(made.perHead("spectra/ov/effective_rank", 12), {0, 2}, fires ? 3 : 6);
}

void plantDeadDirections(PlantedResults& made, bool fires)
{
    made.perHead("analyses/ranks/qk_numerical_rank", 16);
    ResultArray& ranks = made.perHead("analyses/ranks/ov_numerical_rank", 16);
    made.setHead(ranks, {1, 2}, fires ? 13 : 15);
    made.setHead(ranks, {1, 0}, fires ? 10 : 15);
}

/// A result in which a rule must fire, and a part of its sentence then.
struct PlantedRule {
    Plant plant;
    const char* says;
};

const std::map<std::string, PlantedRule>& plantedRules()
{
    static const std::map<std::string, PlantedRule> rules{
        {"previous_token", {plantPreviousToken, "L0H1 attends to the previous token (score 0.930, z 83.0)."}},
        {"offset", {plantOffset, "L1H2 attends to the current token by position alone"}},
        {"first_token", {plantFirstToken, "L1H3 attends mostly to the first token (0.800 of"}},
        {"nearby", {plantNearby, "L1H0 attends nearby"}},
        {"nearer_than_slope",
         {plantNearerThanSlope,
          "L1H0 attends nearby: 2.00 tokens back on average on random tokens; its ALiBi slope alone gives 20.0."}},
        {"positional_head", {plantPositional, "L0H0 attends by position"}},
        {"content_head", {plantContent, "L0H0 attends by content"}},
        {"induction",
         {plantInduction,
          "L1H2 reads what L0H1 writes through its keys and copies what it attends to: induction candidate."}},
        {"induction_attention", {plantInductionAttention, "L1H3 attends to the token after"}},
        {"duplicate_token", {plantDuplicateToken, "L0H3 attends to the earlier copy"}},
        {"copying", {plantCopying, "L0H3 raises the token it attends to (copying score 0.900, z 9.00)."}},
        {"suppression",
         {plantSuppression, "L0H3 lowers the token it attends to (copying score -0.900, z -9.00)."}},
        {"name_mover", {plantNameMover, "L1H1 raises the name it attends to (0.900 of 20 names, z 89.5)"}},
        {"negative_name_mover", {plantNegativeNameMover, "L1H1 lowers the name it attends to"}},
        {"relation", {plantRelation, "L1H2 raises the targets of “language” (0.600 of 40 pairs, z 36.9)."}},
        {"skip_trigram", {plantSkipTrigram, "L0H2 attends from “t6” back to “t5” and raises “t7”"}},
        {"dominant_token", {plantDominantToken, "The token “t7” (#7) moves 5 of 8 heads"}},
        {"composition",
         {plantComposition,
          "L1H2 reads what L0H1 writes through its keys (K-composition 0.300, 0.125 by chance, z 20.0)."}},
        {"near_duplicate", {plantNearDuplicate, "L1H0 and L1H3 do nearly the same (cosine 0.980)."}},
        {"low_rank", {plantLowRank, "W_V W_O of L0H2 uses few directions (effective rank 3.00 of 16)."}},
        {"dead_directions",
         {plantDeadDirections, "W_V W_O of layer 1 has 9 dead directions, in L1H0 and L1H2."}}};
    return rules;
}

} // namespace

/// Every rule fires on a planted result and not on a weaker one.
class FindingRulesTest : public QObject {
    Q_OBJECT

private slots:
    void numbersHaveThreeSignificantDigits()
    {
        QCOMPARE(shortNumber(0), "0");
        QCOMPARE(shortNumber(0.97), "0.970");
        QCOMPARE(shortNumber(-0.9), "-0.900");
        QCOMPARE(shortNumber(1), "1.00");
        QCOMPARE(shortNumber(83), "83.0");
        QCOMPARE(shortNumber(99.96), "100");
        QCOMPARE(shortNumber(513.2), "513");
        QCOMPARE(shortNumber(12345), "12300");
    }

    void everyRuleIsPlanted()
    {
        std::set<std::string> kinds, planted;
        for (const FindingRule& rule : findingRules()) {
            kinds.insert(std::string(rule.kind));
            QVERIFY2(!rule.title.empty() && !rule.rule.empty() && !rule.analyses.empty(), rule.kind.data());
        }
        for (const auto& entry : plantedRules())
            planted.insert(entry.first);
        QCOMPARE(kinds.size(), findingRules().size());
        QVERIFY(kinds == planted);
        QVERIFY(kinds.size() >= 12);
    }

    void firesOnWhatIsPlanted_data() { addRules(); }
    void firesOnWhatIsPlanted()
    {
        QFETCH(std::string, kind);
        PlantedResults made;
        plantedRules().at(kind).plant(made, true);
        const Findings findings = made.findings();
        const std::string text = findingsText(findings);
        QVERIFY2(text.find(plantedRules().at(kind).says) != std::string::npos, text.c_str());
        QVERIFY2(findings.found.size() == 1, text.c_str());
        const Finding& finding = findings.found.front();
        QCOMPARE(finding.kind, kind);
        QVERIFY(!finding.heads.empty());
        QVERIFY(std::isfinite(finding.value));
        QVERIFY(!finding.view.empty());
        QVERIFY(finding.strength > 0 && finding.strength <= 1);
        for (const FindingRule* missing : findings.missing)
            QVERIFY(missing->kind != kind);
    }

    void keepsSilentOnLess_data() { addRules(); }
    void keepsSilentOnLess()
    {
        QFETCH(std::string, kind);
        PlantedResults made;
        plantedRules().at(kind).plant(made, false);
        const Findings findings = made.findings();
        QVERIFY2(findings.found.empty(), findingsText(findings).c_str());
        for (const FindingRule* missing : findings.missing)
            QVERIFY(missing->kind != kind);
    }

    /// A session file may hold anything.
    void arraysOfOddShapesAreNotRead_data() { addRules(); }
    void arraysOfOddShapesAreNotRead()
    {
        QFETCH(std::string, kind);
        PlantedResults made;
        plantedRules().at(kind).plant(made, true);
        constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
        const std::vector<std::vector<std::size_t>> shapes{
            {}, {1}, {0}, {4, 2}, {2, 4, 2}, {2, 4, 0}, {huge, huge}, {2, 4, 2, 4}, {2, 4, huge}};
        for (std::size_t i = 0; i < made.results.arrays.size(); ++i) {
            PlantedResults odd = made;
            for (const auto& shape : shapes) {
                odd.results.arrays[i].shape = shape;
                odd.findings();
            }
            odd.results.arrays[i] = made.results.arrays[i];
            odd.results.arrays[i].values = std::vector<std::complex<float>>(8);
            odd.findings();
        }
    }

    void numbersThatWereNotComputedAreSkipped_data() { addRules(); }
    void numbersThatWereNotComputedAreSkipped()
    {
        QFETCH(std::string, kind);
        PlantedResults made;
        plantedRules().at(kind).plant(made, true);
        for (ResultArray& array : made.results.arrays)
            std::ranges::fill(std::get<std::vector<float>>(array.values), std::nanf(""));
        QVERIFY(made.findings().found.empty());
    }

    /// The nulls of layers that differ stand in arrays of their own.
    void previousTokenTakesTheNullOfItsLayer()
    {
        PlantedResults made;
        made.results.arrays.reserve(3);
        ResultArray& scores = made.perHead("scores/previous_token", 0.1F);
        made.setHead(scores, {0, 1}, 0.93);
        made.setHead(scores, {1, 1}, 0.93);
        PlantedResults::set(made.put("analyses/previous_token/null_mean", {2}, 0.1F), 1, 0.9);
        made.put("analyses/previous_token/null_deviation", {2}, 0.01F);
        const Findings findings = made.findings();
        QCOMPARE(findings.found.size(), std::size_t(1));
        QCOMPARE(findings.found[0].heads.front(), (HeadId{0, 1}));
    }

    /// Five findings of a rule at most; the last says how many there are besides.
    void theStrongestComeFirst()
    {
        PlantedResults made;
        ResultArray& scores = made.perHead("scores/copying", 0);
        withNull(scores, 0, 0.1);
        for (int head = 0; head < 8; ++head)
            made.setHead(scores, {head / 4, head % 4}, 0.6 + 0.04 * head);
        const Findings findings = made.findings();
        QCOMPARE(findings.found.size(), std::size_t(5));
        QCOMPARE(findings.found.front().heads.front(), (HeadId{1, 3}));
        QVERIFY2(findings.found.back().text.ends_with("; and 3 more."), findings.found.back().text.c_str());
        for (std::size_t i = 1; i < findings.found.size(); ++i)
            QVERIFY(findings.found[i - 1].strength >= findings.found[i].strength);
    }

    /// Positions alone do not say which part of the attention a sink takes.
    void headsWithSinksAreNotSaidToAttendNearby()
    {
        PlantedResults made;
        plantNearby(made, true);
        QCOMPARE(made.findings().found.size(), std::size_t(1));
        made.results.arrays.back().attributes["has_sinks"] = true;
        QVERIFY(made.findings().found.empty());
    }

    /// A rule is missing only if its analysis could apply to such a model.
    void missingIsWhatCouldBeComputed()
    {
        PlantedResults made;
        const auto missing = [&] {
            std::set<std::string> kinds;
            for (const FindingRule* rule : made.findings().missing)
                kinds.insert(std::string(rule->kind));
            return kinds;
        };
        QCOMPARE(missing().size(), findingRules().size() - 2);
        QVERIFY(!missing().contains("nearby")); // it is about rotary positions
        QVERIFY(!missing().contains("nearer_than_slope"));
        made.card.positional = "alibi";
        QVERIFY(missing().contains("nearer_than_slope"));
        made.card.positional = "none";
        made.card.dMlp = 0;
        made.card.nLayers = 1;
        made.card.nCtx = 4;
        made.tokens.clear();
        made.card.dVocab = 1000000;
        QVERIFY((missing()
                 == std::set<std::string>{"copying", "suppression", "dominant_token", "near_duplicate",
                                          "low_rank", "dead_directions"}));
        QVERIFY(!canAnswer({made.card, made.results, made.tokens}));
        made.perHead("scores/copying", 0);
        QVERIFY(canAnswer({made.card, made.results, made.tokens}));
        QVERIFY(!missing().contains("copying"));
    }

private:
    static void addRules()
    {
        QTest::addColumn<std::string>("kind");
        for (const FindingRule& rule : findingRules())
            QTest::newRow(rule.kind.data()) << std::string(rule.kind);
    }
};

HEADWISE_TEST(FindingRulesTest)
#include "finding_rules_test.moc"
