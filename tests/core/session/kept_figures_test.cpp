#include "core/session/kept_figures.h"

#include "core/files/hdf5.h"
#include "core/session/session_file.h"
#include "tests/core/session/full_session.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

using namespace headwise;
using namespace headwise::test;

/// The figures that a session keeps for its user.
class KeptFiguresTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    std::filesystem::path file(const char* name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

    static KeptFigures twoKinds()
    {
        KeptFigures figures;
        FigureDescription& composed = figures.composed["Figure 1: \"σ\""];
        composed.page.width = 85;
        composed.title = "A title";
        composed.panels = {{.view = "copying", .row = 1, .column = 1},
                           {.view = "spectrum", .head = "1.2", .row = 1, .column = 2}};
        figures.views["L1H2 OV"] = R"({"format":"pdf","width":85})";
        return figures;
    }

private slots:
    void whatIsKeptComesBack()
    {
        const KeptFigures figures = twoKinds();
        Session session = fullSession();
        session.figures = text(figures);
        QVERIFY(isOk(writeSession(file("kept.h5"), session, Task{})));
        const Result<Session> read = readSession(file("kept.h5"), Task{});
        QVERIFY(isOk(read));
        const Result<KeptFigures> again = parseKeptFigures(read->figures, "this session");
        QVERIFY(isOk(again));
        QVERIFY(*again == figures);
        QVERIFY(text(KeptFigures{}).empty());
        QVERIFY(parseKeptFigures("", "this session").value() == KeptFigures{});
    }

    void anUnknownNameSaysWhichThereAre()
    {
        Session session;
        session.figures = text(twoKinds());
        QVERIFY(keptFigure(session, "Figure 1: \"σ\"", "s.h5").value()
                == twoKinds().composed.begin()->second);
        QVERIFY(failsWith(keptFigure(session, "Figure 2", "s.h5"), ErrorCode::NotFound, "Figure 1: \"σ\""));
        session.figures.clear();
        QVERIFY(failsWith(keptFigure(session, "Figure 2", "s.h5"), ErrorCode::NotFound,
                          "'s.h5' keeps no figures of several panels"));
    }

    void aDamagedTextLosesTheFiguresAlone_data()
    {
        QTest::addColumn<QByteArray>("words");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const char* words, const char* part) {
            QTest::newRow(name) << QByteArray(words) << QByteArray(part);
        };
        row("cut off", R"({"version": 1, "composed": {)", "/figures");
        row("a list", "[]", "version 1");
        row("later", R"({"version": 2})", "version 1");
        row("no object", R"({"version": 1, "views": 3})", "'views'");
        row("settings", R"({"version": 1, "views": {"t": 3}})", "'t'");
        row("description", R"({"version": 1, "composed": {"two": {"panels": [{}]}}})",
            "'two': panels[0].view is missing");
    }
    void aDamagedTextLosesTheFiguresAlone()
    {
        QFETCH(const QByteArray, words);
        QFETCH(const QByteArray, part);
        Session session = fullSession();
        session.figures = words.toStdString();
        QVERIFY(isOk(writeSession(file("damaged.h5"), session, Task{})));
        const Result<Session> read = readSession(file("damaged.h5"), Task{});
        QVERIFY(isOk(read));
        QVERIFY(read->notes == session.notes && read->results == session.results);
        const Result<KeptFigures> figures = parseKeptFigures(read->figures, "this session");
        QVERIFY(failsWith(figures, ErrorCode::Corrupt, part.constData()));
        QVERIFY(figures.error().message.ends_with("the rest of the session is intact."));
    }

    void tooManyAreRefused()
    {
        KeptFigures many;
        for (std::size_t i = 0; i <= mostKeptFigures; ++i)
            many.views[std::to_string(i)] = "{}";
        QVERIFY(failsWith(parseKeptFigures(text(many), "this session"), ErrorCode::Corrupt, "1000"));
        many.views.erase(many.views.begin());
        QVERIFY(isOk(parseKeptFigures(text(many), "this session")));
    }

    /// A group of that name, made with h5py, opened before there were figures.
    void aForeignGroupOfThatNameIsIgnored()
    {
        Session session = fullSession();
        session.figures.clear();
        session.notes.clear();
        session.results.groupAttributes["figures"]["made_by"] = std::string("hand");
        QVERIFY(isOk(writeSession(file("foreign.h5"), session, Task{})));
        QVERIFY(Hdf5Reader::open(file("foreign.h5"))->has("figures"));
        const Result<Session> read = readSession(file("foreign.h5"), Task{});
        QVERIFY(isOk(read));
        QVERIFY(read->figures.empty());
    }
};

HEADWISE_TEST(KeptFiguresTest)
#include "kept_figures_test.moc"
