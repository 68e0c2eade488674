#include "app/main_window.h"
#include "core/analysis/token_table.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "ui/figure_export.h"
#include "ui/models/head_table_model.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/config_dialog.h"
#include "ui/pages/export_dialog.h"
#include "ui/pages/page.h"
#include "ui/pages/result_page.h"
#include "ui/pages/start_page.h"
#include "ui/text.h"
#include "ui/views/heatmap_view.h"
#include "ui/views/token_edit.h"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolBar>

#include <cmath>

using namespace headwise;
using namespace headwise::ui;
using headwise::app::MainWindow;

namespace {

constexpr int patience = 20000; // ms, under a loaded machine

/// The window in use, found as a user finds it: by what is shown.
class Driver {
public:
    MainWindow window;

    Driver()
    {
        window.resize(1360, 860);
        window.show();
    }

    Workspace& workspace() { return *window.workspace(); }
    QTabWidget* tabs() { return window.findChild<QTabWidget*>(); }
    Page* page() { return tabs()->currentWidget()->findChild<Page*>(); }

    bool isComplete()
    {
        const ResultSet& results = *workspace().results();
        return results.find("scores/copying") && results.find("composition/k")
            && results.find("scores/matching") && results.find("eigenvalues/full_ov")
            && !workspace().analysisJob()->isRunning();
    }

    void openDemo()
    {
        window.openDemo();
        waitForAnalyses();
    }

    void waitForAnalyses()
    {
        QTRY_VERIFY_WITH_TIMEOUT(workspace().isOpen(), patience);
        QTRY_VERIFY_WITH_TIMEOUT(isComplete(), patience);
    }

    void trigger(const QString& text)
    {
        for (QAction* action : window.findChildren<QAction*>())
            if (QString(action->text()).remove(u'&') == text)
                return action->trigger();
        QFAIL(qPrintable(QStringLiteral("no action ") + text));
    }

    /// Answers the question that closing with unsaved notes asks.
    void discardNotes()
    {
        QTimer::singleShot(0, &window, [this] {
            for (QMessageBox* box : window.findChildren<QMessageBox*>())
                if (QAbstractButton* discard = box->button(QMessageBox::Discard))
                    discard->click();
        });
        window.close();
    }

    QStringList tokens(QTableView* table)
    {
        QStringList shown;
        for (int row = 0; row < table->model()->rowCount(); ++row)
            shown << table->model()->index(row, TokenTableModel::TokenColumn).data().toString();
        return shown;
    }
};

} // namespace

class MainWindowTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_folder.path());
        QCoreApplication::setOrganizationName(QStringLiteral("headwise-test"));
        applyTheme(*qApp, ThemeMode::Light);
    }

    void anEmptyWindowInvites()
    {
        Driver driver;
        QVERIFY(driver.window.findChild<StartPage*>()->isVisible());
        for (QDockWidget* dock : driver.window.findChildren<QDockWidget*>())
            QVERIFY(!dock->isVisible());
    }

    void theDemoShowsItsStory()
    {
        Driver driver;
        driver.openDemo();
        auto* ranking =
            driver.window.findChild<QDockWidget*>(QStringLiteral("heads"))->findChild<QTableView*>();
        QCOMPARE(ranking->model()->rowCount(), 16);
        // truth.json: 0.1 looks one token back; 1.5, 1.0 and 1.7 continue what they found.
        const ResultArray* previous = driver.workspace().results()->find("scores/previous_token");
        QVERIFY(previous);
        const auto& scores = std::get<std::vector<float>>(previous->values);
        QCOMPARE(std::max_element(scores.begin(), scores.begin() + 8) - scores.begin(), 1);
    }

    void arrowKeysMoveThroughTheGridAndEveryViewFollows()
    {
        Driver driver;
        driver.openDemo();
        auto* grid =
            driver.window.findChild<QDockWidget*>(QStringLiteral("heads"))->findChild<HeatmapView*>();
        grid->setFocus();
        QTest::keyClick(grid, Qt::Key_Down);
        QTest::keyClick(grid, Qt::Key_Right);
        QCOMPARE(driver.workspace().head(), (HeadId{1, 1}));
        QVERIFY(driver.window.findChild<QLabel*>()->window());
        driver.trigger(QStringLiteral("Back"));
        QCOMPARE(driver.workspace().head(), (HeadId{1, 0}));
    }

    void aClickOnTheGridChoosesThatHead()
    {
        Driver driver;
        driver.openDemo();
        auto* grid =
            driver.window.findChild<QDockWidget*>(QStringLiteral("heads"))->findChild<HeatmapView*>();
        QTest::mouseClick(grid, Qt::LeftButton, Qt::NoModifier, grid->cellRect(1, 3).center().toPoint());
        QCOMPARE(driver.workspace().head(), (HeadId{1, 3}));
    }

    void aDroppedFolderIsOpened()
    {
        Driver driver;
        QMimeData dropped;
        dropped.setUrls({QUrl::fromLocalFile(QStringLiteral(HEADWISE_DEMO_MODEL))});
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &drop);
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().isOpen(), patience);
    }

    void aTokenIsFoundByItsTextAndItsTablesAreShown()
    {
        Driver driver;
        driver.openDemo();
        auto* search = driver.window.findChild<QToolBar*>()->findChild<TokenEdit*>();
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral(" king"));
        QTest::keyClick(search, Qt::Key_Return);
        QCOMPARE(driver.workspace().tokenText(driver.workspace().token()), QStringLiteral("␣king"));
        const auto tables = driver.page()->findChildren<QTableView*>();
        QCOMPARE(tables.size(), 2);
        QTRY_VERIFY_WITH_TIMEOUT(tables.first()->model()->rowCount() > 0, patience);
        // The first row on the screen is core's first.
        const auto line = tokenLine(*driver.workspace().circuits(), *driver.workspace().tokens(),
                                    {CircuitKind::FullOv, driver.workspace().head()}, TableSide::Row,
                                    driver.workspace().token());
        QVERIFY(line);
        const TokenEntry best = ends(*line, 1, {}).top.front();
        QCOMPARE(tables.first()->model()->index(0, TokenTableModel::IdColumn).data().toString(),
                 QString::number(best.id));
    }

    void everyPageHasPicturesThatExport()
    {
        Driver driver;
        driver.openDemo();
        driver.workspace().setHead({1, 5});
        driver.workspace().setReference(HeadId{0, 1});
        driver.workspace().runAnalysis("relations");
        driver.workspace().compareWith({HEADWISE_DEMO_MODEL, std::nullopt, {}});
        for (int i = 0; i < driver.tabs()->count(); ++i) {
            driver.tabs()->setCurrentIndex(i);
            const QString name = driver.tabs()->tabText(i);
            if (name == QLatin1String("Model"))
                continue; // words, no picture
            if (name == QLatin1String("Prompt"))
                driver.page()->findChild<QAbstractButton*>()->click();
            QTRY_VERIFY2_WITH_TIMEOUT(!driver.page()->figures().isEmpty(), qPrintable(name), patience);
            for (FigureSource* source : driver.page()->figures()) {
                QVERIFY(!source->figureTitle().isEmpty());
                QVERIFY(!source->provenance().isEmpty());
                for (const char* type : {"png", "svg", "pdf", "csv"}) {
                    const QString file = m_folder.filePath(QStringLiteral("figure.") + QLatin1String(type));
                    FigureSettings settings;
                    settings.format = *figureFormatOf(file);
                    const auto exported = exportFigure(*source, file, settings);
                    QVERIFY2(exported, exported ? "" : exported.error().message.c_str());
                    QVERIFY(QFileInfo(file).size() > (settings.format == FigureFormat::Csv ? 20 : 200));
                }
            }
        }
    }

    void aSessionKeepsHeadTokenPageNotesAndIsReadWithoutItsModel()
    {
        const QString model = m_folder.filePath(QStringLiteral("model"));
        QVERIFY(QDir().mkpath(model));
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                model + u'/' + QLatin1String(name)));
        const QString file = m_folder.filePath(QStringLiteral("session.h5"));
        int token = 0;
        {
            Driver driver;
            driver.window.openPath(model);
            QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().isOpen() && driver.isComplete(), patience);
            driver.workspace().setHead({1, 5});
            token = driver.workspace().token() + 3;
            driver.workspace().setToken(token);
            driver.workspace().setNote({1, 5}, QStringLiteral("induction"));
            driver.window.showPage(QStringLiteral("spectrum"));
            QSignalSpy saved(&driver.workspace(), &Workspace::sessionSaved);
            driver.window.saveTo(file);
            QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, patience);
            QVERIFY(!driver.workspace().isModified());
            driver.window.close();
        }
        QVERIFY(QFile::rename(model, model + QStringLiteral("-away")));
        Driver driver;
        driver.window.openPath(file);
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().isOpen(), patience);
        QCOMPARE(driver.workspace().head(), (HeadId{1, 5}));
        QCOMPARE(driver.workspace().token(), token);
        QCOMPARE(driver.workspace().note({1, 5}), QStringLiteral("induction"));
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Spectrum"));
        QVERIFY(!driver.workspace().hasModel());
        QVERIFY(driver.workspace().results()->find("composition/k"));
        QVERIFY(!driver.page()->figures().isEmpty());
        QVERIFY(driver.window.findChild<QLabel*>(QStringLiteral("banner"))->isVisible());
    }

    void whatCannotBeOpenedIsSaidOnTheStartPage_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("said");
        const auto folder = [this](const char* name, std::initializer_list<const char*> copied) {
            const QString made = m_folder.filePath(QLatin1String(name));
            QDir().mkpath(made);
            for (const char* file : copied)
                QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(file),
                            made + u'/' + QLatin1String(file));
            return made;
        };
        const auto write = [](const QString& path, const QByteArray& bytes) {
            QFile file(path);
            return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() ? path : QString();
        };
        QTest::newRow("nothing there")
            << m_folder.filePath(QStringLiteral("nowhere")) << QStringLiteral("nowhere");
        QTest::newRow("not a model") << write(m_folder.filePath(QStringLiteral("notes.txt")), "not a model\n")
                                     << QStringLiteral("notes.txt");
        QTest::newRow("empty folder") << folder("empty", {}) << QStringLiteral("empty");
        QTest::newRow("no weights") << folder("bare", {"config.json"}) << QStringLiteral("bare");
        const QString cut = folder("cut", {"config.json", "model.safetensors"});
        QFile::resize(cut + QStringLiteral("/model.safetensors"), 1000000);
        QTest::newRow("truncated") << cut << QStringLiteral("model.safetensors");
        const QString pointer = folder("pointer", {"config.json"});
        write(pointer + QStringLiteral("/model.safetensors"),
              "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n");
        QTest::newRow("LFS pointer") << pointer << QStringLiteral("git lfs pull");
        const QString session = m_folder.filePath(QStringLiteral("broken.h5"));
        QTest::newRow("broken session")
            << write(session, "\x89HDF\r\n\x1a\nbroken") << QStringLiteral("broken.h5");
    }
    void whatCannotBeOpenedIsSaidOnTheStartPage()
    {
        QFETCH(QString, path);
        QFETCH(QString, said);
        Driver driver;
        driver.window.openPath(path);
        const auto isSaid = [&] {
            for (QLabel* label : driver.window.findChild<StartPage*>()->findChildren<QLabel*>())
                if (label->isVisible() && label->text().contains(said))
                    return true;
            return false;
        };
        QTRY_VERIFY_WITH_TIMEOUT(isSaid(), patience);
        QVERIFY(!driver.workspace().isOpen());
    }

    void aModelWithoutAConfigIsAskedAbout()
    {
        const QString model = m_folder.filePath(QStringLiteral("nameless"));
        QVERIFY(QDir().mkpath(model));
        QVERIFY(QFile::copy(QStringLiteral(HEADWISE_TEST_DATA "/models/modadd-1l/modadd_seed0.pt"),
                            model + QStringLiteral("/modadd_seed0.pt")));
        Driver driver;
        driver.window.show();
        driver.window.openPath(model);
        QTRY_VERIFY_WITH_TIMEOUT(driver.window.findChild<ConfigDialog*>(), patience);
        auto* dialog = driver.window.findChild<ConfigDialog*>();
        auto* answer = dialog->findChild<QLineEdit*>(QStringLiteral("act_fn"));
        QVERIFY(answer);
        QPushButton* open = nullptr;
        for (QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("&Open"))
                open = button;
        QVERIFY(open && !open->isEnabled());
        QTest::keyClicks(answer, QStringLiteral("relu"));
        QVERIFY(open->isEnabled());
        if (const QByteArray folder = qgetenv("HEADWISE_SCREENSHOTS"); !folder.isEmpty())
            dialog->grab().save(QString::fromLocal8Bit(folder) + QStringLiteral("/config-dialog.png"));
        QTest::mouseClick(open, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().isOpen(), patience);
        QCOMPARE(driver.workspace().card().nHeads, 4);
        QCOMPARE(driver.workspace().weights()->config().activation, Activation::Relu);
    }

    void withoutATokenizerIdsStandForTokens()
    {
        const QString model = m_folder.filePath(QStringLiteral("wordless"));
        QVERIFY(QDir().mkpath(model));
        for (const char* name : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                model + u'/' + QLatin1String(name)));
        Driver driver;
        driver.window.openPath(model);
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().isOpen() && driver.isComplete(), patience);
        driver.window.showPage(QStringLiteral("tokens"));
        const auto tables = driver.page()->findChildren<QTableView*>();
        QTRY_VERIFY_WITH_TIMEOUT(tables.first()->model()->rowCount() > 0, patience);
        QVERIFY(driver.tokens(tables.first()).first().startsWith(u'#'));
    }

    void anAddedTokenizerBringsTheTextsToEveryPage()
    {
        const QString model = m_folder.filePath(QStringLiteral("wordless, to be told"));
        QVERIFY(QDir().mkpath(model));
        for (const char* name : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                model + u'/' + QLatin1String(name)));
        Driver driver;
        driver.window.openPath(model);
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().isOpen() && driver.isComplete(), patience);
        const auto* banner = driver.window.findChild<QLabel*>(QStringLiteral("banner"));
        QVERIFY(banner->isVisible() && banner->text().contains(QStringLiteral("Add tokenizer…")));
        driver.window.showPage(QStringLiteral("tokens"));
        const auto tables = driver.page()->findChildren<QTableView*>();
        QTRY_VERIFY_WITH_TIMEOUT(tables.first()->model()->rowCount() > 0, patience);

        QSignalSpy failed(&driver.workspace(), &Workspace::failed);
        driver.workspace().addTokenizer(HEADWISE_DEMO_MODEL "/tokenizer.json");
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().tokenizer(), patience);
        QVERIFY(!banner->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(tables.first()->model()->rowCount() > 0
                                     && !driver.tokens(tables.first()).first().startsWith(u'#'),
                                 patience);
        QVERIFY(!driver.workspace().tokenText(300).startsWith(u'#'));
        QTRY_VERIFY_WITH_TIMEOUT(driver.isComplete(), patience);
        driver.window.showPage(QStringLiteral("prompt"));
        QVERIFY(driver.page()->findChild<QLineEdit*>()->isEnabled());
        QCOMPARE(failed.count(), 0);

        const QString session = m_folder.filePath(QStringLiteral("told.h5"));
        driver.window.saveTo(session);
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(session), patience);
        const auto stored = readSession(session.toStdString(), {});
        QVERIFY(test::isOk(stored));
        QCOMPARE(stored->tokens.at(300), driver.workspace().tokenText(300).toStdString());
    }

    void anAddedTokenizerThatIsNoneIsSaidAndNothingChanges()
    {
        Driver driver;
        driver.openDemo();
        const auto before = driver.workspace().tokenizer();
        QSignalSpy failed(&driver.workspace(), &Workspace::failed);
        QTimer::singleShot(500, &driver.window, [&driver] {
            for (QMessageBox* box : driver.window.findChildren<QMessageBox*>())
                box->close();
        });
        driver.workspace().addTokenizer(HEADWISE_DEMO_MODEL "/model.safetensors");
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, patience);
        QVERIFY(failed.first().first().toString().contains(QStringLiteral("no tokenizer")));
        QCOMPARE(driver.workspace().tokenizer(), before);
    }

    void anotherModelThatFailsLeavesTheOpenOne()
    {
        Driver driver;
        driver.openDemo();
        driver.window.openPath(m_folder.filePath(QStringLiteral("nowhere")));
        QTRY_VERIFY_WITH_TIMEOUT(driver.window.findChild<QMessageBox*>(), patience);
        QVERIFY(driver.window.findChild<QMessageBox*>()->text().contains(QLatin1String("nowhere")));
        QVERIFY(driver.workspace().isOpen());
        driver.window.findChild<QMessageBox*>()->close();
    }

    void aSessionThatCannotBeSavedIsSaidAndTheNotesStayUnsaved()
    {
        Driver driver;
        driver.openDemo();
        driver.workspace().setNote({0, 1}, QStringLiteral("previous token"));
        QSignalSpy failed(&driver.workspace(), &Workspace::failed);
        driver.window.saveTo(m_folder.filePath(QStringLiteral("no/such/folder/session.h5")));
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, patience);
        QVERIFY(failed.first().first().toString().contains(QLatin1String("no/such/folder")));
        QVERIFY(driver.workspace().isModified());
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        driver.window.findChild<QMessageBox*>()->close();
        driver.workspace().setNote({0, 1}, {});
        driver.discardNotes();
    }

    void rawWeightsAndOtherEmbeddingsAreComputedAnew()
    {
        Driver driver;
        driver.openDemo();
        const auto copying = [&driver] {
            return std::get<std::vector<float>>(driver.workspace().results()->find("scores/copying")->values);
        };
        const std::vector<float> processed = copying();
        QVERIFY(driver.workspace().isProcessed());
        driver.workspace().setProcessingWish(
            {StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off});
        QTRY_VERIFY_WITH_TIMEOUT(!driver.workspace().isProcessed() && driver.isComplete(), patience);
        QVERIFY(copying() != processed);
        driver.workspace().setProcessingWish({});
        QTRY_VERIFY_WITH_TIMEOUT(driver.workspace().isProcessed() && driver.isComplete(), patience);
        QCOMPARE(copying(), processed);
        driver.workspace().setEmbedding(Embedding::Unembed);
        QTRY_VERIFY_WITH_TIMEOUT(driver.isComplete() && copying() != processed, patience);
        // The demo has no MLP: that embedding does not exist, and the one in use stays.
        driver.workspace().setEmbedding(Embedding::Mlp0);
        QCOMPARE(driver.workspace().embedding(), Embedding::Unembed);
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        driver.window.findChild<QMessageBox*>()->close();
    }

    void theAnalysesMenuRunsOneAndItsPicturesHaveAMenu()
    {
        Driver driver;
        driver.openDemo();
        driver.trigger(QStringLiteral("Components for 90 % of the energy, numerical rank"));
        auto* page = dynamic_cast<ResultPage*>(driver.page());
        QVERIFY(page);
        QCOMPARE(page->analysis().id, std::string_view("ranks"));
        QTRY_VERIFY_WITH_TIMEOUT(!page->figures().isEmpty(), patience);
        for (FigureSource* source : page->figures())
            QCOMPARE(dynamic_cast<QWidget*>(source)->contextMenuPolicy(), Qt::CustomContextMenu);
    }

    /// Pictures of every page for a person to look at, where HEADWISE_SCREENSHOTS names a folder.
    void everyPageCanBeLookedAt()
    {
        const QString folder = qEnvironmentVariable("HEADWISE_SCREENSHOTS");
        if (folder.isEmpty())
            QSKIP("HEADWISE_SCREENSHOTS names no folder");
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark}) {
            const QString suffix =
                mode == ThemeMode::Light ? QStringLiteral("light") : QStringLiteral("dark");
            applyTheme(*qApp, mode);
            Driver driver;
            driver.window.grab().save(folder + QStringLiteral("/start-%1.png").arg(suffix));
            // Of any model that has a head L1H5.
            driver.window.openPath(
                qEnvironmentVariable("HEADWISE_SCREENSHOTS_OF", QStringLiteral(HEADWISE_DEMO_MODEL)));
            driver.waitForAnalyses();
            driver.workspace().setHead({1, 5});
            driver.workspace().setReference(HeadId{0, 1});
            driver.workspace().runAnalysis("relations");
            driver.workspace().compareWith({HEADWISE_DEMO_MODEL, std::nullopt, {}});
            const QString wanted = qEnvironmentVariable("HEADWISE_SCREENSHOT_PAGES"); // empty: all
            for (int i = 0; i < driver.tabs()->count(); ++i) {
                const QString name = driver.tabs()->tabText(i).toLower();
                if (!wanted.isEmpty() && !wanted.contains(name))
                    continue;
                driver.tabs()->setCurrentIndex(i);
                if (name == QLatin1String("prompt"))
                    driver.page()->findChild<QAbstractButton*>()->click();
                if (auto* page = dynamic_cast<ResultPage*>(driver.page()))
                    grabAnalyses(driver, *page, folder, suffix);
                QTest::qWait(700);
                driver.window.grab().save(folder + QStringLiteral("/%1-%2.png").arg(name, suffix));
                if (name == QLatin1String("matrix")) {
                    driver.page()->findChild<QComboBox*>()->setCurrentIndex(2);
                    QTest::qWait(700);
                    QTRY_VERIFY_WITH_TIMEOUT(!driver.page()->figures().isEmpty(), patience);
                    driver.window.grab().save(folder + QStringLiteral("/block-%1.png").arg(suffix));
                    ExportDialog dialog(driver.page()->figures().first(), {},
                                        folder + QStringLiteral("/figure"), &driver.window);
                    dialog.show();
                    QTest::qWait(700);
                    dialog.grab().save(folder + QStringLiteral("/export-%1.png").arg(suffix));
                }
            }
        }
        applyTheme(*qApp, ThemeMode::Light);
    }

