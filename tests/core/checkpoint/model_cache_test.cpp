#include "core/checkpoint/model_cache.h"
#include "core/model/architecture.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

#include <fstream>
#include <memory>

using namespace headwise;

namespace {

const std::string firstCommit(40, 'a'), secondCommit = "ab" + std::string(38, '0');

} // namespace

/// Models in a made-up Hugging Face cache.
class ModelCacheTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_home = std::make_unique<QTemporaryDir>();
        for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
            qunsetenv(name);
        qputenv("HF_HOME", m_home->path().toUtf8());
    }

    void theFolderFollowsTheEnvironment()
    {
        QCOMPARE(modelCacheFolder(), home() / "hub");
        qputenv("HF_HUB_CACHE", "/elsewhere");
        QCOMPARE(modelCacheFolder(), std::filesystem::path("/elsewhere"));
        qunsetenv("HF_HUB_CACHE");
        qunsetenv("HF_HOME");
        qputenv("XDG_CACHE_HOME", "/caches");
        QCOMPARE(modelCacheFolder(), std::filesystem::path("/caches/huggingface/hub"));
        qunsetenv("XDG_CACHE_HOME");
        QVERIFY(modelCacheFolder().string().ends_with("/.cache/huggingface/hub"));
    }

    void anAbsentCacheHoldsNothing()
    {
        const auto models = cachedModels();
        QVERIFY(test::isOk(models));
        QVERIFY(models->empty());
        QVERIFY(test::failsWith(modelPath("gpt2", {}), ErrorCode::NotFound, "Nothing is downloaded."));
    }

    void modelsAreListedWithTheirRevisionsAndSizes()
    {
        addSnapshot("models--org--toy", firstCommit, "12345");
        addSnapshot("models--org--toy", secondCommit, "123");
        addRef("models--org--toy", "refs/pr/1", firstCommit);
        addRef("models--org--toy", "main", secondCommit + "\n");
        addSnapshot("models--gpt2", firstCommit, "1");
        std::filesystem::create_directories(hub() / "datasets--org--text" / "snapshots" / firstCommit);
        std::filesystem::create_directories(hub() / "models--org--empty" / "snapshots");
        const auto models = cachedModels();
        QVERIFY(test::isOk(models));
        QCOMPARE(models->size(), std::size_t{2});
        QCOMPARE(models->at(0).name, std::string("gpt2"));
        const CachedModel& toy = models->at(1);
        QCOMPARE(toy.name, std::string("org/toy"));
        QCOMPARE(toy.revisions.size(), std::size_t{2});
        QCOMPARE(toy.revisions[0].refs, (std::vector<std::string>{"refs/pr/1"}));
        QCOMPARE(toy.revisions[0].bytes, std::int64_t{5}); // of the file that the symlink leads to
        QCOMPARE(toy.revisions[1].refs, (std::vector<std::string>{"main"}));
        QVERIFY(toy.revisions[1].modified > 0);
    }

    void aNameIsItsSnapshotOfMain()
    {
        addSnapshot("models--org--toy", firstCommit, "1");
        addSnapshot("models--org--toy", secondCommit, "2");
        addRef("models--org--toy", "main", secondCommit);
        addRef("models--org--toy", "step1000", firstCommit);
        const auto folderOf = [&](const std::string& commit) {
            return hub() / "models--org--toy" / "snapshots" / commit;
        };
        const auto found = [](const char* name, const std::string& revision = {}) {
            const auto path = modelPath(name, revision);
            return path ? *path : std::filesystem::path(path.error().message);
        };
        QCOMPARE(found("org/toy"), folderOf(secondCommit));
        QCOMPARE(found("org/toy@step1000"), folderOf(firstCommit));
        QCOMPARE(found("org/toy", "step1000"), folderOf(firstCommit));
        QCOMPARE(found("org/toy", firstCommit), folderOf(firstCommit));
        QCOMPARE(found("org/toy@ab0"), folderOf(secondCommit)); // the beginning of one commit
        QVERIFY(test::failsWith(modelPath("org/toy", "a"), ErrorCode::InvalidArgument, firstCommit));
        QVERIFY(test::failsWith(modelPath("org/toy", "step2"), ErrorCode::NotFound, "(step1000)"));
        QVERIFY(
            test::failsWith(modelPath("org/toy@ab0", "main"), ErrorCode::InvalidArgument, "two revisions"));
        QVERIFY(test::failsWith(modelPath("org/other", {}), ErrorCode::NotFound, "list-models"));
    }

    void withoutMainSeveralRevisionsAreListed()
    {
        addSnapshot("models--toy", firstCommit, "1");
        const auto only = modelPath("toy", {});
        QVERIFY(test::isOk(only)); // there is one alone
        addSnapshot("models--toy", secondCommit, "2");
        const auto several = modelPath("toy", {});
        QVERIFY(test::failsWith(several, ErrorCode::InvalidArgument, firstCommit + ", " + secondCommit));
        QVERIFY(test::failsWith(several, ErrorCode::InvalidArgument, "--revision"));
    }

    void pathsStayPaths_data()
    {
        QTest::addColumn<QString>("path");
        for (const char* path : {"", ".", "..", "../toy", "/toy", "./toy", "a/b/c", "a--b", "-x", "a b",
                                 "toy@", "absent.safetensors", "org/absent.gguf"})
            QTest::newRow(path) << QString(path);
    }
    void pathsStayPaths()
    {
        QFETCH(QString, path);
        const std::filesystem::path given = path.toStdString();
        const auto same = modelPath(given, {});
        QVERIFY(test::isOk(same));
        QCOMPARE(*same, given);
    }

    void aFileOrFolderComesFirstAndHasNoRevisions()
    {
        const std::filesystem::path folder = home() / "toy";
        std::filesystem::create_directories(folder);
        QCOMPARE(*modelPath(folder, {}), folder);
        QVERIFY(test::failsWith(modelPath(folder, "main"), ErrorCode::InvalidArgument, "is a path"));
    }

    /// A snapshot's files are symlinks to blobs in another folder, and the folder has the name of a commit.
    void aSnapshotOpensUnderTheNameOfItsModel()
    {
        const auto plain = test::writeToyModel(home() / "plain").folder;
        const std::filesystem::path model = hub() / "models--org--toy";
        const std::filesystem::path snapshot = model / "snapshots" / firstCommit;
        std::filesystem::create_directories(snapshot);
        std::filesystem::create_directories(model / "blobs");
        for (const char* name : {"config.json", "model.safetensors"}) {
            const std::string blob = std::string("blob-of-") + name;
            std::filesystem::rename(plain / name, model / "blobs" / blob);
            std::filesystem::create_symlink("../../blobs/" + blob, snapshot / name);
        }
        const auto path = modelPath("org/toy", {});
        QVERIFY(test::isOk(path));
        const auto weights = loadModel({*path, {}, {{"model_name", "null"}}}, Task{});
        QVERIFY(test::isOk(weights));
        QCOMPARE((*weights)->config().name, std::string("org/toy"));
        const auto file = loadModel({*path / "model.safetensors", {}, {{"model_name", "null"}}}, Task{});
        QVERIFY(test::isOk(file));
        QCOMPARE((*file)->config().name, std::string("org/toy"));
    }

private:
    std::filesystem::path home() const { return m_home->path().toStdString(); }
    std::filesystem::path hub() const { return home() / "hub"; }

    static void write(const std::filesystem::path& file, const std::string& content)
    {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
    }
    /// A snapshot of one file, a symlink to a blob as Hugging Face's libraries make it.
    void addSnapshot(const std::string& model, const std::string& commit, const std::string& content)
    {
        write(hub() / model / "blobs" / commit, content);
        const std::filesystem::path snapshot = hub() / model / "snapshots" / commit;
        std::filesystem::create_directories(snapshot);
        std::filesystem::create_symlink("../../blobs/" + commit, snapshot / "model.safetensors");
    }
    void addRef(const std::string& model, const std::string& ref, const std::string& commit)
    {
        write(hub() / model / "refs" / ref, commit);
    }

    std::unique_ptr<QTemporaryDir> m_home;
};

HEADWISE_TEST(ModelCacheTest)
#include "model_cache_test.moc"
