#include "core/files/hdf5.h"
#include "core/session/session_file.h"
#include "tests/core/session/full_session.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace headwise;
using namespace headwise::test;

/// Session files that are refused, and the words that say why.
class SessionRefusalsTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::filesystem::path file(const std::string& name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

    /// Writes a good session with one fault from `damage`.
    std::filesystem::path damaged(const std::function<void(Session&)>& damage)
    {
        return writeDamaged(file("damaged.h5"), damage);
    }

private slots:
    void refusesASessionThatDoesNotSayHowItsWeightsWereProcessed()
    {
        auto made = Hdf5Writer::create(file("half.h5"));
        QVERIFY(isOk(made));
        Hdf5Writer writer = std::move(made).value();
        QVERIFY(isOk(writer.setAttribute("", "format", std::string("headwise-session"))));
        QVERIFY(isOk(writer.setAttribute("", "format_version", std::int64_t(1))));
        QVERIFY(isOk(writer.createGroup("model")));
        for (const char* name :
             {"n_layers", "n_heads", "n_kv_heads", "d_model", "d_head", "d_mlp", "d_vocab", "n_ctx"})
            QVERIFY(isOk(writer.setAttribute("model", name, std::int64_t(1))));
        QVERIFY(isOk(writer.close()));
        QVERIFY(failsWith(readSession(file("half.h5"), Task{}), ErrorCode::Corrupt, "'processing'"));
    }

    void refusesAnHdf5FileThatIsNoSession()
    {
        auto made = Hdf5Writer::create(file("other.h5"));
        Hdf5Writer writer = std::move(made).value();
        QVERIFY(isOk(writer.setAttribute("", "format", std::string("something-else")))
                && isOk(writer.close()));
        QVERIFY(failsWith(readSession(file("other.h5"), Task{}), ErrorCode::Unsupported, "not a session"));
        QVERIFY(!isSessionFile(file("other.h5")) && isSessionFile(testData("session-v1.h5")));
        std::ofstream(file("text.h5")) << "text";
        QVERIFY(failsWith(readSession(file("text.h5"), Task{}), ErrorCode::Corrupt, "not an HDF5 file"));
        QVERIFY(!isSessionFile(file("text.h5")) && !isSessionFile(file("absent.h5")));
        QVERIFY(failsWith(readSession(file("absent.h5"), Task{}), ErrorCode::NotFound, "absent.h5"));
    }

    void refusesShapesThatContradictTheModel()
    {
        const auto replace = [](Session& s, const char* path, std::vector<std::size_t> shape) {
            for (ResultArray& a : s.results.arrays)
                if (a.path == path) {
                    const std::string group = path;
                    a = risingArray<float>(group, shape, axisNames(a.axes));
                }
        };
        QVERIFY(failsWith(readSession(damaged([&](Session& s) {
                                          replace(s, "scores/copying", {3, 2});
                                      }),
                                      Task{}),
                          ErrorCode::Corrupt, "scores/copying"));
        QVERIFY(failsWith(readSession(damaged([&](Session& s) {
                                          replace(s, "spectra/qk/singular_values", {2, 3, 4});
                                      }),
                                      Task{}),
                          ErrorCode::Corrupt, "singular_values"));
        QVERIFY(failsWith(
            readSession(damaged([](Session& s) { s.tokens.pop_back(), s.tokenBytes.pop_back(); }), Task{}),
            ErrorCode::Corrupt, "d_vocab = 11"));
        QVERIFY(failsWith(readSession(damaged([](Session& s) { s.results.groupAttributes.clear(); }), Task{}),
                          ErrorCode::Corrupt, "heads"));
        QVERIFY(failsWith(readSession(damaged([](Session& s) {
                                          s.results.groupAttributes["tables/full_ov"]["heads"] =
                                              std::vector<std::string>{"0.1", "2.0"};
                                      }),
                                      Task{}),
                          ErrorCode::Corrupt, "heads"));
        QVERIFY(failsWith(readSession(damaged([](Session& s) {
                                          s.results.arrays.push_back(risingArray<std::int32_t>(
                                              "tables/full_ov/ids", {2, 11, 1}, {"head", "token", "rank"}));
                                      }),
                                      Task{}),
                          ErrorCode::Corrupt, "outside the vocabulary"));
        QVERIFY(failsWith(readSession(damaged([](Session& s) { s.model.nHeads = 0; }), Task{}),
                          ErrorCode::Corrupt, "n_heads"));
    }

    void refusesSizesNoModelHas()
    {
        const auto read = [&](auto&& damage) { return readSession(damaged(damage), Task{}); };
        QVERIFY(failsWith(read([](Session& s) { s.model.nLayers = s.model.nHeads = 70'000; }),
                          ErrorCode::Corrupt, "70000 layers, more than the 10000"));
        QVERIFY(failsWith(read([](Session& s) { s.model.nHeads = 600'000; }), ErrorCode::Corrupt,
                          "2 layers of 600000 heads"));
        QVERIFY(failsWith(read([](Session& s) { s.model.nKvHeads = 2'000'000'000; }), ErrorCode::Corrupt,
                          "2000000000 heads"));
        QVERIFY(failsWith(read([](Session& s) { s.model.dVocab = 2'000'000'000; }), ErrorCode::Corrupt,
                          "2000000000 tokens"));
        QVERIFY(failsWith(read([](Session& s) { s.model.dModel = s.model.dMlp = 2'000'000'000; }),
                          ErrorCode::Corrupt, "more weights"));
    }

    void refusesTablesThatSayTheyHaveLayers()
    {
        const auto withAxes = [&](const std::vector<std::string>& axes) {
            return damaged([&](Session& s) {
                for (ResultArray& a : s.results.arrays)
                    if (a.path == "tables/full_ov/values")
                        a.axes = axesNamed(axes);
            });
        };
        for (const auto& axes :
             std::vector<std::vector<std::string>>{{"layer", "head", "rank"}, {"token", "head", "rank"}})
            QVERIFY(failsWith(readSession(withAxes(axes), Task{}), ErrorCode::Corrupt,
                              "'tables/full_ov/values'"));
    }

    void refusesAnUnembeddingOfOtherTokensThanItsTables()
    {
        const auto withColumns = [&](std::size_t tokens) {
            return damaged([&](Session& s) {
                s.results.arrays.push_back(risingArray<std::int32_t>(
                    "tables/full_ov/column_ids", {2, tokens, 0}, {"head", "token", "rank"}));
            });
        };
        QVERIFY(isOk(readSession(withColumns(11), Task{})));
        QVERIFY(failsWith(readSession(withColumns(4), Task{}), ErrorCode::Corrupt,
                          "'unembedding' of the session"));
    }

    void notesOnHeadsTheModelDoesNotHaveAreLeftOut()
    {
        const auto path = damaged([](Session& s) { s.notes["7.0"] = "lost", s.bookmarks.push_back("x"); });
        const Result<Session> read = readSession(path, Task{});
        QVERIFY(isOk(read));
        QVERIFY(read->notes == fullSession().notes && read->bookmarks == fullSession().bookmarks);
    }
};

HEADWISE_TEST(SessionRefusalsTest)
#include "session_refusals_test.moc"
