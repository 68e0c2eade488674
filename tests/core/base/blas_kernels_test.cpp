#include "core/base/blas_kernels.h"

#include "tests/support/program.h"

#include <QTest>

using namespace headwise;

/// The choice of OpenBLAS kernels.
class BlasKernelsTest : public QObject {
    Q_OBJECT

private slots:
    void kernelsOfAnOldProcessorAreReplacedOnANewOne()
    {
        QCOMPARE(fasterKernels("Prescott", {.avx2 = true, .avx512 = true}),
                 std::optional<std::string>("SkylakeX"));
        QCOMPARE(fasterKernels("Prescott", {.avx2 = true}), std::optional<std::string>("Haswell"));
        QCOMPARE(fasterKernels("Core2", {.avx2 = true}), std::optional<std::string>("Haswell"));
    }

    void whatFitsStays()
    {
        QVERIFY(!fasterKernels("Prescott", {})); // it is one
        for (const char* chosen : {"SkylakeX", "Cooperlake", "SapphireRapids", "Sandybridge", "neoversen1"})
            QVERIFY(!fasterKernels(chosen, {.avx2 = true, .avx512 = true}));
        for (const char* chosen : {"Haswell", "Zen"})
            QVERIFY(!fasterKernels(chosen, {.avx2 = true}));
    }

    /// OpenBLAS 0.3.21 takes Zen 4 and Zen 5 for Zen or Haswell.
    void processorsWithAvx512GetKernelsForIt()
    {
        for (const char* chosen : {"Haswell", "Zen"})
            QCOMPARE(fasterKernels(chosen, {.avx2 = true, .avx512 = true}),
                     std::optional<std::string>("SkylakeX"));
        QVERIFY(isForAvx512("SkylakeX"));
        QVERIFY(!isForAvx512("Haswell"));
    }

    void whatTheUserChoseStays()
    {
        const QByteArray before = qgetenv("OPENBLAS_CORETYPE");
        qputenv("OPENBLAS_CORETYPE", "Haswell");
        char* none[] = {nullptr};
        restartWithFasterKernels(none); // returns
        QCOMPARE(qgetenv("OPENBLAS_CORETYPE"), QByteArray("Haswell"));
        if (before.isNull())
            qunsetenv("OPENBLAS_CORETYPE");
        else
            qputenv("OPENBLAS_CORETYPE", before);
    }
};

HEADWISE_TEST(BlasKernelsTest)

#include "blas_kernels_test.moc"
