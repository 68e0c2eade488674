#include "core/analysis/position/rotary_tables.h"
#include "core/session/session_file.h"
#include "tests/support/analysed.h"
#include "tests/support/command.h"
#include "tests/support/delimited_table.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>

using namespace headwise;

/// `tokens` and `top` as a user runs them.
class TokenCommandsTest : public QObject {
    Q_OBJECT

private slots:
    void tokensOfAModelASessionAndItsTablesAreTheSame()
    {
        const QStringList question{"--circuit", "full-ov", "--head", "1.5",  "--token",
                                   "#300",      "-k",      "7",      "--csv"};
        const auto model = run(QStringList{"tokens", m_demo} + question);
        QCOMPARE(model.exitCode, 0);
        QVERIFY(model.out.startsWith("end,rank,id,token,value\r\ntop,1,"));
        QCOMPARE(model.out.count("\r\n"), 15);
        QCOMPARE(run({"analyze", m_demo, "-o", m_folder.filePath("tables.h5"), "--analyses", "tables",
                      "--heads", "1.5"})
                     .exitCode,
                 0);
        QCOMPARE(run(QStringList{"tokens", m_folder.filePath("tables.h5")} + question).out, model.out);
        QCOMPARE(run({"analyze", m_demo, "-o", m_folder.filePath("self.h5"), "--analyses", "copying",
                      "--self-contained"})
                     .exitCode,
                 0);
        const auto self = run(QStringList{"tokens", m_folder.filePath("self.h5")} + question);
        QCOMPARE(ids(self.out), ids(model.out));
        const QStringList column{"--circuit", "full-qk",     "--head", "0.1",  "--token",
                                 "#5",        "--direction", "column", "--csv"};
        QCOMPARE(ids(run(QStringList{"tokens", m_folder.filePath("self.h5")} + column).out),
                 ids(run(QStringList{"tokens", m_demo} + column).out));
        const QStringList longest{"--circuit", "full-ov", "--head", "0.4", "-k", "3", "--csv"};
        QCOMPARE(ids(run(QStringList{"tokens", m_folder.filePath("self.h5")} + longest).out),
                 ids(run(QStringList{"tokens", m_demo} + longest).out));
    }

    void topIsTheLargestOfAllRows()
    {
        const QStringList question{"--circuit", "full-qk", "--head", "1.5", "--csv"};
        const auto found = run(QStringList{"top", m_demo, "-n", "50"} + question);
        QCOMPARE(found.exitCode, 0);
        const QByteArrayList lines = found.out.split('\n');
        QCOMPARE(lines.size(), 52); // the header, and nothing after the last line end
        QCOMPARE(lines[0], QByteArray("rank,row_id,row_token,column_id,column_token,value\r"));
        const QByteArrayList first = lines[1].trimmed().split(',');
        QCOMPARE(first.size(), 6);
        // The largest of its row and of its column, and of any other row.
        const QStringList best{"-k", "1", "--token"};
        const auto row = run(QStringList{"tokens", m_demo} + question + best + QStringList{"#" + first[1]});
        QVERIFY(row.out.contains("top,1," + first[3] + "," + first[4] + "," + first[5] + "\r\n"));
        const auto other = run(QStringList{"tokens", m_demo} + question + best + QStringList{"#7"});
        QVERIFY(other.out.split('\n')[1].trimmed().split(',')[4].toDouble() <= first[5].toDouble());
        for (int i = 2; i <= 50; ++i)
            QVERIFY(lines[i].trimmed().split(',').last().toDouble()
                    <= lines[i - 1].trimmed().split(',').last().toDouble());
        const auto plain = run({"top", m_demo, "-n", "2", "--circuit", "full-ov", "--head", "0.0"});
        QCOMPARE(plain.exitCode, 0);
        QCOMPARE(plain.out.count('\n'), 3);
    }

