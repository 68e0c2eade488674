#include "core/runs/cost_plan.h"

#include "core/runs/estimate.h"
#include "core/runs/plan.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

using namespace headwise;
using namespace headwise::test;

namespace {

constexpr std::array planNodes{1, 2, 4, 64};
constexpr PlanMachine planMachine{2, 1e10};

} // namespace

/// The cost of a run on one machine and on several.
class CostPlanTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        ToyOptions options;
        options.nLayers = 12;
        options.nHeads = 12;
        options.dHead = 5;
        const auto folder = std::filesystem::path(m_folder.path().toStdString()) / "toy";
        writeToyModel(folder, options);
        std::filesystem::remove(folder / "model.safetensors"); // config.json alone is enough
        const auto model = readModelConfig({folder, std::nullopt, {}, {}});
        QVERIFY(isOk(model));
        m_model = *model;
    }

    void theTotalIsTheSumOfItsParts()
    {
        const CostPlan plan = planned("spectra,composition,previous_token");
        QCOMPARE(plan.analyses.size(), std::size_t{3});
        double flops = plan.preparingFlops, seconds = plan.preparingSeconds, bytes = 0;
        for (const PlannedCost& row : plan.analyses) {
            QCOMPARE(row.cost.flops, runCost(*row.analysis, m_model->config, {}).flops);
            QCOMPARE(row.seconds, estimatedSeconds(row.cost.work(), 2));
            flops += row.cost.flops;
            seconds += row.seconds;
            bytes = std::max(bytes, row.cost.bytes);
        }
        QVERIFY(std::abs(plan.flops - flops) <= 1e-9 * flops);
        QVERIFY(std::abs(plan.seconds - seconds) <= 1e-9 * seconds);
        QCOMPARE(plan.bytes, bytes);
        const double tokens = m_model->config.dVocab + m_model->config.dVocabOut;
        QCOMPARE(plan.preparingFlops, 2 * tokens * 7 * 7); // spectra need the token side
        QVERIFY(plan.preparingBytes > 0);
        QVERIFY(std::abs(plan.nodes.front().seconds - plan.seconds) <= 1e-9 * plan.seconds);
    }

    void splitAnalysesTakeAnNthAndPreparingDoesNot()
    {
        const CostPlan plan = planned("composition");
        QCOMPARE(plan.preparingFlops, 0.0);
        const double composition = plan.analyses.front().cost.flops;
        for (std::size_t i = 0; i < planNodes.size(); ++i) {
            const double heads = std::ceil(144.0 / planNodes[i]);
            QVERIFY(std::abs(plan.nodes[i].flops - composition * heads / 144) <= 1e-9 * composition);
            QVERIFY(plan.nodes[i].seconds >= plan.preparingBytes / planMachine.bytesPerSecond);
        }
    }

    void theLongestWholeAnalysisIsTheLeastThereIs()
    {
        const CostPlan plan = planned("symmetry,norms");
        double longest = 0;
        for (const PlannedCost& row : plan.analyses)
            longest = std::max(longest, row.cost.flops);
        QCOMPARE(plan.nodes.back().nodes, 64);
        QVERIFY(plan.nodes.back().flops >= longest);
        QVERIFY(plan.nodes.back().flops < plan.nodes.front().flops);
    }

    void whatCannotRunIsNamed()
    {
        const CostPlan plan = planned("attention,copying"); // no prompt
        QCOMPARE(plan.analyses.size(), std::size_t{1});
        QCOMPARE(plan.leftOut.size(), std::size_t{1});
        QVERIFY(plan.leftOut.front().find("prompt") != std::string::npos);
        AnalysisOptions wrong;
        wrong.heads = {{99, 0}};
        const auto chosen = *parseAnalyses("copying");
        QVERIFY(failsWith(costPlan(chosen, *m_model, wrong, planMachine, planNodes),
                          ErrorCode::InvalidArgument, "There is no head 99.0"));
    }

private:
    CostPlan planned(const std::string& names) const
    {
        const auto chosen = *parseAnalyses(names);
        const auto plan = costPlan(chosen, *m_model, {}, planMachine, planNodes);
        return isOk(plan) ? *plan : CostPlan{};
    }

    QTemporaryDir m_folder;
    std::optional<ModelDescription> m_model;
};

HEADWISE_TEST(CostPlanTest)
#include "cost_plan_test.moc"
