#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QStandardItemModel>
#include <QTest>
#include <QXmlStreamReader>

#include <functional>

using namespace headwise;
using namespace headwise::ui;

namespace {

QByteArray tableSvg(const FigureSource& source, double width, double height)
{
    const FigureSettings settings{.format = FigureFormat::Svg, .width = width, .height = height};
    const Result<RenderedFigure> figure = renderFigure(source, settings);
    return figure ? figure->bytes : QByteArray();
}

/// The runs of text of an SVG, in their order.
QStringList runsOf(const QByteArray& svg)
{
    QStringList runs;
    QXmlStreamReader reader(svg);
    while (!reader.atEnd())
        if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == u"text")
            runs << reader.readElementText(QXmlStreamReader::IncludeChildElements);
    return runs;
}

/// A table whose rows are a token, two numbers about it, and a list of tokens with their values.
struct ListFigure {
    TableFigure table;
    QStandardItemModel* model = new QStandardItemModel(&table);

    /// \param token  returns the entry of a row
    ListFigure(int rows, int entries, const std::function<QString(int, int)>& token)
    {
        for (int row = 0; row < rows; ++row) {
            QList<QStandardItem*> cells{new QStandardItem(QStringLiteral("<|endoftext|>")),
                                        new QStandardItem(QStringLiteral("−4.72e−11")),
                                        new QStandardItem(QStringLiteral("0.133"))};
            for (int entry = 0; entry < entries; ++entry)
                cells << new QStandardItem(token(row, entry)) << new QStandardItem(QStringLiteral("−0.0909"));
            model->appendRow(cells);
        }
        model->setHorizontalHeaderLabels(
            {QString(), QStringLiteral("Mean of the row"), QStringLiteral("Deviation of the row")});
        table.setSource(model, Qt::DisplayRole);
        table.setLists(ListTitles{
            QStringLiteral("source token"), {QStringLiteral("10 largest entries of each row")}, 2});
    }
};

} // namespace

