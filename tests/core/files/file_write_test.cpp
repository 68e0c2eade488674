#include "core/files/file_write.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>

#include <csignal>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace headwise;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    return (std::stringstream() << stream.rdbuf()).str();
}

void write(const fs::path& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary) << text;
}

std::set<std::string> names(const fs::path& folder)
{
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder))
        found.insert(entry.path().filename().string());
    return found;
}

/// Returns the id of a process that has ended.
pid_t endedProcess()
{
    const pid_t process = ::fork();
    if (process == 0)
        ::_exit(0);
    ::waitpid(process, nullptr, 0);
    return process;
}

/// Limits files to this many bytes during its lifetime.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes)
    {
        ::getrlimit(RLIMIT_FSIZE, &m_old);
        rlimit limit = m_old;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        m_handler = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~FullDisk()
    {
        ::setrlimit(RLIMIT_FSIZE, &m_old);
        std::signal(SIGXFSZ, m_handler);
    }

private:
    rlimit m_old{};
    void (*m_handler)(int) = nullptr;
};

Result<Done> writeTwo(const fs::path& folder)
{
    write(folder / "config.json", "{}");
    write(folder / "model.safetensors", "new");
    return Done{};
}

} // namespace

class FileWriteTest : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<QTemporaryDir> m_temporary;
    fs::path m_root;

