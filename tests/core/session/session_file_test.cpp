#include "core/files/hdf5.h"
#include "core/session/session_file.h"
#include "tests/core/session/full_session.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <csignal>
#include <fstream>
#include <numeric>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace headwise;
using namespace headwise::test;

namespace {

std::string contents(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

class SessionFileTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::filesystem::path file(const std::string& name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }
    std::size_t fileCount() const
    {
        const std::filesystem::directory_iterator files(m_folder.path().toStdString());
        return static_cast<std::size_t>(std::distance(begin(files), end(files)));
    }

    /// Writes a good session with one fault from `damage`.
    std::filesystem::path damaged(const std::function<void(Session&)>& damage)
    {
        return writeDamaged(file("damaged.h5"), damage);
    }

private slots:
    void aFullSessionComesBackEqual()
    {
        Session session = fullSession();
        QVERIFY(isOk(writeSession(file("full.h5"), session, Task{})));
        const Result<Session> read = readSession(file("full.h5"), Task{});
        QVERIFY(isOk(read));
        QVERIFY(read->modified > session.created && read->modified.size() == 20
                && read->modified.back() == 'Z');
        session.modified = read->modified;
        QCOMPARE(read->results.arrays.size(), session.results.arrays.size());
        for (std::size_t i = 0; i < session.results.arrays.size(); ++i)
            QVERIFY2(read->results.arrays[i] == session.results.arrays[i],
                     session.results.arrays[i].path.c_str());
        QVERIFY(read->results == session.results);
        QVERIFY(*read == session);
    }

    void aPictureWhoseLabelsDoNotFitItsNumbersIsRefused_data()
    {
        QTest::addColumn<int>("fault");
        QTest::newRow("columns") << 0;
        QTest::newRow("rows") << 1;
        QTest::newRow("words") << 2;
    }
    void aPictureWhoseLabelsDoNotFitItsNumbersIsRefused()
    {
        QFETCH(int, fault);
        const auto path = damaged([fault](Session& session) {
            if (fault == 0)
                session.screen[1].isMatrix = true; // without names of rows
            if (fault == 1)
                session.screen[0].rowNames.emplace_back("one more");
            if (fault == 2)
                session.screen[1].words.pop_back();
        });
        const auto read = readSession(path, Task{});
        QVERIFY(failsWith(read, ErrorCode::Corrupt, "screen/"));
    }

    void aSessionWhoseRootCannotBeReadIsADamagedSession()
    {
        QVERIFY(isOk(writeSession(file("root.h5"), fullSession(), Task{})));
        QVERIFY(isSessionFile(file("root.h5")));
        std::fstream bytes(file("root.h5"), std::ios::in | std::ios::out | std::ios::binary);
        std::uint64_t root = 0; // after the superblock's signature, version, sizes and three other addresses
        bytes.seekg(36).read(reinterpret_cast<char*>(&root), sizeof root);
        bytes.seekp(static_cast<std::streamoff>(root) + 20).put('\x55'); // its checksum is wrong now
        bytes.close();
        QVERIFY(isSessionFile(file("root.h5"))); // and does not open as a model
        QVERIFY(failsWith(readSession(file("root.h5"), Task{}), ErrorCode::Corrupt, "is damaged"));
    }

    void anAlmostEmptySessionComesBackEqual()
    {
        Session session;
        session.model = fullSession().model;
        QVERIFY(isOk(writeSession(file("empty.h5"), session, Task{})));
        const Result<Session> read = readSession(file("empty.h5"), Task{});
        QVERIFY(isOk(read));
        QVERIFY(!read->headwiseVersion.empty());
        QCOMPARE(read->created, read->modified);
        session.headwiseVersion = read->headwiseVersion;
        session.created = session.modified = read->created;
        QVERIFY(*read == session);
        const auto layout = Hdf5Reader::open(file("empty.h5"));
        for (const char* absent : {"vocabulary", "notes", "bookmarks", "view", "figures"})
            QVERIFY2(!layout->has(absent), absent);
    }

    void notANumberComesBack()
    {
        Session session = fullSession();
        std::get<std::vector<float>>(session.results.arrays[1].values)[4] = std::nanf("");
        QVERIFY(isOk(writeSession(file("nan.h5"), session, Task{})));
        const Result<Session> read = readSession(file("nan.h5"), Task{});
        QVERIFY(isOk(read));
        const auto& values =
            std::get<std::vector<float>>(read->results.find("spectra/qk/frobenius_norm")->values);
        QVERIFY(std::isnan(values[4]) && values[5] == 5);
    }

    /// The fixture was written by h5py from the format's description, not by Headwise.
    void aFileOfVersion1IsRead()
    {
        const Result<Session> read = readSession(testData("session-v1.h5"), Task{});
        QVERIFY(isOk(read));
        QCOMPARE(read->formatVersion, 1);
        QCOMPARE(read->modified, std::string("2026-11-21T01:02:03Z"));
        QVERIFY((read->model
                 == ModelCard{"toy", "gpt2", 2, 3, 3, 7, 5, 0, 11, 13, "learned", "LN", "models/toy",
                              std::string(64, '0')}));
        QVERIFY((read->processing == Processing{true, true, true, false, false, true, true}));
        QCOMPARE(read->warnings, std::vector<std::string>{"Value biases were not folded."});
        QCOMPARE(read->tokens[2], std::string("<0xFF>"));
        QCOMPARE(read->tokenBytes[2], std::string("\xff"));
        const ResultArray* copying = read->results.find("scores/copying");
        QVERIFY(copying);
        QCOMPARE(std::get<std::vector<float>>(copying->values)[1], -1.0f);
        QVERIFY(copying->range == std::optional(std::pair(-1.0, 1.0)) && copying->nullMean == 0.0
                && !copying->nullDeviation && copying->title == "Copying");
        const auto& eigenvalues =
            std::get<std::vector<std::complex<float>>>(read->results.find("eigenvalues/full_ov")->values);
        QCOMPARE(eigenvalues[0], std::complex<float>(29, 14));
        const ResultArray* composition = read->results.find("composition/q");
        QCOMPARE(std::get<std::vector<double>>(composition->values)[3 + 2], 0.25); // [0, 0, 1, 2]
        QCOMPARE(std::get<double>(composition->attributes.at("baseline")), 1 / std::sqrt(7.0));
        QCOMPARE(std::get<std::vector<std::int32_t>>(read->results.find("tables/full_ov/ids")->values)[11],
                 0);
        QCOMPARE(std::get<std::vector<std::string>>(
                     read->results.groupAttributes.at("tables/full_ov").at("heads")),
                 std::vector<std::string>{"1.2"});
        QVERIFY(read->results.find("analyses/later/thing"));
        QVERIFY(!read->results.find("elsewhere/x") && !read->results.find("scores/made_by_hand"));
        QCOMPARE(read->notes.at("1.2"), std::string("copies names\nand éclairs"));
        QCOMPARE(read->bookmarks, (std::vector<std::string>{"1.2", "0.1"}));
        QCOMPARE(read->view, std::string("{\"head\": \"1.2\"}"));
    }

    /// Files of Headwise itself: of the first commit that wrote one, and of one that names axes with HDF5's scales. The
    /// numbers are those that h5py reads.
    void filesOfEveryWriterAreRead_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("path");
        QTest::addColumn<int>("at");
        QTest::addColumn<double>("number");
        const auto row = [](const char* name, const char* path, int at, double number) {
            QTest::addRow("%s %s", name, path) << QString(name) << QString(path) << at << number;
        };
        for (const char* name : {"session-v1-first-writer.h5", "session-v1-with-scales.h5"}) {
            row(name, "scores/copying", 5, 0.70181096F);
            row(name, "composition/k", 3, 0.24255705F);
            row(name, "eigenvalues/full_ov", 1, 0.0029329564F);
        }
        row("session-v1-first-writer.h5", "spectra/ov/singular_values", 0, 0.033182852F);
        row("session-v1-first-writer.h5", "spectra/full_qk/frobenius_norm", 3, 0.0018992522F);
        row("session-v1-first-writer.h5", "scores/previous_token", 8, 0.19927447F);
        row("session-v1-first-writer.h5", "tables/full_ov/ids", 4, 2);
        row("session-v1-first-writer.h5", "tables/full_ov/values", 80, -0.011731211F);
    }

