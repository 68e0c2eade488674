#include "app/window/export_heads_dialog.h"
#include "core/analysis/comparison/model_comparison.h"
#include "core/runs/estimate.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/document/compared_model.h"
#include "ui/document/estimate.h"
#include "ui/pages/model/config_dialog.h"
#include "ui/pages/model/start_page.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// Presses a button of the window's next question and records its text.
class Answer {
public:
    Answer(app::MainWindow& window, QMessageBox::StandardButton button)
    {
        m_timer.callOnTimeout(&window, [this, &window, button] {
            for (QMessageBox* box : window.findChildren<QMessageBox*>())
                if (QAbstractButton* pressed = box->button(button)) {
                    m_timer.stop();
                    m_said = box->text();
                    pressed->click();
                    return;
                }
        });
        m_timer.start(20);
    }

    QString said() const { return m_said; }

private:
    QTimer m_timer;
    QString m_said;
};

/// Chooses a file in the next file dialog of the window.
void chooseInDialog(app::MainWindow& window, const QString& path)
{
    auto* timer = new QTimer(&window);
    timer->callOnTimeout(&window, [timer, &window, path] {
        auto* dialog = window.findChild<QFileDialog*>();
        if (!dialog)
            return;
        timer->deleteLater();
        dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(path);
        static_cast<QDialog*>(dialog)->accept();
    });
    timer->start(50);
}

} // namespace

/// The user's results and choices survive reloading, closing and moved files.
class KeptWorkTest : public QObject {
    Q_OBJECT

    /// Saves the session of a model whose activation the user had to enter.
    static void saveOpenedWithRelu(const QString& weights, const QString& file)
    {
        WindowDriver driver;
        driver.workspace().opener()->openModel(
            {weights.toStdString(), std::nullopt, {{"act_fn", "relu"}, {"normalization_type", "null"}}});
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
        driver.window.saveTo(file);
        QTRY_COMPARE(saved.count(), 1);
    }

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void whatASessionLacksIsComputedOnceItsModelIsThere()
    {
        const QString file = m_folder.filePath(QStringLiteral("half.h5"));
        {
            WindowDriver driver;
            driver.openDemo();
            driver.window.saveTo(file);
            QTRY_VERIFY(QFile::exists(file));
        }
        auto stored = readSession(file.toStdString(), {});
        QVERIFY(test::isOk(stored));
        Session session = std::move(stored).value();
        std::erase_if(session.results.arrays, [](const ResultArray& array) {
            return !array.path.starts_with("spectra/qk") && !array.path.starts_with("spectra/ov");
        });
        // Existing results are not computed again.
        std::get<std::vector<float>>(session.results.arrays.front().values).front() = 77;
        const std::string marked = session.results.arrays.front().path;
        QVERIFY(test::isOk(writeSession(file.toStdString(), session, {})));

        WindowDriver driver;
        driver.window.openPath(file);
        driver.waitForAnalyses();
        QCOMPARE(
            std::get<std::vector<float>>(driver.workspace().model()->results()->find(marked)->values).front(),
            77.0F);
        QVERIFY(!driver.workspace().session()->isModified()); // nobody asked for them
    }

    void resultsThatWereAskedForAreNotDroppedWithoutAQuestion()
    {
        WindowDriver driver;
        driver.openDemo();
        QVERIFY(!driver.workspace().session()->isModified());
        driver.workspace().runs()->runAnalysis("copying"); // a default one returns in seconds
        QTRY_VERIFY(!driver.workspace().runs()->job()->isRunning());
        QVERIFY(!driver.workspace().session()->isModified());
        driver.workspace().runs()->runAnalysis("ranks");
        QTRY_VERIFY(driver.workspace().session()->isModified());
        QVERIFY(driver.window.isWindowModified());

        const Answer cancel(driver.window, QMessageBox::Cancel);
        driver.window.close();
        QVERIFY2(cancel.said().contains(QStringLiteral("results")), qPrintable(cancel.said()));
        QVERIFY(driver.window.isVisible());

        // Nor by other weights, which make them void.
        const Embedding before = driver.workspace().model()->embedding();
        auto* embeddings = comboOf(driver.window, QStringLiteral("Embedding"));
        const Answer keep(driver.window, QMessageBox::Cancel);
        embeddings->setCurrentIndex(3);
        emit embeddings->activated(3);
        QVERIFY(!keep.said().isEmpty());
        QCOMPARE(driver.workspace().model()->embedding(), before);
        QCOMPARE(embeddings->currentData().toInt(), static_cast<int>(before));

        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
        driver.window.saveTo(m_folder.filePath(QStringLiteral("asked.h5")));
        QTRY_COMPARE(saved.count(), 1);
        QVERIFY(!driver.workspace().session()->isModified());
        driver.window.close();
        QVERIFY(!driver.window.isVisible());
    }

