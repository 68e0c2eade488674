#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

using namespace headwise;
using namespace headwise::test;

namespace {

/// Returns the largest difference of two arrays, as a part of the largest number; NaN equals NaN.
double relativeDifference(const ResultArray& a, const ResultArray& b)
{
    if (a.values.index() != b.values.index())
        return 1;
    return std::visit(
        [&](const auto& mine) -> double {
            const auto& other = std::get<std::decay_t<decltype(mine)>>(b.values);
            if (mine.size() != other.size())
                return 1;
            double largest = 0, difference = 0;
            for (std::size_t i = 0; i < mine.size(); ++i) {
                const auto size = static_cast<double>(std::abs(mine[i]));
                const auto apart = static_cast<double>(std::abs(mine[i] - other[i]));
                if (std::isnan(size) != std::isnan(static_cast<double>(std::abs(other[i])))
                    || std::isinf(apart))
                    return 1;
                if (std::isfinite(size))
                    largest = std::max(largest, size);
                if (std::isfinite(apart))
                    difference = std::max(difference, apart);
            }
            return largest > 0 ? difference / largest : difference;
        },
        a.values);
}

} // namespace

/// `--threads N` in a process that runs analyses.
class ThreadsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

    void noMoreThreadsRunThanAreAskedFor_data()
    {
        QTest::addColumn<int>("threads");
        QTest::newRow("one") << 1;
        QTest::newRow("two") << 2;
    }
    /// Everything counts: workers, those of OpenBLAS, and one that waits for signals.
    void noMoreThreadsRunThanAreAskedFor()
    {
        QFETCH(int, threads);
        QProcess process;
        process.setProcessEnvironment(quietEnvironment(m_folder.path()));
        process.start(QStringLiteral(HEADWISE_BINARY), command(threads) + QStringList{"--progress"});
        process.setReadChannel(QProcess::StandardError);
        QVERIFY(process.waitForReadyRead(60'000)); // it works: the libraries have started theirs
        const QDir running(QStringLiteral("/proc/%1/task").arg(process.processId()));
        qsizetype most = 0;
        int samples = 0;
        while (!process.waitForFinished(1)) {
            const qsizetype now = running.entryList(QDir::Dirs | QDir::NoDotAndDotDot).size();
            most = std::max(most, now);
            samples += now > 0 ? 1 : 0;
        }
        QCOMPARE(process.exitCode(), 0);
        QVERIFY(samples > 10);
        QVERIFY2(most <= threads + 1, qPrintable(QString::number(most)));
    }

    void resultsDoNotDependOnThem()
    {
        const Session one = session(1), two = session(2);
        QVERIFY(!one.results.arrays.empty());
        QCOMPARE(one.results.arrays.size(), two.results.arrays.size());
        for (std::size_t i = 0; i < one.results.arrays.size(); ++i) {
            const ResultArray& array = one.results.arrays[i];
            const double difference = relativeDifference(array, two.results.arrays[i]);
            QVERIFY2(difference <= 1e-6,
                     qPrintable(QStringLiteral("%1: %2").arg(QString::fromStdString(array.path),
                                                             QString::number(difference))));
        }
    }

private:
    QString file(int threads) const { return m_folder.filePath(QString::number(threads) + ".h5"); }
    QStringList command(int threads) const
    {
        return {"analyze",   HEADWISE_DEMO_MODEL,     "-o", file(threads), "--replace", "--precision", "f64",
                "--threads", QString::number(threads)};
    }
    Session session(int threads) const
    {
        if (!QFile::exists(file(threads))) // made where the threads were counted
            runHeadwise(command(threads), m_folder.path());
        auto read = readSession(file(threads).toStdString(), Task{});
        return isOk(read) ? std::move(read).value() : Session{};
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(ThreadsTest)
#include "threads_test.moc"
