#include "tests/support/command.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

using namespace headwise::test;
using nlohmann::json;

/// `plan`, and `info --system`.
class PlanTest : public QObject {
    Q_OBJECT

private slots:
    void configAloneIsEnough()
    {
        const QString folder = m_folder.filePath("alone");
        QVERIFY(QDir().mkpath(folder));
        QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/config.json"), folder + "/config.json"));
        const CommandRun run = headwise({"plan", folder, "--json"});
        QVERIFY2(run.exitCode == 0, run.err);
        const json plan = json::parse(run.out.toStdString());
        double flops = plan["preparing"]["flops"];
        std::vector<std::string> names;
        for (const json& row : plan["analyses"]) {
            flops += row["flops"].get<double>();
            names.push_back(row["name"]);
            QVERIFY(row["seconds"].is_number() && row["bytes"].is_number() && row["split"].is_boolean());
        }
        QVERIFY(std::find(names.begin(), names.end(), "spectra") != names.end());
        QVERIFY(std::abs(plan["total"]["flops"].get<double>() - flops) <= 1e-9 * flops);
        QCOMPARE(plan["nodes"].size(), std::size_t{7});
        QCOMPARE(plan["nodes"][6]["nodes"].get<int>(), 64);
        QVERIFY(plan["nodes"][6]["flops"] < plan["nodes"][0]["flops"]);
    }

    void nodesAreThoseAskedFor()
    {
        const CommandRun run = headwise({"plan", HEADWISE_DEMO_MODEL, "--analyses",
                                         "composition,previous_token", "--nodes", "3", "--json"});
        QVERIFY2(run.exitCode == 0, run.err);
        const json plan = json::parse(run.out.toStdString());
        QCOMPARE(plan["nodes"].size(), std::size_t{1});
        QCOMPARE(plan["nodes"][0]["nodes"].get<int>(), 3);
        QCOMPARE(plan["analyses"].size(), std::size_t{2});
        QCOMPARE(headwise({"plan", HEADWISE_DEMO_MODEL, "--nodes", "0"}).exitCode, 2);
        const CommandRun unknown = headwise({"plan", HEADWISE_DEMO_MODEL, "--analyses", "nonsense"});
        QVERIFY2(unknown.exitCode == 2 && unknown.err.contains("nonsense"), unknown.err);
    }

    void theTableSaysWhatIsNotSplit()
    {
        const CommandRun run =
            headwise({"plan", HEADWISE_DEMO_MODEL, "--analyses", "composition,norms,attention"});
        QVERIFY2(run.exitCode == 0, run.err);
        for (const QByteArray& line : run.out.split('\n')) {
            QVERIFY2(!line.startsWith("composition") || line.contains("split by heads"), line);
            QVERIFY2(!line.startsWith("norms") || line.contains("whole on one"), line);
        }
        for (const char* part : {"\ncomposition ", "\nnorms ", "\nopening, token side ", "\ntotal ",
                                 "\n   64   ", "It needs a prompt"})
            QVERIFY2(run.out.contains(part), run.out);
    }

    void theSystemIsDescribedWithoutAModel()
    {
        const CommandRun run = headwise({"info", "--system", "--json"});
        QVERIFY2(run.exitCode == 0, run.err);
        const json system = json::parse(run.out.toStdString());
        QCOMPARE(system["cores"].get<int>(), static_cast<int>(std::thread::hardware_concurrency()));
        QCOMPARE(system["openblas_threads"].get<int>(), 1);
        QVERIFY(!system["openblas_kernels"].get<std::string>().empty());
        QVERIFY(system["sgemm_flops_per_core"].get<double>()
                > system["analysis_flops_per_core"].get<double>());
        QVERIFY(system["instruction_sets"].is_array() && system["libraries"].contains("HDF5"));
        const CommandRun text = headwise({"info", "--system"});
        QVERIFY2(text.exitCode == 0 && text.out.contains("OpenBLAS kernels") && text.out.contains("GFLOP/s"),
                 text.out);
    }

    void aModelIsStillRequiredOtherwise()
    {
        const CommandRun none = headwise({"info"});
        QCOMPARE(none.exitCode, 2);
        QVERIFY2(none.err.contains("MODEL is required"), none.err);
        QCOMPARE(headwise({"info", "--system", HEADWISE_DEMO_MODEL}).exitCode, 2);
        QCOMPARE(headwise({"info", "--system", "--tensors"}).exitCode, 2);
    }

private:
    CommandRun headwise(const QStringList& arguments) const
    {
        return runHeadwise(arguments, m_folder.path());
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(PlanTest)
#include "plan_test.moc"
