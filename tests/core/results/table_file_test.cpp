#include "core/results/table_file.h"
#include "tests/support/delimited_table.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <clocale>
#include <cmath>
#include <limits>

using namespace headwise;
using namespace headwise::test;

class TableFileTest : public QObject {
    Q_OBJECT

private slots:
    void numbersAreTheShortestThatReadBack()
    {
        QCOMPARE(shortestText(0.1f), std::string("0.1"));
        QCOMPARE(shortestText(0.1), std::string("0.1"));
        QCOMPARE(shortestText(1.0 / 3), std::string("0.3333333333333333"));
        QCOMPARE(shortestText(1e-45f), std::string("1e-45"));
        QCOMPARE(shortestText(-0.0f), std::string("-0"));
        QCOMPARE(shortestText(std::nanf("")), std::string("nan"));
        QCOMPARE(shortestText(-std::nan("")), std::string("nan"));
        QCOMPARE(shortestText(-std::numeric_limits<double>::infinity()), std::string("-inf"));
    }

    void theLocaleChangesNothing()
    {
        const std::string before = std::setlocale(LC_ALL, nullptr);
        std::setlocale(LC_ALL, "de_DE.UTF-8");
        QCOMPARE(shortestText(0.5), std::string("0.5"));
        std::setlocale(LC_ALL, before.c_str());
    }

    void csvQuotesAsRfc4180Says()
    {
        const Table table{{"a", "b"}, {{"1,5", "say \"x\""}, {"line\nend", ""}, {"␣the", "t\tb"}}};
        QCOMPARE(delimitedText(table, Delimiter::Comma),
                 std::string("a,b\r\n\"1,5\",\"say \"\"x\"\"\"\r\n\"line\nend\",\r\n␣the,t\tb\r\n"));
        QCOMPARE(delimitedText(table, Delimiter::Tab),
                 std::string("a\tb\n1,5\t\"say \"\"x\"\"\"\n\"line\nend\"\t\n␣the\t\"t\tb\"\n"));
    }

    void everyTableComesBack()
    {
        const std::vector<Table> tables = {
            {{"a", "b"}, {{"1,5", "say \"x\""}, {"line\r\nend", ""}, {"\"", "\t"}}},
            {{"one"}, {{""}, {"x"}, {""}}},
            {{"a", "b"}, {}},
        };
        for (const Table& table : tables)
            for (const Delimiter delimiter : {Delimiter::Comma, Delimiter::Tab}) {
                const Result<Table> read = readDelimited(delimitedText(table, delimiter), delimiter);
                QVERIFY(isOk(read) && *read == table);
            }
        QVERIFY((*readDelimited("a,b\n1,2", Delimiter::Comma) == Table{{"a", "b"}, {{"1", "2"}}}));
    }

    void refusesDamagedTables()
    {
        QVERIFY(failsWith(readDelimited("", Delimiter::Comma), ErrorCode::Corrupt, "header"));
        QVERIFY(failsWith(readDelimited("a,b\n1,2\n3\n", Delimiter::Comma), ErrorCode::Corrupt, "Line 3"));
        QVERIFY(failsWith(readDelimited("a\n\"x", Delimiter::Comma), ErrorCode::Corrupt, "line 2"));
        QVERIFY(failsWith(readDelimited("a\n\"x\"y\n", Delimiter::Comma), ErrorCode::Corrupt, "Line 2"));
    }

    void aTableHasARowForEachNumber()
    {
        ResultArray array;
        array.axes = {Axis::Layer, Axis::Head};
        array.shape = {2, 3};
        array.values = std::vector<double>{0.1, -2, 1e300, 5e-324, 0, 7};
        const Table table = tableOf(array);
        QCOMPARE(table.columns, (std::vector<std::string>{"layer", "head", "value"}));
        QCOMPARE(table.rows[5], (std::vector<std::string>{"1", "2", "7"}));
        QCOMPARE(table.rows[2], (std::vector<std::string>{"0", "2", "1e+300"}));
        array.values = std::vector<std::complex<double>>{{1, 2}, {3, -4}, {0, 0}, {0.1, 0.2}, {5, 6}, {7, 8}};
        const Table complex = tableOf(array);
        QCOMPARE(complex.columns, (std::vector<std::string>{"layer", "head", "real", "imaginary"}));
        QCOMPARE(complex.rows[3], (std::vector<std::string>{"1", "0", "0.1", "0.2"}));
    }

    void aSingleNumberHasATable()
    {
        ResultArray array;
        array.values = std::vector<double>{0.5};
        QVERIFY((tableOf(array) == Table{{"value"}, {{"0.5"}}}));
    }

    /// numpy's own reader is the oracle.
    void numpyReadsTheNpyFiles()
    {
        if (QProcess::execute("/usr/bin/python3", {"-c", "import numpy"}) != 0)
            QSKIP("python3-numpy is not installed");
        QTemporaryDir folder;
        const QString path = folder.filePath("x.npy");
        const auto read = [&](const std::vector<std::size_t>& shape, const ResultArray::Values& values) {
            QFile file(path);
            const std::string bytes = npyBytes(shape, values);
            if (!file.open(QIODevice::WriteOnly) || file.write(bytes.data(), qint64(bytes.size())) < 0)
                return QByteArray("cannot write");
            file.close();
            QProcess process;
            process.start("/usr/bin/python3",
                          {"-c",
                           "import numpy, sys\nx = numpy.load(sys.argv[1])\n"
                           "print(x.dtype, x.shape, x.tolist())",
                           path});
            process.waitForFinished();
            return process.readAllStandardOutput().trimmed();
        };
        QCOMPARE(read({2, 2}, std::vector<float>{0.5f, 2, -3, 4}),
                 QByteArray("float32 (2, 2) [[0.5, 2.0], [-3.0, 4.0]]"));
        QCOMPARE(read({3}, std::vector<std::int32_t>{1, -2, 3}), QByteArray("int32 (3,) [1, -2, 3]"));
        QCOMPARE(read({}, std::vector<double>{0.1}), QByteArray("float64 () 0.1"));
        QCOMPARE(read({1, 1}, std::vector<std::complex<float>>{{1, -2}}),
                 QByteArray("complex64 (1, 1) [[(1-2j)]]"));
        QCOMPARE(read({0, 5}, std::vector<std::complex<double>>{}), QByteArray("complex128 (0, 5) []"));
        QCOMPARE(npyBytes({2, 2}, std::vector<float>(4)).size() % 64, std::size_t(16));
    }
};

HEADWISE_TEST(TableFileTest)
#include "table_file_test.moc"