private slots:
    void init()
    {
        m_temporary = std::make_unique<QTemporaryDir>();
        m_root = m_temporary->path().toStdString();
    }

    void writesAndReplacesAFile()
    {
        const fs::path path = m_root / "a.bin";
        QVERIFY(test::isOk(replaceFile(path, std::string("first"))));
        QCOMPARE(content(path), std::string("first"));
        ::chmod(path.c_str(), 0600);
        QVERIFY(test::isOk(replaceFile(path, [](FileWriter& writer) -> Result<Done> {
            for (const char* piece : {"sec", "ond"})
                if (const auto written = writer.write(std::as_bytes(std::span(piece, 3))); !written)
                    return written;
            return Done{};
        })));
        QCOMPARE(content(path), std::string("second"));
        struct stat status { };
        ::stat(path.c_str(), &status);
        QCOMPARE(status.st_mode & 07777, mode_t{0600});
        QCOMPARE(names(m_root), (std::set<std::string>{"a.bin"}));
    }

    void aSymlinkKeepsPointingWhereItDid()
    {
        write(m_root / "real", "old");
        fs::create_symlink("real", m_root / "link");
        QVERIFY(test::isOk(replaceFile(m_root / "link", std::string("new"))));
        QVERIFY(fs::is_symlink(m_root / "link"));
        QCOMPARE(content(m_root / "real"), std::string("new"));
    }

    void whatKilledProcessesLeftOfAFileIsRemoved()
    {
        const std::string ended = std::to_string(endedProcess()), alive = std::to_string(::getpid());
        const std::set<std::string> others{".a.bin." + alive + "-99.tmp", ".b.bin." + ended + "-0.tmp",
                                           ".a.bin." + ended + ".tmp", "a.bin." + ended + "-0.tmp"};
        for (const std::string& name : others)
            write(m_root / name, "of others");
        write(m_root / (".a.bin." + ended + "-0.tmp"), "half");
        fs::create_directory(m_root / (".out." + ended + "-3.tmp"));
        write(m_root / (".out." + ended + "-3.tmp") / "model", "half");
        QVERIFY(test::isOk(replaceFile(m_root / "a.bin", std::string("new"))));
        QVERIFY(test::isOk(replaceFolder(m_root / "out", Existing::Refuse,
                                         [](const fs::path&) -> Result<Done> { return Done{}; })));
        std::set<std::string> expected = others;
        expected.insert({"a.bin", "out"});
        QCOMPARE(names(m_root), expected);
    }

    void aFullDiskLeavesTheOldFile()
    {
        write(m_root / "a.bin", "old");
        const std::string large(100'000, 'x');
        {
            const FullDisk disk(50'000);
            QVERIFY(test::failsWith(replaceFile(m_root / "a.bin", large), ErrorCode::Io, "a.bin"));
        }
        QCOMPARE(content(m_root / "a.bin"), std::string("old"));
        QCOMPARE(names(m_root), (std::set<std::string>{"a.bin"}));
        QVERIFY(test::isOk(replaceFile(m_root / "a.bin", large)));
        QCOMPARE(content(m_root / "a.bin"), large);
    }

    void aWriterThatFailsLeavesTheOldFile()
    {
        write(m_root / "a.bin", "old");
        const auto failed = replaceFile(m_root / "a.bin", [](FileWriter& writer) -> Result<Done> {
            if (const auto written = writer.write(std::as_bytes(std::span("half", 4))); !written)
                return written;
            return Error{ErrorCode::Cancelled, "Stopped."};
        });
        QVERIFY(test::failsWith(failed, ErrorCode::Cancelled, "Stopped."));
        QCOMPARE(content(m_root / "a.bin"), std::string("old"));
        QCOMPARE(names(m_root), (std::set<std::string>{"a.bin"}));
    }

    void saysWhereItCannotWrite()
    {
        QVERIFY(test::failsWith(replaceFile(m_root / "none" / "a.bin", std::string("x")), ErrorCode::Io,
                                "none/a.bin"));
        QVERIFY(test::failsWith(replaceFile(m_root, std::string("x")), ErrorCode::Io, m_root.string()));
        QVERIFY(test::failsWith(replaceFolder(m_root / "none" / "out", Existing::Refuse, writeTwo),
                                ErrorCode::Io, "none"));
        write(m_root / "file", "");
        QVERIFY(test::failsWith(replaceFolder(m_root / "file", Existing::Replace, writeTwo),
                                ErrorCode::InvalidArgument, "is a file"));
    }

    void aDeviceOrAPipeIsNeverReplaced()
    {
        const fs::path pipe = m_root / "pipe";
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        fs::create_symlink("pipe", m_root / "link");
        for (const char* name : {"pipe", "link"}) {
            QVERIFY(test::failsWith(replaceFile(m_root / name, std::string("x")), ErrorCode::Io, name));
            QVERIFY(test::failsWith(canReplaceFile(m_root / name), ErrorCode::Io, "a pipe"));
        }
        QVERIFY(fs::is_fifo(pipe) && fs::is_symlink(m_root / "link"));
        QCOMPARE(names(m_root), (std::set<std::string>{"link", "pipe"}));
    }

    void writesAFolderThatIsNotThereOrEmpty()
    {
        QVERIFY(test::isOk(replaceFolder(m_root / "out", Existing::Refuse, writeTwo)));
        QCOMPARE(names(m_root / "out"), (std::set<std::string>{"config.json", "model.safetensors"}));
        fs::create_directory(m_root / "empty");
        QVERIFY(test::isOk(replaceFolder(m_root / "empty" / "", Existing::Refuse, writeTwo)));
        QCOMPARE(content(m_root / "empty" / "model.safetensors"), std::string("new"));
        QCOMPARE(names(m_root), (std::set<std::string>{"out", "empty"}));
    }

    void replacesAFolderOnlyWhenTold()
    {
        fs::create_directory(m_root / "out");
        write(m_root / "out" / "old.safetensors", "old");
        bool asked = false;
        const auto refused =
            replaceFolder(m_root / "out", Existing::Refuse, [&](const fs::path&) -> Result<Done> {
                asked = true;
                return Done{};
            });
        QVERIFY(test::failsWith(refused, ErrorCode::InvalidArgument, "not empty"));
        QVERIFY(!asked);
        QVERIFY(test::failsWith(canReplaceFolder(m_root / "out", Existing::Refuse),
                                ErrorCode::InvalidArgument, "--force"));
        QVERIFY(test::isOk(canReplaceFolder(m_root / "out", Existing::Replace)));
        QVERIFY(test::isOk(replaceFolder(m_root / "out", Existing::Replace, writeTwo)));
        QCOMPARE(names(m_root / "out"), (std::set<std::string>{"config.json", "model.safetensors"}));
        QCOMPARE(names(m_root), (std::set<std::string>{"out"}));
    }

    void neverReplacesAFolderOfFolders()
    {
        fs::create_directories(m_root / "home" / "papers");
        QVERIFY(test::failsWith(replaceFolder(m_root / "home", Existing::Replace, writeTwo),
                                ErrorCode::InvalidArgument, "'papers'"));
        QVERIFY(fs::exists(m_root / "home" / "papers"));
    }

    void aFailureLeavesTheOldFolder()
    {
        fs::create_directory(m_root / "out");
        write(m_root / "out" / "old.safetensors", "old");
        const auto failed =
            replaceFolder(m_root / "out", Existing::Replace, [](const fs::path& folder) -> Result<Done> {
                write(folder / "config.json", "{}");
                const FullDisk disk(50'000);
                return replaceFile(folder / "model.safetensors", std::string(100'000, 'x'));
            });
        QVERIFY(test::failsWith(failed, ErrorCode::Io, "model.safetensors"));
        QCOMPARE(names(m_root / "out"), (std::set<std::string>{"old.safetensors"}));
        QCOMPARE(names(m_root), (std::set<std::string>{"out"}));
    }
};

HEADWISE_TEST(FileWriteTest)
#include "file_write_test.moc"