    /// JSON holds what CSV holds, under the same names.
    void jsonIsTheSameTable_data()
    {
        QTest::addColumn<QStringList>("command");
        QTest::newRow("tokens") << QStringList{"tokens", m_demo, "--circuit", "full-ov",
                                               "--head", "1.5",  "--token",   " the"};
        QTest::newRow("top") << QStringList{"top",    m_demo, "--circuit", "full-qk",
                                            "--head", "0.1",  "-n",        "5"};
    }
    void jsonIsTheSameTable()
    {
        QFETCH(QStringList, command);
        const auto asked = run(command + QStringList{"--json"});
        QCOMPARE(asked.exitCode, 0);
        const auto list = nlohmann::ordered_json::parse(asked.out.toStdString());
        const auto csv =
            test::readDelimited(run(command + QStringList{"--csv"}).out.toStdString(), Delimiter::Comma);
        QVERIFY(csv && !csv->rows.empty());
        QCOMPARE(list.size(), csv->rows.size());
        for (std::size_t row = 0; row < list.size(); ++row) {
            std::size_t column = 0;
            for (const auto& [name, value] : list[row].items()) {
                QCOMPARE(name, csv->columns.at(column));
                const std::string& cell = csv->rows[row].at(column++);
                if (value.is_number())
                    QCOMPARE(value.get<double>(), std::stod(cell));
                else
                    QVERIFY(cell == value || cell == "'" + value.get<std::string>()); // no formula in CSV
            }
            QCOMPARE(column, csv->columns.size());
        }
        QCOMPARE(run(command + QStringList{"--json", "--csv"}).exitCode, 2);
    }

    void topOfMoreThanThereAreIsAll()
    {
        const auto all = run({"top", QString::fromStdString(test::testData("models/stories260k").string()),
                              "--circuit", "full-ov", "--head", "0.3", "-n", "2000000", "--csv"});
        QCOMPARE(all.exitCode, 0);
        QCOMPARE(all.out.count("\r\n"), 512 * 512 + 1);
    }

    void rowsLeaveTokensOutToo()
    {
        const QStringList question{"tokens", m_demo,    "--circuit", "full-ov", "--head", "1.5",
                                   "--csv",  "--token", " the",      "-k",      "40"};
        const auto ids = [](const QByteArray& out) {
            QList<int> found;
            for (const QByteArray& line : out.trimmed().split('\n').mid(1))
                found << line.split(',')[2].toInt();
            return found;
        };
        const auto all = run(question);
        const auto some = run(question + QStringList{"--first-id", "300", "--last-id", "600"});
        QVERIFY2(some.exitCode == 0, some.err);
        QCOMPARE(ids(some.out).size(), 80);
        QVERIFY(std::ranges::all_of(ids(some.out), [](int id) { return id >= 300 && id <= 600; }));
        QVERIFY(!std::ranges::all_of(ids(all.out), [](int id) { return id >= 300 && id <= 600; }));
        const auto spaced = run(question + QStringList{"--leading-space", "with", "--no-specials"});
        QVERIFY2(spaced.exitCode == 0, spaced.err);
        for (const QByteArray& line : spaced.out.trimmed().split('\n').mid(1))
            QVERIFY2(line.split(',')[3].replace('"', "").startsWith("\xe2\x90\xa3"), line); // ␣
        QCOMPARE(run(question + QStringList{"--leading-space", "perhaps"}).exitCode, 2);
        const auto longer = run(question + QStringList{"--max-norm", "0.000001"});
        QCOMPARE(longer.exitCode, 0);
        QVERIFY(ids(longer.out).isEmpty()); // no embedding is that short

        const QString session = m_folder.filePath("rows.h5");
        QCOMPARE(run({"analyze", m_demo, "-o", session, "--analyses", "copying"}).exitCode, 0);
        const auto refused =
            run({"tokens", session, "--circuit", "full-ov", "--head", "1.5", "--token", "#5", "--ascii"});
        QCOMPARE(refused.exitCode, 2);
        QVERIFY(refused.err.contains("--ascii cannot change a session's tables"));

        const QString compared = m_folder.filePath("compared.h5");
        const auto both = run({"compare", m_demo, m_demo, "-o", compared, "--ascii"});
        QVERIFY2(both.exitCode == 0, both.err);
        const auto written = readSession(compared.toStdString(), Task{});
        QVERIFY(test::isOk(written));
        QCOMPARE(std::get<std::string>(written->results.groupAttributes.at("comparison").at("token_filter")),
                 std::string("--ascii"));
    }

