#include "app/window/window_settings.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "tests/support/window_driver.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/model/config_dialog.h"
#include "ui/pages/model/names_dialog.h"
#include "ui/pages/model/start_page.h"
#include "ui/pages/model/tensors_page.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QFrame>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTimer>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

QStringList shownTokens(const QTableView* table)
{
    QStringList shown;
    for (int row = 0; row < table->model()->rowCount(); ++row)
        shown << table->model()->index(row, TokenTableModel::TokenColumn).data().toString();
    return shown;
}

} // namespace

/// Opening files in the window: complete, incomplete and broken models, tokenizers, sessions.
class OpeningTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void theWindowShowsThatAFileCanBeDropped()
    {
        WindowDriver driver;
        auto* start = driver.window.findChild<StartPage*>();
        const auto accents = [start] {
            const QImage image = start->grab().toImage().convertToFormat(QImage::Format_RGB32);
            int found = 0;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x)
                    found += image.pixelColor(x, y) == lightColors().accent ? 1 : 0;
            return found;
        };
        const auto enter = [&driver](const QMimeData& mime) {
            QDragEnterEvent event({10, 10}, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
            QApplication::sendEvent(&driver.window, &event);
        };
        const auto leave = [&driver] {
            QDragLeaveEvent event;
            QApplication::sendEvent(&driver.window, &event);
        };
        QMimeData words, folder;
        words.setText(QStringLiteral("words"));
        folder.setUrls({QUrl::fromLocalFile(QStringLiteral(HEADWISE_DEMO_MODEL))});
        const int before = accents();
        enter(words);
        QCOMPARE(accents(), before);
        enter(folder);
        QVERIFY(accents() > before + 1000); // the border of the zone, 560 px wide
        leave();
        QCOMPARE(accents(), before);
        driver.openDemo();
        const auto* frame = driver.window.findChild<QFrame*>(QStringLiteral("dropFrame"));
        QVERIFY(frame && !frame->isVisible());
        enter(words);
        QVERIFY(!frame->isVisible());
        enter(folder);
        QVERIFY(frame->isVisible());
        QCOMPARE(frame->size(), driver.window.size());
        leave();
        QVERIFY(!frame->isVisible());
    }

    void anErrorNamesNoOptionOfTheCommandLine()
    {
        const QString folder = m_folder.filePath(QStringLiteral("notes alone"));
        QVERIFY(QDir().mkpath(folder));
        QFile notes(folder + QStringLiteral("/notes.txt"));
        QVERIFY(notes.open(QIODevice::WriteOnly) && notes.write("no model") > 0);
        notes.close();
        WindowDriver driver;
        driver.window.openPath(folder);
        const auto labels = driver.window.findChild<StartPage*>()->findChildren<QLabel*>();
        const auto error = std::ranges::find_if(labels, [](const QLabel* label) {
            return label->property("role").toString() == QLatin1String("error");
        });
        QVERIFY(error != labels.end());
        QTRY_VERIFY((*error)->text().contains(QStringLiteral("config.json")));
        QVERIFY2(!(*error)->text().contains(QStringLiteral("--")), qPrintable((*error)->text()));
    }

    void aDroppedFolderIsOpened()
    {
        WindowDriver driver;
        QMimeData dropped;
        dropped.setUrls({QUrl::fromLocalFile(QStringLiteral(HEADWISE_DEMO_MODEL))});
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &drop);
        QTRY_VERIFY(driver.workspace().model()->isOpen());
    }

    void aModelWithoutAConfigIsAskedAbout()
    {
        const QString model = m_folder.filePath(QStringLiteral("nameless"));
        QVERIFY(QDir().mkpath(model));
        QVERIFY(QFile::copy(QStringLiteral(HEADWISE_TEST_DATA "/models/modadd-1l/modadd_seed0.pt"),
                            model + QStringLiteral("/modadd_seed0.pt")));
        WindowDriver driver;
        driver.window.show();
        driver.window.openPath(model);
        QTRY_VERIFY(driver.window.findChild<ConfigDialog*>());
        auto* dialog = driver.window.findChild<ConfigDialog*>();
        auto* answer = dialog->findChild<QLineEdit*>(QStringLiteral("act_fn"));
        QVERIFY(answer);
        QPushButton* open = nullptr;
        for (QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("&Open"))
                open = button;
        QVERIFY(open && !open->isEnabled());
        const auto* others = dialog->findChild<QPlainTextEdit*>();
        QTRY_VERIFY(others && others->geometry().bottom() < open->mapTo(dialog, QPoint()).y());
        QTest::keyClicks(answer, QStringLiteral("relu"));
        QVERIFY(!open->isEnabled()); // No tensor tells folded norms from none.
        auto* norms = dialog->findChild<QLineEdit*>(QStringLiteral("normalization_type"));
        QVERIFY(norms && norms->placeholderText().contains(QStringLiteral("LNPre")));
        QTest::keyClicks(norms, QStringLiteral("null"));
        QVERIFY(open->isEnabled());
        if (const QByteArray folder = qgetenv("HEADWISE_SCREENSHOTS"); !folder.isEmpty())
            dialog->grab().save(QString::fromLocal8Bit(folder) + QStringLiteral("/config-dialog.png"));
        QTest::mouseClick(open, Qt::LeftButton);
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QCOMPARE(driver.workspace().model()->card().nHeads, 4);
        QCOMPARE(driver.workspace().model()->weights()->config().activation, Activation::Relu);
        QCOMPARE(driver.workspace().model()->weights()->config().norm, NormKind::None);
    }

    void aModelOfItsOwnNamesCanBeDescribed()
    {
        const std::filesystem::path folder = m_folder.filePath(QStringLiteral("own names")).toStdString();
        std::filesystem::create_directories(folder);
        const auto filled = [](std::size_t rows, std::size_t columns) {
            return test::StoredTensor{{rows, columns}, std::vector<double>(rows * columns, 0.25)};
        };
        std::map<std::string, test::StoredTensor> tensors{{"words.emb", filled(11, 7)},
                                                          {"places.pos", filled(17, 7)},
                                                          {"answer.out", filled(11, 7)},
                                                          {"stage.0.att.o", filled(7, 15)}};
        for (const char* name : {"stage.0.att.q", "stage.0.att.k", "stage.0.att.v"})
            tensors[name] = filled(15, 7);
        test::writeSafetensors(folder / "m.safetensors", tensors, false);
        WindowDriver driver;
        driver.window.show();
        driver.window.openPath(QString::fromStdString((folder / "m.safetensors").string()));
        QTRY_VERIFY(driver.window.findChild<ConfigDialog*>());
        for (const auto* button : driver.window.findChild<ConfigDialog*>()->findChildren<QPushButton*>())
            QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(button->text()));
        emit driver.window.findChild<ConfigDialog*>()->describeWanted();
        auto* dialog = driver.window.findChild<NamesDialog*>();
        QVERIFY(dialog);
        QComboBox* values = nullptr;
        for (QComboBox* combo : dialog->findChildren<QComboBox*>())
            if (combo->accessibleName() == QStringLiteral("Part of stage.{layer}.att.v"))
                values = combo;
        QPushButton* save = nullptr;
        for (QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("&Save and open"))
                save = button;
        QVERIFY(values && save && save->isEnabled());
        const int proposed = values->currentIndex();
        const auto says = [dialog](const char* words) {
            return std::ranges::any_of(dialog->findChildren<QLabel*>(), [words](const QLabel* label) {
                return label->text().contains(QString::fromUtf8(words));
            });
        };
        QVERIFY(says("Every tensor has its part."));
        values->setCurrentIndex(values->findData(QStringLiteral("?")));
        QVERIFY(!save->isEnabled());
        QVERIFY(says("Choose a part for stage.{layer}.att.v, or “Not a weight”."));
        values->setCurrentIndex(proposed);
        QVERIFY(save->isEnabled());
        save->click();
        QVERIFY(std::filesystem::exists(folder / "headwise-names.json"));
        // No tensor tells the number of heads.
        QTRY_VERIFY(driver.window.findChild<QLineEdit*>(QStringLiteral("n_heads")));
        auto* heads = driver.window.findChild<QLineEdit*>(QStringLiteral("n_heads"));
        QTest::keyClicks(heads, QStringLiteral("3"));
        for (QPushButton* button : heads->window()->findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("&Open"))
                button->click();
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QCOMPARE(driver.workspace().model()->card().nHeads, 3);
    }

    void guessesOfADescriptionAreShownUntilTheyAreChanged()
    {
        const std::filesystem::path file =
            m_folder.filePath(QStringLiteral("square.safetensors")).toStdString();
        std::map<std::string, test::StoredTensor> tensors;
        for (const char* name : {"words.emb", "places.pos", "answer.out"})
            tensors[name] = {{11, 12}, std::vector<double>(132, 0.25)};
        for (const char* name : {"stage0.0.att.q", "stage0.0.att.k", "stage0.0.att.v", "stage0.0.att.o"})
            tensors[name] = {{12, 12}, std::vector<double>(144, 0.25)};
        test::writeSafetensors(file, tensors, false);
        auto opened = WeightMap::open(file);
        QVERIFY(test::isOk(opened));
        ui::NamesDialog dialog({file, std::nullopt, {}},
                               std::make_shared<const WeightMap>(std::move(opened).value()));
        const auto says = [&dialog](const char* words) {
            return std::ranges::any_of(dialog.findChildren<QLabel*>(), [words](const QLabel* label) {
                return label->text().contains(QString::fromUtf8(words));
            });
        };
        QVERIFY(says("Guesses to check: "));
        QVERIFY(says("att.q [12, 12]: both axes have the same size, so it may be transposed"));
        for (QComboBox* combo : dialog.findChildren<QComboBox*>())
            if (combo->accessibleName().startsWith(QStringLiteral("Axes of")))
                combo->setCurrentText(QStringLiteral("transposed"));
        QVERIFY(!says("Guesses to check"));
    }

    void tensorsCanBeSeenBeforeTheConfigIsKnown()
    {
        const QString model = m_folder.filePath(QStringLiteral("seen.pt"));
        QVERIFY(QFile::copy(QStringLiteral(HEADWISE_TEST_DATA "/models/modadd-1l/modadd_seed0.pt"), model));
        WindowDriver driver;
        driver.window.show();
        driver.window.openPath(model);
        QTRY_VERIFY(driver.window.findChild<ConfigDialog*>());
        auto* dialog = driver.window.findChild<ConfigDialog*>();
        emit dialog->tensorsWanted();
        auto* page = dialog->findChild<TensorsPage*>();
        QVERIFY(page);
        QTRY_VERIFY(page->findChild<QTableView*>()->model()->rowCount() > 10);
        QVERIFY(page->window()->isVisible());
    }

    void unknownTensorsCanBeLeftOut()
    {
        const QString folder = demoFiles("with more", {"config.json", "model.safetensors"});
        auto tensors = test::readStoredTensors(folder.toStdString());
        tensors["visual.patch"] = {{2}, {1, 2}};
        test::writeSafetensors((folder + QStringLiteral("/model.safetensors")).toStdString(), tensors, false);
        WindowDriver driver;
        driver.window.show();
        driver.window.openPath(folder);
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        auto* box = driver.window.findChild<QMessageBox*>();
        QVERIFY(box->text().contains(QStringLiteral("visual.patch")));
        for (QAbstractButton* button : box->buttons())
            if (box->buttonRole(button) == QMessageBox::AcceptRole)
                button->click();
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QCOMPARE(driver.workspace().model()->files().source.ignored,
                 std::vector<std::string>{"visual.patch"});
    }

    void whatCannotBeOpenedIsSaidOnTheStartPage_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("said");
        const auto write = [](const QString& path, const QByteArray& bytes) {
            QFile file(path);
            return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() ? path : QString();
        };
        QTest::newRow("nothing there")
            << m_folder.filePath(QStringLiteral("nowhere")) << QStringLiteral("nowhere");
        QTest::newRow("not a model") << write(m_folder.filePath(QStringLiteral("notes.txt")), "not a model\n")
                                     << QStringLiteral("notes.txt");
        QTest::newRow("empty folder") << demoFiles("empty", {}) << QStringLiteral("empty");
        QTest::newRow("no weights") << demoFiles("bare", {"config.json"}) << QStringLiteral("bare");
        const QString cut = demoFiles("cut", {"config.json", "model.safetensors"});
        QFile::resize(cut + QStringLiteral("/model.safetensors"), 1000000);
        QTest::newRow("truncated") << cut << QStringLiteral("model.safetensors");
        const QString pointer = demoFiles("pointer", {"config.json"});
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
        WindowDriver driver;
        driver.window.openPath(path);
        const auto isSaid = [&] {
            for (QLabel* label : driver.window.findChild<StartPage*>()->findChildren<QLabel*>())
                if (label->isVisible() && label->text().contains(said))
                    return true;
            return false;
        };
        QTRY_VERIFY(isSaid());
        QVERIFY(!driver.workspace().model()->isOpen());
    }

    void anotherModelThatFailsLeavesTheOpenOne()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.window.openPath(m_folder.filePath(QStringLiteral("nowhere")));
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        QVERIFY(driver.window.findChild<QMessageBox*>()->text().contains(QLatin1String("nowhere")));
        QVERIFY(driver.workspace().model()->isOpen());
        driver.window.findChild<QMessageBox*>()->close();
    }

    void withoutATokenizerIdsStandForTokens()
    {
        const QString model = demoFiles("wordless", {"config.json", "model.safetensors"});
        WindowDriver driver;
        driver.window.openPath(model);
        QTRY_VERIFY(driver.workspace().model()->isOpen() && driver.isComplete());
        driver.window.showPage(QStringLiteral("tokens"));
        const auto tables = driver.page()->findChildren<QTableView*>();
        QTRY_VERIFY(tables.first()->model()->rowCount() > 0);
        QVERIFY(shownTokens(tables.first()).first().startsWith(u'#'));
    }

    void anAddedTokenizerBringsTheTextsToEveryPage()
    {
        const QString model = demoFiles("wordless, to be told", {"config.json", "model.safetensors"});
        WindowDriver driver;
        driver.window.openPath(model);
        QTRY_VERIFY(driver.workspace().model()->isOpen() && driver.isComplete());
        const auto* banner = driver.window.findChild<QLabel*>(QStringLiteral("banner"));
        QVERIFY(banner->isVisible() && banner->text().contains(QStringLiteral("Add tokenizer…")));
        driver.window.showPage(QStringLiteral("tokens"));
        const auto tables = driver.page()->findChildren<QTableView*>();
        QTRY_VERIFY(tables.first()->model()->rowCount() > 0);

        QSignalSpy failed(&driver.workspace(), &Workspace::failed);
        driver.workspace().opener()->addTokenizer(HEADWISE_DEMO_MODEL "/tokenizer.json");
        QTRY_VERIFY(driver.workspace().model()->tokenizer());
        QVERIFY(!banner->isVisible());
        QTRY_VERIFY(tables.first()->model()->rowCount() > 0
                    && !shownTokens(tables.first()).first().startsWith(u'#'));
        QVERIFY(!driver.workspace().model()->tokenText(300).startsWith(u'#'));
        QTRY_VERIFY(driver.isComplete());
        driver.window.showPage(QStringLiteral("prompt"));
        QVERIFY(driver.page()->findChild<QLineEdit*>()->isEnabled());
        QCOMPARE(failed.count(), 0);

        const QString session = m_folder.filePath(QStringLiteral("told.h5"));
        driver.window.saveTo(session);
        QTRY_VERIFY(QFile::exists(session));
        const auto stored = readSession(session.toStdString(), {});
        QVERIFY(test::isOk(stored));
        QCOMPARE(stored->tokens.at(300), driver.workspace().model()->tokenText(300).toStdString());
    }

    void theNextFileIsLookedForWhereTheTokenizerWas()
    {
        const QString model = demoFiles("wordless, to be asked", {"config.json", "model.safetensors"});
        WindowDriver driver;
        driver.window.openPath(model);
        QTRY_VERIFY(driver.workspace().model()->isOpen() && driver.isComplete());
        QTimer answers;
        answers.callOnTimeout(&driver.window, [&driver] {
            for (auto* dialog : driver.window.findChildren<QFileDialog*>()) {
                dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))
                    ->setText(QStringLiteral(HEADWISE_DEMO_MODEL "/tokenizer.json"));
                static_cast<QDialog*>(dialog)->accept();
            }
        });
        answers.start(20);
        driver.trigger(QStringLiteral("Add tokenizer…"));
        answers.stop();
        QTRY_VERIFY(driver.workspace().model()->tokenizer());
        QCOMPARE(QFileInfo(driver.window.findChild<app::WindowSettings*>()->now().lastFolder),
                 QFileInfo(QStringLiteral(HEADWISE_DEMO_MODEL)));
    }

    void anAddedTokenizerThatIsNoneIsSaidAndNothingChanges()
    {
        WindowDriver driver;
        driver.openDemo();
        const auto before = driver.workspace().model()->tokenizer();
        QSignalSpy failed(&driver.workspace(), &Workspace::failed);
        QTimer::singleShot(500, &driver.window, [&driver] {
            for (QMessageBox* box : driver.window.findChildren<QMessageBox*>())
                box->close();
        });
        driver.workspace().opener()->addTokenizer(HEADWISE_DEMO_MODEL "/model.safetensors");
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(failed.first().first().toString().contains(QStringLiteral("not a tokenizer")));
        QCOMPARE(driver.workspace().model()->tokenizer(), before);
    }

    void aSessionKeepsHeadTokenPageNotesAndIsReadWithoutItsModel()
    {
        const QString model = demoFiles("model", {"config.json", "model.safetensors", "tokenizer.json"});
        const QString file = m_folder.filePath(QStringLiteral("session.h5"));
        int token = 0;
        {
            WindowDriver driver;
            driver.window.openPath(model);
            QTRY_VERIFY(driver.workspace().model()->isOpen() && driver.isComplete());
            driver.workspace().selection()->setHead({1, 5});
            token = driver.workspace().selection()->token() + 3;
            driver.workspace().selection()->setToken(token);
            driver.workspace().notebook()->setNote({1, 5}, QStringLiteral("induction"));
            driver.window.showPage(QStringLiteral("spectrum"));
            QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
            driver.window.saveTo(file);
            QTRY_COMPARE(saved.count(), 1);
            QVERIFY(!driver.workspace().session()->isModified());
            driver.window.close();
        }
        QVERIFY(QFile::rename(model, model + QStringLiteral("-away")));
        WindowDriver driver;
        driver.window.openPath(file);
        QTRY_COMPARE(driver.workspace().selection()->head(), (HeadId{1, 5}));
        QTRY_VERIFY(driver.page() && !driver.page()->figures().isEmpty());
        QCOMPARE(driver.workspace().selection()->token(), token);
        QCOMPARE(driver.workspace().notebook()->note({1, 5}), QStringLiteral("induction"));
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Spectrum"));
        QVERIFY(!driver.workspace().model()->hasModel());
        QVERIFY(driver.workspace().model()->results()->find("composition/k"));
        QVERIFY(driver.window.findChild<QLabel*>(QStringLiteral("banner"))->isVisible());
    }

    void aSessionThatCannotBeSavedIsSaidAndTheNotesStayUnsaved()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().notebook()->setNote({0, 1}, QStringLiteral("previous token"));
        QSignalSpy failed(&driver.workspace(), &Workspace::failed);
        driver.window.saveTo(m_folder.filePath(QStringLiteral("no/such/folder/session.h5")));
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(failed.first().first().toString().contains(QLatin1String("no/such/folder")));
        QVERIFY(driver.workspace().session()->isModified());
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        driver.window.findChild<QMessageBox*>()->close();
        driver.workspace().notebook()->setNote({0, 1}, {});
        test::discardNotes(driver.window);
    }

private:
    /// Creates a folder with copies of only these files of the demo.
    QString demoFiles(const char* name, std::initializer_list<const char*> copied) const
    {
        const QString made = m_folder.filePath(QLatin1String(name));
        if (!QDir().mkpath(made))
            qFatal("cannot make %s", qPrintable(made));
        for (const char* file : copied)
            if (!QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/") + QLatin1String(file),
                             made + u'/' + QLatin1String(file)))
                qFatal("cannot copy %s of the demo", file);
        return made;
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(OpeningTest)
#include "opening_test.moc"
