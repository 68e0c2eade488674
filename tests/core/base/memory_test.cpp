#include "core/base/memory.h"
#include "tests/support/address_space_limit.h"
#include "tests/support/program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;

/// Free memory, from files in Linux's format.
class MemoryTest : public QObject {
    Q_OBJECT

private slots:
    void init() { m_folder = QTemporaryDir(); }

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
        files.groups = file("cgroup", "1:name=systemd:/job\n0::/job/step\n");
        files.system = file("meminfo", "MemAvailable:   3000000 kB\n");
        file("memory.max", "max\n");
        file("job/memory.max", "1073741824\n");
        file("job/step/memory.max", "max\n");
        QCOMPARE(availableMemory(files), std::optional(1073741824.0));
        file("job/memory.stat", "anon 73741824\nfile 900000000\nanon_thp 7\n"); // files can be dropped
        QCOMPARE(availableMemory(files), std::optional(1e9));
        file("job/step/memory.max", "1099511627776\n");
        QCOMPARE(availableMemory(files), std::optional(1e9));
        file("job/step/memory.max", "500\n");
        file("job/step/memory.stat", "anon 700\n");
        QCOMPARE(availableMemory(files), std::optional(0.0));
        files.groups = file("cgroup", "0::/not/mounted/here\n"); // a container sees its own group as the root
        QCOMPARE(availableMemory(files), std::optional(3000000 * 1024.0));
        file("memory.max", "400\n");
        QCOMPARE(availableMemory(files), std::optional(400.0));
    }

    void aGroupOfTheFirstVersionCountsToo()
    {
        MemoryFiles files = noneIn(m_folder);
        files.groups = file("cgroup", "10:cpu:/cpu\n9:memory:/job\n0::/\n");
        QCOMPARE(availableMemory(files), std::optional<double>());
        file("memory/job/memory.limit_in_bytes", "1073741824\n");
        file("memory/job/memory.stat", "cache 5000000000\nrss 1\ntotal_rss 73741824\n");
        QCOMPARE(availableMemory(files), std::optional(1e9));
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
        files.groups = file("cgroup", "0::/\n"); // and could have been known
        file("memory.max", "7\n");
        QCOMPARE(availableMemory(files), std::optional(7.0));
    }

private:
    static MemoryFiles noneIn(const QTemporaryDir& folder)
    {
        const std::string none = folder.filePath(QStringLiteral("none")).toStdString();
        return {none, none, none, folder.path().toStdString()};
    }

    std::string file(const char* name, const QByteArray& contents) const
    {
        QFile written(m_folder.filePath(QLatin1String(name)));
        if (!QDir().mkpath(QFileInfo(written).path()))
            qFatal("cannot make the folder of %s", name);
        if (!written.open(QIODevice::WriteOnly) || written.write(contents) != contents.size())
            qFatal("cannot write %s", name);
        return written.fileName().toStdString();
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(MemoryTest)
#include "memory_test.moc"
