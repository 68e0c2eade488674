#include "tests/support/command.h"
#include "tests/support/program.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace headwise;
using namespace headwise::test;

namespace {

/// A terminal of 100 columns, to run a command in.
class Terminal {
public:
    Terminal()
        : m_master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC))
    {
        if (m_master >= 0 && ::grantpt(m_master) == 0 && ::unlockpt(m_master) == 0)
            m_slave = ::open(::ptsname(m_master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        winsize size = {};
        size.ws_col = 100;
        size.ws_row = 30;
        ::ioctl(m_slave, TIOCSWINSZ, &size);
    }
    ~Terminal()
    {
        ::close(m_slave);
        ::close(m_master);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    bool isOpen() const { return m_slave >= 0; }

    /// Runs headwise with stdout and stderr on the terminal. \returns everything that was written to it
    QByteArray run(const QStringList& arguments, const QString& stateFolder, int& exitCode) const
    {
        QProcess process;
        process.setProcessEnvironment(quietEnvironment(stateFolder));
        process.setChildProcessModifier([slave = m_slave] {
            ::dup2(slave, STDOUT_FILENO);
            ::dup2(slave, STDERR_FILENO);
        });
        process.start(QStringLiteral(HEADWISE_BINARY), arguments);
        QByteArray text;
        do
            text += read();
        while (!process.waitForFinished(5) && process.state() != QProcess::NotRunning);
        exitCode = process.exitCode();
        return text + read();
    }

private:
    QByteArray read() const
    {
        QByteArray text;
        char buffer[4096];
        pollfd entry{m_master, POLLIN, 0};
        while (::poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0) {
            const ssize_t count = ::read(m_master, buffer, sizeof buffer);
            if (count <= 0)
                break;
            text.append(buffer, static_cast<qsizetype>(count));
        }
        return text;
    }

    int m_master = -1, m_slave = -1;
};

/// Returns the lines as a person sees them in the end: a line that was cleared holds what was written after that.
QStringList shownLines(const QByteArray& text)
{
    QStringList lines;
    for (const QString& line : QString::fromUtf8(text).split("\r\n"))
        lines.append(line.mid(line.lastIndexOf("\r\x1b[K") < 0 ? 0 : line.lastIndexOf("\r\x1b[K") + 4));
    return lines;
}

} // namespace

/// Progress and results of a command on a terminal.
class ProgressTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        if (!m_terminal.isOpen())
            QSKIP("this system gives no terminal");
    }

    void aRunShowsOneBarWithPercentageTimeAndTitle()
    {
        const QByteArray text = analyze({"--analyses", "spectra,copying"});
        const QRegularExpression bar(
            R"(\[#*\.*\]\s+\d+ %  \d+ \w+ left  Singular values, norms and rank measures \(1 of 2\))");
        QVERIFY2(QString::fromUtf8(text).contains(bar), text);
        QVERIFY2(!text.contains("(spectra, 1 of 2)"), text); // the words of lines in a file
    }

    void everyLineStandsByItself()
    {
        const QStringList lines = shownLines(analyze({"--analyses", "spectra,copying"}));
        QVERIFY2(lines.contains(
                     QRegularExpression("^Singular values, norms and rank measures: \\d+ arrays, .* s$")),
                 qPrintable(lines.join('\n')));
        QVERIFY2(lines.contains(QRegularExpression("^Wrote .*a\\.h5 with \\d+ arrays about .*\\.$")),
                 qPrintable(lines.join('\n')));
        QVERIFY2(lines.contains(QRegularExpression("^2 analyses gave \\d+ arrays in .* s\\.$")),
                 qPrintable(lines.join('\n')));
        for (const QString& line : lines)
            QVERIFY2(!line.contains('['), qPrintable(line)); // no bar is left
    }

    void theSummaryTellsTheStrongestFindings()
    {
        const QStringList lines = shownLines(analyze({"--analyses", "previous_token"}));
        QVERIFY2(lines.filter(QRegularExpression("^L\\dH\\d .*previous token")).size() >= 1,
                 qPrintable(lines.join('\n')));
    }

    void theSummaryCountsWhatWasLeftOut()
    {
        const QStringList lines = shownLines(analyze({"--analyses", "copying,attention"}));
        QVERIFY2(lines.filter("One was left out; the warnings above say why.").size() == 1,
                 qPrintable(lines.join('\n')));
        QVERIFY2(lines.filter(QRegularExpression("^headwise: warning: .*was left out")).size() == 1,
                 qPrintable(lines.join('\n')));
    }

    void awayFromATerminalNothingIsAdded()
    {
        const CommandRun run = runHeadwise(
            {"analyze", HEADWISE_DEMO_MODEL, "-o", m_folder.filePath("b.h5"), "--analyses", "copying"},
            m_folder.path());
        QCOMPARE(run.exitCode, 0);
        QCOMPARE(run.err, QByteArray());
        QCOMPARE(run.out.count('\n'), 1);
    }

private:
    QByteArray analyze(const QStringList& more) const
    {
        int code = -1;
        const QByteArray text = m_terminal.run(
            QStringList{"analyze", HEADWISE_DEMO_MODEL, "-o", m_folder.filePath("a.h5"), "--replace"} + more,
            m_folder.path(), code);
        return code == 0 ? text : "exit code " + QByteArray::number(code) + ": " + text;
    }

    QTemporaryDir m_folder;
    Terminal m_terminal;
};

HEADWISE_TEST(ProgressTest)
#include "progress_test.moc"