private:
    /// Of those that HEADWISE_SCREENSHOTS_ANALYSES names, "all", or a few of different kinds.
    static void grabAnalyses(Driver& driver, ResultPage& page, const QString& folder, const QString& suffix)
    {
        const QString wanted =
            qEnvironmentVariable("HEADWISE_SCREENSHOTS_ANALYSES",
                                 QStringLiteral("spectra,composition,position_kernel,direct_path,induction"));
        driver.workspace().setReference(HeadId{0, 1});
        for (const Analysis& analysis : catalogue()) {
            const QString id = text(analysis.id);
            if (wanted != QLatin1String("all") && !wanted.split(u',').contains(id))
                continue;
            page.showAnalysis(analysis.id);
            page.run();
            QTest::qWait(100);
            QTRY_VERIFY_WITH_TIMEOUT(!driver.workspace().analysisJob()->isRunning(), patience);
            QTest::qWait(300);
            driver.window.grab().save(folder + QStringLiteral("/analysis-%1-%2.png").arg(id, suffix));
            auto* scroll = page.findChild<QScrollArea*>();
            for (int part = 2;
                 part < 5 && scroll->verticalScrollBar()->value() < scroll->verticalScrollBar()->maximum();
                 ++part) {
                scroll->verticalScrollBar()->setValue(scroll->verticalScrollBar()->value()
                                                      + scroll->viewport()->height() - 40);
                QTest::qWait(200);
                driver.window.grab().save(
                    folder + QStringLiteral("/analysis-%1-%2-%3.png").arg(id, suffix).arg(part));
            }
        }
        page.showAnalysis("copying");
    }

    QTemporaryDir m_folder;
};

QTEST_MAIN(MainWindowTest)
#include "main_window_test.moc"
