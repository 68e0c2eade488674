#include "core/checkpoint/npy.h"
#include "core/session/session_file.h"
#include "tests/support/command.h"
#include "tests/support/matchers.h"
#include "tests/support/patched_model.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <algorithm>
#include <cstring>
#include <limits>

using namespace headwise;

/// `analyze` and `list-analyses` as a user runs them, and their refusals.
class AnalyzeTest : public QObject {
    Q_OBJECT

private slots:
    void aDirectionIsAFileATokenOrADifference()
    {
        const auto made = [&](const QString& direction) {
            return run({"analyze", m_demo, "-o", m_folder.filePath("direction.h5"), "--analyses",
                        "direction_card", "--heads", "0.0", "--direction", direction});
        };
        for (const char* direction : {"#300", " the", "#300 -- #301", "unembed:#300 -- unembed: the"}) {
            const auto done = made(direction);
            QVERIFY2(done.exitCode == 0 && done.out.contains("with 11 arrays"), done.err + done.out);
            const auto read = readSession(m_folder.filePath("direction.h5").toStdString(), Task{});
            QVERIFY(test::isOk(read));
            const ResultArray* gain = read->results.find("analyses/direction_card/gain");
            QVERIFY(gain && gain->attributes.at("direction") == AttributeValue(std::string(direction)));
        }
        QFile file(m_folder.filePath("x.npy"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray::fromStdString(npyHeader("<f8", {3})) + QByteArray(24, '\0'));
        file.close();
        const auto wrong = made(file.fileName());
        QCOMPARE(wrong.exitCode, 2);
        QVERIFY(wrong.err.contains("has 3 numbers, expected"));
        QCOMPARE(made(m_folder.filePath("absent.npy")).exitCode, 3);
        QCOMPARE(made("#99999").exitCode, 3);
        QCOMPARE(made("#1 -- ").exitCode, 2);
    }

    void oneEndIsARowOfTheComposition()
    {
        const QString session = m_folder.filePath("row.h5");
        const auto pairs = [&](const QStringList& more, std::ptrdiff_t count) {
            const auto made = run(
                QStringList{"analyze", m_demo, "-o", session, "--analyses", "composition", "--heads", "1.5"}
                + more);
            QVERIFY2(made.exitCode == 0, made.err);
            QCOMPARE(made.err.contains("--one-end"), count == 0);
            const auto read = readSession(session.toStdString(), Task{});
            QVERIFY(test::isOk(read));
            const ResultArray* scores = read->results.find("composition/k");
            QVERIFY(scores);
            const auto& k = std::get<std::vector<float>>(scores->values);
            QCOMPARE(std::count_if(k.begin(), k.end(), [](float value) { return !std::isnan(value); }),
                     count);
        };
        pairs({"--one-end"}, 8); // with every head of layer 0
        pairs({}, 0);
    }

    void aKeyTokenMeetsTheQueryOfAToken()
    {
        const QString model = QString::fromStdString(test::testData("models/stories260k").string());
        const QString session = m_folder.filePath("pair.h5");
        const auto made = [&](const QStringList& tokens) {
            return run(QStringList{"analyze", model, "-o", session, "--analyses", "rotary"} + tokens);
        };
        const auto done = made({"--token", "#300", "--key-token", "#301", "--seed", "4"});
        QVERIFY2(done.exitCode == 0, done.err);
        const auto read = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(read));
        const ResultArray* kernel = read->results.find("analyses/rotary/token_to_key_score");
        QVERIFY(kernel);
        QCOMPARE(std::get<double>(kernel->attributes.at("key_token")), 301.0);
        QCOMPARE(std::get<double>(kernel->attributes.at("seed")), 4.0);
        const auto alone = made({"--key-token", "#301"});
        QCOMPARE(alone.exitCode, 2);
        QVERIFY(alone.err.contains("--key-token needs the query token; give it with --token"));
        QCOMPARE(made({"--token", "#300", "--key-token", ""}).exitCode, 2);
        QCOMPARE(made({"--token", "#300", "--key-token", "#99999"}).exitCode, 2);
    }

