#include "tests/reliability/check.h"

#include "app/window/main_window.h"
#include "app/window/recovery.h"
#include "core/files/file_write.h"
#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/toy_model.h"
#include "ui/document/workspace.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>

// kill -9 at random moments: the result is the old file or the new one, never a mixture.

namespace headwise::reliability {

namespace {

using Path = std::filesystem::path;

constexpr int patience = 60'000; // ms, on a loaded machine

QString text(const Path& path)
{
    return QString::fromStdString(path.string());
}

void setLetter(ui::Workspace& workspace, char letter)
{
    for (const auto& [head, note] : lettered(letter).notes)
        workspace.notebook()->setNote({0, head.back() - '0'}, QString::fromStdString(note));
}

/// Tells the parent that a copy exists and how long each takes.
void say(qint64 microseconds)
{
    std::printf("%lld\n", static_cast<long long>(microseconds));
    std::fflush(stdout);
}

bool openSession(ui::Workspace& workspace, const QString& file)
{
    workspace.opener()->openSession(file.toStdString());
    return QTest::qWaitFor([&] { return workspace.model()->isOpen(); }, patience);
}

/// Calls `write` with A and B in turn until the process is killed or something fails.
int writeInTurn(ui::Workspace& workspace, const std::function<bool()>& write)
{
    QElapsedTimer timer;
    timer.start();
    for (int i = 0;; ++i) {
        setLetter(workspace, i % 2 == 0 ? 'B' : 'A'); // the file that was opened is A
        if (!write())
            return 1;
        if (i == 1)
            say(timer.nsecsElapsed() / 2000);
    }
}

struct Killed {
    bool isStarted = false;
    bool isMidway = false; ///< It left a temporary file.
};

/// Starts a part that writes in turn, and kills it within the time of three writes.
Killed killed(const QStringList& part, const Path& folder, std::mt19937& random)
{
    QProcess child;
    child.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    child.start(QCoreApplication::applicationFilePath(), QStringList{QStringLiteral("part")} + part);
    while (!child.canReadLine())
        if (!child.waitForReadyRead(patience))
            return {};
    const qint64 process = child.processId();
    const auto each = child.readLine().trimmed().toULongLong();
    QThread::usleep(std::uniform_int_distribution<unsigned long>(0, 3 * each)(random));
    child.kill();
    child.waitForFinished(patience);
    const std::string number = "." + std::to_string(process) + "-";
    bool isMidway = false;
    for (const std::string& name : temporariesIn(folder))
        isMidway = isMidway || name.find(number) != std::string::npos;
    return {child.exitStatus() == QProcess::CrashExit, isMidway};
}

bool checkSaving(int count, std::mt19937& random)
{
    const QTemporaryDir folder;
    const Path file = Path(folder.path().toStdString()) / "work.h5";
    bool isGood = writeSession(file, lettered('A'), Task{}).has_value();
    std::map<char, int> found;
    int midway = 0;
    std::size_t mostLeft = 0;
    for (int i = 0; isGood && i < count; ++i) {
        const Killed end = killed({QStringLiteral("save-in-turn"), text(file)}, file.parent_path(), random);
        const char letter = letterOf(file);
        ++found[letter];
        midway += end.isMidway;
        mostLeft = std::max(mostLeft, temporariesIn(file.parent_path()).size());
        isGood = end.isStarted && letter != 0;
    }
    // The next save of that file removes the leftovers of killed ones.
    isGood = isGood && writeSession(file, lettered('A'), Task{}) && temporariesIn(file.parent_path()).empty()
        && mostLeft <= 1 && midway > 0;
    return report(isGood, "kills of the window saving a session", count,
                  std::to_string(midway) + " midway; A " + std::to_string(found['A']) + ", B "
                      + std::to_string(found['B']) + ", broken " + std::to_string(found[0]) + ", left over "
                      + std::to_string(temporariesIn(file.parent_path()).size()));
}

/// Checks what the next start of the window offers. 0: not exactly one complete copy.
char recovered(const Path& folder)
{
    app::MainWindow window;
    window.keepRecovery(folder);
    char letter = 0;
    int copies = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".h5") {
            letter = letterOf(entry.path());
            ++copies;
        }
    return copies == 1 ? letter : char(0);
}

bool checkCopying(int count, std::mt19937& random)
{
    const QTemporaryDir scratch;
    const Path file = Path(scratch.path().toStdString()) / "work.h5";
    bool isGood = writeSession(file, lettered('A'), Task{}).has_value();
    std::map<char, int> found;
    int midway = 0;
    std::size_t left = 0;
    for (int i = 0; isGood && i < count; ++i) {
        const QTemporaryDir folder;
        const Path copies(folder.path().toStdString());
        const Killed end =
            killed({QStringLiteral("copy-in-turn"), folder.path(), text(file)}, copies, random);
        const char letter = recovered(copies);
        ++found[letter];
        midway += end.isMidway;
        left += temporariesIn(copies).size();
        isGood = end.isStarted && letter != 0 && left == 0;
    }
    isGood = isGood && midway > 0;
    return report(isGood, "kills of the window writing its recovery copy", count,
                  std::to_string(midway) + " midway; A " + std::to_string(found['A']) + ", B "
                      + std::to_string(found['B']) + ", broken " + std::to_string(found[0])
                      + ", left over after the next start " + std::to_string(left));
}

/// A command that writes a file or a folder, and a test that it is complete.
struct Command {
    const char* name;
    QStringList arguments; ///< The last one is the target.
    std::function<bool(const Path& target, const Path& whole)> isNew;
};

bool isSameFolder(const Path& target, const Path& whole)
{
    return contentOf(target) == contentOf(whole);
}

/// NaN equals NaN.
bool isSameArray(const ResultArray& a, const ResultArray& b)
{
    const auto bytes = [](const ResultArray& array) {
        return std::visit(
            [](const auto& values) {
                return std::string_view(reinterpret_cast<const char*>(values.data()),
                                        values.size() * sizeof values[0]);
            },
            array.values);
    };
    return a.path == b.path && a.shape == b.shape && a.definition == b.definition && bytes(a) == bytes(b);
}

/// Ignores the times in it.
bool isSameSession(const Path& target, const Path& whole)
{
    const auto a = readSession(target, Task{}), b = readSession(whole, Task{});
    return a && b && a->model == b->model && a->tokens == b->tokens
        && std::ranges::equal(a->results.arrays, b->results.arrays, isSameArray);
}

QProcess* startCommand(const QStringList& arguments, const QString& state)
{
    auto* process = new QProcess;
    process->setProcessEnvironment(test::quietEnvironment(state));
    process->setStandardErrorFile(QProcess::nullDevice());
    process->setStandardOutputFile(QProcess::nullDevice());
    process->start(QStringLiteral(HEADWISE_BINARY), arguments);
    return process;
}

/// Kills the command without a target and over an old one, in turn.
bool checkCommand(const Command& command, int count, const QString& folder, std::mt19937& random)
{
    const Path target(command.arguments.last().toStdString());
    const Path whole = target.string() + ".whole";
    const Path old = target.string() + ".old";
    QElapsedTimer timer;
    timer.start();
    std::unique_ptr<QProcess> first(startCommand(command.arguments, folder));
    bool isGood = first->waitForFinished(patience) && first->exitCode() == 0;
    const auto each = static_cast<unsigned long>(timer.nsecsElapsed() / 1000);
    std::error_code error;
    std::filesystem::rename(target, whole, error);
    std::map<std::string, int> found;
    int midway = 0;
    std::size_t left = 0;
    for (int i = 0; isGood && i < count; ++i) {
        std::filesystem::remove_all(target);
        if (i % 2 == 1)
            std::filesystem::copy(old, target, std::filesystem::copy_options::recursive);
        std::unique_ptr<QProcess> process(startCommand(command.arguments, folder));
        process->waitForStarted(patience);
        QThread::usleep(std::uniform_int_distribution(each / 3, each * 6 / 5)(random));
        process->kill();
        process->waitForFinished(patience);
        const std::size_t leftNow = temporariesIn(target.parent_path()).size();
        midway += leftNow > left;
        left = leftNow;
        const bool isAbsent = !std::filesystem::exists(target);
        const bool isOld = !isAbsent && contentOf(target) == contentOf(old);
        const std::string state = isAbsent ? "absent"
            : isOld                        ? "old"
            : command.isNew(target, whole) ? "new"
                                           : "broken";
        ++found[state];
        isGood = state != "broken" && isAbsent <= (i % 2 == 0);
    }
    std::unique_ptr<QProcess> last(
        startCommand(command.arguments, folder)); // removes the leftovers of the killed ones
    isGood = last->waitForFinished(patience) && last->exitCode() == 0 && isGood
        && command.isNew(target, whole) && temporariesIn(target.parent_path()).empty();
    std::string said = std::to_string(midway) + " with a half-written one beside it";
    for (const char* state : {"absent", "old", "new", "broken"})
        said += std::string("; ") + state + " " + std::to_string(found[state]);
    return report(isGood, "kills of headwise " + std::string(command.name), count,
                  said + ", left over " + std::to_string(temporariesIn(target.parent_path()).size()));
}

bool checkCommands(int count, std::mt19937& random)
{
    const QTemporaryDir scratch;
    const Path folder(scratch.path().toStdString());
    test::ToyOptions options;
    options.seed = 2;
    test::writeToyModel(folder / "a");
    test::writeToyModel(folder / "b", options);
    for (const char* place : {"processed", "compared", "merged"})
        std::filesystem::create_directory(folder / place);
    const Path processed = folder / "processed" / "out", compared = folder / "compared" / "out.h5",
               merged = folder / "merged" / "out.h5";
    test::writeToyModel(processed.string() + ".old");
    bool isGood = true;
    for (const Path& session : {compared, merged})
        isGood = writeSession(session.string() + ".old", lettered('A'), Task{}).has_value() && isGood;
    QStringList parts;
    for (const char* part : {"1/2", "2/2"}) {
        parts << text(folder / ("part" + std::to_string(parts.size()) + ".h5"));
        const std::unique_ptr<QProcess> made(
            startCommand({QStringLiteral("analyze"), QStringLiteral(HEADWISE_DEMO_MODEL),
                          QStringLiteral("--shard"), QLatin1String(part), QStringLiteral("-o"), parts.last()},
                         scratch.path()));
        isGood = made->waitForFinished(patience) && made->exitCode() == 0 && isGood;
    }
    const Command process{"process -o",
                          {QStringLiteral("process"), QStringLiteral(HEADWISE_DEMO_MODEL),
                           QStringLiteral("--force"), QStringLiteral("-o"), text(processed)},
                          isSameFolder};
    const Command compare{"compare -o",
                          {QStringLiteral("compare"), text(folder / "a"), text(folder / "b"),
                           QStringLiteral("-o"), text(compared)},
                          isSameSession};
    const Command merge{"merge -o",
                        QStringList{QStringLiteral("merge")} + parts
                            + QStringList{QStringLiteral("--replace"), QStringLiteral("-o"), text(merged)},
                        isSameSession};
    for (const Command& command : {process, compare, merge})
        isGood = checkCommand(command, count, scratch.path(), random) && isGood;
    return isGood;
}

} // namespace

