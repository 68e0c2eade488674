#include "core/base/memory.h"
#include "tests/support/address_space_limit.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;

/// Free memory, from files in Linux's format.
class MemoryTest : public QObject {
    Q_OBJECT

private slots:
    void isWhatTheSystemCallsAvailable()
    {
        MemoryFiles files = noneIn(m_folder);
        files.system = file("meminfo",
                            "MemTotal:       8000000 kB\nMemFree:         100000 kB\n"
                            "MemAvailable:   3000000 kB\nBuffers:           5000 kB\n");
        QCOMPARE(availableMemory(files), std::optional(3000000 * 1024.0));
    }

    void aGroupsLimitCountsWhereItIsLess()
    {
        MemoryFiles files = noneIn(m_folder);
        files.system = file("meminfo", "MemAvailable:   3000000 kB\n");
        files.group = file("memory.max", "1073741824\n");
        QCOMPARE(availableMemory(files), std::optional(1073741824.0));
        files.group = file("memory.max", "1099511627776\n");
        QCOMPARE(availableMemory(files), std::optional(3000000 * 1024.0));
        files.group = file("memory.max", "max\n");
        QCOMPARE(availableMemory(files), std::optional(3000000 * 1024.0));
        files.system = noneIn(m_folder).system;
        files.group = file("memory.max", "1073741824\n");
        QCOMPARE(availableMemory(files), std::optional(1073741824.0));
    }

    void theAddressSpaceLeftCountsWhereItIsLess()
    {
        MemoryFiles files = noneIn(m_folder);
        files.process = file("status", "VmPeak:     4096 kB\nVmSize:     1024 kB\n");
        const test::AddressSpaceLimit limit(64 << 20);
        QCOMPARE(availableMemory(files), std::optional(limit.bytes() - 1024 * 1024));
        files.process = file("status", "VmSize:     9000000000000 kB\n");
        QCOMPARE(availableMemory(files), std::optional(0.0));
    }

    void whatTheSystemDoesNotSayIsUnknown_data()
    {
        QTest::addColumn<QByteArray>("meminfo");
        QTest::newRow("no file") << QByteArray();
        QTest::newRow("an old kernel") << QByteArray("MemTotal:       8000000 kB\nMemFree:   100000 kB\n");
        QTest::newRow("no number") << QByteArray("MemAvailable:   many kB\n");
    }
    void whatTheSystemDoesNotSayIsUnknown()
    {
        QFETCH(QByteArray, meminfo);
        MemoryFiles files = noneIn(m_folder);
        if (!meminfo.isEmpty())
            files.system = file("meminfo", meminfo);
        QCOMPARE(availableMemory(files), std::optional<double>());
        files.group = file("memory.max", "7\n"); // and could have been known
        QCOMPARE(availableMemory(files), std::optional(7.0));
    }

private:
    static MemoryFiles noneIn(const QTemporaryDir& folder)
    {
        const std::string none = folder.filePath(QStringLiteral("none")).toStdString();
        return {none, none, none};
    }

    std::string file(const char* name, const QByteArray& contents) const
    {
        QFile written(m_folder.filePath(QLatin1String(name)));
        if (!written.open(QIODevice::WriteOnly) || written.write(contents) != contents.size())
            qFatal("cannot write %s", name);
        return written.fileName().toStdString();
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(MemoryTest)
#include "memory_test.moc"
