#include "core/series/series_members.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <filesystem>
#include <fstream>

using namespace headwise;
using namespace headwise::test;

namespace {

/// An empty folder, and functions that fill it.
class SeriesFolder {
public:
    std::filesystem::path path() const { return m_folder.path().toStdString(); }
    void folders(const std::vector<std::string>& names) const
    {
        for (const std::string& name : names)
            std::filesystem::create_directories(path() / name);
    }
    void files(const std::vector<std::string>& names) const
    {
        for (const std::string& name : names)
            std::ofstream(path() / name) << "x";
    }
    /// "512 step512, 1000 step1000"; the error's sentence if there is one.
    std::string found() const
    {
        const auto series = seriesMembers(path());
        if (!series)
            return series.error().message;
        std::string text;
        for (const SeriesMember& member : series->members)
            text += (text.empty() ? "" : ", ") + std::to_string(member.step) + " " + member.name;
        return text;
    }

private:
    QTemporaryDir m_folder;
};

} // namespace

/// The members that a folder of checkpoints has.
class SeriesMembersTest : public QObject {
    Q_OBJECT

private slots:
    void foldersAreSortedByNumber()
    {
        const SeriesFolder folder;
        folder.folders({"step1000", "step512", "step0", "step64", "logs", "final"});
        QCOMPARE(folder.found(), "0 step0, 64 step64, 512 step512, 1000 step1000");
    }

    void filesOfWeightsAreMembersToo()
    {
        const SeriesFolder folder;
        folder.files({"model_000512.safetensors", "model_000064.safetensors", "config.json", "notes_1.txt",
                      "optimizer_64.pt", "optimizer_512.pt", "optimizer_600.pt"});
        QCOMPARE(folder.found(), "64 model_000064.safetensors, 512 model_000512.safetensors");
    }

    /// OLMo's revisions, Lightning's files, and members whose name ends in another number.
    void theNumberBehindStepIsTheStep()
    {
        const SeriesFolder olmo, lightning, seeds;
        olmo.folders({"step1000-tokens4B", "step500-tokens2B", "step5000-tokens22B", "main"});
        QCOMPARE(olmo.found(), "500 step500-tokens2B, 1000 step1000-tokens4B, 5000 step5000-tokens22B");
        lightning.files({"epoch=0-step=999.ckpt", "epoch=1-step=1998.ckpt", "last.ckpt"});
        QCOMPARE(lightning.found(), "999 epoch=0-step=999.ckpt, 1998 epoch=1-step=1998.ckpt");
        seeds.folders({"global_step20_seed1", "global_step100_seed1"});
        QCOMPARE(seeds.found(), "20 global_step20_seed1, 100 global_step100_seed1");
        // Two stages of a training, which both have a step 1000, are two kinds.
        const SeriesFolder stages;
        stages.folders({"stage1-step1000-tokens5B", "stage1-step2000-tokens9B", "stage2-step1000-tokens5B"});
        QCOMPARE(stages.found(), "1000 stage1-step1000-tokens5B, 2000 stage1-step2000-tokens9B");
    }

    void theMostFrequentKindIsTheSeries()
    {
        const SeriesFolder folder;
        folder.folders({"checkpoint-500", "checkpoint-1000", "run2"});
        const auto series = seriesMembers(folder.path());
        QVERIFY(isOk(series));
        QCOMPARE(series->members.size(), std::size_t(2));
        QCOMPARE(series->notes.size(), std::size_t(1));
        QVERIFY(series->notes[0].find("'run2'") != std::string::npos);
    }

    void partsOfOneModelAreNone()
    {
        const SeriesFolder folder;
        folder.files({"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"});
        QVERIFY(failsWith(seriesMembers(folder.path()), ErrorCode::NotFound, "no checkpoints"));
    }

    void anEmptyFolderAndNoneSayWhatIsWanted()
    {
        const SeriesFolder folder;
        QVERIFY(failsWith(seriesMembers(folder.path()), ErrorCode::NotFound, "step1000, checkpoint-500"));
        QVERIFY(failsWith(seriesMembers(folder.path() / "no/such"), ErrorCode::NotFound, "is not a folder"));
        folder.files({"file"});
        QVERIFY(failsWith(seriesMembers(folder.path() / "file"), ErrorCode::NotFound, "is not a folder"));
    }

    void twoMembersOfOneStepAreRefused()
    {
        const SeriesFolder folder;
        folder.folders({"step10", "step010"});
        QVERIFY(
            failsWith(seriesMembers(folder.path()), ErrorCode::InvalidArgument, "'step010' and 'step10'"));
    }

    /// A model's own folder opens as that model, whatever checkpoints lie beside it.
    void aFolderWithoutAModelIsOneOfCheckpoints()
    {
        const SeriesFolder folder;
        folder.folders({"step1", "step2", "step3"});
        folder.files({"config.json", "step1/model.safetensors"});
        QVERIFY(!isFolderOfCheckpoints(folder.path()));
        folder.files({"step2/model.safetensors"});
        QVERIFY(isFolderOfCheckpoints(folder.path()));
        QVERIFY(!isFolderOfCheckpoints(folder.path() / "step1"));
        QVERIFY(!isFolderOfCheckpoints(folder.path() / "config.json"));
        folder.files({"model.safetensors"});
        QVERIFY(!isFolderOfCheckpoints(folder.path()));
    }

    void aStepIsAnInt32()
    {
        const SeriesFolder folder;
        folder.folders({"step2147483647", "step2147483648", "step99999999999999999999"});
        QCOMPARE(folder.found(), "2147483647 step2147483647");
    }

    void aMemberWithoutAConfigUsesThatOfTheSeries()
    {
        const SeriesFolder folder;
        folder.folders({"step1", "step2"});
        folder.files({"config.json", "tokenizer.json", "step1/config.json", "step2/tokenizer.json"});
        const auto series = seriesMembers(folder.path());
        QVERIFY(isOk(series));
        QVERIFY(series->members[0].config.empty());
        QCOMPARE(series->members[0].tokenizer, folder.path());
        QCOMPARE(series->members[1].config, folder.path() / "config.json");
        QVERIFY(series->members[1].tokenizer.empty());
    }

    void refsOfACachedModelAreMembers()
    {
        const SeriesFolder hub;
        const std::string model = "models--org--tiny/";
        hub.folders({model + "snapshots/aaaa", model + "snapshots/bbbb", model + "refs"});
        for (const auto& [ref, commit] :
             {std::pair{"step1000", "aaaa"}, {"step512", "bbbb"}, {"main", "aaaa"}})
            std::ofstream(hub.path() / model / "refs" / ref) << commit;
        const QByteArray before = qgetenv("HF_HUB_CACHE");
        qputenv("HF_HUB_CACHE", QByteArray::fromStdString(hub.path().string()));
        const auto series = seriesMembers("org/tiny");
        const auto other = seriesMembers("org/other");
        if (before.isNull())
            qunsetenv("HF_HUB_CACHE");
        else
            qputenv("HF_HUB_CACHE", before);
        QVERIFY(isOk(series));
        QCOMPARE(series->name, "org/tiny");
        QCOMPARE(series->members.size(), std::size_t(2));
        QCOMPARE(series->members[0].name, "step512");
        QCOMPARE(series->members[0].path.filename(), std::filesystem::path("bbbb"));
        QVERIFY(failsWith(other, ErrorCode::NotFound, "holds no model"));
    }
};

HEADWISE_TEST(SeriesMembersTest)
#include "series_members_test.moc"
