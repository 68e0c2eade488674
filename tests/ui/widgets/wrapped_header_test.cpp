#include "ui/widgets/wrapped_header.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/pages/compare/compare_page.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QComboBox>
#include <QStandardItemModel>

using namespace headwise;
using namespace headwise::ui;

namespace {

constexpr int padding = 2 * 8; // px, the style sheet's

/// Empty if every title of `table` can be read completely and every column is visible, else the first that cannot.
QString cutTitle(const QTableView* table)
{
    const QHeaderView* header = table->horizontalHeader();
    const QFontMetrics metrics(header->font());
    for (int column = 0; column < header->count(); ++column) {
        if (header->isSectionHidden(column))
            continue;
        const QString title = table->model()->headerData(column, Qt::Horizontal).toString();
        const QRect room(0, 0, header->sectionSize(column) - padding, header->height());
        const QRect needed = metrics.boundingRect(room, Qt::AlignCenter | Qt::TextWordWrap, title);
        const bool isInView = header->sectionViewportPosition(column) + header->sectionSize(column)
            <= header->viewport()->width();
        if (!isInView || needed.width() > room.width() || needed.height() > room.height())
            return QStringLiteral("%1 (%2 × %3 px)").arg(title).arg(room.width()).arg(room.height());
    }
    return {};
}

void grab(QWidget& widget, const QString& name)
{
    if (const QString folder = qEnvironmentVariable("HEADWISE_SCREENSHOTS"); !folder.isEmpty())
        widget.grab().save(QStringLiteral("%1/%2-%3x.png").arg(folder, name).arg(widget.devicePixelRatioF()));
}

} // namespace

class WrappedHeaderTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void isAsHighAsItsTitlesNeed()
    {
        QStandardItemModel model(3, 2);
        model.setHorizontalHeaderLabels({QStringLiteral("a"), QStringLiteral("b")});
        QTableView table;
        wearTheme(table);
        table.setHorizontalHeader(new WrappedHeader(&table));
        table.setModel(&model);
        table.resize(400, 200);
        table.horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
        table.show();
        QTRY_COMPARE(cutTitle(&table), QString());
        const int oneLine = table.horizontalHeader()->height();
        model.setHorizontalHeaderLabels(
            {QStringLiteral("a"), QStringLiteral("Participation ratio of the singular values")});
        table.resize(260, 200);
        QTRY_VERIFY(table.horizontalHeader()->height() > oneLine);
        QTRY_COMPARE(cutTitle(&table), QString());
        table.resize(900, 200);
        QTRY_COMPARE(table.horizontalHeader()->height(), oneLine);
    }

    /// A title as wide as its column wraps when the sort indicator appears beside it.
    void aSortedTitleLeavesRoomForTheSign()
    {
        QStandardItemModel model(3, 2);
        model.setHorizontalHeaderLabels({QStringLiteral("Change of QK"), QStringLiteral("b")});
        QTableView table;
        wearTheme(table);
        auto* header = new WrappedHeader(&table);
        table.setHorizontalHeader(header);
        table.setModel(&model);
        table.setSortingEnabled(true);
        table.sortByColumn(1, Qt::AscendingOrder);
        table.resize(400, 200);
        table.show();
        header->resizeSection(0, header->widthOnLines(0, 1));
        const int oneLine = header->sizeHint().height();
        QTRY_COMPARE(header->height(), oneLine);
        QCOMPARE(cutTitle(&table), QString());
        table.sortByColumn(0, Qt::AscendingOrder);
        QTRY_VERIFY(header->height() > oneLine);
        table.sortByColumn(1, Qt::AscendingOrder);
        QTRY_COMPARE(header->height(), oneLine);
    }

    /// Beside the sort indicator too.
    void titlesOfNumbersStandAtTheRight()
    {
        class Header : public WrappedHeader {
        public:
            using WrappedHeader::initStyleOptionForIndex;
        };
        QStandardItemModel model(1, 2);
        model.setHorizontalHeaderLabels({QStringLiteral("Head"), QStringLiteral("Copying")});
        model.setItem(0, 1, new QStandardItem(QStringLiteral("0.5")));
        model.item(0, 1)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        QTableView table;
        wearTheme(table);
        auto* header = new Header;
        table.setHorizontalHeader(header);
        table.setModel(&model);
        table.setSortingEnabled(true);
        for (const int sorted : {0, 1}) {
            table.sortByColumn(sorted, Qt::DescendingOrder);
            for (const int column : {0, 1}) {
                QStyleOptionHeaderV2 option;
                header->initStyleOptionForIndex(&option, column);
                QCOMPARE(option.textAlignment & Qt::AlignHorizontal_Mask,
                         Qt::Alignment(column == 1 ? Qt::AlignRight : Qt::AlignLeft));
                QVERIFY(
                    option.text.startsWith(column == 1 ? QStringLiteral("Copying") : QStringLiteral("Head")));
            }
        }
    }

    void fittedTitlesTakeTheFewestLinesThatBringAllIntoView()
    {
        QStandardItemModel model(1, 0);
        TableFigure table;
        wearTheme(table);
        table.setSource(&model, Qt::UserRole);
        table.show();
        model.setHorizontalHeaderLabels({QStringLiteral("Head"), QStringLiteral("Cosine of the OV circuits"),
                                         QStringLiteral("Cosine of the QK circuits"),
                                         QStringLiteral("Intruders read"), QStringLiteral("Change")});
        int oneLine = 0;
        for (const int lines : {1, 2, 3}) {
            int width = 20; // the frame and its rounding
            for (int column = 0; column < model.columnCount(); ++column)
                width += table.header()->widthOnLines(column, lines);
            table.resize(width, 200);
            fitColumns(&table);
            QTRY_COMPARE(cutTitle(&table), QString());
            oneLine = lines == 1 ? table.header()->sizeHint().height() : oneLine;
            QTRY_COMPARE(table.header()->height(), oneLine + (lines - 1) * table.fontMetrics().lineSpacing());
        }
    }

    void everyScoreOfTheHeadsCanBeRead()
    {
        test::OpenedPage<HeadsPage> opened(HEADWISE_DEMO_MODEL, {276, 640});
        QTRY_VERIFY(!opened.workspace.runs()->job()->isRunning()
                    && opened.workspace.runs()->waiting().empty());
        auto* score = opened.find<QComboBox>(QStringLiteral("Score of the heads"));
        const auto* table = opened.find<QTableView>(QStringLiteral("Heads by their score"));
        QVERIFY(score->count() > 10);
        for (int i = 0; i < score->count(); ++i) {
            score->setCurrentIndex(i);
            emit score->activated(i);
            QTRY_COMPARE(cutTitle(table), QString());
            if (score->itemText(i).contains(QStringLiteral("Participation")))
                grab(opened.page, QStringLiteral("heads-long-title"));
        }
    }

    void theTablesOfComparedHeadsCanBeReadInANarrowWindow()
    {
        test::OpenedPage<ComparePage> opened(HEADWISE_DEMO_MODEL, {700, 760});
        opened.workspace.selection()->setHead({1, 5});
        opened.workspace.selection()->setReference(HeadId{0, 1});
        const auto* both = opened.find<QTableView>(QStringLiteral("In both heads"));
        QTRY_VERIFY(both->model()->columnCount() > 0);
        for (const char* name : {"Only in the selected head", "In both heads", "Only in the reference"})
            QTRY_COMPARE(cutTitle(opened.find<QTableView>(QString::fromLatin1(name))), QString());
        grab(opened.page, QStringLiteral("compare-narrow"));
    }
};

HEADWISE_TEST(WrappedHeaderTest)
#include "wrapped_header_test.moc"
