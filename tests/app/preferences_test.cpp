#include "app/window/about_dialog.h"
#include "app/window/preferences_dialog.h"
#include "core/results/color_vision.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QLockFile>
#include <QPushButton>
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

/// Waits until nothing is left to compute.
void openDemoIn(MainWindow& window)
{
    test::beginOn(test::FirstPage::Overview, window);
    window.openDemo();
    QTRY_VERIFY(window.workspace()->model()->isOpen() && !window.workspace()->runs()->job()->isRunning()
                && window.workspace()->runs()->waiting().empty());
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

/// Preferences, and the program's description of itself.
class PreferencesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void theColoursFollowASystemThatChanges()
    {
        MainWindow window;
        window.show();
        const auto choose = [&window](ui::ThemeMode mode) {
            for (QAction* choice : window.findChildren<QAction*>(QStringLiteral("theme")))
                if (choice->data().toInt() == static_cast<int>(mode))
                    choice->trigger();
        };
        const auto isDark = [] { return ui::themeColors(QApplication::palette()).dark; };
        const auto change = [&window] {
            QEvent changed(QEvent::ThemeChange); // what Qt sends to every window then
            QApplication::sendEvent(&window, &changed);
            QCoreApplication::processEvents(); // The system is asked in an event of its own.
        };
        QVERIFY(!ui::systemIsDark());
        choose(ui::ThemeMode::System);
        ui::applyTheme(*qApp, ui::ThemeMode::Dark); // what the system was until now
        change();
        QVERIFY(!isDark());
        choose(ui::ThemeMode::Dark); // An explicit choice stays.
        change();
        QVERIFY(isDark());
        choose(ui::ThemeMode::System);
        QVERIFY(!isDark());
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
            const auto* focused = qobject_cast<QToolButton*>(dialog->focusWidget());
            QVERIFY2(focused && focused->isChecked(), "two themes have a frame, as if both were chosen");
            click<QToolButton>(dialog, QStringLiteral("Dark"));
            QCOMPARE(QApplication::palette().color(QPalette::Window), ui::darkColors().window);
            choose(named<QComboBox>(dialog, QStringLiteral("Recovery copy")), QStringLiteral("never"));
            choose(named<QComboBox>(dialog, QStringLiteral("Threads")), QStringLiteral("1"));
            choose(named<QComboBox>(dialog, QStringLiteral("Matrices")), QStringLiteral("Cividis"));
            choose(named<QComboBox>(dialog, QStringLiteral("Signed values")), QStringLiteral("Red to blue"));
            for (const ui::HeatmapView* view : window.findChildren<ui::HeatmapView*>())
                if (isSigned(view->colors()->scale().map))
                    QVERIFY(view->colors()->scale().inverted);
                else
                    QVERIFY(view->colors()->scale().map != ColorMap::Viridis);
            grab(dialog, QStringLiteral("preferences-dark"));
            QTest::keyClick(dialog, Qt::Key_Escape);
        }
        // Saved at once, not on closing: a crash does not lose them.
        const Settings kept = readSettings();
        QCOMPARE(kept.theme, ui::ThemeMode::Dark);
        QCOMPARE(kept.autosaveMinutes, 0.0);
        QCOMPARE(kept.autosaveInterval().count(), 0);
        QCOMPARE(kept.threads, 1);
        QCOMPARE(kept.colors, (ui::ColorChoice{ColorMap::Cividis, true}));
        ui::applyTheme(*qApp, ui::ThemeMode::Light);
    }

    void picturesBeginWithTheColoursThatWereChosen()
    {
        Settings settings = readSettings();
        settings.colors = {ColorMap::Cividis, true};
        writeSettings(settings);
        MainWindow window;
        window.show();
        openDemoIn(window);
        auto* score = named<QComboBox>(&window, QStringLiteral("Score of the heads"));
        const auto* heads = named<ui::HeatmapView>(&window, QStringLiteral("Heads"));
        choose(score, score->itemText(score->findText(QStringLiteral("Copying"))));
        QCOMPARE(heads->colors()->scale().map, ColorMap::Signed);
        QVERIFY(heads->colors()->scale().inverted);
        const int norm = score->findText(QStringLiteral("norm"), Qt::MatchContains);
        choose(score, score->itemText(norm));
        QCOMPARE(heads->colors()->scale().map, ColorMap::Cividis);
        settings.colors = {};
        writeSettings(settings);
        ui::setColorChoice({});
        QCOMPARE(heads->colors()->scale().map, ColorMap::Viridis);
    }

    void whatEndsWithoutClosingHasKeptEverything()
    {
        QSettings().clear();
        {
            MainWindow window;
            window.show();
            openDemoIn(window);
            for (QDockWidget* dock : window.findChildren<QDockWidget*>())
                dock->setVisible(dock->objectName() == QLatin1String("jobs"));
            for (QAction* choice : window.findChildren<QAction*>(QStringLiteral("theme")))
                if (choice->data().toInt() == static_cast<int>(ui::ThemeMode::Dark))
                    choice->trigger();
            ui::setClassColor(QStringLiteral("induction"), Qt::red);
        } // as after a crash: nothing was closed
        const Settings kept = readSettings();
        QCOMPARE(kept.recentFiles.size(), 1);
        QCOMPARE(QFileInfo(kept.recentFiles.first()).canonicalFilePath(),
                 QFileInfo(QStringLiteral(HEADWISE_DEMO_MODEL)).canonicalFilePath());
        QCOMPARE(kept.recentCards[kept.recentFiles.first()].layers, 2);
        QCOMPARE(kept.theme, ui::ThemeMode::Dark);
        QCOMPARE(kept.colors.classes, (QMap<QString, QColor>{{QStringLiteral("induction"), Qt::red}}));
        MainWindow next;
        next.show();
        openDemoIn(next);
        for (const QDockWidget* dock : next.findChildren<QDockWidget*>())
            QCOMPARE(dock->isVisible(), dock->objectName() == QLatin1String("jobs"));
        ui::setColorChoice({});
        ui::applyTheme(*qApp, ui::ThemeMode::Light);
        QSettings().clear();
    }

    void twoWindowsKeepWhatEachOtherHasFound()
    {
        QSettings().clear();
        const QString copy = m_folder.filePath(QStringLiteral("copy"));
        QVERIFY(QDir().mkpath(copy));
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                copy + u'/' + QLatin1String(name)));
        {
            MainWindow first, second; // both have read empty settings
            first.show();
            second.show();
            openDemoIn(first);
            second.openPath(copy);
            QTRY_COMPARE(readSettings().recentFiles.size(), 2);
            ui::setClassColor(QStringLiteral("copying"), Qt::blue);
            // Another program changes the same settings meanwhile.
            Settings elsewhere = readSettings();
            elsewhere.colors.classes[QStringLiteral("induction")] = Qt::red;
            elsewhere.addRecent(QStringLiteral("/elsewhere"), {1, 1, 1, {}, QDate(2026, 1, 1)});
            writeSettings(elsewhere);
            second.close();
            first.close(); // the last one, which knows the least
        }
        const Settings kept = readSettings();
        QCOMPARE(kept.recentFiles.size(), 3);
        QCOMPARE(kept.recentFiles[0], QStringLiteral("/elsewhere"));
        QCOMPARE(kept.recentFiles[1], copy);
        QCOMPARE(kept.colors.classes,
                 (QMap<QString, QColor>{{QStringLiteral("copying"), Qt::blue},
                                        {QStringLiteral("induction"), Qt::red}}));
        ui::setColorChoice({});
        QSettings().clear();
    }

    /// A lock on the file stands for a disk that takes its time.
    void aWindowDoesNotWaitUntilItsSettingsAreWritten()
    {
        QSettings().clear();
        MainWindow window;
        window.show();
        const QString file = QSettings().fileName();
        QVERIFY(QDir().mkpath(QFileInfo(file).path()));
        QLockFile busy(file + QStringLiteral(".lock"));
        QVERIFY(busy.lock());
        const auto isWritten = [&file] {
            QFile settings(file);
            return settings.open(QIODevice::ReadOnly) && settings.readAll().contains("classColors");
        };
        ui::setClassColor(QStringLiteral("induction"), Qt::red);
        QVERIFY(!isWritten());
        busy.unlock();
        QCOMPARE(readSettings().colors.classes,
                 (QMap<QString, QColor>{{QStringLiteral("induction"), Qt::red}}));
        QVERIFY(isWritten());
        ui::setColorChoice({});
        QSettings().clear();
    }

    void matricesAreShownAsOthersSeeThemAndExportedAsTheyAre()
    {
        MainWindow window;
        window.resize(1280, 800);
        window.show();
        openDemoIn(window);
        auto* heads = named<ui::HeatmapView>(&window, QStringLiteral("Heads"));
        const auto cell = [&] {
            return (heads->cells().rect(0, 2).center() * heads->devicePixelRatioF()).toPoint();
        };
        const auto color = [&] { return heads->grab().toImage().pixel(cell()); };
        const Rgb normal = color();
        const FigureSettings paper{.format = FigureFormat::Png};
        const QImage exported = ui::figureImage(*heads, paper, 100);
        const auto see = [&](const QString& vision) {
            for (QAction* action : window.findChildren<QAction*>())
                if (action->text() == vision)
                    return action->trigger();
            QFAIL(qPrintable(vision));
        };
        const auto said = [&] {
            for (const QLabel* label : window.findChildren<QLabel*>())
                if (label->isVisible() && label->text().startsWith(QStringLiteral("as seen with")))
                    return label->text();
            return QString();
        };
        QCOMPARE(said(), QString());
        for (const auto& [name, vision] : {std::pair("Deuteranopia", ColorVision::Deuteranopia),
                                           std::pair("Protanopia", ColorVision::Protanopia),
                                           std::pair("Tritanopia", ColorVision::Tritanopia)}) {
            see(QLatin1StringView(name));
            QCOMPARE(color(), simulated(normal, vision));
            QVERIFY(color() != normal);
            QCOMPARE(said(), QStringLiteral("as seen with ") + QLatin1StringView(name).toString().toLower());
            grab(&window, QStringLiteral("seen-") + QLatin1StringView(name));
            QCOMPARE(ui::figureImage(*heads, paper, 100), exported);
        }
        see(QStringLiteral("Normal colour vision"));
        QCOMPARE(color(), normal);
        QCOMPARE(said(), QString());
    }

    void settingsThatAreDamagedAreLeftOut()
    {
        QSettings store;
        store.setValue(QStringLiteral("sequentialColors"), QStringLiteral("rainbow"));
        QCOMPARE(readSettings().colors, ui::ColorChoice());
        store.setValue(QStringLiteral("classColors"),
                       QVariantMap{{QStringLiteral("induction"), QStringLiteral("#12ab34")},
                                   {QStringLiteral("copying"), QStringLiteral("no colour")}});
        QCOMPARE(readSettings().colors.classes,
                 (QMap<QString, QColor>{{QStringLiteral("induction"), QColor(0x12, 0xab, 0x34)}}));
        Settings again = readSettings();
        again.colors.classes[QStringLiteral("copying")] = Qt::red;
        writeSettings(again);
        QCOMPARE(readSettings().colors, again.colors);
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
        QVERIFY(QTest::qWaitForWindowExposed(&about));
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

HEADWISE_TEST(PreferencesTest)
#include "preferences_test.moc"