    void filesOfEveryWriterAreRead()
    {
        QFETCH(QString, name);
        QFETCH(QString, path);
        QFETCH(int, at);
        QFETCH(double, number);
        const Result<Session> read = readSession(testData(name.toStdString()), Task{});
        QVERIFY(isOk(read));
        QCOMPARE(read->formatVersion, 1);
        QCOMPARE(read->model.name, std::string("gpt-nano-sort"));
        QCOMPARE(read->model.nLayers, 3);
        QVERIFY(read->processing.foldLayerNorm && read->processing.centerUnembed);
        const ResultArray* array = read->results.find(path.toStdString());
        QVERIFY(array && !array->definition.empty() && array->axes.size() == array->shape.size());
        const double found = std::visit(
            [at](const auto& values) {
                if constexpr (requires { values[0].real(); })
                    return double(values[std::size_t(at)].real());
                else
                    return double(values[std::size_t(at)]);
            },
            array->values);
        QCOMPARE(found, number);
    }

    void aLaterVersionIsReadButNotWritten()
    {
        auto made = Hdf5Writer::create(file("later.h5"));
        QVERIFY(isOk(made));
        Hdf5Writer writer = std::move(made).value();
        QVERIFY(isOk(writer.setAttribute("", "format", std::string("headwise-session"))));
        QVERIFY(isOk(writer.setAttribute("", "format_version", std::int64_t(2))));
        QVERIFY(isOk(writer.createGroup("model")));
        for (const char* name :
             {"n_layers", "n_heads", "n_kv_heads", "d_model", "d_head", "d_mlp", "d_vocab", "n_ctx"})
            QVERIFY(isOk(writer.setAttribute("model", name, std::int64_t(1))));
        QVERIFY(isOk(writer.writeTexts("future", std::vector<std::string>{"x"})));
        // Arrays at our paths in shapes that ours never have.
        QVERIFY(isOk(writer.writeArray("scores/copying", {1, 1}, std::vector<float>{0.5F}, Task{})));
        QVERIFY(isOk(writer.writeArray("scores/per_token", {5}, std::vector<float>(5), Task{})));
        QVERIFY(
            isOk(writer.writeArray("tables/full_ov/ids", {1, 1, 1}, std::vector<std::int32_t>{9}, Task{})));
        QVERIFY(isOk(writer.close()));
        const Result<Session> read = readSession(file("later.h5"), Task{});
        QVERIFY(isOk(read));
        QCOMPARE(read->formatVersion, 2);
        QCOMPARE(read->results.arrays.size(), std::size_t{1});
        QCOMPARE(read->results.arrays.front().path, std::string("scores/copying"));
        QVERIFY(failsWith(writeSession(file("again.h5"), *read, Task{}), ErrorCode::InvalidArgument,
                          "version 2"));
        QVERIFY(!std::filesystem::exists(file("again.h5")));
    }

