#include "tests/reliability/check.h"

#include "core/session/session_file.h"

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>

// Checks of the promises about files, processes and jobs: headwise_reliability CHECK [COUNT [SEED]]; see run.

namespace headwise::reliability {

namespace {

std::string noteOf(char letter, int head)
{
    std::string note;
    for (int i = 0; i < 2000; ++i)
        note += letter + std::to_string(head) + " copies names; ";
    return note;
}

std::vector<float> numbers()
{
    std::vector<float> numbers(2 * 3 * 5);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = float(i) / 8;
    return numbers;
}

} // namespace

bool report(bool isGood, const std::string& what, int count, const std::string& found)
{
    std::printf("%-6s %6d  %s: %s\n", isGood ? "good" : "FAILED", count, what.c_str(), found.c_str());
    std::fflush(stdout);
    return isGood;
}

Session lettered(char letter)
{
    Session session;
    session.model = {"toy", "gpt2", 2,  3,         3,       7,          5,
                     28,    11,     13, "learned", "LNPre", "a/folder", std::string(64, 'a')};
    ResultArray array;
    array.path = "spectra/ov/singular_values";
    array.shape = {2, 3, 5};
    array.axes = {Axis::Layer, Axis::Head, Axis::SingularValue};
    array.definition = "numbers of this check";
    array.values = numbers();
    session.results.arrays.push_back(std::move(array));
    for (int head = 0; head < 3; ++head)
        session.notes["0." + std::to_string(head)] = noteOf(letter, head);
    return session;
}

char letterOf(const std::filesystem::path& file)
{
    const Result<Session> read = readSession(file, Task{});
    if (!read || read->notes.size() != 3 || read->model != lettered('A').model)
        return 0;
    const char letter = read->notes.begin()->second.front();
    const ResultArray* array = read->results.find("spectra/ov/singular_values");
    const bool isWhole =
        read->notes == lettered(letter).notes && array && array->values == ResultArray::Values(numbers());
    return isWhole ? letter : char(0);
}

std::vector<std::string> temporariesIn(const std::filesystem::path& folder)
{
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (std::string name = entry.path().filename().string(); name.ends_with(".tmp"))
            found.push_back(std::move(name));
    return found;
}

std::map<std::string, std::string> contentOf(const std::filesystem::path& path)
{
    std::map<std::string, std::string> files;
    const auto add = [&](const std::filesystem::path& file, const std::string& name) {
        std::ifstream in(file, std::ios::binary);
        files[name] = {std::istreambuf_iterator<char>(in), {}};
    };
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        for (const auto& entry : std::filesystem::directory_iterator(path))
            add(entry.path(), entry.path().filename().string());
    else if (std::filesystem::exists(path, error))
        add(path, {});
    return files;
}

int runPart(const QStringList& arguments)
{
    const QString part = arguments.value(2);
    if (part == QLatin1String("save-in-turn"))
        return saveInTurn(arguments.value(3));
    if (part == QLatin1String("copy-in-turn"))
        return copyInTurn(arguments.value(3), arguments.value(4));
    if (part == QLatin1String("close-midway"))
        return closeMidway(arguments.value(3).toInt());
    return saveOnce(arguments.value(3), arguments.value(4));
}

} // namespace headwise::reliability

int main(int argc, char** argv)
{
    using namespace headwise::reliability;
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("QT_LOGGING_RULES", "*.warning=false");
    QApplication application(argc, argv);
    const QStringList arguments = QApplication::arguments();
    const QTemporaryDir settings;
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings.path());
    QApplication::setOrganizationName(QStringLiteral("headwise-test"));
    QSettings().setValue(QStringLiteral("autosaveMinutes"), 0);
    if (arguments.value(1) == QLatin1String("part"))
        return runPart(arguments);
    std::filesystem::permissions(settings.path().toStdString(),
                                 std::filesystem::perms(01777)); // for an unprivileged user
    qputenv("TMPDIR", settings.path().toLocal8Bit());            // of parts that are killed

    struct Check {
        int count;
        std::function<bool(int, unsigned)> run;
    };
    const std::map<QString, Check> checks{
        {QStringLiteral("jobs"), {10'000, checkJobs}},
        {QStringLiteral("kills"), {300, checkKills}},
        {QStringLiteral("mutants"), {20'000, checkMutants}},
        {QStringLiteral("soak"), {200, [](int count, unsigned) { return checkSoak(count); }}},
        {QStringLiteral("writes"), {1, [](int, unsigned) { return checkWrites(); }}},
    };
    const auto check = checks.find(arguments.value(1));
    if (check == checks.end()) {
        std::fprintf(stderr, "usage: headwise_reliability CHECK [COUNT [SEED]]; the checks are:");
        for (const auto& [name, row] : checks)
            std::fprintf(stderr, " %s", qPrintable(name));
        std::fprintf(stderr, "\n");
        return 2;
    }
    const int count = std::max(1, arguments.value(2, QString::number(check->second.count)).toInt());
    return check->second.run(count, arguments.value(3, QStringLiteral("17")).toUInt()) ? 0 : 1;
}
