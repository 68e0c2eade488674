#include "app/about_dialog.h"
#include "app/main_window.h"
#include "app/preferences_dialog.h"
#include "ui/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

using namespace headwise;
using namespace headwise::app;

namespace {

/// The control with this accessible name, as a screen reader finds it.
template <typename Control>
Control* named(QWidget* parent, const QString& name)
{
    for (Control* control : parent->findChildren<Control*>())
        if (control->accessibleName() == name)
            return control;
    return nullptr;
}

void choose(QComboBox* box, const QString& text)
{
    box->setFocus();
    box->setCurrentIndex(box->findText(text));
    emit box->activated(box->currentIndex());
}

template <typename Button>
void click(QWidget* parent, const QString& text)
{
    for (Button* button : parent->findChildren<Button*>())
        if (button->text().remove(u'&') == text)
            return QTest::mouseClick(button, Qt::LeftButton);
    QFAIL(qPrintable(QStringLiteral("no button ") + text));
}

void grab(QWidget* widget, const QString& name)
{
    if (const QString folder = qEnvironmentVariable("HEADWISE_SCREENSHOTS"); !folder.isEmpty())
        widget->grab().save(folder
                            + QStringLiteral("/%1-%2x.png").arg(name).arg(widget->devicePixelRatioF()));
}

} // namespace

/// What is decided once, and what the program says of itself.
class PreferencesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_folder.path());
        QCoreApplication::setOrganizationName(QStringLiteral("headwise-test"));
        ui::applyTheme(*qApp, ui::ThemeMode::Light);
    }

    void choicesHoldAtOnceAndAfterwards()
    {
        {
            MainWindow window;
            window.show();
            window.activateWindow();
            QVERIFY(QTest::qWaitForWindowActive(&window));
            QTest::keyClick(&window, Qt::Key_Comma, Qt::ControlModifier);
            auto* dialog = window.findChild<PreferencesDialog*>();
            QVERIFY(dialog);
            QTRY_VERIFY(dialog->isVisible());
            grab(dialog, QStringLiteral("preferences-light"));
            click<QToolButton>(dialog, QStringLiteral("Dark"));
            QCOMPARE(QApplication::palette().color(QPalette::Window), ui::darkColors().window);
            choose(named<QComboBox>(dialog, QStringLiteral("Recovery copy")), QStringLiteral("never"));
            choose(named<QComboBox>(dialog, QStringLiteral("Threads")), QStringLiteral("1"));
            QTest::qWait(50);
            grab(dialog, QStringLiteral("preferences-dark"));
            QTest::keyClick(dialog, Qt::Key_Escape);
        }
        // Kept at once, not on closing: a crash does not forget them.
        const Settings kept = readSettings();
        QCOMPARE(kept.theme, ui::ThemeMode::Dark);
        QCOMPARE(kept.autosaveMinutes, 0.0);
        QCOMPARE(kept.autosaveInterval().count(), 0);
        QCOMPARE(kept.threads, 1);
        ui::applyTheme(*qApp, ui::ThemeMode::Light);
    }

    void settingsThatAreDamagedAreLeftOut()
    {
        QSettings store;
        store.setValue(QStringLiteral("autosaveMinutes"), QStringLiteral("nan"));
        store.setValue(QStringLiteral("threads"), -7);
        const Settings settings = readSettings();
        QCOMPARE(settings.autosaveMinutes, 3.0);
        QCOMPARE(settings.threads, 0);
        store.setValue(QStringLiteral("autosaveMinutes"), 1e300);
        QCOMPARE(readSettings().autosaveMinutes, 3.0);
        store.clear();
    }

    void aboutNamesWhatItRunsOn()
    {
        MainWindow window;
        window.show();
        AboutDialog about(&window);
        about.show();
        QTest::qWait(50);
        grab(&about, QStringLiteral("about-light"));
        click<QPushButton>(&about, QStringLiteral("Copy diagnostics"));
        const QString copied = QGuiApplication::clipboard()->text();
        for (const char* name : {"Headwise: 0.", "Qt: 6.", "Eigen: 3.",
                                 "OpenBLAS: ", "SIMD kernel: ", "HDF5: 1.", "Build: ", "offscreen"})
            QVERIFY2(copied.contains(QLatin1String(name)), name);
        QVERIFY(!copied.contains(QDir::homePath()));
    }

private:
    QTemporaryDir m_folder;
};

QTEST_MAIN(PreferencesTest)
#include "preferences_test.moc"
