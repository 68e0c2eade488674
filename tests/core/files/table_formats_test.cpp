#include "core/files/table_formats.h"

#include "tests/support/program.h"

#include <QTest>

#include <cmath>
#include <cstdint>
#include <cstring>

using namespace headwise;

class TableFormatsTest : public QObject {
    Q_OBJECT

private slots:
    void latexEscapesWhatItWouldNotPrint()
    {
        const Table table{{"token", "value"}, {{"&%_#${}~^\\", "-0.0720314"}, {"␣a<b", "12"}}};
        QCOMPARE(latexText(table, "L1H2 OV\nmodel: demo"),
                 std::string("% L1H2 OV\n"
                             "% model: demo\n"
                             "% \\usepackage{booktabs}\n"
                             "\\begin{tabular}{lr}\n"
                             "\\toprule\n"
                             "token & value \\\\\n"
                             "\\midrule\n"
                             "\\&\\%\\_\\#\\$\\{\\}\\textasciitilde{}\\textasciicircum{}\\textbackslash{}"
                             " & $-0.0720$ \\\\\n"
                             "\\textvisiblespace{}a\\textless{}b & 12 \\\\\n"
                             "\\bottomrule\n"
                             "\\end{tabular}\n"));
    }

    void latexHasNoLigaturesInTokens()
    {
        const std::string text = latexText({{"token"}, {{"---"}, {"``"}, {"a-b"}}}, {});
        QVERIFY(text.find("\n-{}-{}- \\\\\n`{}` \\\\\na-b \\\\\n") != std::string::npos);
    }

    void numbersHaveThreeDigitsAndTokensKeepTheirs_data()
    {
        QTest::addColumn<QString>("cell");
        QTest::addColumn<QString>("latex");
        QTest::addColumn<QString>("markdown");
        const auto row = [](const char* cell, const char* latex, const char* markdown) {
            QTest::newRow(cell) << QString::fromUtf8(cell) << QString::fromUtf8(latex)
                                << QString::fromUtf8(markdown);
        };
        row("4.3149", "4.31", "4.31");
        row("-0.5", "$-0.500$", "-0.500");
        row("123.4", "123", "123");
        row("999.7", "1000", "1000");
        row("1234.5", "1234", "1234");
        row("9.996", "10.0", "10.0");
        row("50257", "50257", "50257");
        row("1.2e-05", "$1.20\\times10^{-5}$", "1.20e-05");
        row("2.5e+10", "$2.50\\times10^{10}$", "2.50e+10");
        row("-inf", "$-\\infty$", "-inf");
        row("0", "0", "0");
        row("nan", "nan", "nan");
    }
    void numbersHaveThreeDigitsAndTokensKeepTheirs()
    {
        QFETCH(const QString, cell);
        QFETCH(const QString, latex);
        QFETCH(const QString, markdown);
        const Table table{{"token", "value"}, {{"0.12345", cell.toStdString()}}};
        const QString written = QString::fromStdString(latexText(table, {}));
        QVERIFY2(written.contains("\n0.12345 & " + latex + " \\\\\n"), qPrintable(written));
        QCOMPARE(QString::fromStdString(markdownText(table)),
                 "| token | value |\n| --- | ---: |\n| 0\\.12345 | " + markdown + " |\n");
    }

    void markdownEscapesItsOwnMarks()
    {
        QCOMPARE(markdownText({{"head", "to|ken"}, {{"L1H2", "|*a_b*`\n"}}}),
                 std::string("| head | to\\|ken |\n| --- | --- |\n| L1H2 | \\|\\*a\\_b\\*\\`  |\n"));
    }

    void npyHasOneRecordPerRow()
    {
        const Table table{{"token", "id", "value", "value", "it's"},
                          {{"␣é", "7", "0.5", "", "x"}, {"b", "-1", "nan", "2", "yz"}}};
        const std::string bytes = npyText(table);
        QCOMPARE(bytes.substr(0, 8), std::string("\x93NUMPY\3\0", 8));
        std::uint32_t length = 0;
        std::memcpy(&length, bytes.data() + 8, 4);
        QCOMPARE((12 + length) % 64, 0u);
        const std::string header = bytes.substr(12, length);
        QVERIFY2(
            header.starts_with(
                "{'descr': [('token', '<U2'), ('id', '<i8'), ('value', '<f8'), ('value_2', '<f8'), ('it\\'s', '<U2'), ], 'fortran_order': False, 'shape': (2,), }"),
            header.c_str());
        const char* record = bytes.data() + 12 + length;
        constexpr std::size_t size = 8 + 8 + 8 + 8 + 8;
        QCOMPARE(bytes.size(), 12 + length + 2 * size);
        const auto at = [record]<typename T>(std::size_t offset, T) {
            T value;
            std::memcpy(&value, record + offset, sizeof value);
            return value;
        };
        QCOMPARE(at(0, char32_t{}), U'␣');
        QCOMPARE(at(4, char32_t{}), U'é');
        QCOMPARE(at(8, std::int64_t{}), 7);
        QCOMPARE(at(16, 0.0), 0.5);
        QVERIFY(std::isnan(at(24, 0.0)));
        QCOMPARE(at(size, char32_t{}), U'b');
        QCOMPARE(at(size + 4, char32_t{}), U'\0');
        QCOMPARE(at(size + 8, std::int64_t{}), -1);
        QVERIFY(std::isnan(at(size + 16, 0.0)));
        QCOMPARE(at(size + 24, 0.0), 2.0);
        QCOMPARE(at(size + 36, char32_t{}), U'z');
    }
};

HEADWISE_TEST(TableFormatsTest)
#include "table_formats_test.moc"
