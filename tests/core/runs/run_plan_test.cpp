#include "core/runs/plan.h"

#include "tests/support/analysed.h"
#include "tests/support/every_input.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <algorithm>
#include <vector>

using namespace headwise;
using namespace headwise::test;

class RunPlanTest : public QObject {
    Q_OBJECT

private slots:
    void namesAreReadInTheOrderOfTheCatalogueEachOnce()
    {
        const auto some = parseAnalyses("composition,spectra,copying,spectra");
        QVERIFY(isOk(some));
        QVERIFY(
            *some
            == (std::vector{findAnalysis("spectra"), findAnalysis("copying"), findAnalysis("composition")}));
        const auto all = parseAnalyses("copying,all");
        QVERIFY(isOk(all));
        QCOMPARE(all->size(), catalogue().size());
        QCOMPARE(all->front(), &catalogue().front());
        QVERIFY(failsWith(parseAnalyses("spectra,astrology"), ErrorCode::InvalidArgument, "'astrology'"));
        QVERIFY(failsWith(parseAnalyses(""), ErrorCode::InvalidArgument, "--analyses names no analysis"));
    }

    void aPlanKeepsTheOrderAndSaysWhatItLeavesOut()
    {
        const ModelConfig config = toyCircuits({}).config();
        const std::vector chosen{findAnalysis("composition"), findAnalysis("attention"), // no prompt
                                 findAnalysis("rotary"), findAnalysis("spectra")};       // no rotary
        const auto plan = planRun(chosen, config, {});
        QVERIFY(isOk(plan));
        QVERIFY(plan->analyses == (std::vector{chosen[0], chosen[3]}));
        QCOMPARE(plan->warnings.size(), std::size_t{2});
        QCOMPARE(plan->warnings[0], leftOutWarning(*chosen[1], whyLeftOut(*chosen[1], config, {})));
        QVERIFY(plan->warnings[0].find("left out. It needs a prompt") != std::string::npos);
        QVERIFY(plan->warnings[1].starts_with(std::string(chosen[2]->title) + " was left out. "));
    }

    void wrongRequestsArePlannedByNobody()
    {
        const ModelConfig config = toyCircuits({}).config();
        const std::vector chosen{findAnalysis("copying")};
        AnalysisOptions options;
        options.heads = {{0, 7}};
        QVERIFY(failsWith(planRun(chosen, config, options), ErrorCode::InvalidArgument, "no head 0.7"));
        options.heads.clear();
        options.inputs.previousTokenHeads = {{9, 0}};
        QVERIFY(failsWith(planRun(chosen, config, options), ErrorCode::InvalidArgument, "no head 9.0"));
        options.inputs.previousTokenHeads.clear();
        options.tableSize = 0;
        QVERIFY(failsWith(planRun(chosen, config, options), ErrorCode::InvalidArgument, "is 0"));
    }

    void everyMissingInputIsNamed()
    {
        const ModelConfig config = toyCircuits({}).config();
        const AnalysisOptions all = everyInput(config, {{0, 0}, {1, 1}});
        for (const Analysis& analysis : catalogue()) {
            const auto lacks = [&](bool needs, const auto& take, std::string_view words) {
                AnalysisOptions options = all;
                take(options.inputs);
                return !needs || whyLeftOut(analysis, config, options).find(words) != std::string::npos;
            };
            const InputNeeds& needs = analysis.needs;
            QVERIFY2(lacks(
                         needs.tokenizer, [](AnalysisInputs& in) { in.tokenizer = nullptr; }, "tokenizer")
                         && lacks(
                             needs.prompt, [](AnalysisInputs& in) { in.prompt.clear(); }, "prompt")
                         && lacks(
                             needs.token, [](AnalysisInputs& in) { in.token.reset(); }, "token")
                         && lacks(
                             needs.pair, [](AnalysisInputs& in) { in.pair.reset(); }, "two heads")
                         && lacks(
                             needs.direction, [](AnalysisInputs& in) { in.direction.clear(); }, "direction"),
                     analysis.id.data());
        }
    }
};

HEADWISE_TEST(RunPlanTest)
#include "run_plan_test.moc"
