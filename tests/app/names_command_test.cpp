#include "tests/support/command.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <nlohmann/json.hpp>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

/// A model whose tensors have names that nobody else uses.
class NamesCommandTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        using Tensor = headwise::test::StoredTensor;
        const auto zeros = [](std::vector<std::size_t> shape) {
            std::size_t count = 1;
            for (const std::size_t size : shape)
                count *= size;
            return Tensor{std::move(shape), std::vector<double>(count, 0.25)};
        };
        std::map<std::string, Tensor> tensors{
            {"words.emb", zeros({11, 7})}, {"places.pos", zeros({17, 7})}, {"answer.out", zeros({11, 7})}};
        for (const char* name : {"q", "k", "v"})
            tensors[std::string("stage.0.att.") + name] = zeros({15, 7});
        tensors["stage.0.att.o"] = zeros({7, 15});
        headwise::test::writeSafetensors(m_folder.filePath("m.safetensors").toStdString(), tensors, false);
    }

    void theRefusalLeadsToAMapThatOpensTheModel()
    {
        const auto refused = run({"info", "m.safetensors"});
        QCOMPARE(refused.exitCode, 3);
        QVERIFY(refused.err.contains("headwise names"));
        const auto proposed = run({"names", "m.safetensors", "-o", "map.json"});
        QCOMPARE(proposed.exitCode, 0);
        QVERIFY(proposed.out.isEmpty());
        QVERIFY(proposed.err.contains("guesses under 'assumed'"));
        const auto info =
            run({"info", "m.safetensors", "--names", "map.json", "--set", "n_heads=3", "--json"});
        QCOMPARE(info.exitCode, 0);
        const auto card = nlohmann::json::parse(info.out.toStdString());
        QCOMPARE(card["n_heads"].get<int>(), 3);
        QCOMPARE(card["d_head"].get<int>(), 5);
        QCOMPARE(card["architecture"].get<std::string>(), std::string("custom"));
    }

    /// There, --names has the names to write, too.
    void processTakesAMapBesideTheNamesToWrite()
    {
        QCOMPARE(run({"names", "m.safetensors", "-o", "process.json"}).exitCode, 0);
        const QStringList process{"process", "m.safetensors", "--set", "n_heads=3", "-o"};
        const auto both =
            run(process + QStringList{"both", "--names", "transformer-lens", "--names", "process.json"});
        QVERIFY2(both.exitCode == 0, both.err.constData());
        for (const QStringList& wrong :
             {QStringList{"a", "--names", "llama"},
              QStringList{"b", "--names", "process.json", "--names", "process.json"}}) {
            const auto refused = run(process + wrong);
            QCOMPARE(refused.exitCode, 2);
            QVERIFY2(refused.err.contains("--names is"), refused.err.constData());
        }
    }

    void aKeptMapIsFoundAgainAndAWrongOneIsNotKept()
    {
        QVERIFY(run({"names", "m.safetensors"}).out.startsWith("{"));
        QCOMPARE(run({"names", "m.safetensors", "-o", "kept.json"}).exitCode, 0);
        QFile wrong(m_folder.filePath("wrong.json"));
        QVERIFY(wrong.open(QIODevice::WriteOnly));
        wrong.write(R"({"headwise_names": 1, "tensors": [{"name": "x", "is": "embed.W_E"}]})");
        wrong.close();
        const auto refused = run({"names", "m.safetensors", "--keep", "wrong.json"});
        QCOMPARE(refused.exitCode, 3);
        QVERIFY(refused.err.contains("no tensor for W_E according to the names map 'wrong.json'"));
        QCOMPARE(run({"names", "m.safetensors", "--keep", "kept.json"}).exitCode, 0);
        QCOMPARE(run({"info", "m.safetensors", "--set", "n_heads=3"}).exitCode, 0);
    }

private:
    headwise::test::CommandRun run(const QStringList& arguments) const
    {
        qputenv("XDG_DATA_HOME", m_folder.filePath("data").toUtf8());
        return headwise::test::runHeadwise(arguments, m_folder.path(), m_folder.path());
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(NamesCommandTest)
#include "names_command_test.moc"
