#include "tests/reliability/check.h"
#include "tests/support/session_mutants.h"

#include "app/window/main_window.h"
#include "core/session/picture_numbers.h"
#include "core/session/session_file.h"
#include "core/session/views.h"
#include "ui/document/workspace.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QMessageBox>
#include <QTemporaryDir>
#include <QTest>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <unistd.h>

// Randomly damaged sessions with correct checksums: the window opens each of them or reports on one line that it does
// not.

namespace headwise::reliability {

namespace {

using test::FileBytes;

constexpr qint64 mostMilliseconds = 15'000; // the reading process may compute for ten seconds
constexpr int patience = 60'000;            // ms

/// A good file and the positions of its checksums.
struct Seed {
    FileBytes bytes;
    std::vector<test::Summed> pieces;
};

/// Names the mutant that ended the window, before the signal ends it silently.
class LastWords {
public:
    explicit LastWords(const std::filesystem::path& file)
    {
        std::snprintf(text.data(), text.size(), "FAILED         mutants of sessions: the window died of %s\n",
                      file.c_str());
        for (const int number : fatal)
            std::signal(number, say);
    }
    ~LastWords()
    {
        for (const int number : fatal)
            std::signal(number, SIG_DFL);
    }
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

private:
    static void say(int)
    {
        [[maybe_unused]] const ssize_t written =
            ::write(STDOUT_FILENO, text.data(), std::strlen(text.data()));
        ::_exit(1); // the file stays
    }

    static constexpr std::array fatal{SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL};
    static inline std::array<char, 512> text{};
};

/// A session with every kind of array, and groups so large that the library stores them in heaps and trees.
Session wideSession()
{
    Session session = lettered('A');
    for (auto& [head, note] : session.notes)
        note.resize(50);
    session.bookmarks = {"1.2"};
    session.warnings = {"A warning."};
    for (int i = 0; i < 11; ++i) {
        session.tokens.push_back("t" + std::to_string(i));
        session.tokenBytes.push_back(session.tokens.back());
    }
    const auto add = [&](std::string path, std::vector<std::size_t> shape, ResultArray::Values values) {
        ResultArray array;
        array.path = std::move(path);
        array.shape = std::move(shape);
        array.axes = std::vector<ArrayAxis>(array.shape.size(), Axis::Layer);
        array.definition = "numbers of this check";
        array.values = std::move(values);
        session.results.arrays.push_back(std::move(array));
    };
    add("spectra/qk/singular_values", {2, 3, 5}, std::vector<double>(30, 0.5));
    add("eigenvalues/ov", {2, 3, 5}, std::vector<std::complex<float>>(30, {1, 2}));
    add("composition/q", {2, 3, 2, 3}, std::vector<float>(36, 0.25F));
    add("tables/full_ov/ids", {1, 11, 2}, std::vector<std::int32_t>(22, 3));
    add("tables/full_ov/values", {1, 11, 2}, std::vector<float>(22, 3));
    session.results.groupAttributes["tables/full_ov"]["heads"] = std::vector<std::string>{"0.1"};
    for (int i = 0; i < 20; ++i)
        add("scores/score" + std::to_string(i), {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
    return session;
}

/// A small one, the wide one, and one that h5py wrote in HDF5's oldest layout.
std::vector<Seed> seedsIn(const std::filesystem::path& folder)
{
    std::vector<Seed> seeds;
    Session small = lettered('A');
    for (auto& [head, note] : small.notes)
        note.resize(50);
    const auto add = [&](const std::filesystem::path& file) {
        const FileBytes bytes = test::bytesOf(file);
        seeds.push_back({bytes, test::allSummed(bytes)});
    };
    for (const Session& session : {small, wideSession()})
        if (writeSession(folder / "seed.h5", session, Task{}))
            add(folder / "seed.h5");
    add(std::filesystem::path(HEADWISE_TEST_DATA) / "session-v1.h5");
    return seeds;
}

bool isOneLine(const Error& error, const std::string& file)
{
    const bool isExpected = error.code == ErrorCode::Corrupt || error.code == ErrorCode::NotFound
        || error.code == ErrorCode::Unsupported || error.code == ErrorCode::OutOfMemory;
    return isExpected && error.message.find(file) != std::string::npos
        && error.message.find('\n') == std::string::npos && error.message.size() < 1000;
}

/// Builds everything that can be exported from a session.
void lookAtViews(const Session& session)
{
    for (const ViewDescription& described : viewsOf(session))
        if (const Result<View> view = viewOf(session, described.name,
                                             described.ofHead ? std::optional(HeadId{0, 0}) : std::nullopt))
            static_cast<void>(numbersOf(session, view->picture, view->head));
}

/// Opens a session in a window and answers all of its questions.
bool isShown(app::MainWindow& window, const std::filesystem::path& file)
{
    ui::Workspace& workspace = *window.workspace();
    bool isAnswered = false;
    const auto answer = [&] { isAnswered = true; };
    const std::array connections{
        QObject::connect(workspace.model(), &ui::OpenModel::opened, &window, answer),
        QObject::connect(workspace.opener(), &ui::Opener::openFailed, &window, answer),
    };
    workspace.opener()->openSession(file);
    const bool isDone = QTest::qWaitFor([&] { return isAnswered; }, patience);
    for (const auto& connection : connections)
        QObject::disconnect(connection);
    QCoreApplication::processEvents();
    if (workspace.model()->isOpen())
        window.grab(); // every picture on the page is painted
    for (QMessageBox* box : window.findChildren<QMessageBox*>())
        delete box;
    workspace.opener()->close();
    return isDone;
}

} // namespace

bool checkMutants(int count, unsigned seed)
{
    const QTemporaryDir folder;
    const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "mutant.h5";
    const std::vector<Seed> seeds = seedsIn(file.parent_path());
    std::mt19937 random(seed);
    const LastWords lastWords(file);
    app::MainWindow window;
    window.show();
    int opened = 0;
    int ended = 0;
    qint64 longest = 0;
    QElapsedTimer whole;
    whole.start();
    for (int i = 0; i < count; ++i) {
        const Seed& from = seeds[random() % seeds.size()];
        const std::vector<test::Summed> anywhere{{0, from.bytes.size(), 0}};
        test::store(file, test::mutated(from.bytes, from.pieces.empty() ? anywhere : from.pieces, random));
        QElapsedTimer timer;
        timer.start();
        const auto read = readSession(file, Task{});
        longest = std::max(longest, timer.elapsed());
        if (read)
            lookAtViews(*read);
        const bool isGood = read ? isShown(window, file) : isOneLine(read.error(), "mutant.h5");
        opened += read.has_value();
        ended += !read && read.error().message.find("the HDF5 library failed") != std::string::npos;
        if (isGood && timer.elapsed() <= mostMilliseconds)
            continue;
        const std::filesystem::path kept = "/tmp/headwise-mutant.h5";
        std::filesystem::copy_file(file, kept, std::filesystem::copy_options::overwrite_existing);
        return report(false, "mutants of sessions", i + 1,
                      (read ? "the window did not answer" : read.error().message) + " after "
                          + std::to_string(timer.elapsed()) + " ms; kept as " + kept.string());
    }
    return report(seeds.size() == 3, "mutants of sessions", count,
                  std::to_string(opened) + " shown by the window, " + std::to_string(count - opened)
                      + " refused in one line, of which " + std::to_string(ended)
                      + " ended the reading process; longest " + std::to_string(longest) + " ms, "
                      + std::to_string(1000LL * count / std::max<qint64>(1, whole.elapsed())) + " a second");
}

} // namespace headwise::reliability