    void everyTruncationIsRefused()
    {
        QVERIFY(isOk(writeSession(file("whole.h5"), fullSession(), Task{})));
        const std::string whole = contents(file("whole.h5"));
        for (std::size_t size = 0; size < whole.size(); size += 997) {
            std::ofstream(file("cut.h5"), std::ios::binary) << whole.substr(0, size);
            const Result<Session> read = readSession(file("cut.h5"), Task{});
            QVERIFY(failsWith(read, ErrorCode::Corrupt, ""));
        }
    }

    void namesAPathItCannotWrite()
    {
        QVERIFY(failsWith(writeSession(file("missing") / "x.h5", fullSession(), Task{}), ErrorCode::Io,
                          "missing/x.h5"));
        QVERIFY(failsWith(writeSession(file(""), fullSession(), Task{}), ErrorCode::Io, "directory"));
        if (geteuid() == 0)
            return; // root may write anywhere
        std::filesystem::create_directory(file("locked"));
        std::filesystem::permissions(file("locked"), std::filesystem::perms::owner_read);
        QVERIFY(
            failsWith(writeSession(file("locked") / "x.h5", fullSession(), Task{}), ErrorCode::Io, "denied"));
    }

    void cancellingLeavesTheOldFile()
    {
        QVERIFY(isOk(writeSession(file("kept.h5"), fullSession(), Task{})));
        const std::string before = contents(file("kept.h5"));
        std::stop_source source;
        source.request_stop();
        const Task cancelled{source.get_token(), {}, 0};
        QVERIFY(failsWith(writeSession(file("kept.h5"), fullSession(), cancelled), ErrorCode::Cancelled, ""));
        QVERIFY(failsWith(readSession(file("kept.h5"), cancelled), ErrorCode::Cancelled, ""));
        QVERIFY(contents(file("kept.h5")) == before);
    }

    /// A limit on file sizes looks like a full disk to the program.
    void aFullDiskLeavesTheOldFileAndNothingElse()
    {
        QVERIFY(isOk(writeSession(file("disk.h5"), fullSession(), Task{})));
        const std::string before = contents(file("disk.h5"));
        const std::size_t files = fileCount();
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGXFSZ, SIG_IGN);
            const rlimit size{4096, 4096};
            setrlimit(RLIMIT_FSIZE, &size);
            Session session = fullSession();
            session.view = "{}";
            const Result<Done> written = writeSession(file("disk.h5"), session, Task{});
            const bool right = !written && written.error().code == ErrorCode::Io
                && written.error().message.find("disk.h5") != std::string::npos
                && written.error().message.find("File too large") != std::string::npos;
            exit(right ? 42 : 1); // through the library's own handlers
        }
        int status = 0;
        waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == 42);
        QVERIFY(contents(file("disk.h5")) == before);
        QCOMPARE(fileCount(), files);
    }

    /// Killed at many moments of endless saving, the file is always a complete session.
    void killingLeavesAWholeFile()
    {
        const auto path = file("killed.h5");
        QVERIFY(isOk(writeSession(path, fullSession(), Task{})));
        for (int wait = 1; wait <= 20; ++wait) {
            const pid_t child = fork();
            if (child == 0)
                for (;;)
                    static_cast<void>(!writeSession(path, fullSession(), Task{}));
            // There is no event to wait for: the kill must come at any moment of the writing.
            usleep(static_cast<useconds_t>(3000 + 1700 * wait));
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
            const Result<Session> read = readSession(path, Task{});
            QVERIFY(isOk(read) && read->results == fullSession().results);
        }
    }
};

HEADWISE_TEST(SessionFileTest)
#include "session_file_test.moc"
