#include "core/circuits/scan/token_scan.h"

#include "tests/support/dense_algebra.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

using namespace headwise;

// A test of its own, so that ThreadSanitizer need not run every kernel on every shape.
class ScanThreadsTest : public QObject {
    Q_OBJECT

private slots:
    void theAnswerDoesNotDependOnTheNumberOfThreads()
    {
        const Matrix<double> rows = test::normalNumbers(6, 900, 11), cols = test::normalNumbers(6, 700, 12);
        const Matrix<float> rows32 = rows.cast<float>(), cols32 = cols.cast<float>();
        const std::vector<bool> none;
        const auto scan = [&](int threads) {
            Task task;
            task.threads = threads;
            return scanRows({{rows32, rows, none}, {cols32, cols, none}, 7, ScanEnds::BothAndColumns}, task);
        };
        const auto one = scan(1), three = scan(3);
        QVERIFY(test::isOk(one));
        QVERIFY(test::isOk(three));
        QCOMPARE(three->ids, one->ids);
        QCOMPARE(three->values, one->values);
        QCOMPARE(three->lowestIds, one->lowestIds);
        QCOMPARE(three->columnIds, one->columnIds);
    }
};

HEADWISE_TEST(ScanThreadsTest)
#include "scan_threads_test.moc"