    void resultsThatAreDiscardedAreGone()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().runs()->runAnalysis("ranks");
        QTRY_VERIFY(driver.workspace().session()->isModified());
        const Answer discard(driver.window, QMessageBox::Discard);
        driver.trigger(QStringLiteral("Close"));
        QVERIFY(!discard.said().isEmpty());
        QVERIFY(!driver.workspace().model()->isOpen());
        QVERIFY(!driver.workspace().session()->isModified());
    }

    void aReloadKeepsTheWeightsAndTheSelection()
    {
        WindowDriver driver;
        driver.openDemo();
        auto* weights = comboOf(driver.window, QStringLiteral("Weights"));
        weights->setCurrentIndex(1);
        emit weights->activated(1);
        QTRY_VERIFY(!isProcessed(driver.workspace().model()->processing()));
        driver.workspace().model()->setEmbedding(Embedding::Unembed);
        driver.workspace().selection()->setHead({1, 5});
        driver.workspace().selection()->setToken(300);
        driver.workspace().selection()->setReference(HeadId{0, 2});
        driver.workspace().selection()->setDirection({CircuitKind::Qk, 3, -1});
        QTRY_VERIFY(driver.isComplete());
        QSignalSpy opened(driver.workspace().model(), &OpenModel::opened);
        QTest::keyClick(&driver.window, Qt::Key_F5);
        QTRY_COMPARE(opened.count(), 1);
        QVERIFY(!isProcessed(driver.workspace().model()->processing()));
        QCOMPARE(weights->currentIndex(), 1);
        QCOMPARE(driver.workspace().model()->embedding(), Embedding::Unembed);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 5}));
        QCOMPARE(driver.workspace().selection()->token(), 300);
        QCOMPARE(driver.workspace().selection()->reference(), std::optional(HeadId{0, 2}));
        QCOMPARE(driver.workspace().selection()->direction(), (SingularChoice{CircuitKind::Qk, 3, -1}));
        // Another model begins as models do.
        driver.window.openDemo();
        QTRY_COMPARE(opened.count(), 2);
        QVERIFY(isProcessed(driver.workspace().model()->processing()));
        QCOMPARE(driver.workspace().model()->embedding(), Embedding::Raw);
        QCOMPARE(driver.workspace().selection()->reference(), std::nullopt);
    }

    void aSessionKeepsTheReference()
    {
        const QString file = m_folder.filePath(QStringLiteral("reference.h5"));
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().selection()->setReference(HeadId{0, 3});
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
        driver.window.saveTo(file);
        QTRY_COMPARE(saved.count(), 1);
        driver.workspace().selection()->setReference(HeadId{0, 1});
        driver.window.openPath(file);
        QTRY_COMPARE(driver.workspace().selection()->reference(), std::optional(HeadId{0, 3}));
    }

    void backGoesThroughReferencesAndDirections()
    {
        WindowDriver driver;
        driver.openDemo();
        Workspace& workspace = driver.workspace();
        const auto gesture = [](auto change) {
            change();
            QCoreApplication::processEvents(); // A gesture ends with its event.
        };
        gesture([&] { workspace.selection()->setHead({1, 2}); });
        gesture([&] { // a pair on the map: one click
            workspace.selection()->setReference(HeadId{0, 4});
            workspace.selection()->setHead({1, 5});
        });
        for (int k = 1; k < 4; ++k) // a walk with the arrow keys
            gesture([&] { workspace.selection()->setDirection({CircuitKind::Ov, k, 1}); });
        driver.trigger(QStringLiteral("Back"));
        QCOMPARE(workspace.selection()->direction().index, 0);
        QCOMPARE(workspace.selection()->head(), (HeadId{1, 5}));
        driver.trigger(QStringLiteral("Back"));
        QCOMPARE(workspace.selection()->head(), (HeadId{1, 2}));
        QCOMPARE(workspace.selection()->reference(), std::nullopt);
        driver.trigger(QStringLiteral("Back"));
        QCOMPARE(workspace.selection()->head(), (HeadId{0, 0}));
        for (int i = 0; i < 3; ++i)
            driver.trigger(QStringLiteral("Forward"));
        QCOMPARE(workspace.selection()->direction().index, 3);
        QCOMPARE(workspace.selection()->reference(), std::optional(HeadId{0, 4}));
        QCOMPARE(workspace.selection()->head(), (HeadId{1, 5}));
    }

    void aLoneFileIsLocatedWithTheConfigItWasOpenedWith()
    {
        const QString weights = m_folder.filePath(QStringLiteral("modadd.pt"));
        QVERIFY(QFile::copy(QStringLiteral(HEADWISE_TEST_DATA "/models/modadd-1l/modadd_seed0.pt"), weights));
        const QString file = m_folder.filePath(QStringLiteral("nameless.h5"));
        saveOpenedWithRelu(weights, file);
        QVERIFY(!QTest::currentTestFailed());
        { // found in its place, without a question
            WindowDriver driver;
            driver.window.openPath(file);
            QTRY_VERIFY(driver.workspace().model()->hasModel());
            QVERIFY(!driver.window.findChild<ConfigDialog*>());
        }
        const QString moved = m_folder.filePath(QStringLiteral("elsewhere.pt"));
        QVERIFY(QFile::rename(weights, moved));
        WindowDriver driver;
        driver.window.openPath(file);
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QVERIFY(!driver.workspace().model()->hasModel());
        chooseInDialog(driver.window, moved);
        auto* banner = driver.window.findChild<QLabel*>(QStringLiteral("banner"));
        QVERIFY(banner->isVisible() && banner->text().contains(QStringLiteral("Locate model file…</a>")));
        emit banner->linkActivated(QStringLiteral("locate-model-file"));
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        QVERIFY(!banner->text().contains(QStringLiteral("Locate model")));
        QCOMPARE(driver.workspace().model()->weights()->config().activation, Activation::Relu);
        QVERIFY(!driver.window.findChild<ConfigDialog*>());
    }

    void aSessionThatDoesNotKnowTheConfigAsksForIt()
    {
        const QString weights = m_folder.filePath(QStringLiteral("asked.pt"));
        QVERIFY(QFile::copy(QStringLiteral(HEADWISE_TEST_DATA "/models/modadd-1l/modadd_seed0.pt"), weights));
        const QString file = m_folder.filePath(QStringLiteral("forgetful.h5"));
        saveOpenedWithRelu(weights, file);
        QVERIFY(!QTest::currentTestFailed());
        auto stored = readSession(file.toStdString(), {});
        QVERIFY(test::isOk(stored));
        Session session = std::move(stored).value();
        QCOMPARE(session.overrides, (std::vector<std::string>{"act_fn=relu", "normalization_type=null"}));
        session.overrides.clear(); // as in files of older versions
        QVERIFY(test::isOk(writeSession(file.toStdString(), session, {})));
        WindowDriver driver;
        driver.window.openPath(file);
        QTRY_VERIFY(driver.window.findChild<ConfigDialog*>());
        auto* dialog = driver.window.findChild<ConfigDialog*>();
        QTest::keyClicks(dialog->findChild<QLineEdit*>(QStringLiteral("act_fn")), QStringLiteral("relu"));
        QTest::keyClicks(dialog->findChild<QLineEdit*>(QStringLiteral("normalization_type")),
                         QStringLiteral("null"));
        dialog->accept();
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        QVERIFY(!driver.workspace().session()->path().empty()); // the session, not the model alone
    }

    void aLoneFileIsComparedWith()
    {
        const QString alone = m_folder.filePath(QStringLiteral("newer"));
        QVERIFY(QDir().mkpath(alone));
        for (const char* name : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                alone + u'/' + QLatin1String(name)));
        WindowDriver driver;
        driver.openDemo();
        chooseInDialog(driver.window, alone + QStringLiteral("/model.safetensors"));
        driver.trigger(QStringLiteral("Compare with a file…"));
        QTRY_VERIFY(!comparedWith(*driver.workspace().model()->results()).isEmpty());
        QVERIFY(driver.workspace().model()->revision().isUnsaved());
        const Answer discard(driver.window, QMessageBox::Discard);
        driver.window.close();
    }

    void recentFilesSayWhatTheyAre()
    {
        const QString model = m_folder.filePath(QStringLiteral("a recent one"));
        QVERIFY(QDir().mkpath(model));
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
            QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(name),
                                model + u'/' + QLatin1String(name)));
        {
            WindowDriver driver;
            driver.window.openPath(model);
            driver.waitForAnalyses();
            driver.window.close();
        }
        QVERIFY(QDir(model).removeRecursively()); // nothing is read for it
        WindowDriver driver;
        if (const QByteArray folder = qgetenv("HEADWISE_SCREENSHOTS"); !folder.isEmpty())
            for (const auto& [mode, name] :
                 {std::pair(ThemeMode::Dark, "dark"), std::pair(ThemeMode::Light, "light")}) {
                applyTheme(*qApp, mode);
                driver.window.grab().save(QStringLiteral("%1/recent-%2.png")
                                              .arg(QString::fromLocal8Bit(folder), QLatin1String(name)));
            }
        QString shown;
        for (const QLabel* label : driver.window.findChild<StartPage*>()->findChildren<QLabel*>())
            if (label->text().contains(QStringLiteral("d_model")))
                shown = label->text();
        QVERIFY2(shown.startsWith(QStringLiteral("2 layers × 8 heads · d_model 256 · ")), qPrintable(shown));
        QVERIFY(shown.contains(QLocale().toString(QDate::currentDate(), QStringLiteral("d MMM yyyy"))));
    }

    void ordersSayBeforeTheyBeginHowLongTheyTake()
    {
        app::ExportHeadsDialog dialog({12, 12, {0, 0}, std::chrono::milliseconds(500)},
                                      QStringLiteral("x.pdf"), m_folder.path());
        const auto says = [&](const QString& words) {
            for (const QLabel* label : dialog.findChildren<QLabel*>())
                if (label->text().contains(words))
                    return true;
            return false;
        };
        QVERIFY(says(QStringLiteral("about 72 s"))); // 144 of half a second
        dialog.findChild<QComboBox*>()->setEditText(QStringLiteral("0.*"));
        QVERIFY(says(QStringLiteral("about 6 s")));
        dialog.findChild<QComboBox*>()->setEditText(QStringLiteral("0.0"));
        QVERIFY(!says(QStringLiteral("about")));

        ModelConfig small;
        small.nLayers = small.nHeads = 12;
        small.dModel = 768;
        small.dHead = 64;
        small.dVocab = small.dVocabOut = 50257;
        const AnalysisCost cost = comparisonCost(small);
        QCOMPARE(cost.flops, 144 * (40.0 * 768 * 64 * 64 + 4.0 * 32 * 768 * 50257));
        const double perSecond = 1 / estimatedSeconds(1, coresOf(0)); // as the command line estimates it
        QCOMPARE(withEstimate(QStringLiteral("Comparing"), {20 * perSecond, 3e8}),
                 QStringLiteral("Comparing · about 20 s, 300 MB"));
        QCOMPARE(withEstimate(QStringLiteral("Comparing"), {1.9 * perSecond, 3e8}),
                 QStringLiteral("Comparing"));
    }

private:
    static QComboBox* comboOf(app::MainWindow& window, const QString& name)
    {
        for (QComboBox* box : window.findChildren<QComboBox*>())
            if (box->accessibleName() == name)
                return box;
        qFatal("there is no '%s'", qPrintable(name));
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(KeptWorkTest)
#include "kept_work_test.moc"