    void scoresAreAskedForAtAnOffset()
    {
        const QString stories = QString::fromStdString(test::testData("models/stories260k").string());
        const QStringList question{"tokens", stories, "--circuit", "full-qk", "--head", "1.2",
                                   "--csv",  "-k",    "3",         "--token", "#17"};
        const Circuits circuits = test::circuitsOf(stories.toStdString());
        const auto tokens = test::tokensOf(circuits);
        const auto line = rotaryTokenLine(circuits, *tokens, {1, 2}, 17, 5);
        QVERIFY(test::isOk(line));
        const auto answer = run(question + QStringList{"--offset", "5"});
        QVERIFY2(answer.exitCode == 0, answer.err);
        QVERIFY(answer.out != run(question).out);
        const QByteArrayList best = answer.out.split('\n')[1].trimmed().split(',');
        QVERIFY(std::abs(best.last().toDouble() - (*line)(best[2].toInt()))
                < 1e-5 * line->cwiseAbs().maxCoeff());
        const QStringList largest{"top", stories, "--circuit", "full-qk", "--head",
                                  "1.2", "-n",    "1",         "--csv"};
        const auto top = run(largest + QStringList{"--offset", "5"});
        QVERIFY2(top.exitCode == 0, top.err);
        const QByteArrayList pair = top.out.split('\n')[1].trimmed().split(',');
        const auto row = rotaryTokenLine(circuits, *tokens, {1, 2}, pair[1].toInt(), 5);
        QVERIFY(std::abs(pair.last().toDouble() - (*row)(pair[3].toInt()))
                < 1e-5 * row->cwiseAbs().maxCoeff());
        const auto learned =
            run({"top", m_demo, "--circuit", "full-qk", "--head", "1.5", "-n", "1", "--offset", "1"});
        QCOMPARE(learned.exitCode, 2);
        QVERIFY(learned.err.contains("need rotary positions") && learned.err.count('\n') == 1);
        const auto writes =
            run({"tokens", stories, "--circuit", "full-ov", "--head", "1.2", "--offset", "1"});
        QCOMPARE(writes.exitCode, 2);
        QVERIFY(writes.err.contains("--circuit full-qk"));
    }

    void aTokenIsNamedAsShownAsTextOrById()
    {
        const QStringList question{"tokens", m_demo, "--circuit", "full-ov",
                                   "--head", "1.5",  "--csv",     "--token"};
        const auto shown = run(question + QStringList{QString::fromUtf8("␣the")});
        QCOMPARE(shown.exitCode, 0);
        QCOMPARE(run(question + QStringList{" the"}).out, shown.out);
        QCOMPARE(run(question + QStringList{"no such token"}).exitCode, 3);
        QCOMPARE(run(question + QStringList{"#99999"}).exitCode, 3);
    }

    void aChangedHeadIsTheSameFromTheModelAndFromItsSession()
    {
        const QStringList question{"--circuit", "full-ov", "--head", "1.5", "--token", "#300", "--csv"};
        const QStringList change{"--virtual-head", "0.1,1.5", "--without-component", "0.2:1"};
        const auto plain = run(QStringList{"tokens", m_demo} + question);
        const auto changed = run(QStringList{"tokens", m_demo} + question + change);
        QCOMPARE(changed.exitCode, 0);
        QVERIFY(changed.out != plain.out);
        const QString session = m_folder.filePath("changed.h5");
        QCOMPARE(run(QStringList{"analyze", m_demo, "-o", session, "--analyses", "tables", "--heads", "1.5"}
                     + change)
                     .exitCode,
                 0);
        QCOMPARE(run(QStringList{"tokens", session} + question).out, changed.out);
        const auto read = readSession(session.toStdString(), Task{});
        QVERIFY(read);
        QCOMPARE(read->processing.headChanges,
                 (std::vector<HeadChange>{{.head = {1, 5}, .earlier = HeadId{0, 1}},
                                          {.head = {0, 2}, .withoutComponent = 1}}));
        // The refusal names a command that includes the same change.
        const auto asked = run({"tokens", session, "--circuit", "full-qk", "--head", "0.1", "--token", "#1"});
        QVERIFY(asked.err.contains("--virtual-head 0.1,1.5 --without-component 0.2:1"));
        for (const QStringList& wrong :
             {QStringList{"--virtual-head", "1.5"}, QStringList{"--virtual-head", "1.5,0.1"},
              QStringList{"--without-component", "0.1:99"}, QStringList{"--without-component", "0.1"}}) {
            const auto refused = run(QStringList{"tokens", m_demo} + question + wrong);
            QCOMPARE(refused.exitCode, 2);
            QVERIFY(refused.err.contains(wrong[1].toUtf8()));
        }
        QCOMPARE(run({"run", m_demo, "--tokens", "1,2", "-o", m_folder.filePath("r.h5"),
                      "--without-component", "0.1:0"})
                     .exitCode,
                 2);
    }

