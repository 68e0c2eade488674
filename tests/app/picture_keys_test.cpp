#include "tests/support/keys_driver.h"
#include "tests/support/program.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/notebook.h"
#include "ui/figures/figure_export.h"
#include "ui/pages/export/export_dialog.h"

#include <QClipboard>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QTimer>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::KeysDriver;

/// Keys and menus of the picture that was clicked last.
class PictureKeysTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void controlCTakesThePictureAndItsNumbers()
    {
        KeysDriver driver;
        driver.show(QStringLiteral("Spectrum"));
        auto* chart = driver.shown<LineChart>();
        QTRY_VERIFY(!chart->series().empty());
        QGuiApplication::clipboard()->setText(QStringLiteral("something else"));
        chart->setFocus();
        KeysDriver::press(Qt::Key_C, Qt::ControlModifier);
        const auto* taken = QGuiApplication::clipboard();
        QTRY_VERIFY(taken->mimeData()->hasImage());
        QVERIFY(!taken->image().isNull());
        int rows = -1; // the header is none
        for (const QString& line : taken->text().split(u'\n', Qt::SkipEmptyParts))
            rows += line.contains(u'\t') ? 1 : 0;
        qsizetype points = 0;
        for (const ChartSeries& series : chart->series())
            points += series.points.size();
        QCOMPARE(rows, points);
    }

    void aTextFieldLeavesTheMenusTheirKeys()
    {
        KeysDriver driver;
        driver.show(QStringLiteral("Spectrum"));
        auto* chart = driver.shown<LineChart>();
        QTRY_VERIFY(!chart->series().empty());
        KeysDriver::clickInto(chart);
        QLineEdit* head = nullptr;
        for (auto* field : driver.window.findChildren<QLineEdit*>())
            if (field->accessibleName() == QLatin1String("Head"))
                head = field;
        QVERIFY(head);
        head->setFocus();
        KeysDriver::press(Qt::Key_E, Qt::ControlModifier);
        QTRY_VERIFY(driver.window.findChild<ExportDialog*>());
        driver.window.findChild<ExportDialog*>()->reject();
        QTRY_VERIFY(!driver.window.findChild<ExportDialog*>());
        driver.window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&driver.window));
        head->setFocus();
        QTRY_VERIFY(head->hasFocus());
        KeysDriver::press(Qt::Key_D, Qt::ControlModifier);
        QVERIFY(driver.workspace().notebook()->isBookmarked(driver.workspace().selection()->head()));
        head->setText(QStringLiteral("0.12")); // Keys for the text stay the field's.
        head->setCursorPosition(4);
        KeysDriver::press(Qt::Key_Left, Qt::ControlModifier);
        QVERIFY(head->cursorPosition() < 4);
    }

    void theChartThatWasClickedIsExported()
    {
        KeysDriver driver;
        driver.show(QStringLiteral("Spectrum"));
        QTRY_VERIFY(driver.page()->figures().size() > 1);
        QTimer closer; // A menu that asks for the picture would wait for an answer.
        connect(&closer, &QTimer::timeout, &driver.window, [] {
            if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget()))
                menu->close();
        });
        closer.start(20);
        int exported = 0;
        for (LineChart* chart : driver.page()->findChildren<LineChart*>()) {
            auto* source = static_cast<FigureSource*>(chart);
            if (!chart->isVisible() || !driver.page()->figures().contains(source))
                continue;
            KeysDriver::clickInto(chart);
            driver.trigger(QStringLiteral("Export figure…"));
            auto* dialog = driver.window.findChild<ExportDialog*>();
            QVERIFY(dialog);
            const auto fields = dialog->findChildren<QPlainTextEdit*>();
            const auto caption =
                std::ranges::find(fields, QStringLiteral("Caption"), &QPlainTextEdit::accessibleName);
            QVERIFY(caption != fields.end());
            QCOMPARE((*caption)->toPlainText(), figureCaption(*source));
            dialog->reject();
            QTRY_VERIFY(!driver.window.findChild<ExportDialog*>());
            ++exported;
        }
        QVERIFY(exported > 1);
    }

    void aPictureHasOneMenu()
    {
        KeysDriver driver;
        driver.show(QStringLiteral("All heads"));
        QTRY_VERIFY(driver.shown<LineChart>() && driver.page()->figures().size() > 1);
        auto* scatter = driver.shown<LineChart>();
        int menus = 0;
        QTimer closer; // The menu waits for an answer.
        connect(&closer, &QTimer::timeout, &driver.window, [&menus] {
            auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            if (!menu)
                return;
            ++menus;
            menu->close();
        });
        closer.start(10);
        emit scatter->customContextMenuRequested(scatter->rect().center());
        QCOMPARE(menus, 1);
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(PictureKeysTest)
#include "picture_keys_test.moc"
