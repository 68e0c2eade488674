#include "core/series/series_record.h"
#include "tests/support/copying_series.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "tests/support/window_driver.h"
#include "ui/document/training_series.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

/// A series of checkpoints in the window.
class SeriesWindowTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::filesystem::path m_file;

    /// Opens the series in a window and waits for its page.
    void open(WindowDriver& driver)
    {
        driver.window.openPath(QString::fromStdString(m_file.string()));
        QTRY_VERIFY(driver.tabs()->currentName() == QLatin1String("training"));
        QTRY_VERIFY(driver.page()->isVisible());
    }

    /// Answers the question where to write a series.
    static void chooseSeriesFile(WindowDriver& driver, const QString& file)
    {
        QTRY_VERIFY(driver.window.findChild<QFileDialog*>());
        auto* dialog = driver.window.findChild<QFileDialog*>();
        QVERIFY(dialog->selectedFiles().first().endsWith(QLatin1String(".h5")));
        dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(file);
        static_cast<QDialog*>(dialog)->accept();
    }

    static bool says(WindowDriver& driver, const QString& words)
    {
        return std::ranges::any_of(driver.window.findChildren<QLabel*>(),
                                   [&](const QLabel* label) { return label->text().contains(words); });
    }

    static QPushButton* openStep(WindowDriver& driver)
    {
        for (auto* button : driver.page()->findChildren<QPushButton*>())
            if (button->text() == QLatin1String("Open this step"))
                return button;
        qFatal("there is no such button");
    }

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        const std::filesystem::path folder = m_folder.path().toStdString();
        SeriesRecord record;
        record.entries = test::copyingEntries(2, 3);
        for (const SeriesEntry& entry : record.entries)
            test::writeToyModel(folder / entry.name, test::ToyOptions());
        record.frame.model.name = "toy";
        record.frame.model.architecture = "toy";
        record.frame.model.nLayers = 2;
        record.frame.model.nHeads = record.frame.model.nKvHeads = 3;
        record.frame.model.dModel = record.frame.model.dHead = record.frame.model.dVocab = 8;
        m_file = folder / "series.h5";
        const auto written = writeSeriesRecord(m_file, record, Task{});
        QVERIFY2(written, written ? "" : written.error().message.c_str());
    }

    void aSeriesOpensWithoutItsCheckpoints()
    {
        WindowDriver driver;
        open(driver);
        QVERIFY(!driver.workspace().model()->hasModel());
        QVERIFY(driver.window.windowTitle().startsWith(QStringLiteral("toy · series.h5")));
        QVERIFY(driver.window.shows(m_file));
        const auto* banner = driver.window.findChild<QLabel*>(QStringLiteral("banner"));
        QVERIFY(banner->text().contains(QStringLiteral("No checkpoint of this series is open")));
        // Every page bears heads without sizes, and nothing overwrites the file.
        for (const QString& name : driver.tabs()->pageNames()) {
            driver.window.showPage(name);
            QTRY_VERIFY(waitForJobs(std::chrono::milliseconds(0)));
        }
        QVERIFY(driver.workspace().session()->isReadOnly());
        driver.workspace().opener()->close();
        QVERIFY(!TrainingSeries::isOpenIn(driver.workspace()));
    }

    void aDroppedSeriesOpens()
    {
        WindowDriver driver;
        QMimeData dragged;
        dragged.setUrls({QUrl::fromLocalFile(QString::fromStdString(m_file.string()))});
        QDragEnterEvent enter(QPoint(100, 100), Qt::CopyAction, &dragged, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(100, 100), Qt::CopyAction, &dragged, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &drop);
        QTRY_VERIFY(driver.tabs()->currentName() == QLatin1String("training"));
    }

    void aStepOpensAsTheModelWithItsHead()
    {
        WindowDriver driver;
        open(driver);
        driver.workspace().selection()->setHead({1, 2});
        QPushButton* button = openStep(driver);
        QVERIFY2(button->isEnabled(), qPrintable(button->toolTip()));
        button->click();
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        QTRY_COMPARE(driver.workspace().selection()->head(), (HeadId{1, 2}));
        QCOMPARE(driver.workspace().model()->files().source.path.filename(), std::filesystem::path("step2"));
        QTRY_COMPARE(driver.tabs()->currentName(), QStringLiteral("training"));
        QVERIFY(TrainingSeries::isOpenIn(driver.workspace()));
        // A model of other heads closes it.
        driver.window.openPath(QStringLiteral(HEADWISE_DEMO_MODEL));
        QTRY_VERIFY(!TrainingSeries::isOpenIn(driver.workspace()));
    }

    /// By the path of each checkpoint, such as a cached revision, which bears another name.
    void aSeriesElsewhereFindsItsCheckpoints()
    {
        const std::filesystem::path folder = m_folder.path().toStdString();
        auto read = readSeriesRecord(m_file, Task{});
        QVERIFY(read);
        SeriesRecord record = std::move(read).value();
        record.entries[0].path = (folder / "step2").string();
        record.entries[1].path = (folder / "moved" / "step2").string();
        QTemporaryDir elsewhere;
        const std::filesystem::path file = elsewhere.filePath(QStringLiteral("series.h5")).toStdString();
        QVERIFY(writeSeriesRecord(file, record, Task{}));
        const auto opened = openSeriesFile(file, Task{});
        QVERIFY(opened);
        QCOMPARE((*opened)->members[0], folder / "step2");
        QVERIFY((*opened)->members[1].empty());
        std::filesystem::create_directory(file.parent_path() / "step2");
        QCOMPARE((*openSeriesFile(file, Task{}))->members[1], file.parent_path() / "step2");
    }

    void aFolderOfCheckpointsIsComputedAndOpened()
    {
        const QString file = m_folder.filePath(QStringLiteral("made.h5"));
        WindowDriver driver;
        driver.window.openPath(m_folder.path());
        chooseSeriesFile(driver, file);
        QTRY_COMPARE(driver.tabs()->currentName(), QStringLiteral("training"));
        const Series& made = TrainingSeries::of(&driver.workspace())->series();
        QCOMPARE(made.steps, (std::vector<std::int32_t>{1, 2}));
        QVERIFY(std::ranges::all_of(made.problems, &std::string::empty));
        QVERIFY(!made.scores.empty());
        QVERIFY(driver.window.shows(file.toStdString()));
        QVERIFY(!QFile::exists(file + QStringLiteral(".partial")));
    }

    void aStoppedSeriesSaysHowToGoOn()
    {
        const QString file = m_folder.filePath(QStringLiteral("stopped.h5"));
        WindowDriver driver;
        driver.window.openPath(m_folder.path());
        Job* job = TrainingSeries::of(&driver.workspace())->job();
        connect(job, &Job::started, job, &Job::cancel, Qt::SingleShotConnection);
        chooseSeriesFile(driver, file);
        QTRY_VERIFY(says(driver, QStringLiteral("open the folder again")));
        QVERIFY(says(driver, QStringLiteral("stopped.h5.partial")));
        QVERIFY(!QFile::exists(file));
        driver.window.openPath(m_folder.path());
        chooseSeriesFile(driver, file);
        QTRY_VERIFY(driver.window.shows(file.toStdString()));
    }

    void anotherFileIsNotOverwritten()
    {
        const QString file = m_folder.filePath(QStringLiteral("notes.h5"));
        QFile notes(file);
        QVERIFY(notes.open(QIODevice::WriteOnly) && notes.write("mine") == 4);
        notes.close();
        WindowDriver driver;
        driver.window.openPath(m_folder.path());
        chooseSeriesFile(driver, file);
        QTRY_VERIFY(says(driver, QStringLiteral("notes.h5")));
        QVERIFY(notes.open(QIODevice::ReadOnly) && notes.readAll() == "mine");
    }
};

HEADWISE_TEST(SeriesWindowTest)
#include "series_window_test.moc"