    void spectraOverACycleTakeNamedIds()
    {
        const QString model = QString::fromStdString(test::testData("models/modadd-1l").string());
        const QString session = m_folder.filePath("cycle.h5");
        const auto made = [&](const QStringList& more) {
            return run(QStringList{"analyze", model, "-o", session, "--analyses", "fourier"} + more);
        };
        const auto done = made({"--cycle", "0-112"});
        QVERIFY2(done.exitCode == 0 && !done.err.contains("--cycle"), done.err);
        const auto read = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(read));
        const ResultArray* shares = read->results.find("analyses/fourier/ov_shares");
        QVERIFY(shares);
        QCOMPARE(shares->shape, (std::vector<std::size_t>{1, 4, 57}));
        QVERIFY(shares->definition.ends_with("N = 113, E and W_U of the ids 0-112 alone"));
        const auto assumed = made({"--replace"});
        QVERIFY2(assumed.exitCode == 0 && assumed.err.contains("use all 114 ids as one"), assumed.err);
        for (const char* wrong : {"0-200", "0-2", "1,2,3,2", "5-1", "a", ""})
            QCOMPARE(made({"--cycle", wrong}).exitCode, 2);
    }

    void anyScoreOfThePromptCanBeTakenApart()
    {
        const QString model = QString::fromStdString(test::testData("models/stories260k").string());
        const QString session = m_folder.filePath("score.h5");
        const auto made = [&](const QStringList& more) {
            return run(QStringList{"analyze", model, "-o", session, "--analyses", "score_sources"} + more);
        };
        const auto done =
            made({"--tokens", "1,300,301,302,303", "--query-position", "3", "--key-position", "1"});
        QVERIFY2(done.exitCode == 0, done.err);
        const auto read = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(read));
        const ResultArray* key = read->results.find("analyses/score_sources/key_token");
        QVERIFY(key);
        QCOMPARE(std::get<double>(key->attributes.at("query_position")), 3.0);
        QCOMPARE(std::get<std::vector<std::int32_t>>(key->values).front(), 300);
        const auto outside = made({"--tokens", "1,300,301", "--query-position", "3"});
        QCOMPARE(outside.exitCode, 2);
        QVERIFY2(outside.err.contains("positions 0 to 2"), outside.err);
        QCOMPARE(made({"--query-position", "0"}).exitCode, 2);
    }

    void lengthsCanBeMeasuredByTheEmbedding()
    {
        const QString model = QString::fromStdString(test::testData("models/stories260k").string());
        const QString session = m_folder.filePath("metric.h5");
        const auto made = [&](const char* metric) {
            return run({"analyze", model, "-o", session, "--analyses", "composition,eigenvalues", "--metric",
                        metric});
        };
        const auto done = made("embedding");
        QVERIFY2(done.exitCode == 0, done.err);
        const auto by = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(by));
        QCOMPARE(std::get<std::string>(by->results.find("composition/k")->attributes.at("metric")),
                 std::string("embedding covariance"));
        QVERIFY(made("identity").exitCode == 0);
        const auto as = readSession(session.toStdString(), Task{});
        QVERIFY(!as->results.find("composition/k")->attributes.contains("metric"));
        QVERIFY(as->results.find("composition/k")->values != by->results.find("composition/k")->values);
        for (const ResultArray& array : as->results.arrays) {
            if (!array.path.starts_with("composition/"))
                QVERIFY2(*by->results.find(array.path) == array, array.path.c_str());
        }
        QCOMPARE(made("euclid").exitCode, 2);
    }

    void relationsComeFromCsvAndJson()
    {
        const auto file = [&](const char* name, const QByteArray& text) {
            QFile out(m_folder.filePath(name));
            const bool isWritten = out.open(QIODevice::WriteOnly) && out.write(text) == text.size();
            return isWritten ? out.fileName() : QString();
        };
        const QString session = m_folder.filePath("relations.h5");
        const auto made = [&](const QStringList& files) {
            QStringList arguments{"analyze", m_demo, "-o", session, "--analyses", "relations"};
            for (const QString& name : files)
                arguments += QStringList{"--relation", name};
            return run(arguments);
        };
        const QString letters = file("letters.csv", "source,target\nA,B\n\"C\",D\n");
        const QString named = file("x.json", R"({"name":"back","pairs":[["B","A"],["D","C"],["F","E"]]})");
        const auto done = made({letters, named});
        QVERIFY2(done.exitCode == 0, done.err);
        const auto written = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(written));
        const auto& attributes = written->results.groupAttributes.at("analyses/relations");
        QCOMPARE(std::get<std::vector<std::string>>(attributes.at("relations")),
                 (std::vector<std::string>{"letters", "back"}));
        const auto given = std::get<std::vector<std::int32_t>>(
            written->results.find("analyses/relations/pairs_given")->values);
        QCOMPARE(given, (std::vector<std::int32_t>{2, 3}));

        const auto refused = [&](const QString& name, int code, const char* part) {
            const auto wrong = made({name});
            return wrong.exitCode == code && wrong.err.count('\n') == 1 && wrong.err.contains(part);
        };
        QVERIFY(refused(file("three.csv", "A,B\nA,B,C\n"), 3, "three.csv"));
        QVERIFY(refused(file("cut.json", R"([["A","B"],["C")"), 3, "cut.json"));
        QVERIFY(refused(file("single.json", R"([["A"]])"), 3, "single.json"));
        QVERIFY(refused(file("empty.csv", "source,target\n"), 3, "empty.csv"));
        QVERIFY(refused(m_folder.filePath("absent.csv"), 3, "absent.csv"));
        QCOMPARE(made({letters, letters}).exitCode, 2);
    }

    void countsOfATextAreTaken()
    {
        const auto file = [&](const char* name, const QByteArray& text) {
            QFile out(m_folder.filePath(name));
            const bool isWritten = out.open(QIODevice::WriteOnly) && out.write(text) == text.size();
            return isWritten ? out.fileName() : QString();
        };
        const QString counts =
            file("counts.csv", "token,count\n\" the\",100\n␣of,50\n#300,7\nno such token,3\n");
        const QString pairs = file("pairs.json", "[[\" the\", \" of\", 4], [\"#300\", \" of\", 1]]");
        const QString session = m_folder.filePath("counts.h5");
        const auto done = run({"analyze", m_demo, "-o", session, "--analyses", "token_prior,detokenization",
                               "--token-counts", counts, "--bigram-counts", pairs});
        QVERIFY2(done.exitCode == 0, done.err);
        QVERIFY(done.err.contains("1 of the 4 words in 'counts.csv' are not single tokens"));
        const auto written = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(written));
        const ResultArray* prior = written->results.find("analyses/token_prior/count_correlation");
        QVERIFY(prior && std::get<std::string>(prior->attributes.at("token_counts")) == "counts.csv");
        const ResultArray* suffixes = written->results.find("analyses/detokenization/suffixes");
        QVERIFY(suffixes && std::get<std::string>(suffixes->attributes.at("bigram_counts")) == "pairs.json");
        QCOMPARE(suffixes->shape, std::vector<std::size_t>{1}); // " of" alone follows anything

        const QStringList top{"top", m_demo, "-n", "50", "--circuit", "full-ov", "--head", "1.5", "--csv"};
        const auto few = run(top + QStringList{"--token-counts", counts, "--min-count", "20"});
        QVERIFY2(few.exitCode == 0, few.err);
        QCOMPARE(few.out.count("\r\n"), 1 + 2 * 2); // two tokens are left
        const auto some = run(top + QStringList{"--token-counts", counts, "--min-count", "7"});
        QCOMPARE(some.out.count("\r\n"), 1 + 3 * 3);
        const auto without = run(top + QStringList{"--min-count", "7"});
        QCOMPARE(without.exitCode, 2);
        QVERIFY(without.err.contains("--token-counts FILE"));
        const QString stories = QString::fromStdString(test::testData("models/stories260k").string());
        const auto byId = run({"top", stories, "-n", "50", "--circuit", "full-ov", "--head", "0.0", "--csv",
                               "--token-counts", file("ids.csv", "#5,1\n#6,2\n"), "--min-count", "1"});
        QVERIFY2(byId.exitCode == 0, byId.err);
        QCOMPARE(byId.out.count("\r\n"), 1 + 2 * 2);

        const auto filtered =
            run({"analyze", m_demo, "-o", session, "--replace", "--analyses", "largest_entries", "--heads",
                 "1.5", "--token-counts", counts, "--min-count", "7"});
        QVERIFY2(filtered.exitCode == 0, filtered.err);
        const auto again = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(again));
        const auto& arrays = again->results.arrays;
        QVERIFY(!arrays.empty()
                && std::get<std::string>(arrays[0].attributes.at("token_filter")) == "--min-count 7");
        const auto wrong =
            run({"analyze", m_demo, "-o", session, "--token-counts", file("bad.csv", "a,b,c\n")});
        QCOMPARE(wrong.exitCode, 3);
        QVERIFY(wrong.err.contains("bad.csv") && wrong.err.contains("line 1") && wrong.err.count('\n') == 1);
    }

    void namesOfOnesOwnAreRefusedWhereTheyCannotBeRead()
    {
        const auto absent = run({"analyze", m_demo, "-o", m_folder.filePath("n.h5"), "--name-list",
                                 m_folder.filePath("no-names.txt")});
        QCOMPARE(absent.exitCode, 3);
        QVERIFY(absent.err.contains("no-names.txt"));
    }

    void filtersLeaveTokensOut()
    {
        const QStringList question{"top",     m_demo,   "-n",  "40",   "--circuit",
                                   "full-ov", "--head", "1.5", "--csv"};
        const auto all = run(question);
        const auto words = run(question + QStringList{"--words", "--ascii"});
        QCOMPARE(words.exitCode, 0);
        QVERIFY(words.out != all.out);
        QCOMPARE(words.out.count("\r\n"), 41);
        for (const QByteArray& line : words.out.trimmed().split('\n').mid(1)) {
            const QByteArrayList fields = line.split(',');
            QCOMPARE(fields.size(), 6);
            for (const int field : {2, 4}) {
                QString token = QString::fromUtf8(fields[field]);
                if (token.startsWith(QChar(0x2423)))
                    token.remove(0, 1);
                QVERIFY2(!token.isEmpty()
                             && std::all_of(token.begin(), token.end(),
                                            [](QChar c) { return c.isLetter() && c.unicode() < 128; }),
                         line);
            }
        }
        const QString session = m_folder.filePath("words.h5");
        QCOMPARE(run({"analyze", m_demo, "-o", session, "--analyses", "tables,copying", "--heads", "1.5",
                      "-k", "1", "--words", "--ascii"})
                     .exitCode,
                 0);
        const auto written = readSession(session.toStdString(), Task{});
        QVERIFY(test::isOk(written));
        const ResultArray* ids = written->results.find("tables/full_ov/ids");
        QCOMPARE(std::get<std::string>(ids->attributes.at("token_filter")), std::string("--ascii --words"));
        QVERIFY(!written->results.find("scores/copying")->attributes.contains("token_filter"));
        // The largest entry of the whole matrix is the largest of its row.
        const QByteArrayList best = words.out.split('\n')[1].split(',');
        QCOMPARE(std::get<std::vector<std::int32_t>>(ids->values)[static_cast<std::size_t>(best[1].toInt())],
                 best[3].toInt());
        const QString stories = QString::fromStdString(test::testData("models/stories260k").string());
        QCOMPARE(
            run({"top", stories, "-n", "3", "--circuit", "full-ov", "--head", "0.0", "--trained"}).exitCode,
            0);
    }

    void wrongRequestsAreRefusedWithTheCulprit_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("part");
        const QString out = m_folder.filePath("wrong.h5");
        QTest::newRow("analysis") << QStringList{"analyze", m_demo,       "-o",
                                                 out,       "--analyses", "copying,astrology"}
                                  << 2 << "astrology";
        QTest::newRow("head") << QStringList{"analyze", m_demo, "-o", out, "--heads", "2.*"} << 2 << "2.0";
        QTest::newRow("marked head") << QStringList{"analyze", m_demo, "-o", out, "--previous-token-heads",
                                                    "3.1"}
                                     << 2 << "3.1";
        QTest::newRow("no head") << QStringList{"analyze", m_demo, "-o", out, "--heads", "first"} << 2
                                 << "first";
        QTest::newRow("one end of no head")
            << QStringList{"analyze", m_demo, "-o", out, "--one-end"} << 2 << "--heads";
        QTest::newRow("embedding") << QStringList{"analyze", m_demo, "-o", out, "--embedding", "mlp0"} << 2
                                   << "mlp0";
        QTest::newRow("k") << QStringList{"analyze", m_demo, "-o", out, "-k", "0"} << 2 << "-k";
        QTest::newRow("folder") << QStringList{"analyze", m_demo, "-o", m_folder.filePath("absent/x.h5")} << 4
                                << "absent";
        QTest::newRow("model") << QStringList{"analyze", m_folder.filePath("no-model"), "-o", out} << 3
                               << "no-model";
        QTest::newRow("circuit") << QStringList{"tokens", m_demo, "--circuit", "ov", "--head", "0.0"} << 2
                                 << "circuit";
        QTest::newRow("top: no count")
            << QStringList{"top", m_demo, "--circuit", "full-ov", "--head", "0.0"} << 2 << "-n";
        QTest::newRow("top: none") << QStringList{"top",    m_demo, "--circuit", "full-ov",
                                                  "--head", "0.0",  "-n",        "0"}
                                   << 2 << "-n";
        QTest::newRow("top: head") << QStringList{"top",    m_demo, "--circuit", "full-ov",
                                                  "--head", "9.0",  "-n",        "1"}
                                   << 2 << "9.0";
        QTest::newRow("top: two heads")
            << QStringList{"top", m_demo, "--circuit", "full-qk", "--head", "0.*", "-n", "1"} << 2
            << "more than one";
        QTest::newRow("top: model") << QStringList{"top",       m_folder.filePath("no-model"),
                                                   "--circuit", "full-ov",
                                                   "--head",    "0.0",
                                                   "-n",        "1"}
                                    << 3 << "no-model";
        QTest::newRow("two heads") << QStringList{"tokens", m_demo, "--circuit", "full-ov", "--head", "0.*"}
                                   << 2 << "more than one";
    }
    void wrongRequestsAreRefusedWithTheCulprit()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        QFETCH(QString, part);
        const auto refused = run(arguments);
        QCOMPARE(refused.exitCode, code);
        QVERIFY2(QString::fromUtf8(refused.err).contains(part), refused.err.constData());
        QVERIFY(!QFile::exists(m_folder.filePath("wrong.h5")));
    }

    void whatDoesNotApplyIsLeftOutWithAWarning()
    {
        const auto done =
            run({"analyze", QString::fromStdString(test::testData("models/stories260k").string()), "-o",
                 m_folder.filePath("stories.h5"), "--analyses", "position_kernel,copying", "--heads", "0.0"});
        QCOMPARE(done.exitCode, 0);
        QVERIFY(done.err.contains("learned positions"));
    }

    void numbersThatAreNotFiniteLeaveOutWhatNeedsThem()
    {
        const QString whole = m_folder.filePath("whole"), spoilt = m_folder.filePath("spoilt");
        test::ToyOptions options;
        options.dModel = 15;
        test::writeToyModel(whole.toStdString(), options);
        for (const auto& [tensor, value] :
             {std::pair("blocks.1.attn.W_K", std::numeric_limits<float>::infinity()),
              std::pair("embed.W_E", std::numeric_limits<float>::quiet_NaN())}) {
            QDir(spoilt).removeRecursively();
            QVERIFY(QDir().mkpath(spoilt));
            QVERIFY(test::copyPatched(whole, spoilt, tensor, [value = value](QByteArray& bytes) {
                std::memcpy(bytes.data(), &value, sizeof value);
            }));
            const auto done = run(
                {"analyze", spoilt, "-o", m_folder.filePath("spoilt.h5"), "--replace", "--analyses", "all"});
            QVERIFY2(done.exitCode == 0, done.err);
            const auto session = readSession(m_folder.filePath("spoilt.h5").toStdString(), Task{});
            QVERIFY(test::isOk(session));
            QVERIFY(session->results.find("spectra/ov/frobenius_norm"));
        }
    }

    void listsEveryAnalysisWithItsCost()
    {
        const auto listed = run({"list-analyses", m_demo, "--json"});
        QCOMPARE(listed.exitCode, 0);
        const QJsonArray rows = QJsonDocument::fromJson(listed.out).array();
        QVERIFY(rows.size() >= 10);
        QCOMPARE(rows[0].toObject()["name"].toString(), QString("spectra"));
        for (const QJsonValue row : rows)
            QVERIFY(row.toObject()["flops"].toDouble() > 0);
        const QJsonObject array = rows[0].toObject()["arrays"].toArray()[0].toObject();
        QCOMPARE(array["path"].toString(), QString("spectra/qk/singular_values"));
        QCOMPARE(array["axes"].toArray(), (QJsonArray{"layer", "head", "singular value"}));
        QVERIFY(run({"list-analyses"}).out.contains("previous_token"));
    }

private:
    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, m_folder.path());
    }

    QTemporaryDir m_folder;
    const QString m_demo = HEADWISE_DEMO_MODEL;
};

HEADWISE_TEST(AnalyzeTest)
#include "analyze_test.moc"
