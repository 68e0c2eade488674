#include "core/base/machine_rates.h"
#include "core/base/processor.h"

#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;

namespace {

Processor processorIn(const QByteArray& text)
{
    const QTemporaryDir folder;
    QFile file(folder.filePath("cpuinfo"));
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
        qFatal("no file could be written");
    file.close();
    return processorHere(file.fileName().toStdString());
}

using Units = std::vector<std::string>;

} // namespace

/// The processor and its measured speed.
class MachineTest : public QObject {
    Q_OBJECT

private slots:
    void theProcessorIsReadFromItsDescription()
    {
        const Processor zen4 = processorIn(
            "processor\t: 0\nmodel name\t: AMD EPYC 9R14\nflags\t\t: fpu fma avx2 avx512f avx512dq "
            "avx512cd avx512bw avx512vl avx512_bf16 avx512_vnni\nbugs\t: none\n");
        QCOMPARE(zen4.name, std::string("AMD EPYC 9R14"));
        QCOMPARE(zen4.units, (Units{"AVX2", "FMA", "AVX-512", "AVX-512 VNNI", "AVX-512 BF16"}));
        const Processor old = processorIn("model name : Intel(R) Xeon(R) : E5\nflags : avx avx2x avx512f\n");
        QCOMPARE(old.name, std::string("Intel(R) Xeon(R) : E5"));
        QCOMPARE(old.units, Units{});
        QCOMPARE(processorIn("Features\t: fp asimd sve\n").units, (Units{"NEON", "SVE"}));
        QCOMPARE(processorIn("flags\t: avx2 amx_tile\n").units, (Units{"AVX2", "AMX"}));
    }

    void withoutADescriptionNothingIsKnown()
    {
        QCOMPARE(processorIn(""), Processor{});
        QCOMPARE(processorIn("model name\nflags\n:\n"), Processor{});
        QCOMPARE(processorHere("/no/such/file"), Processor{});
    }

    void memoryIsReadAtAPossibleSpeed()
    {
        const double rate = memoryReadRate(Task{}); // 0 where too little is free
        QVERIFY2(rate == 0 || (rate > 1e7 && rate < 1e14), std::to_string(rate).c_str());
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(memoryReadRate(Task{stop.get_token(), {}, 1}), 0.0);
    }
};

HEADWISE_TEST(MachineTest)
#include "machine_test.moc"
