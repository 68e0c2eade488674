#include "app/address.h"
#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"
#include "ui/models/token_table_model.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QSignalSpy>
#include <QTableView>

#include <cmath>

using namespace headwise;
using namespace headwise::app;
using test::patience;
using test::WindowDriver;

namespace {

/// A notebook's cell: the strongest entry of a head's table of a token, and the address of it.
constexpr const char* notebookCell = R"(
import json, sys
try:
    import headwise
except ImportError:
    sys.exit(77)
with headwise.Session(sys.argv[1]) as session:
    best, value = session.table("full_ov", 1, 5, " king")[0]
    print(json.dumps({"token": session.token(" king"), "best": best, "value": value,
                      "address": session.address(1, 5, "OV", row=" king")}))
)";

/// Another cell: a score as the window saved it, and the address of the best head.
constexpr const char* savedCell = R"(
import json, sys
try:
    import headwise
except ImportError:
    sys.exit(77)
with headwise.Session(sys.argv[1]) as session:
    layer, head = session.best("copying")
    print(json.dumps({"copying": float(session.scores()["copying"][0, 3]), "layer": layer, "head": head,
                      "address": session.address(layer, head)}))
)";

} // namespace

/// From `analyze` into a notebook, and from the notebook's address to the same numbers in the window.
class NotebookAddressTest : public QObject {
    Q_OBJECT

private:
    /// Runs a cell on a session and returns the object that it prints; empty where there is no Python or no h5py.
    static QJsonObject readInNotebook(const char* cell, const QString& file)
    {
        QJsonObject read;
        [&] {
            QProcess python;
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            environment.insert(QStringLiteral("PYTHONPATH"),
                               QStringLiteral(HEADWISE_DEMO_MODEL "/../python"));
            python.setProcessEnvironment(environment);
            python.start(QStringLiteral("/usr/bin/python3"),
                         {QStringLiteral("-B"), QStringLiteral("-c"), QLatin1String(cell), file});
            if (!python.waitForStarted())
                QSKIP("there is no Python");
            QVERIFY(python.waitForFinished(patience));
            if (python.exitCode() == 77)
                QSKIP("h5py is not installed");
            const QByteArray errors = python.readAllStandardError();
            QVERIFY2(python.exitCode() == 0, errors.constData());
            read = QJsonDocument::fromJson(python.readAllStandardOutput()).object();
            QVERIFY(!read.isEmpty());
        }();
        return read;
    }

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void whatANotebookReadsIsWhatItsAddressShows()
    {
        const QString file = m_folder.filePath(QStringLiteral("of a notebook.h5")); // a space must survive
        const test::CommandRun run = test::runHeadwise(
            {QStringLiteral("analyze"), QStringLiteral(HEADWISE_DEMO_MODEL), QStringLiteral("-o"), file},
            m_folder.path());
        QVERIFY2(run.exitCode == 0, run.err.constData());
        const QJsonObject read = readInNotebook(notebookCell, file);
        if (read.isEmpty())
            return; // it failed or was skipped
        const std::string words = read[QStringLiteral("address")].toString().toStdString();
        const Result<Address> address = parseAddress(words);
        QVERIFY2(address, words.c_str());
        WindowDriver driver;
        driver.window.goTo(*address);
        QTRY_COMPARE(driver.workspace().selection()->head(), (HeadId{1, 5}));
        QTRY_COMPARE(driver.tabs()->currentName(), QStringLiteral("tokens"));
        QCOMPARE(driver.workspace().selection()->token(), read[QStringLiteral("token")].toInt());
        const auto shows = [&] {
            for (const auto* table : driver.page()->findChildren<QTableView*>()) {
                const QModelIndex first = table->model()->index(0, ui::TokenTableModel::TokenColumn);
                const QModelIndex value = table->model()->index(0, ui::TokenTableModel::ValueColumn);
                if (table->isVisible()
                    && first.data(ui::TokenTableModel::IdRole).toInt() == read[QStringLiteral("best")].toInt()
                    && std::abs(value.data(ui::TokenTableModel::SortRole).toDouble()
                                - read[QStringLiteral("value")].toDouble())
                        < 1e-4 + 1e-4 * std::abs(read[QStringLiteral("value")].toDouble()))
                    return true;
            }
            return false;
        };
        QTRY_VERIFY(shows());
    }

    /// From the window into a notebook and back: what was saved is read, and its address leads to what is shown.
    void whatTheWindowSavedComesBackFromANotebook()
    {
        const QString file = m_folder.filePath(QStringLiteral("of the window.h5"));
        double copying = 0;
        {
            WindowDriver driver;
            driver.openDemo();
            QSignalSpy saved(driver.workspace().session(), &ui::SessionFile::saved);
            driver.window.saveTo(file);
            QTRY_COMPARE(saved.count(), 1);
            copying = ui::metricAt(*driver.workspace().model()->results()->find("scores/copying"), {0, 3});
        }
        const QJsonObject read = readInNotebook(savedCell, file);
        if (read.isEmpty())
            return; // it failed or was skipped
        QVERIFY(std::abs(read[QStringLiteral("copying")].toDouble() - copying) < 1e-6);
        const std::string words = read[QStringLiteral("address")].toString().toStdString();
        const Result<Address> address = parseAddress(words);
        QVERIFY2(address, words.c_str());
        WindowDriver driver;
        driver.window.goTo(*address);
        QTRY_COMPARE(driver.workspace().selection()->head(),
                     (HeadId{read[QStringLiteral("layer")].toInt(), read[QStringLiteral("head")].toInt()}));
        QVERIFY(driver.workspace().model()->session());
        const ResultArray* shown = driver.workspace().model()->results()->find("scores/copying");
        QVERIFY(shown && std::abs(ui::metricAt(*shown, {0, 3}) - copying) < 1e-6);
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(NotebookAddressTest)
#include "notebook_address_test.moc"
