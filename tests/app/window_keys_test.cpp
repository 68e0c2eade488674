// The window's keys, pressed where a user presses them: a menu shortcut may take them before the view does.

#include "tests/support/keys_driver.h"
#include "tests/support/program.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTableView>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextDocument>
#include <QToolBar>
#include <QUrl>
#include <QWindow>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::KeysDriver;

class WindowKeysTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void theKeysAreReadBesideTheWindow()
    {
        KeysDriver driver;
        driver.trigger(QStringLiteral("Guide"));
        const QPointer<QDialog> dialog = driver.window.findChild<QDialog*>(QStringLiteral("help"));
        QVERIFY(dialog && dialog->isVisible() && !dialog->isModal());
        auto* guide = dialog->findChild<QTextBrowser*>();
        QVERIFY(guide->toPlainText().contains(QStringLiteral("L, I, Z")));
        QVERIFY(!guide->toPlainText().contains(
            QStringLiteral("(E1–E3)"))); // the catalogue's codes are in tooltips
        // The pictures of the README, each in its place.
        int pictures = 0;
        for (QTextBlock block = guide->document()->begin(); block.isValid(); block = block.next())
            for (auto part = block.begin(); !part.atEnd(); ++part) {
                const QTextImageFormat format = part.fragment().charFormat().toImageFormat();
                if (!format.isValid())
                    continue;
                ++pictures;
                const auto image =
                    guide->document()->resource(QTextDocument::ImageResource, QUrl(format.name()));
                QVERIFY2(!image.value<QImage>().isNull(), qPrintable(format.name()));
            }
        QCOMPARE(pictures, 6);
        driver.trigger(QStringLiteral("Guide"));
        QCOMPARE(driver.window.findChildren<QDialog*>(QStringLiteral("help")).size(), 1);
        dialog->reject();
        QTRY_VERIFY(!dialog);
    }

    /// The guide finds words, marks them and goes from one place to the next.
    void helpIsSearched()
    {
        KeysDriver driver;
        driver.trigger(QStringLiteral("Guide"));
        auto* dialog = driver.window.findChild<QDialog*>(QStringLiteral("help"));
        QVERIFY(dialog);
        auto* field = dialog->findChild<QLineEdit*>();
        auto* browser = dialog->findChild<QTextBrowser*>();
        auto* count = dialog->findChild<QLabel*>(QStringLiteral("matches"));
        QVERIFY(field && browser && count);
        field->setText(QStringLiteral("preferences"));
        QCOMPARE(browser->textCursor().selectedText().toLower(), QStringLiteral("preferences"));
        QVERIFY2(count->text().startsWith(QStringLiteral("1 of ")), qPrintable(count->text()));
        field->setText(QStringLiteral("colour"));
        const int first = browser->textCursor().position();
        QVERIFY(browser->extraSelections().size() > 1);
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(browser->textCursor().position() > first);
        QVERIFY(dialog->isVisible()); // Enter does not close it
        field->setText(QStringLiteral("no such words"));
        QCOMPARE(count->text(), QStringLiteral("not found"));
        QVERIFY(browser->extraSelections().isEmpty());
        field->clear();
        QVERIFY(count->text().isEmpty());
    }

    void aCellOfTheAttentionLeadsToWhatMadeItsScore()
    {
        KeysDriver driver;
        driver.workspace().selection()->setHead({1, 5});
        driver.show(QStringLiteral("Prompt"));
        HeatmapView* pattern = nullptr;
        for (auto* view : driver.page()->findChildren<HeatmapView*>())
            if (view->accessibleName() == QLatin1String("Attention of the head"))
                pattern = view;
        QVERIFY(pattern);
        QTRY_VERIFY(pattern->matrix());
        pattern->zoom()->setCurrentCell(9, 2);
        pattern->setFocus();
        KeysDriver::press(Qt::Key_Return);
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Analyses"));
        QTRY_VERIFY(driver.workspace().model()->results()->find("analyses/score_sources/components"));
        const ResultArray* key = driver.workspace().model()->results()->find("analyses/score_sources/key");
        QCOMPARE(std::get<double>(key->attributes.at("query_position")), 9.0);
        QCOMPARE(std::get<std::vector<std::int32_t>>(key->values)[8 + 5], 2);
        QCOMPARE(driver.workspace().runs()->inputs().keyPosition, std::optional(2));
    }

    void theHeadIsForgottenWithTheModel()
    {
        KeysDriver driver;
        driver.workspace().selection()->setHead({0, 7});
        QLineEdit* head = nullptr;
        for (auto* field : driver.window.findChildren<QLineEdit*>())
            if (field->accessibleName() == QLatin1String("Head"))
                head = field;
        QVERIFY(head);
        QCOMPARE(head->text(), QStringLiteral("0.7"));
        driver.workspace().opener()->close();
        QVERIFY(head->text().isEmpty());
    }

    void theReferenceIsMarkedAndClearedInTheMenu()
    {
        KeysDriver driver;
        driver.workspace().selection()->setHead({1, 3});
        driver.trigger(QStringLiteral("Use as reference head"));
        QCOMPARE(driver.workspace().selection()->reference(), std::optional(HeadId{1, 3}));
        driver.workspace().selection()->setHead({0, 2});
        QCOMPARE(driver.workspace().selection()->reference(), std::optional(HeadId{1, 3}));
        driver.trigger(QStringLiteral("Clear reference"));
        QCOMPARE(driver.workspace().selection()->reference(), std::nullopt);
        for (const QAction* item : driver.window.findChildren<QAction*>())
            if (item->text().remove(u'&') == QLatin1String("Clear reference"))
                QVERIFY(!item->isEnabled()); // There is none.
    }

    void digitsOpenPagesButZeroInAPictureShowsAllOfIt()
    {
        KeysDriver driver;
        driver.grid->setFocus();
        KeysDriver::press(Qt::Key_Home, Qt::AltModifier);
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("findings"));
        KeysDriver::press(Qt::Key_3);
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("matrix"));
        auto* matrix = driver.shown<HeatmapView>();
        QTRY_VERIFY(!matrix->isEmpty());
        matrix->setFocus();
        KeysDriver::press(Qt::Key_Plus);
        QVERIFY(matrix->zoom()->state().zoomX > 1);
        KeysDriver::press(Qt::Key_Minus);
        QCOMPARE(matrix->zoom()->state().zoomX, 1.0);
        KeysDriver::press(Qt::Key_Plus);
        KeysDriver::press(Qt::Key_0);
        QCOMPARE(matrix->zoom()->state().zoomX, 1.0);
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("matrix"));
        driver.grid->setFocus();
        KeysDriver::press(Qt::Key_Plus);
        KeysDriver::press(Qt::Key_0);
        QCOMPARE(driver.grid->zoom()->state().zoomX, 1.0);
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("matrix"));
        driver.heads->findChild<QTableView*>()->setFocus(); // no picture: the digit is the window's
        KeysDriver::press(Qt::Key_0);
        QCOMPARE(driver.tabs()->currentName(), QStringLiteral("analyses"));
    }

    void lettersOfAMatrixAreItsOwn()
    {
        KeysDriver driver;
        driver.show(QStringLiteral("Matrix"));
        auto* matrix = driver.shown<HeatmapView>();
        QTRY_VERIFY(!matrix->isEmpty());
        matrix->setFocus();
        KeysDriver::press(Qt::Key_L);
        QCOMPARE(matrix->colors()->scale().fit, ColorFit::Fixed);
        KeysDriver::press(Qt::Key_L);
        QVERIFY(matrix->colors()->scale().fit != ColorFit::Fixed);
        const bool inverted = matrix->colors()->scale().inverted;
        KeysDriver::press(Qt::Key_I);
        QCOMPARE(matrix->colors()->scale().inverted, !inverted);
        KeysDriver::press(Qt::Key_Z);
        QCOMPARE(matrix->colors()->scale().low, -matrix->colors()->scale().high);
        matrix->zoom()->setCurrentCell(5, 5);
        KeysDriver::press(Qt::Key_H);
        KeysDriver::press(Qt::Key_J);
        QCOMPARE(matrix->zoom()->state().column, 4);
        QCOMPARE(matrix->zoom()->state().row, 6);
        KeysDriver::press(Qt::Key_End);
        QCOMPARE(matrix->zoom()->state().column, static_cast<int>(matrix->scene().columnCount()) - 1);
        KeysDriver::press(Qt::Key_Home);
        QCOMPARE(matrix->zoom()->state().column, 0);
        KeysDriver::press(Qt::Key_Plus);
        KeysDriver::press(Qt::Key_F);
        QVERIFY(matrix->zoom()->state().zoomX > 1);
    }

    void theGridOfHeadsIsWalkedThrough()
    {
        KeysDriver driver;
        driver.workspace().selection()->setHead({0, 3});
        driver.grid->setFocus();
        KeysDriver::press(Qt::Key_PageDown);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 3}));
        KeysDriver::press(Qt::Key_PageUp);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{0, 3}));
        KeysDriver::press(Qt::Key_L);
        KeysDriver::press(Qt::Key_J);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 4}));
        KeysDriver::press(Qt::Key_K);
        KeysDriver::press(Qt::Key_H);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{0, 3}));
        KeysDriver::press(Qt::Key_End);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{0, 7}));
        KeysDriver::press(Qt::Key_Home);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{0, 0}));
        const bool inverted = driver.grid->colors()->scale().inverted;
        KeysDriver::press(Qt::Key_I);
        QCOMPARE(driver.grid->colors()->scale().inverted, !inverted);
        KeysDriver::press(Qt::Key_L, Qt::ShiftModifier);
        QVERIFY(driver.grid->colors()->isLocked());
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{0, 0}));
        driver.show(QStringLiteral("Matrix"));
        driver.grid->setFocus();
        KeysDriver::press(Qt::Key_Return);
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Overview"));
    }

    void pagesHaveTheirLetters()
    {
        KeysDriver driver;
        driver.workspace().selection()->setReference(HeadId{0, 1});
        driver.show(QStringLiteral("Composition"));
        driver.grid->setFocus();
        QCheckBox* subtract = nullptr;
        for (auto* box : driver.page()->findChildren<QCheckBox*>())
            if (box->text().startsWith(QLatin1String("minus the baseline")))
                subtract = box;
        QVERIFY(subtract && subtract->isVisible());
        const bool was = subtract->isChecked();
        KeysDriver::press(Qt::Key_B);
        QTRY_COMPARE(subtract->isChecked(), !was); // a button shows its click for a moment
        driver.show(QStringLiteral("Two heads"));
        QComboBox* way = nullptr;
        for (auto* box : driver.page()->findChildren<QComboBox*>())
            if (box->accessibleName() == QLatin1String("How to compare"))
                way = box;
        QVERIFY(way && way->currentText() != QLatin1String("Difference"));
        const QString before = way->currentText();
        KeysDriver::press(Qt::Key_D);
        QTRY_COMPARE(way->currentText(), QStringLiteral("Difference"));
        KeysDriver::press(Qt::Key_D);
        QTRY_COMPARE(way->currentText(), before);
        driver.show(QStringLiteral("Vectors"));
        QTRY_VERIFY(!driver.shown<LineChart>()->series().empty());
        const int sign = driver.workspace().selection()->direction().sign;
        QTRY_COMPARE((KeysDriver::press(Qt::Key_Space), driver.workspace().selection()->direction().sign),
                     -sign);
    }

    void nWritesANoteUnlessALetterIsTyped()
    {
        KeysDriver driver;
        driver.grid->setFocus();
        KeysDriver::press(Qt::Key_N);
        QVERIFY(driver.note->hasFocus());
        QVERIFY(driver.note->toPlainText().isEmpty());
        QTest::keyClicks(driver.note, QStringLiteral("no name"));
        QCOMPARE(driver.note->toPlainText(), QStringLiteral("no name"));
        auto* search = driver.window.findChild<QToolBar*>()->findChildren<QLineEdit*>().constLast();
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral("n1"));
        QCOMPARE(search->text(), QStringLiteral("n1"));
        QVERIFY(search->hasFocus());
        driver.note->clear();
        test::discardNotes(driver.window);
    }

    void headingsOfTheOverviewOpenTheirPages()
    {
        KeysDriver driver;
        for (const auto& [begins, page] : {std::pair("Keys that", "Tokens"),
                                           {"Singular values", "Spectrum"},
                                           {"Composition", "Composition"}}) {
            driver.show(QStringLiteral("Overview"));
            const QLabel* heading = nullptr;
            for (const QLabel* label : driver.page()->findChildren<QLabel*>())
                if (label->text().startsWith(QLatin1String(begins)) && label->isVisible())
                    heading = label;
            QVERIFY2(heading, begins);
            const int token = driver.workspace().selection()->token();
            const QPoint at = heading->mapTo(&driver.window, heading->rect().center());
            QTest::mouseClick(driver.window.windowHandle(), Qt::LeftButton, {}, at);
            QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QString::fromLatin1(page));
            // The second click of a double click does not reach the new page.
            QTest::mouseDClick(driver.window.windowHandle(), Qt::LeftButton, {}, at);
            QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QString::fromLatin1(page));
            QCOMPARE(driver.workspace().selection()->token(), token);
        }
    }

    void tabGoesThroughAllPanesAndComesBack()
    {
        KeysDriver driver;
        for (const char* name : {"Overview", "Tokens", "Tensors"}) {
            driver.show(QString::fromLatin1(name));
            driver.grid->setFocus();
            bool wasOnPage = false, wasAtNotes = false;
            int steps = 0;
            do {
                KeysDriver::press(Qt::Key_Tab);
                const QWidget* focus = QApplication::focusWidget();
                wasOnPage = wasOnPage || driver.page()->isAncestorOf(focus);
                wasAtNotes = wasAtNotes || focus == driver.note;
            } while (++steps < 300 && QApplication::focusWidget() != driver.grid);
            QVERIFY2(wasOnPage && wasAtNotes && steps < 300, name);
        }
        const auto pane = [&] {
            const QWidget* focus = QApplication::focusWidget();
            return driver.heads->isAncestorOf(focus)               ? u'h'
                : driver.page()->isAncestorOf(focus)               ? u'p'
                : driver.note->parentWidget()->isAncestorOf(focus) ? u'n'
                                                                   : u'?';
        };
        QString way;
        for (int i = 0; i < 3; ++i) {
            KeysDriver::press(Qt::Key_F6);
            way += pane();
        }
        KeysDriver::press(Qt::Key_F6, Qt::ShiftModifier);
        QCOMPARE(way + pane(), QStringLiteral("pnhn"));
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(WindowKeysTest)
#include "window_keys_test.moc"
