#include "app/address.h"
#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "app/window/remote.h"
#include "app/window/windows.h"
#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/matrix/heatmap_page.h"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalSocket>
#include <QMessageBox>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

using namespace headwise;
using namespace headwise::app;

namespace {

using test::patience;
const QString demo = QStringLiteral(HEADWISE_DEMO_MODEL);

QList<MainWindow*> windows()
{
    QList<MainWindow*> found;
    for (QWidget* widget : QApplication::topLevelWidgets())
        if (auto* window = qobject_cast<MainWindow*>(widget))
            found << window;
    return found;
}

QString pageOf(MainWindow* window)
{
    auto* tabs = window->findChild<PageTabs*>();
    return tabs->tabText(tabs->currentIndex());
}

QJsonObject viewOf(MainWindow* window)
{
    return QJsonDocument::fromJson(window->viewState().toUtf8()).object()[QStringLiteral("pages")].toObject();
}

} // namespace

/// Requests to the running window from a notebook or a second start.
class RemoteTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        qputenv("XDG_RUNTIME_DIR", m_folder.path().toLocal8Bit());
        qputenv("XDG_STATE_HOME", m_folder.path().toLocal8Bit());
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, m_folder.path());
    }

    void addressesAreReadAndWritten_data()
    {
        QTest::addColumn<QString>("address");
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("head");
        QTest::addColumn<QString>("page");
        QTest::addColumn<QString>("row");
        QTest::addColumn<QString>("column");
        const auto row = [](const char* address, const char* model, const char* head, const char* page,
                            const char* rowToken, const char* column) {
            QTest::newRow(address) << QString::fromUtf8(address) << QString::fromUtf8(model)
                                   << QString::fromUtf8(head) << QString::fromUtf8(page)
                                   << QString::fromUtf8(rowToken) << QString::fromUtf8(column);
        };
        row("gpt2#L10H7/OV?row=%20sap", "gpt2", "L10H7", "OV", " sap", "");
        row("a/b.safetensors#L0H0", "a/b.safetensors", "L0H0", "", "", "");
        row("m#L1H2/full-QK?column=%E2%90%A3the&row=%23500", "m", "L1H2", "full-QK", "#500",
            "\xE2\x90\xA3the");
        row("m#L1H2?row=%26%3D%23", "m", "L1H2", "", "&=#", "");
        row("a%20b%23c#L1H2/spectrum", "a b#c", "L1H2", "spectrum", "", "");
        row("m#L1H2/compare?reference=L0H7", "m", "L1H2", "compare", "", "");
        row("m#L1H2?analysis=six_terms&direction=qk.12", "m", "L1H2", "", "", "");
        row("m#L1H2?stack=encoder", "m", "L1H2", "", "", "");
        row("%E6%A8%A1#L1H2", "\xE6\xA8\xA1", "L1H2", "", "", "");
    }
    void addressesAreReadAndWritten()
    {
        QFETCH(QString, address);
        QFETCH(QString, model);
        QFETCH(QString, head);
        QFETCH(QString, page);
        QFETCH(QString, row);
        QFETCH(QString, column);
        const Result<Address> read = parseAddress(address.toStdString());
        QVERIFY2(read, read ? "" : read.error().message.c_str());
        QCOMPARE(QString::fromStdString(read->model.string()), model);
        QCOMPARE(QString::fromStdString(headLabel(read->head)), head);
        QCOMPARE(QString::fromStdString(read->page), page);
        QCOMPARE(QString::fromStdString(read->row.value_or("")), row);
        QCOMPARE(QString::fromStdString(read->column.value_or("")), column);
        const Result<Address> again = parseAddress(addressText(*read));
        QVERIFY(again && *again == *read);
    }

    void addressesThatAreNone_data()
    {
        QTest::addColumn<QByteArray>("address");
        QTest::addColumn<QByteArray>("said");
        const auto row = [](const char* address, const char* said) {
            QTest::newRow(address) << QByteArray(address) << QByteArray(said);
        };
        row("gpt2", "names no head");
        row("#L1H1", "no model");
        row("gpt2#", "not a head");
        row("gpt2#L1", "not a head");
        row("gpt2#L1H-1", "not a head");
        row("gpt2#L99999999999H1", "not a head");
        row("gpt2#L1H1/", "neither OV");
        row("gpt2#L1H1/a/b", "neither OV");
        row("gpt2#L1H1?row", "neither row=TOKEN");
        row("gpt2#L1H1?tow=a", "tow=a");
        row("gpt2#L1H1?row=", "names no token");
        row("gpt2#L1H1?reference=", "names no reference");
        row("gpt2#L1H1?reference=L1", "not a head");
        row("gpt2#L1H1?direction=ov.0", "not a singular direction");
        row("gpt2#L1H1?direction=ov.", "not a singular direction");
        row("gpt2#L1H1?direction=qk.99999999999", "not a singular direction");
        row("gpt2#L1H1?direction=vo.1", "not a singular direction");
        row("gpt2#L1H1?direction=qk.1x", "not a singular direction");
        row("gpt2#L1H1?row=%2", "hexadecimal");
        row("gpt2#L1H1?row=%zz", "hexadecimal");
        row("gpt2#L1H1?row=%FF", "UTF-8");
        row("gpt2#L1H1?row=%00", "zero byte");
        row("%FF#L1H1", "UTF-8");
        QTest::newRow("zero byte of a model") << QByteArray("gpt2\0x#L1H1", 11) << QByteArray("zero byte");
    }
    void addressesThatAreNone()
    {
        QFETCH(QByteArray, address);
        QFETCH(QByteArray, said);
        const Result<Address> read = parseAddress(address.toStdString());
        QVERIFY(!read);
        QCOMPARE(read.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(read.error().message.find(said.toStdString()) != std::string::npos,
                 read.error().message.c_str());
    }

    void messagesAreCheckedBeforeTheyAreBelieved_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("said");
        QTest::newRow("good") << QByteArray(
            "{\"headwise\":1,\"display\":\"\",\"open\":[\"/a\"],\"goto\":\"/a#L1H2\"}")
                              << QByteArray();
        QTest::newRow("too long") << QByteArray(70000, ' ') << QByteArray("64 KiB");
        QTest::newRow("not UTF-8") << QByteArray("{\"headwise\":1,\"open\":[\"/\xff\"]}")
                                   << QByteArray("UTF-8");
        QTest::newRow("not JSON") << QByteArray("GET / HTTP/1.1") << QByteArray("JSON");
        QTest::newRow("a list") << QByteArray("[1]") << QByteArray("JSON");
        QTest::newRow("another version") << QByteArray("{\"headwise\":2}") << QByteArray("version");
        QTest::newRow("relative path")
            << QByteArray("{\"headwise\":1,\"open\":[\"a\"]}") << QByteArray("absolute");
        QTest::newRow("no text") << QByteArray("{\"headwise\":1,\"open\":[7]}") << QByteArray("absolute");
        QTest::newRow("zero byte") << QByteArray("{\"headwise\":1,\"open\":[\"/a\\u0000b\"]}")
                                   << QByteArray("absolute");
        QTest::newRow("bad address") << QByteArray("{\"headwise\":1,\"goto\":\"/a\"}")
                                     << QByteArray("no head");
        QTest::newRow("relative address")
            << QByteArray("{\"headwise\":1,\"goto\":\"a#L1H1\"}") << QByteArray("absolute");
        QTest::newRow("address of no text")
            << QByteArray("{\"headwise\":1,\"goto\":{}}") << QByteArray("no head");
    }
    void messagesAreCheckedBeforeTheyAreBelieved()
    {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, said);
        const Result<RemoteRequest> request = parseRemoteRequest(line);
        if (said.isEmpty()) {
            QVERIFY(request);
            QCOMPARE(request->toOpen, QStringList{QStringLiteral("/a")});
            QCOMPARE(request->address->head, (HeadId{1, 2}));
            return;
        }
        QVERIFY(!request);
        QVERIFY2(request.error().message.find(said.toStdString()) != std::string::npos,
                 request.error().message.c_str());
    }

    void aSecondStartDrivesTheRunningWindow()
    {
        Windows all(Windows::Memory::Fresh);
        const RemoteServer server([&all](const RemoteRequest& asked) { return all.handle(asked); });
        MainWindow* window = all.first();
        const auto sap = second({QStringLiteral("--goto"), demo + QStringLiteral("#L1H5/OV?row=%20king")});
        QCOMPARE(sap.err, QByteArray());
        QCOMPARE(sap.exitCode, 0);
        QTRY_COMPARE(pageOf(window), QStringLiteral("Tokens"));
        ui::Workspace& workspace = *window->workspace();
        QCOMPARE(workspace.selection()->head(), (HeadId{1, 5}));
        QCOMPARE(workspace.model()->tokenText(workspace.selection()->token()), QStringLiteral("\u2423king"));
        // The same model: the same window, at once.
        QCOMPARE(second({QStringLiteral("--goto"), demo + QStringLiteral("#L0H1/position")}).exitCode, 0);
        QCOMPARE(pageOf(window), QStringLiteral("Position"));
        QCOMPARE(workspace.selection()->head(), (HeadId{0, 1}));
        QCOMPARE(second({demo}).exitCode, 0);
        QCOMPARE(windows().size(), 1);
        // A head that does not exist changes nothing.
        QCOMPARE(second({QStringLiteral("--goto"), demo + QStringLiteral("#L9H9")}).exitCode, 0);
        QCOMPARE(workspace.selection()->head(), (HeadId{0, 1}));
        const auto wrong = second({QStringLiteral("--goto"), demo + QStringLiteral("#L0H1/nowhere")});
        QCOMPARE(wrong.exitCode, 2);
        QCOMPARE(wrong.err.count('\n'), 1);
        QVERIFY2(wrong.err.contains("nowhere") && wrong.err.contains("spectrum"), wrong.err.constData());
        // Another model gets its own window, because this one is in use.
        QCOMPARE(second({QStringLiteral(HEADWISE_TEST_DATA "/models/stories260k")}).exitCode, 0);
        QCOMPARE(windows().size(), 2);
        QCOMPARE(workspace.selection()->head(), (HeadId{0, 1}));
    }

    void aCopiedReferenceLeadsBack()
    {
        Windows all(Windows::Memory::Fresh);
        MainWindow* window = all.first();
        window->goTo(*parseAddress((demo + QStringLiteral("#L1H5/full-QK?column=%20king")).toStdString()));
        QTRY_COMPARE(pageOf(window), QStringLiteral("Tokens"));
        const int king = window->workspace()->selection()->token();
        window->activateWindow();
        QTest::keyClick(window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        const QString copied = QGuiApplication::clipboard()->text();
        QVERIFY2(copied.endsWith(QStringLiteral("#L1H5/full-QK?column=%E2%90%A3king")), qPrintable(copied));
        window->goTo(*parseAddress((demo + QStringLiteral("#L0H1/OV")).toStdString()));
        QCOMPARE(pageOf(window), QStringLiteral("Matrix"));
        window->goTo(*parseAddress((demo + QStringLiteral("#L0H1?row=%20of")).toStdString()));
        QCOMPARE(pageOf(window), QStringLiteral("Tokens"));
        QVERIFY(window->workspace()->selection()->token() != king);
        window->goTo(*parseAddress(copied.toStdString()));
        QCOMPARE(window->workspace()->selection()->head(), (HeadId{1, 5}));
        QCOMPARE(window->workspace()->selection()->token(), king);
        const QJsonObject tokens = viewOf(window)[QStringLiteral("tokens")].toObject();
        QCOMPARE(tokens[QStringLiteral("circuit")].toInt(), 1);
        QCOMPARE(tokens[QStringLiteral("side")].toInt(), 1);
        window->goTo(
            *parseAddress((demo + QStringLiteral("#L1H5/full-OV?row=%20king&column=%20of")).toStdString()));
        QCOMPARE(pageOf(window), QStringLiteral("Matrix"));
        const QJsonObject matrix = viewOf(window)[QStringLiteral("matrix")].toObject();
        QCOMPARE(matrix[QStringLiteral("circuit")].toInt(), 2);
        QCOMPARE(matrix[QStringLiteral("text")].toString(), QStringLiteral(" king of"));
        // Copies the current cell, if there is one.
        const auto copy = [window] {
            window->activateWindow();
            QTest::keyClick(window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
            return QGuiApplication::clipboard()->text().section(u'#', -1);
        };
        auto* page = window->findChild<ui::HeatmapPage*>();
        auto* view = page->findChild<ui::HeatmapView*>();
        QTRY_VERIFY(view->matrix() && view->matrix()->rows() == 2);
        view->zoom()->setCurrentCell(-1, -1);
        QCOMPARE(copy(), QStringLiteral("L1H5/full-OV"));
        view->zoom()->setCurrentCell(0, 1);
        QCOMPARE(copy(), QStringLiteral("L1H5/full-OV?row=%E2%90%A3king&column=%E2%90%A3of"));
    }

    void referencesNameDirectionsReferenceHeadsAndAnalyses()
    {
        Windows all(Windows::Memory::Fresh);
        MainWindow* window = all.first();
        const auto goTo = [&](const char* place) {
            const Result<Address> address = parseAddress((demo + QLatin1String(place)).toStdString());
            QVERIFY(address);
            window->goTo(*address);
        };
        const auto copy = [window] {
            window->activateWindow();
            QTest::keyClick(window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
            return QGuiApplication::clipboard()->text().section(u'#', -1);
        };
        goTo("#L1H5?direction=qk.3");
        QTRY_COMPARE(pageOf(window), QStringLiteral("Vectors"));
        QCOMPARE(window->workspace()->selection()->direction(), (ui::SingularChoice{CircuitKind::Qk, 2, 1}));
        QCOMPARE(copy(), QStringLiteral("L1H5/vectors?direction=qk.3"));
        goTo("#L1H5/compare?reference=L1H7");
        QCOMPARE(pageOf(window), QStringLiteral("Two heads"));
        QCOMPARE(window->workspace()->selection()->reference(), std::optional(HeadId{1, 7}));
        QCOMPARE(copy(), QStringLiteral("L1H5/compare?reference=L1H7"));
        goTo("#L0H1/analyses?analysis=normality");
        QCOMPARE(pageOf(window), QStringLiteral("Analyses"));
        QCOMPARE(copy(), QStringLiteral("L0H1/analyses?analysis=normality"));
        goTo("#L0H1/vectors");
        goTo("#L0H1?analysis=normality");
        QCOMPARE(copy(), QStringLiteral("L0H1/analyses?analysis=normality"));
        const Result<Address> none = parseAddress("m#L0H1?analysis=nonsense");
        QVERIFY(none);
        const Result<Done> checked = window->checkAddress(*none);
        QVERIFY(!checked && checked.error().message.find("nonsense") != std::string::npos);
    }

    void quittingAsksInEveryWindowAndCancelKeepsAll()
    {
        Windows all(Windows::Memory::Fresh);
        MainWindow* first = all.first();
        RemoteRequest request;
        request.toOpen = {demo};
        QVERIFY(all.handle(request));
        QTRY_VERIFY(first->workspace()->model()->isOpen());
        request.toOpen = {QStringLiteral(HEADWISE_TEST_DATA "/models/stories260k")};
        QVERIFY(all.handle(request));
        QCOMPARE(windows().size(), 2);
        MainWindow* second = windows().first() == first ? windows().last() : windows().first();
        QTRY_VERIFY(second->workspace()->model()->isOpen());
        for (MainWindow* window : windows())
            window->workspace()->notebook()->setNote({0, 1}, QStringLiteral("not saved"));
        const auto quit = [first](const QList<QMessageBox::StandardButton>& answers) {
            QList<QMessageBox::StandardButton> rest = answers;
            QTimer answerer; // The question waits for an answer.
            QObject::connect(&answerer, &QTimer::timeout, &answerer, [&rest] {
                auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
                if (box && !rest.isEmpty())
                    box->button(rest.takeFirst())->click();
            });
            answerer.start(10);
            first->activateWindow();
            if (!QTest::qWaitForWindowActive(first))
                return qsizetype(-1);
            QTest::keyClick(first, Qt::Key_Q, Qt::ControlModifier);
            return rest.size();
        };
        QCOMPARE(quit({QMessageBox::Discard, QMessageBox::Cancel}), 0);
        QVERIFY(first->isVisible() && second->isVisible());
        for (MainWindow* window : windows())
            QCOMPARE(window->workspace()->notebook()->note({0, 1}), QStringLiteral("not saved"));
        QCOMPARE(quit({QMessageBox::Discard, QMessageBox::Discard}), 0);
        QTRY_VERIFY(windows().isEmpty());
    }

    void whatAnAddressCannotSayIsLeftToThePage()
    {
        Windows all(Windows::Memory::Fresh);
        MainWindow* window = all.first();
        window->goTo(*parseAddress((demo + QStringLiteral("#L1H5/matrix")).toStdString()));
        QTRY_COMPARE(pageOf(window), QStringLiteral("Matrix"));
        const auto copy = [window] {
            window->activateWindow();
            QTest::keyClick(window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
            return QGuiApplication::clipboard()->text().section(u'#', -1);
        };
        const auto look = [window](const char* name, const char* choice, int chosen) {
            window->showPage(QLatin1String(name));
            for (auto* page : window->findChildren<ui::Page*>())
                if (page->isVisible() && page->viewState().contains(QLatin1String(choice))) {
                    QJsonObject state = page->viewState();
                    state[QLatin1String(choice)] = chosen;
                    page->setViewState(state);
                }
        };
        look("matrix", "circuit", 4); // the direct path
        QCOMPARE(copy(), QStringLiteral("L1H5/matrix"));
        look("matrix", "circuit", 1);
        QCOMPARE(copy(), QStringLiteral("L1H5/QK"));
        look("tokens", "side", 2); // the largest of all tokens
        QCOMPARE(copy(), QStringLiteral("L1H5/tokens"));
        look("tokens", "side", 0);
        QVERIFY(copy().startsWith(QStringLiteral("L1H5/full-OV?row=")));
    }

    void whatIsNotARequestChangesNothing()
    {
        Windows all(Windows::Memory::Fresh);
        const RemoteServer server([&all](const RemoteRequest& asked) { return all.handle(asked); });
        for (const QByteArray& sent :
             {QByteArray(200000, 'x'), QByteArray("nonsense\n"), QByteArray("\xff\n")}) {
            QLocalSocket socket;
            socket.connectToServer(remoteFolder() + QStringLiteral("/headwise-window"));
            QVERIFY(socket.waitForConnected(patience));
            socket.write(sent);
            QTRY_VERIFY(socket.canReadLine());
            QVERIFY(socket.readLine().contains("refused"));
        }
        QCOMPARE(second({demo}).exitCode, 0); // it still listens
        QTRY_VERIFY(all.first()->workspace()->model()->isOpen());
    }

    void aRequestOfAnotherScreenIsDeclined()
    {
        Windows all(Windows::Memory::Fresh);
        all.first();
        RemoteRequest request{QStringLiteral("remote:10"), {demo}, {}};
        const auto elsewhere = all.handle(request);
        QVERIFY(elsewhere && *elsewhere == RemoteServer::Answer::Declined);
        QVERIFY(all.first()->isEmpty());
        request.display.clear(); // a notebook without a screen
        const auto here = all.handle(request);
        QVERIFY(here && *here == RemoteServer::Answer::Done);
        QVERIFY(!all.first()->isEmpty());
    }

    void theSocketIsThisUsersAndPassesToTheNextWindow()
    {
        int answered = 0;
        const auto answeredBy = [&answered](int who) {
            return [&answered, who](const RemoteRequest&) -> Result<RemoteServer::Answer> {
                answered = who;
                return RemoteServer::Answer::Done;
            };
        };
        auto first = std::make_unique<RemoteServer>(answeredBy(1));
        const RemoteServer next(answeredBy(2));
        QCOMPARE(second({demo}).exitCode, 0);
        QCOMPARE(answered, 1);
        const QFileInfo socket(remoteFolder() + QStringLiteral("/headwise-window"));
        const auto others = QFile::ReadGroup | QFile::WriteGroup | QFile::ReadOther | QFile::WriteOther;
        QVERIFY(!(socket.permissions() & others));
        first.reset();
        const auto isListening = [&socket] {
            QLocalSocket asking;
            asking.connectToServer(socket.filePath());
            return asking.waitForConnected(100);
        };
        QTRY_VERIFY(isListening());
        QCOMPARE(second({demo}).exitCode, 0);
        QCOMPARE(answered, 2);
    }

private:
    /// Runs a second headwise while this one answers.
    test::CommandRun second(const QStringList& arguments)
    {
        QProcess process;
        QProcessEnvironment environment = test::quietEnvironment(m_folder.path());
        environment.insert(QStringLiteral("XDG_RUNTIME_DIR"), m_folder.path());
        process.setProcessEnvironment(environment);
        process.start(QStringLiteral(HEADWISE_BINARY), arguments);
        const bool ended = QTest::qWaitFor(
            [&] { return process.state() == QProcess::NotRunning && !process.program().isEmpty(); },
            patience);
        return {ended ? process.exitCode() : -1, process.readAllStandardOutput(),
                process.readAllStandardError()};
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(RemoteTest)
#include "remote_test.moc"