    void aSessionWithoutTheAnswerNamesTheCommandThatMakesIt()
    {
        const QString session = m_folder.filePath("scores.h5");
        QCOMPARE(run({"analyze", m_demo, "-o", session, "--analyses", "copying"}).exitCode, 0);
        const auto asked = run({"tokens", session, "--circuit", "full-qk", "--head", "0.1", "--token", "#1"});
        QCOMPARE(asked.exitCode, 3);
        QVERIFY(asked.err.contains("headwise analyze ")
                && asked.err.contains("--analyses tables --heads 0.1"));
        QCOMPARE(asked.err.count('\n'), 1);
    }

    /// Every command named in a refusal works, with the options of the session.
    void theNamedCommandRepeatsWhatTheSessionWasMadeWith()
    {
        const QString model = m_folder.filePath("one's model");
        QVERIFY(QDir().mkpath(model));
        for (const QFileInfo& file : QDir(m_demo).entryInfoList(QDir::Files))
            QVERIFY(QFile::copy(file.filePath(), model + "/" + file.fileName()));
        const QString session = m_folder.filePath("made.h5");
        const auto made =
            run({"analyze", model, "-o", session, "--analyses", "tables", "--heads", "1.5", "--set",
                 "eps=1e-5", "--first-id", "300", "--config", m_demo + "/config.json"});
        QVERIFY2(made.exitCode == 0, made.err);
        const auto lacks =
            run({"tokens", session, "--circuit", "full-qk", "--head", "0.1", "--token", "#301"});
        QCOMPARE(lacks.exitCode, 3);
        for (const char* part : {"one'\\''s model'", " --set eps=1e-5", " --first-id 300", "/config.json"})
            QVERIFY2(lacks.err.contains(part), lacks.err);
        QVERIFY(!lacks.err.contains("--tokenizer"));
        const auto other = run({"tokens", session, "--circuit", "full-ov", "--head", "1.5", "--token", "#301",
                                "--no-fold-layer-norm"});
        QCOMPARE(other.exitCode, 3);
        QVERIFY2(other.err.contains(" --first-id 300") && other.err.contains(" --no-fold-layer-norm"),
                 other.err);
    }

    void aTokenThatTheFilterLeftOutIsRefused()
    {
        const QString session = m_folder.filePath("filtered.h5");
        QCOMPARE(run({"analyze", m_demo, "-o", session, "--analyses", "tables", "--heads", "1.5",
                      "--first-id", "300"})
                     .exitCode,
                 0);
        for (const QString& direction : {QString("row"), QString("column")}) {
            const QStringList question{"--circuit", "full-ov",     "--head",  "1.5", "--token",
                                       "#5",        "--direction", direction, "-k",  "4"};
            const auto refused = run(QStringList{"tokens", session} + question);
            QCOMPARE(refused.exitCode, 3);
            QCOMPARE(refused.err.count('\n'), 1);
            QVERIFY2(refused.err.contains("--first-id 300, which leaves token #5 out"), refused.err);
            QVERIFY2(answerOfNamed(refused).startsWith("end "), refused.err);
        }
    }

    void aSessionNamesItsModelForAnOffset()
    {
        const QString stories = QString::fromStdString(test::testData("models/stories260k").string());
        const QString session = m_folder.filePath("stories.h5");
        QCOMPARE(run({"analyze", stories, "-o", session, "--analyses", "copying"}).exitCode, 0);
        const QStringList question{"--circuit", "full-qk", "--head", "1.2",      "--token",
                                   "#17",       "-k",      "3",      "--offset", "2"};
        const auto refused = run(QStringList{"tokens", session} + question);
        QCOMPARE(refused.exitCode, 3);
        QCOMPARE(answerOfNamed(refused), run(QStringList{"tokens", stories} + question).out);
    }