/// Tables and lists of tokens on paper.
class PaperTablesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    /// Columns that do not fit stand below the others; each block names its rows.
    void aTableDropsNoColumnAndCutsNoToken()
    {
        TableFigure table;
        auto* model = new QStandardItemModel(&table);
        QList<QStandardItem*> cells{new QStandardItem(QStringLiteral("rowname"))};
        QStringList titles{QStringLiteral("token")};
        for (int column = 1; column < 12; ++column) {
            titles << QStringLiteral("title%1").arg(column);
            cells << new QStandardItem(QStringLiteral("principality%1").arg(column));
        }
        model->setHorizontalHeaderLabels(titles);
        model->appendRow(cells);
        table.setSource(model, Qt::DisplayRole);
        const QByteArray svg = tableSvg(table, 85, 150);
        for (int column = 1; column < 12; ++column)
            QVERIFY2(svg.contains(QStringLiteral(">principality%1<").arg(column).toUtf8()),
                     qPrintable(QString::number(column)));
        QVERIFY(svg.count(">rowname<") > 1 && !svg.contains("…"));
        const QStringList said = table.omissions({237, 420}, {});
        QVERIFY(said.size() == 1 && said.front().contains(QStringLiteral("blocks")));
        QVERIFY(table.omissions({2000, 420}, {}).isEmpty());
    }

    /// A table with too many columns for the page says so and asks for a higher page instead of printing them over each
    /// other. The blocks are about equally wide.
    void aTableWithoutRoomSaysSoAndAsksForAHigherPage()
    {
        TableFigure table;
        auto* model = new QStandardItemModel(40, 22, &table);
        for (int column = 0; column < 22; ++column)
            model->setHeaderData(column, Qt::Horizontal,
                                 QStringLiteral("a considerable title %1").arg(column));
        table.setSource(model, Qt::DisplayRole);
        const QStringList said = table.omissions({237, 170}, {});
        QVERIFY2(!said.isEmpty() && said.front().endsWith(QStringLiteral(" of 22 columns")),
                 qPrintable(said.join(u'|')));
        QVERIFY(!said.last().startsWith(QStringLiteral("the first 0 ")));
        QVERIFY(table.leastHeight(237, {}) > 400);
        QVERIFY(table.omissions({237, table.leastHeight(237, {})}, {}).front().startsWith(u"columns in "));
        QVERIFY(table.leastHeight(2400, {}) < 100);
    }

    /// Titles of columns take several lines before a table is split.
    void titlesTakeSeveralLinesBeforeATableIsSplit()
    {
        TableFigure table;
        auto* model = new QStandardItemModel(2, 4, &table);
        for (int column = 0; column < 4; ++column)
            model->setHeaderData(column, Qt::Horizontal, QStringLiteral("share of the whole of it"));
        table.setSource(model, Qt::DisplayRole);
        QCOMPARE(table.omissions({237, 194}, {}), QStringList());
        QVERIFY(!tableSvg(table, 85, 70).contains("…"));
    }

    /// Rows about pairs of heads are named by both in each block.
    void eachBlockTellsTheRowsApart()
    {
        TableFigure table;
        auto* model = new QStandardItemModel(&table);
        for (const char* later : {"L1H5", "L1H7"}) {
            QList<QStandardItem*> cells{new QStandardItem(QStringLiteral("L0H1")),
                                        new QStandardItem(QString::fromLatin1(later))};
            for (int column = 0; column < 8; ++column)
                cells << new QStandardItem(QStringLiteral("principality%1").arg(column));
            model->appendRow(cells);
        }
        table.setSource(model, Qt::DisplayRole);
        const QByteArray svg = tableSvg(table, 85, 150);
        const qsizetype blocks = svg.count(">L1H5<");
        QVERIFY(blocks > 1 && svg.count(">L1H7<") == blocks && svg.count(">L0H1<") == 2 * blocks);
    }

    /// A token that is wider than the page takes several lines, in a table and in a list, and in the names of rows.
    void noTokenIsCutAtAnyWidth_data()
    {
        QTest::addColumn<double>("width");
        for (const double width : {40.0, 60.0, 85.0, 170.0, 254.0})
            QTest::addRow("%.0f mm", width) << width;
    }
    void noTokenIsCutAtAnyWidth()
    {
        QFETCH(const double, width);
        QString longest;
        for (int i = 0; i < 64; ++i)
            longest += QChar(u'a' + i % 26) + QString::number(i % 10);
        const auto isWhole = [&](const TableFigure& table) {
            const QStringList runs = runsOf(tableSvg(table, width, 300));
            const QString all = runs.join(QString());
            return all.count(longest) >= 2 && !all.contains(QStringLiteral("…"));
        };
        TableFigure table;
        auto* model = new QStandardItemModel(&table);
        for (const QString& token : {longest, QStringLiteral("␣of")})
            model->appendRow({new QStandardItem(token), new QStandardItem(QStringLiteral("+1.5")),
                              new QStandardItem(token)});
        model->setHorizontalHeaderLabels(
            {QStringLiteral("token"), QStringLiteral("logit"), QStringLiteral("token")});
        table.setSource(model, Qt::DisplayRole);
        QVERIFY(isWhole(table));
        ListFigure lists(2, 3, [&](int row, int entry) {
            return row == 1 && entry == 1 ? longest : QStringLiteral("␣of");
        });
        lists.model->item(1, 0)->setText(longest);
        QVERIFY(isWhole(lists.table));
        QVERIFY(lists.table.omissions({width / 25.4 * 72, 840}, {}).isEmpty());
    }

    /// Lists stand below the names where beside them they would take more lines.
    void aNarrowPageShowsSeveralRowsOfLists()
    {
        const auto word = [](int row, int entry) {
            return QStringLiteral("␣%1").arg(row + entry, 3 + (row + entry) % 7, 10, QChar(u'd'));
        };
        ListFigure lists(40, 10, word);
        const QByteArray svg = tableSvg(lists.table, 85, 70);
        QVERIFY(runsOf(svg).count(QStringLiteral("<|endoftext|>")) >= 3);
        QCOMPARE(svg.count("…"), 1); // before the number of rows
        QVERIFY(svg.contains("(5 of 10)") || svg.contains("(6 of 10)"));
        const QStringList said = lists.table.omissions({237, 194}, {});
        QVERIFY(said.size() == 2 && said.last().endsWith(QStringLiteral("of 40 rows")));
        QVERIFY(runsOf(tableSvg(lists.table, 170, 100)).count(QStringLiteral("<|endoftext|>")) >= 8);
    }

    /// Every entry is shown where all rows have room with them, else five of each list.
    void entriesAreLeftOutOnlyForRows()
    {
        const auto word = [](int, int entry) { return QStringLiteral("␣constitutional%1").arg(entry); };
        ListFigure lists(3, 10, word);
        QVERIFY(lists.table.omissions({237, 420}, {}).isEmpty());
        const QByteArray all = tableSvg(lists.table, 85, 150);
        QVERIFY(all.count(">␣constitutional9<") == 3 && !all.contains(" of 10)"));
        const QStringList said = lists.table.omissions({237, 170}, {});
        QVERIFY2(!said.isEmpty() && said.front().endsWith(QStringLiteral("of 10 entries a row")),
                 qPrintable(said.join(u'|')));
    }

    void listsStandSideBySideOrBelowEachOther()
    {
        ListFigure lists(1, 8, [](int, int entry) { return QStringLiteral("␣constitutional%1").arg(entry); });
        const QStringList two{QStringLiteral("most"), QStringLiteral("least")};
        lists.table.setLists(ListTitles{QStringLiteral("source"), two, 2});
        const QByteArray wide = tableSvg(lists.table, 220, 70), narrow = tableSvg(lists.table, 60, 160);
        QVERIFY(wide.count(">source<") == 1 && wide.contains(">␣constitutional7<"));
        QVERIFY(narrow.count(">source<") == 2 && narrow.contains(">␣constitutional7<"));
        QCOMPARE(runsOf(wide).join(QString()).count(QStringLiteral("−4.72e−11")), 1); // once a row
        QVERIFY(lists.table.leastHeight(237, {}) > 40);
        // A title wider than its columns takes two lines.
        lists.table.setLists(
            ListTitles{QStringLiteral("source"),
                       {QStringLiteral("the outputs that it raises most, in logits and not in shares")},
                       2});
        QVERIFY(!tableSvg(lists.table, 60, 160).contains("…"));
    }
};

HEADWISE_TEST(PaperTablesTest)
#include "paper_tables_test.moc"
