// Words of the pages and of the sidebar are whole in the smallest window that the layout is made for.

#include "app/window/page_sidebar.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QWhatsThis>

#include <memory>
#include <optional>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

constexpr int besidePlaceholder = 16; // px: the borders, the padding and the text margins

int roomMissing(const QLineEdit& edit)
{
    return edit.fontMetrics().horizontalAdvance(edit.placeholderText()) + besidePlaceholder - edit.width();
}

} // namespace

class WholeWordsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        m_driver.emplace();
        m_driver->window.resize(1024, 640);
        m_driver->openDemo();
    }

    void sentencesAreWhole_data()
    {
        QTest::addColumn<QString>("page");
        for (const QString& page : m_driver->tabs()->pageNames())
            QTest::newRow(qPrintable(page)) << page;
    }

    void sentencesAreWhole()
    {
        QFETCH(QString, page);
        m_driver->window.showPage(page);
        const auto* sentence = m_driver->window.findChild<QLabel*>(QStringLiteral("pageSentence"));
        QVERIFY(sentence && !sentence->text().isEmpty());
        QTRY_VERIFY2(sentence->fontMetrics().horizontalAdvance(sentence->text())
                         <= sentence->contentsRect().width(),
                     qPrintable(sentence->text()));
    }

    void fieldsSayWhatTheyTake_data() { sentencesAreWhole_data(); }
    void fieldsSayWhatTheyTake()
    {
        QFETCH(QString, page);
        m_driver->window.showPage(page);
        int fields = 0;
        for (const QLineEdit* edit : m_driver->window.findChildren<QLineEdit*>()) {
            if (!edit->isVisible() || edit->placeholderText().isEmpty())
                continue;
            ++fields;
            QTRY_VERIFY2(roomMissing(*edit) <= 0, qPrintable(edit->placeholderText()));
        }
        QVERIFY(fields > 0); // the bar's at least
        QVERIFY(page != QStringLiteral("tokens")
                || fields == 3); // and its token and the filter of its tables
    }

    /// Its row of controls has the most beside the text for all tokens.
    void theMatrixOfAllTokensSaysWhatItTakes()
    {
        m_driver->window.showPage(QStringLiteral("matrix"));
        const auto choose = [this](const char* name, int index) {
            for (auto* box : m_driver->page()->findChildren<QComboBox*>())
                if (box->accessibleName() == QLatin1String(name))
                    box->setCurrentIndex(index);
        };
        choose("Circuit shown", 2); // full OV
        choose("Tokens shown", 1);  // all
        int fields = 0;
        for (const QLineEdit* edit : m_driver->page()->findChildren<QLineEdit*>()) {
            if (!edit->isVisible() || edit->placeholderText().isEmpty())
                continue;
            ++fields;
            QTRY_VERIFY2(roomMissing(*edit) <= 0, qPrintable(edit->placeholderText()));
        }
        QCOMPARE(fields, 1);
        choose("Circuit shown", 0);
    }

    /// Every page is in sight, none below the edge.
    void theSidebarNeedsNoScrollBar()
    {
        const auto* sidebar = m_driver->window.findChild<app::PageSidebar*>();
        QTRY_COMPARE(sidebar->verticalScrollBar()->maximum(), 0);
    }

    void bothTablesOfVectorsShowSomeRows()
    {
        m_driver->window.showPage(QStringLiteral("vectors"));
        int tables = 0;
        for (const auto* table : m_driver->page()->findChildren<QTableView*>()) {
            if (!table->accessibleName().startsWith(QStringLiteral("Tokens, ")))
                continue;
            ++tables;
            QTRY_VERIFY(table->model()->rowCount() > 4);
            QTRY_VERIFY2(table->viewport()->height() >= 3 * table->rowHeight(0),
                         qPrintable(QString::number(table->viewport()->height())));
        }
        QCOMPARE(tables, 2);
    }

    void headingsOfTheSidebarAreWholeBesideItsScrollBar()
    {
        auto* sidebar = m_driver->window.findChild<app::PageSidebar*>();
        const QScrollBar* bar = sidebar->verticalScrollBar();
        for (const auto policy : {Qt::ScrollBarAlwaysOff, Qt::ScrollBarAlwaysOn}) {
            sidebar->setVerticalScrollBarPolicy(policy);
            QTRY_COMPARE(bar->isVisible(), policy == Qt::ScrollBarAlwaysOn);
            const int room = sidebar->width() - (bar->isVisible() ? bar->sizeHint().width() : 0);
            for (int i = 0; i < sidebar->topLevelItemCount(); ++i) {
                const QModelIndex heading = sidebar->model()->index(i, 0);
                QVERIFY2(sidebar->sizeHintForIndex(heading).width() <= room,
                         qPrintable(heading.data().toString()));
            }
        }
        sidebar->setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    }

    /// Qt's picture for What's This is a black cursor, which the dark theme swallows.
    void menusHaveNoPicturesOfTheToolkit()
    {
        const QIcon theirs = std::unique_ptr<QAction>(QWhatsThis::createAction())->icon();
        QVERIFY(!theirs.isNull());
        int entries = 0;
        for (const QAction* action : m_driver->window.findChildren<QAction*>())
            if (action->shortcut() == QKeySequence(QKeySequence::WhatsThis)) {
                ++entries;
                QVERIFY2(action->icon().isNull(), qPrintable(action->text()));
            }
        QVERIFY(entries > 0);
    }

    void cleanupTestCase() { m_driver.reset(); }

private:
    QTemporaryDir m_folder;
    std::optional<WindowDriver> m_driver;
};

HEADWISE_TEST(WholeWordsTest)
#include "whole_words_test.moc"
