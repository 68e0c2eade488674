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
        for (const char* chosen :
             {"SkylakeX", "Haswell", "Zen", "Cooperlake", "SapphireRapids", "neoversen1"})
            QVERIFY(!fasterKernels(chosen, {.avx2 = true, .avx512 = true}));
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
