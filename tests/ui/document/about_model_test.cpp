#include "ui/document/about_model.h"

#include "tests/support/program.h"

#include "core/model/architecture.h"
#include "core/model/processing.h"
#include "tests/support/matchers.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>
#include <QTest>

#include <filesystem>
#include <fstream>

using namespace headwise;
using namespace headwise::test;

/// Work of the window's jobs while their model changes.
class AboutModelTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        writeToyModel(m_folder->path().toStdString(), {});
        const auto weights = loadModel({m_folder->path().toStdString(), {}, {}}, {});
        QVERIFY(isOk(weights));
        const auto processed = process(*weights, ProcessingPlan(), {});
        QVERIFY(isOk(processed));
        m_circuits = std::make_shared<const Circuits>(*processed);
    }

    void theAnswerStandsWhileNothingChanges()
    {
        const auto answer = ui::aboutModel(m_circuits, seven)({});
        QVERIFY(isOk(answer));
        QCOMPARE(*answer, 7);
        QCOMPARE(*ui::aboutModel(nullptr, seven)({}), 7); // of a session without its model's files
    }

    void aFileThatShrinksIsTheAnswer()
    {
        std::filesystem::resize_file(file(), std::filesystem::file_size(file()) / 2);
        QVERIFY(failsWith(ui::aboutModel(m_circuits, seven)({}), ErrorCode::Io,
                          "model.safetensors changed while it was read"));
        const auto broken = [](const Task&) -> Result<int> {
            return Error{ErrorCode::Corrupt, "The numbers are NaN."}; // the outcome
        };
        QVERIFY(
            failsWith(ui::aboutModel(m_circuits, broken)({}), ErrorCode::Io, "changed while it was read"));
        const auto cancelled = [](const Task&) -> Result<int> { return stopped(); };
        QVERIFY(failsWith(ui::aboutModel(m_circuits, cancelled)({}), ErrorCode::Cancelled, ""));
    }

    void aFileThatIsWrittenIntoIsTheAnswerToo()
    {
        std::filesystem::last_write_time(file(),
                                         std::filesystem::last_write_time(file()) - std::chrono::hours(1));
        QVERIFY(failsWith(ui::aboutModel(m_circuits, seven)({}), ErrorCode::Io, "changed while it was read"));
    }

private:
    std::filesystem::path file() const
    {
        return std::filesystem::path(m_folder->path().toStdString()) / "model.safetensors";
    }
    static Result<int> seven(const Task&) { return 7; }

    std::unique_ptr<QTemporaryDir> m_folder;
    std::shared_ptr<const Circuits> m_circuits;
};

HEADWISE_TEST(AboutModelTest)
#include "about_model_test.moc"