int saveInTurn(const QString& file)
{
    ui::Workspace workspace;
    if (!openSession(workspace, file))
        return 1;
    return writeInTurn(workspace, [&] {
        bool isSaved = false;
        const auto connection = QObject::connect(workspace.session(), &ui::SessionFile::saved, &workspace,
                                                 [&] { isSaved = true; });
        workspace.session()->save(file.toStdString(), {});
        const bool done = QTest::qWaitFor([&] { return isSaved; }, patience);
        QObject::disconnect(connection);
        return done;
    });
}

int copyInTurn(const QString& folder, const QString& file)
{
    ui::Workspace workspace;
    app::Recovery recovery(folder.toStdString(), &workspace, [] { return QString(); });
    if (!openSession(workspace, file))
        return 1;
    int copies = 0;
    QObject::connect(&recovery, &app::Recovery::saved, &workspace, [&] { ++copies; });
    return writeInTurn(workspace, [&] {
        const int before = copies;
        recovery.saveNow();
        return QTest::qWaitFor([&] { return copies > before; }, patience);
    });
}

bool checkKills(int count, unsigned seed)
{
    std::mt19937 random(seed);
    bool isGood = checkSaving(count, random);
    isGood = checkCopying(count, random) && isGood;
    return checkCommands(std::max(1, count / 10), random) && isGood;
}

} // namespace headwise::reliability
