#include "core/files/spreadsheet_cell.h"

#include "tests/support/delimited_table.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <string>
#include <vector>

using namespace headwise;

/// Cells that a spreadsheet must not evaluate.
class SpreadsheetCellTest : public QObject {
    Q_OBJECT

private slots:
    void textThatBeginsAFormulaIsMadeHarmless()
    {
        const std::vector<std::pair<std::string, std::string>> cells = {
            {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
            {"@SUM(A1)", "'@SUM(A1)"},
            {"+", "'+"},
            {"-", "'-"},
            {"--", "'--"},
            {"+1", "'+1"},
            {"-1+1", "'-1+1"},
            {"-x", "'-x"},
            {"'=x", "''=x"}};
        for (const auto& [text, cell] : cells)
            QCOMPARE(spreadsheetCell(text), cell);
    }

    void numbersAndOtherTextStay()
    {
        for (const std::string text : {"-1", "-0.5", "-1e-30", "-1e-999", "-inf", "nan", "7", "", "the", "'",
                                       "it's", "'s", "␣=", "a=b", "1.5"})
            QCOMPARE(spreadsheetCell(text), text);
    }

    void tablesAreReadBackAsTheyWere()
    {
        const Table table{{"token", "=value"}, {{"=1+1", "-2.5"}, {"'=", "+"}, {"@,\"", "'"}}};
        for (const Delimiter delimiter : {Delimiter::Comma, Delimiter::Tab}) {
            const std::string text = delimitedText(table, delimiter);
            QVERIFY(text.find("\n=") == std::string::npos && text.starts_with("token")
                    && text.find("'=1+1") > 0);
            QVERIFY(text.find("-2.5") != std::string::npos && text.find("'-2.5") == std::string::npos);
            const auto back = test::readDelimited(text, delimiter);
            QVERIFY(test::isOk(back));
            QVERIFY(*back == table);
        }
    }
};

HEADWISE_TEST(SpreadsheetCellTest)
#include "spreadsheet_cell_test.moc"
