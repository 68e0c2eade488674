#include "tests/reliability/check.h"

#include "app/window/main_window.h"
#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/toy_model.h"
#include "ui/document/workspace.h"

#include <QApplication>
#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <grp.h>
#include <unistd.h>

// Failing disks and jumping clocks while a session or a model folder is written: see faults.c.

namespace headwise::reliability {

namespace {

using Path = std::filesystem::path;

constexpr int patience = 120'000; // ms, on a loaded machine
constexpr const char* typed = "typed before the disk failed";

QString text(const Path& path)
{
    return QString::fromStdString(path.string());
}

/// A fault, and whether writing succeeds anyway.
struct Fault {
    const char* name;
    const char* code; ///< Code for faults.c; empty: the fault is in the folder.
    bool isBorne;
};

constexpr std::array faults{
    Fault{"7 bytes a write", "short", true},
    Fault{"interrupted calls", "eintr", true},
    Fault{"the clock a day on and back", "clock:+86400", true},
    Fault{"the clock a day back and on", "clock:-86400", true},
    Fault{"a full disk", "full:0", false},
    Fault{"a disk with room for 2000 bytes", "full:2000", false},
    Fault{"an error where the file is forced to disk", "sync", false},
    Fault{"an error where the file gets its name", "rename", false},
};

/// The target before and after, and the program's output.
struct Outcome {
    int exitCode = -1;
    QString said;
    bool hadFault = false;
    std::map<std::string, std::string> before, after;
    std::vector<std::string> left; ///< Temporary files.
};

/// A program that writes `target`, and a test that the target is the new one.
struct Writer {
    const char* name;
    QString program;
    QStringList arguments;
    Path target;
    std::function<bool(const Path& target)> isNew;
    bool readsClock = true;
};

void leaveRoot()
{
    if (::geteuid() != 0)
        return;
    const bool isNobody = ::setgroups(0, nullptr) == 0 && ::setgid(65534) == 0 && ::setuid(65534) == 0;
    if (!isNobody)
        ::_exit(125);
}

Outcome run(const Writer& writer, const QString& fault, const QString& state, bool asNobody = false)
{
    const QString log = state + QStringLiteral("/faults");
    QFile::remove(log);
    QProcess process;
    QProcessEnvironment environment = test::quietEnvironment(state);
    if (!fault.isEmpty()) {
        environment.insert(QStringLiteral("LD_PRELOAD"), qEnvironmentVariable("HEADWISE_FAULTS"));
        environment.insert(QStringLiteral("HEADWISE_FAULT"), fault);
        environment.insert(QStringLiteral("HEADWISE_FAULT_FOLDER"), text(writer.target.parent_path()));
        environment.insert(QStringLiteral("HEADWISE_FAULT_LOG"), log);
    }
    process.setProcessEnvironment(environment);
    if (asNobody)
        process.setChildProcessModifier(leaveRoot);
    Outcome outcome;
    outcome.before = contentOf(writer.target);
    process.start(writer.program, writer.arguments);
    if (process.waitForFinished(patience) && process.exitStatus() == QProcess::NormalExit)
        outcome.exitCode = process.exitCode();
    outcome.said = QString::fromUtf8(process.readAllStandardError()).trimmed();
    outcome.hadFault = fault.isEmpty() || QFileInfo(log).size() > 0;
    outcome.after = contentOf(writer.target);
    outcome.left = temporariesIn(writer.target.parent_path());
    return outcome;
}

bool isOneSentence(const QString& said)
{
    return !said.isEmpty() && !said.contains(u'\n') && said.endsWith(u'.');
}

/// Prints one line about a run.
bool judge(const Writer& writer, const Fault& fault, const Outcome& outcome)
{
    std::string found;
    bool isGood = outcome.hadFault && outcome.left.empty();
    if (fault.isBorne) {
        isGood = isGood && outcome.exitCode == 0 && writer.isNew(writer.target);
        found = "written";
    } else {
        isGood =
            isGood && outcome.exitCode == 4 && outcome.after == outcome.before && isOneSentence(outcome.said);
        found = "the old one is untouched, exit 4";
    }
    if (!isGood)
        found = "exit " + std::to_string(outcome.exitCode) + (outcome.hadFault ? "" : ", no fault happened")
            + (outcome.after == outcome.before ? ", as before" : ", changed")
            + (outcome.left.empty() ? "" : ", left " + outcome.left.front());
    return report(isGood, std::string(writer.name) + ", " + fault.name, 1,
                  found + (outcome.said.isEmpty() ? "" : ": " + outcome.said.toStdString()));
}

/// Puts the old target in place.
void putOld(const Writer& writer)
{
    std::filesystem::remove_all(writer.target);
    std::filesystem::copy(writer.target.string() + ".old", writer.target,
                          std::filesystem::copy_options::recursive);
}

bool checkFaults(const Writer& writer, const QString& state)
{
    bool isGood = true;
    for (const Fault& fault : faults) {
        if (!writer.readsClock && std::string_view(fault.code).starts_with("clock"))
            continue;
        putOld(writer);
        isGood = judge(writer, fault, run(writer, QString::fromLatin1(fault.code), state)) && isGood;
    }
    return isGood;
}

/// A folder that an unprivileged user may not write into.
bool checkReadOnlyFolder(const Writer& writer, const QString& state)
{
    using std::filesystem::perms;
    putOld(writer);
    const Path folder = writer.target.parent_path();
    std::filesystem::permissions(folder, perms(0555));
    const Outcome outcome = run(writer, {}, state, true);
    std::filesystem::permissions(folder, perms(0777));
    return judge(writer, {"a folder that is read-only", "", false}, outcome);
}

/// A folder that vanished, or was replaced by a file. \param isFile the latter
bool checkVanishedFolder(const Writer& writer, const QString& state, bool isFile)
{
    const Path folder = writer.target.parent_path(), aside = folder.string() + ".aside";
    std::filesystem::rename(folder, aside);
    if (isFile)
        std::ofstream(folder) << "a file";
    const Outcome outcome = run(writer, {}, state);
    const bool isUntouched =
        isFile ? std::filesystem::file_size(folder) == 6 : !std::filesystem::exists(folder);
    std::filesystem::remove_all(folder);
    std::filesystem::rename(aside, folder);
    const char* name = isFile ? "a file in place of the folder" : "a folder that is gone";
    return judge(writer, {name, "", false}, outcome) && isUntouched;
}

bool hasTyped(const Path& file)
{
    const auto session = readSession(file, Task{});
    return session && session->notes.contains("0.1") && session->notes.at("0.1") == typed
        && session->notes.contains("0.2");
}

bool hasCopying(const Path& file)
{
    const auto session = readSession(file, Task{});
    return session && session->results.find("scores/copying") && session->notes.contains("0.2");
}

bool isModel(const Path& folder)
{
    return contentOf(folder).contains("model.safetensors")
        && contentOf(folder) != contentOf(folder.string() + ".old");
}

/// Writes the session of the toy that everything is saved over.
bool makeOldSession(const Path& model, const Path& file, const QString& state)
{
    const auto analyzed =
        test::runHeadwise({QStringLiteral("analyze"), text(model), QStringLiteral("-o"), text(file),
                           QStringLiteral("--analyses"), QStringLiteral("eigenvalues")},
                          state);
    if (analyzed.exitCode != 0)
        return false;
    const auto made = readSession(file, Task{});
    if (!made)
        return false;
    Session session = *made;
    session.notes["0.2"] = "a day's work";
    return writeSession(file, session, Task{}).has_value();
}

} // namespace

/// Opens the session in a window, types a note and saves it. 0: saved; 4: not saved, and the window reports it.
int saveOnce(const QString& file, const QString& vanishes)
{
    app::MainWindow window;
    window.openPath(file);
    ui::Workspace& workspace = *window.workspace();
    if (!QTest::qWaitFor([&] { return workspace.model()->isOpen(); }, patience))
        return 1;
    workspace.notebook()->setNote({0, 1}, QString::fromLatin1(typed));
    QString message;
    bool isSaved = false;
    QObject::connect(&workspace, &ui::Workspace::failed, &window, [&](const QString& why) { message = why; });
    QObject::connect(workspace.session(), &ui::SessionFile::saved, &window, [&] { isSaved = true; });
    const QString folder = QFileInfo(file).path();
    if (!vanishes.isEmpty() && !QDir().rename(folder, vanishes))
        return 1;
    window.saveTo(file);
    if (!QTest::qWaitFor([&] { return isSaved || !message.isEmpty(); }, patience))
        return 1;
    std::fprintf(stderr, "%s\n", qPrintable(message));
    if (!vanishes.isEmpty())
        QDir().rename(vanishes, folder);
    if (isSaved)
        return workspace.session()->isModified() || window.isWindowModified() ? 1 : 0;
    return workspace.session()->isModified() && window.isWindowModified() ? 4 : 1;
}

bool checkWrites()
{
    if (!qEnvironmentVariableIsSet("HEADWISE_FAULTS")) {
        std::fprintf(
            stderr,
            "HEADWISE_FAULTS names no library that faults.c was built into; use tests/reliability/run.\n");
        return false;
    }
    using std::filesystem::perms;
    const QTemporaryDir scratch;
    const Path folder(scratch.path().toStdString());
    const QString state = text(folder / "state");
    for (const char* name : {"", "state", "place"}) { // for an unprivileged user too
        std::filesystem::create_directory(folder / name);
        std::filesystem::permissions(folder / name, perms(0777));
    }
    test::writeToyModel(folder / "model");
    const Path session = folder / "place" / "out.h5", processed = folder / "place" / "out";
    test::writeToyModel(processed.string() + ".old");
    if (!makeOldSession(folder / "model", session.string() + ".old", state))
        return report(false, "an old session", 1, "could not be made");

    const QStringList saving{QStringLiteral("part"), QStringLiteral("save-once"), text(session)};
    const Writer analyze{"headwise analyze -o",
                         QStringLiteral(HEADWISE_BINARY),
                         {QStringLiteral("analyze"), text(folder / "model"), QStringLiteral("-o"),
                          text(session), QStringLiteral("--analyses"), QStringLiteral("copying")},
                         session,
                         hasCopying};
    const Writer process{"headwise process --force -o",
                         QStringLiteral(HEADWISE_BINARY),
                         {QStringLiteral("process"), text(folder / "model"), QStringLiteral("--force"),
                          QStringLiteral("-o"), text(processed)},
                         processed,
                         isModel,
                         false};
    const Writer window{"the window saving", QCoreApplication::applicationFilePath(), saving, session,
                        hasTyped};
    bool isGood = true;
    for (const Writer* writer : {&analyze, &process, &window}) {
        isGood = checkFaults(*writer, state) && isGood;
        isGood = checkReadOnlyFolder(*writer, state) && isGood;
    }
    for (const Writer* writer : {&analyze, &process})
        for (const bool isFile : {false, true})
            isGood = checkVanishedFolder(*writer, state, isFile) && isGood;
    Writer vanishing = window;
    vanishing.arguments << text(folder / "aside");
    putOld(vanishing);
    return judge(vanishing, {"a folder that is gone", "", false}, run(vanishing, {}, state)) && isGood;
}

} // namespace headwise::reliability
