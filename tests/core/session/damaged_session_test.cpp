#include "core/base/sanitized.h"
#include "core/files/hdf5.h"

#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/session_mutants.h"

#include <QElapsedTimer>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include <hdf5.h>
#include <zlib.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace headwise;
using namespace headwise::test;

namespace {

constexpr qint64 mostMilliseconds = 15'000; // the reading process may compute for ten seconds

Session smallSession()
{
    Session session;
    session.headwiseVersion = "0.1.0";
    session.created = "2025-01-02T03:04:05Z";
    session.model = {"toy", "gpt2", 2,  3,         3,       7,          5,
                     28,    11,     13, "learned", "LNPre", "a/folder", std::string(64, 'a')};
    for (int i = 0; i < 11; ++i) {
        session.tokens.push_back("t" + std::to_string(i));
        session.tokenBytes.push_back(session.tokens.back());
    }
    for (const char* name : {"copying", "prefix", "first", "second"}) {
        ResultArray array;
        array.path = std::string("scores/") + name;
        array.shape = {2, 3};
        array.axes = {Axis::Layer, Axis::Head};
        array.definition = "a number of each head";
        array.values = std::vector<float>{1, 2, 3, 4, 5, 6};
        session.results.arrays.push_back(std::move(array));
    }
    session.notes["0.1"] = "a note";
    session.bookmarks = {"1.2"};
    return session;
}

/// Returns running processes that this one has started.
std::vector<pid_t> readingProcesses()
{
    std::vector<pid_t> found;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream in(thread.path() / "children");
        for (pid_t pid = 0; in >> pid;)
            found.push_back(pid);
    }
    return found;
}

} // namespace

class DamagedSessionTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    std::filesystem::path file(const char* name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

    std::filesystem::path written(const char* name)
    {
        return isOk(writeSession(file(name), smallSession(), Task{})) ? file(name) : std::filesystem::path();
    }

    /// Writes a good session and applies `change` to it with the HDF5 library.
    template <typename Change>
    std::filesystem::path changed(const char* name, Change change)
    {
        const auto path = written(name);
        const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
        change(id);
        H5Fclose(id);
        return path;
    }

    static void addDataset(hid_t at, const char* path, hid_t properties, std::vector<hsize_t> shape)
    {
        const hid_t space = H5Screate_simple(int(shape.size()), shape.data(), nullptr);
        const hid_t links = H5Pcreate(H5P_LINK_CREATE);
        H5Pset_create_intermediate_group(links, 1);
        const hid_t dataset = H5Dcreate2(at, path, H5T_IEEE_F32LE, space, links, properties, H5P_DEFAULT);
        const std::vector<float> values(6);
        if (shape == std::vector<hsize_t>{2, 3})
            H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        H5Dclose(dataset), H5Pclose(links), H5Sclose(space);
    }

    /// Reads those from `begin` to `end` of one series of mutants.
    void readMutants(int begin, int end)
    {
        const FileBytes whole = bytesOf(written("whole.h5"));
        const std::vector<Summed> pieces = allSummed(whole);
        QVERIFY(pieces.size() > 10);
        for (const Summed& piece : pieces) // the test's own checksums are the library's
            QCOMPARE(computedSum(whole, piece), storedSum(whole, piece));
        std::mt19937 random(17);
        int good = 0;
        int ended = 0;
        for (int i = 0; i < end; ++i) {
            const FileBytes mutant = mutated(whole, pieces, random);
            if (i < begin)
                continue;
            store(file("mutant.h5"), mutant);
            QElapsedTimer timer;
            timer.start();
            const auto read = readSession(file("mutant.h5"), Task{});
            QVERIFY2(timer.elapsed() < mostMilliseconds, qPrintable(QString::number(timer.elapsed())));
            good += read.has_value();
            if (read)
                continue;
            QVERIFY2(read.error().message.find("mutant.h5") != std::string::npos,
                     read.error().message.c_str());
            ended += read.error().message.find("the HDF5 library failed") != std::string::npos;
        }
        qInfo("%d of %d mutants were read, %d ended the reading process", good, end - begin, ended);
        QVERIFY(readingProcesses().empty());
    }

private slots:
    void initTestCase() { QVERIFY(isOk(readSession(written("good.h5"), Task{}))); }

    /// With many entries the library sorts them, for which the C library asks for the amount of memory.
    void aGroupOfManyArraysIsRead()
    {
        Session wide = smallSession();
        for (int i = 0; i < 1000; ++i) {
            wide.results.arrays.push_back(wide.results.arrays.front());
            wide.results.arrays.back().path = "scores/array" + std::to_string(i);
            wide.notes["1.1"] += "a long note ";
        }
        QVERIFY(isOk(writeSession(file("wide.h5"), wide, Task{})));
        const auto read = readSession(file("wide.h5"), Task{});
        QVERIFY(isOk(read));
        QCOMPARE(read->results.arrays.size(), wide.results.arrays.size());
    }

    void linksToOtherFilesAndPathsAreNotFollowed()
    {
        const auto other = written("other.h5");
        const auto path = changed("links.h5", [&](hid_t id) {
            H5Lcreate_external(other.c_str(), "/scores/copying", id, "scores/external", H5P_DEFAULT,
                               H5P_DEFAULT);
            H5Lcreate_soft("/scores/copying", id, "scores/soft", H5P_DEFAULT, H5P_DEFAULT);
        });
        const auto read = readSession(path, Task{});
        QVERIFY(isOk(read));
        QVERIFY(read->results.find("scores/copying"));
        QVERIFY(!read->results.find("scores/external") && !read->results.find("scores/soft"));
    }

    void valuesInAnotherFileAreNotRead()
    {
        const auto path = changed("external.h5", [](hid_t id) {
            const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
            H5Pset_external(properties, "/etc/hostname", 0, 24);
            const hsize_t shape[] = {2, 3};
            const hid_t space = H5Screate_simple(2, shape, nullptr);
            H5Dclose(H5Dcreate2(id, "scores/outside", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties,
                                H5P_DEFAULT));
            H5Sclose(space), H5Pclose(properties);
        });
        QVERIFY(failsWith(readSession(path, Task{}), ErrorCode::Unsupported, "another file"));
    }

    void aGroupThatContainsItselfIsRefused()
    {
        const auto path = changed("circle.h5", [](hid_t id) {
            for (int i = 0; i < 200; ++i)
                H5Lcreate_hard(id, "scores", id, ("scores/again" + std::to_string(i)).c_str(), H5P_DEFAULT,
                               H5P_DEFAULT);
        });
        QElapsedTimer timer;
        timer.start();
        QVERIFY(failsWith(readSession(path, Task{}), ErrorCode::Corrupt, "contains itself"));
        QVERIFY2(timer.elapsed() < mostMilliseconds, qPrintable(QString::number(timer.elapsed())));
    }

    /// 288 times the same 16 MiB of zeros, packed.
    void aBombIsRefusedBeforeItUnpacks()
    {
        constexpr hsize_t chunk = hsize_t(4) << 20;
        const std::vector<unsigned char> zeros(chunk * 4);
        std::vector<unsigned char> packed(compressBound(zeros.size()));
        uLongf size = packed.size();
        QCOMPARE(compress2(packed.data(), &size, zeros.data(), zeros.size(), 9), Z_OK);
        const auto path = changed("bomb.h5", [&](hid_t id) {
            const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
            const hsize_t chunks[] = {1, 1, chunk};
            H5Pset_chunk(properties, 3, chunks), H5Pset_deflate(properties, 9);
            addDataset(id, "tables/bomb/values", properties, {1, 288, chunk});
            const hid_t dataset = H5Dopen2(id, "tables/bomb/values", H5P_DEFAULT);
            for (hsize_t i = 0; i < 288; ++i) {
                const hsize_t at[] = {0, i, 0};
                H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, size, packed.data());
            }
            H5Dclose(dataset), H5Pclose(properties);
        });
        QVERIFY(std::filesystem::file_size(path) < 6'000'000);
        QElapsedTimer timer;
        timer.start();
        QVERIFY(failsWith(readSession(path, Task{}), ErrorCode::Corrupt, "cannot plausibly hold"));
        QVERIFY2(timer.elapsed() < mostMilliseconds, qPrintable(QString::number(timer.elapsed())));
    }

    void anUnknownFilterIsRefused()
    {
        const auto path = changed("filter.h5", [](hid_t id) {
            const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
            const hsize_t chunks[] = {2, 3};
            H5Pset_chunk(properties, 2, chunks);
            H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 2);
            addDataset(id, "scores/packed", properties, {2, 3});
            H5Pclose(properties);
        });
        QVERIFY(failsWith(readSession(path, Task{}), ErrorCode::Unsupported, "filter"));
    }

    /// The window divides one by the other.
    void keyValueHeadsMustDivideTheHeads()
    {
        for (const int heads : {2, 4, 6}) {
            Session session = smallSession(); // of 3 heads
            session.model.nKvHeads = heads;
            QVERIFY(isOk(writeSession(file("shared.h5"), session, Task{})));
            QVERIFY(failsWith(readSession(file("shared.h5"), Task{}), ErrorCode::Corrupt, "share evenly"));
        }
    }

    void aTruncatedSessionIsRefused()
    {
        const FileBytes whole = bytesOf(written("whole.h5"));
        for (std::size_t i = 1; i < 20; ++i) {
            store(file("short.h5"),
                  FileBytes(whole.begin(), whole.begin() + std::ptrdiff_t(whole.size() * i / 20)));
            QVERIFY(failsWith(readSession(file("short.h5"), Task{}), ErrorCode::Corrupt, "short.h5"));
        }
    }

    /// The checksums are right, so the library trusts what it reads; several in a hundred mutants crash it. Two tests, since it takes
    /// longest.
    void mutantsEndInAnErrorOrASession() { readMutants(0, 200); }
    void moreMutantsEndInAnErrorOrASession() { readMutants(200, 400); }

    void aReadingProcessThatDiesIsAnError()
    {
        const auto reader = Hdf5Reader::open(written("dies.h5"));
        QVERIFY(isOk(reader));
        QVERIFY(isOk(reader->readArray("scores/copying")));
        const auto started = readingProcesses();
        QCOMPARE(started.size(), std::size_t(1));
        kill(started.front(), SIGSEGV);
        QVERIFY(failsWith(reader->readArray("scores/copying"), ErrorCode::Corrupt, "dies.h5' is damaged"));
        QVERIFY(failsWith(reader->entries(""), ErrorCode::Corrupt, "dies.h5' is damaged")); // nor later
        QVERIFY(readingProcesses().empty());
    }

    void cancellingEndsAReadingProcessThatDoesNotAnswer()
    {
        std::stop_source source;
        const auto reader = Hdf5Reader::open(written("waits.h5"), Task{source.get_token(), {}, 0});
        QVERIFY(isOk(reader));
        const auto started = readingProcesses();
        QCOMPARE(started.size(), std::size_t(1));
        kill(started.front(), SIGSTOP);
        QElapsedTimer timer;
        timer.start();
        const std::jthread canceller([&] { source.request_stop(); });
        QVERIFY(failsWith(reader->readArray("scores/copying"), ErrorCode::Cancelled, ""));
        QVERIFY(timer.elapsed() < 5'000);
        QVERIFY(readingProcesses().empty());
    }

    /// Reads the limits where the kernel reports them.
    void theReadingProcessIsConfined()
    {
        const auto reader = Hdf5Reader::open(written("confined.h5"));
        QVERIFY(isOk(reader));
        const auto started = readingProcesses();
        QCOMPARE(started.size(), std::size_t(1));
        const std::string folder = "/proc/" + std::to_string(started.front());
        std::ifstream in(folder + "/limits");
        std::stringstream limits;
        limits << in.rdbuf();
        QVERIFY2(QString::fromStdString(limits.str()).contains(QRegularExpression("Max cpu time +1\\d ")),
                 limits.str().c_str());
        std::ifstream status(folder + "/status");
        std::stringstream lines;
        lines << status.rdbuf();
        QVERIFY2(lines.str().find("NoNewPrivs:\t1") != std::string::npos, lines.str().c_str());
#if defined(__x86_64__) && !defined(HEADWISE_SANITIZED)
        QVERIFY2(lines.str().find("Seccomp:\t2") != std::string::npos, lines.str().c_str());
#endif
    }
};

HEADWISE_TEST(DamagedSessionTest)
#include "damaged_session_test.moc"
