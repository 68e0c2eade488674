#include "core/runs/queue.h"
#include "core/runs/ranks.h"
#include "core/session/partial_run.h"
#include "tests/support/analysed.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <map>
#include <string>

using namespace headwise;
using namespace headwise::test;

namespace {

using Environment = std::map<std::string, std::string>;

std::optional<Launch> launchIn(const Environment& environment)
{
    return launchOf([&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
}

bool makeFile(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::WriteOnly);
}

} // namespace

/// One process among several of a run.
class RanksTest : public QObject {
    Q_OBJECT

private slots:
    void theEnvironmentTellsWhoStartedTheProcess()
    {
        QCOMPARE(launchIn({}), std::optional<Launch>());
        QCOMPARE(launchIn({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
                 std::optional(Launch{"mpirun", 1, 4}));
        QCOMPARE(launchIn({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), std::optional(Launch{"mpiexec", 0, 2}));
        QCOMPARE(launchIn({{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "3"}}),
                 std::optional(Launch{"srun", 2, 3}));
    }

    /// Slurm gives a batch script the rank 0 and the tasks of the job.
    void aBatchScriptIsAlone()
    {
        QCOMPARE(launchIn({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}), std::optional<Launch>());
    }

    void oneProcessAndNonsenseAreAlone()
    {
        for (const auto& [rank, size] : {std::pair("0", "1"), std::pair("4", "4"), std::pair("-1", "4"),
                                         std::pair("x", "4"), std::pair("0", "4x"), std::pair("0", "")})
            QVERIFY2(!launchIn({{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", size}}), size);
    }

    void withoutTheModuleTheAdviceIsToUseShards()
    {
        const QTemporaryDir folder;
        const auto refused = Ranks::join({"mpirun", 0, 4}, {folder.path().toStdString()});
        QVERIFY(failsWith(refused, ErrorCode::InvalidArgument, "--shard 1/4"));
        QVERIFY(failsWith(refused, ErrorCode::InvalidArgument, "headwise merge"));
    }

    void sideFilesOfAllProcessesAreRemovedAndNothingElse()
    {
        const QTemporaryDir folder;
        const std::filesystem::path session = folder.filePath("a.h5").toStdString();
        QCOMPARE(rankSession(session, {2, 4}).filename().string(), std::string("a.h5.rank-2-of-4"));
        const QString side =
            QString::fromStdString(PartialRun::sideFile(rankSession(session, {2, 4})).string());
        const QStringList kept{folder.filePath("a.h5"), folder.filePath("a.h5.partial"),
                               folder.filePath("b.h5.rank-1-of-2.partial"), folder.filePath("a.h5.rank-1")};
        for (const QString& file : kept + QStringList{side, folder.filePath("a.h5.rank-1-of-2.partial")})
            QVERIFY(makeFile(file));
        removeRankFiles(session);
        QVERIFY(!QFile::exists(side) && !QFile::exists(folder.filePath("a.h5.rank-1-of-2.partial")));
        for (const QString& file : kept)
            QVERIFY2(QFile::exists(file), qPrintable(file));
    }

    /// The part of a process that has ended is there for the next run of the same command.
    void aFinishedPartIsTakenUp()
    {
        const QTemporaryDir folder;
        const Circuits circuits = toyCircuits({});
        Session frame = makeSession(circuits.weights(), "raw", nullptr, {});
        frame.part = SessionPart{{1, 2}, "digest", {"0.0"}};
        PartialRun partial(folder.filePath("a.h5.rank-1-of-2").toStdString(), frame);
        Resume first(partial, "question");
        const std::vector chosen{findAnalysis("copying")};
        auto results = runAnalyses(circuits, chosen, {}, Task{}, {&first});
        QVERIFY(isOk(results));
        Session whole = frame;
        addResults(whole, std::move(results).value());
        QVERIFY(isOk(partial.finish(whole, first.record(), Task{})));
        Resume again(partial, "question");
        QCOMPARE(again.takeUp(Task{}), std::vector<std::string>{"copying"});
        const auto taken = again.take(*findAnalysis("copying"));
        QVERIFY(taken && taken->find("scores/copying"));
        Resume other(partial, "another question");
        QVERIFY(other.takeUp(Task{}).empty());
    }
};

HEADWISE_TEST(RanksTest)
#include "ranks_test.moc"