    void aSessionOfAnotherEmbeddingNamesItsModel()
    {
        const QString session = m_folder.filePath("effective.h5");
        QCOMPARE(run({"analyze", m_demo, "-o", session, "--self-contained", "--embedding", "effective",
                      "--analyses", "tables", "--heads", "1.5"})
                     .exitCode,
                 0);
        const QStringList question{"--circuit", "full-ov", "--head", "1.5", "-k", "2"};
        const auto refused = run(QStringList{"tokens", session} + question);
        QCOMPARE(refused.exitCode, 3);
        QVERIFY2(refused.err.contains("raw embedding only"), refused.err);
        QCOMPARE(answerOfNamed(refused),
                 run(QStringList{"tokens", m_demo, "--embedding", "effective"} + question).out);
        const auto column =
            run(QStringList{"tokens", session, "--direction", "column", "--token", "#5"} + question);
        QCOMPARE(column.exitCode, 0);
        QVERIFY2(column.err.contains("--direction column") && !column.err.contains("--self-contained"),
                 column.err);
    }

    void aSessionWithSomeOfItsFactorsSaysWhatItLacks()
    {
        const Session whole = selfContained();
        for (const std::string lost : {"factors/ov/a", "factors/ov/b", "unembedding", "embedding"}) {
            Session session = whole;
            std::erase_if(session.results.arrays, [&](const ResultArray& a) { return a.path == lost; });
            const auto asked = askFullOv(session, "#5");
            QVERIFY2(asked.exitCode == 3, lost.c_str());
            QVERIFY(asked.err.contains("does not hold") && asked.err.count('\n') == 1);
        }
        QCOMPARE(askFullOv(whole, "#5").exitCode, 0);
    }

    void aTokenOutsideANarrowUnembeddingIsRefused()
    {
        Session session = selfContained();
        for (ResultArray& array : session.results.arrays)
            if (array.path == "unembedding") {
                const std::size_t rows = array.shape[0];
                array.shape = {rows, 4};
                array.values = std::vector<float>(rows * 4, 0.5F);
            }
        QCOMPARE(askFullOv(session, "#3", {"--direction", "column"}).exitCode, 0);
        const auto refused = askFullOv(session, "#4", {"--direction", "column"});
        QCOMPARE(refused.exitCode, 2);
        QVERIFY2(refused.err.contains("no token 4 among the 4 columns of full-ov"), refused.err);
    }

private:
    /// Runs the command at the end of a refusal and returns its output.
    QByteArray answerOfNamed(const test::CommandRun& refused) const
    {
        const QString command = QString::fromUtf8(refused.err.mid(refused.err.indexOf("headwise tokens")));
        return run(QProcess::splitCommand(command.trimmed().remove(QLatin1Char('\''))).mid(1)).out;
    }

    /// The demo's session with its factors.
    Session selfContained() const
    {
        const QString path = m_folder.filePath("whole.h5");
        const auto made = run({"analyze", m_demo, "-o", path, "--analyses", "copying", "--self-contained"});
        const auto read = readSession(path.toStdString(), Task{});
        return made.exitCode == 0 && read ? *read : Session{};
    }

    test::CommandRun askFullOv(const Session& session, const QString& token,
                               const QStringList& more = {}) const
    {
        const QString path = m_folder.filePath("edited.h5");
        if (!writeSession(path.toStdString(), session, Task{}))
            return {};
        return run(QStringList{"tokens", path, "--circuit", "full-ov", "--head", "1.5", "--token", token}
                   + more);
    }

    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, m_folder.path());
    }

    /// "top 1 300" of every line. Values of float32 tables and of double factors differ in their last digit.
    static QByteArrayList ids(const QByteArray& csv)
    {
        QByteArrayList out;
        for (const QByteArray& line : csv.split('\n'))
            out += line.split(',').mid(0, 3).join(' ');
        return out;
    }

    QTemporaryDir m_folder;
    const QString m_demo = HEADWISE_DEMO_MODEL;
};

HEADWISE_TEST(TokenCommandsTest)
#include "token_commands_test.moc"
