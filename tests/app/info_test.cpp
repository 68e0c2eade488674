#include "tests/support/command.h"
#include "tests/support/toy_model.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace headwise;
using nlohmann::json;

class InfoTest : public QObject {
    Q_OBJECT

private slots:
    void printsEveryKeyOfTheContract()
    {
        const json info = infoOf(HEADWISE_TEST_DATA "/models/stories260k");
        // 2 · (5 · (8192 + 4096 + 33024) + 512 · 64) + 4 · 5 · 512 · 64 flops for the last of 512 tokens.
        json expected = json::parse(R"({
            "name": "stories260k", "architecture": "llama", "n_layers": 5, "n_heads": 8, "n_kv_heads": 4, "d_model": 64,
            "d_head": 8, "d_mlp": 172, "d_vocab": 512, "n_ctx": 512, "normalization": "RMS", "positional": "rotary",
            "tied_embeddings": true, "warnings": [],
            "parameters": {"total": 260032, "embedding": 32768, "attention_qp_per_layer": 8192,
                           "attention_kv_per_layer": 4096, "mlp_per_layer": 33024},
            "flops": {"per_token": 1174016, "per_sequence": 433651712}})");
        json merges = info.at("merges");
        json rest = info;
        rest.erase("merges");
        QCOMPARE(QByteArray::fromStdString(rest.dump()), QByteArray::fromStdString(expected.dump()));
        QCOMPARE(merges.size(), std::size_t{3});
        const int total = 32768 + 5 * (8192 + 4096 + 33024), removed = 5 * 2 * 64 * 64;
        for (std::size_t i = 0; i < 3; ++i) {
            QCOMPARE(merges[i].size(), std::size_t{8});
            QVERIFY(merges[i]["removed"] == json(i == 0 ? "qp" : i == 1 ? "kp" : "vp"));
            QVERIFY(merges[i]["possible"] == json(i == 0));
            QVERIFY(merges[i]["equivalent"] == json(true));
            QVERIFY(merges[i]["weights_total"] == json(total));
            QVERIFY(merges[i]["weights_removed"] == json(i == 0 ? removed : 0));
            QVERIFY(merges[i]["reason"].get<std::string>().find("skip connections") != std::string::npos);
        }
        QCOMPARE(merges[0]["saving"].get<double>(), static_cast<double>(removed) / total);
        QCOMPARE(merges[0]["speedup"].get<double>(), static_cast<double>(total) / (total - removed));
        QCOMPARE(merges[1]["saving"].get<double>(), 0.0);
        QCOMPARE(merges[1]["speedup"].get<double>(), 1.0);
    }

    void isTheSameForAShardedModel()
    {
        json whole = infoOf(HEADWISE_TEST_DATA "/models/stories260k");
        json sharded = infoOf(HEADWISE_TEST_DATA "/models/stories260k-sharded");
        whole.erase("name");
        sharded.erase("name");
        QCOMPARE(QByteArray::fromStdString(sharded.dump()), QByteArray::fromStdString(whole.dump()));
    }

    void readsAFolderWithTheConfigAlone_data()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("demo") << HEADWISE_DEMO_MODEL;
        QTest::newRow("gpt-nano-sort") << HEADWISE_TEST_DATA "/models/gpt-nano-sort";
        QTest::newRow("stories260k") << HEADWISE_TEST_DATA "/models/stories260k";
    }
    void readsAFolderWithTheConfigAlone()
    {
        QFETCH(QString, model);
        const QTemporaryDir parent;
        const QString folder = parent.filePath(QDir(model).dirName());
        QVERIFY(QDir().mkpath(folder) && QFile::copy(model + "/config.json", folder + "/config.json"));
        // Everything but the condition numbers follows from the config, the count of all parameters too.
        QCOMPARE(QByteArray::fromStdString(infoOf(folder).dump()),
                 QByteArray::fromStdString(infoOf(model).dump()));
        const test::CommandRun tensors = run({"info", folder, "--tensors"});
        QCOMPARE(tensors.exitCode, 3);
        QVERIFY(tensors.err.contains("no weights"));
    }

    void listsTheTensors()
    {
        const json info =
            json::parse(run({"info", "--json", "--tensors", HEADWISE_DEMO_MODEL}).out.toStdString());
        QCOMPARE(info["tensors"].size(), std::size_t{26});
        bool found = false;
        for (const json& tensor : info["tensors"])
            found |= tensor
                == json::parse(R"({"name": "blocks.1.attn.W_Q", "dtype": "F32", "shape": [8, 256, 32]})");
        QVERIFY(found);
        const QByteArray card = run({"info", HEADWISE_DEMO_MODEL, "--tensors"}).out;
        QVERIFY(card.contains("[8, 256, 32]") && card.contains("blocks.1.attn.W_Q"));
        QVERIFY(card.contains("1 611 264") && card.contains("attention only"));
    }

    void endsWithThreeAndOneSentenceOnBadInput_data()
    {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const char* config, const char* part) {
            QTest::newRow(name) << QByteArray(config) << QByteArray(part);
        };
        row("pointer", "version https://git-lfs.github.com/spec/v1\n", "git lfs pull");
        row("family", "{'model_type': 'mistral'}", "'mistral'");
        row("key", "{'model_type': 'gpt2', 'scale_attn_by_inverse_layer_idx': true}",
            "'scale_attn_by_inverse_layer_idx' = true");
        row("line end", "{'model_type': 'a\\nb\\u001b[31m'}", "a\\x0ab\\x1b[31m");
    }
    void endsWithThreeAndOneSentenceOnBadInput()
    {
        QFETCH(QByteArray, config);
        QFETCH(QByteArray, part);
        const QTemporaryDir folder;
        std::ofstream(folder.filePath("config.json").toStdString())
            << config.replace('\'', '"').toStdString();
        const test::CommandRun info = run({"info", folder.path()});
        QCOMPARE(info.exitCode, 3);
        QCOMPARE(info.out, QByteArray());
        QCOMPARE(info.err.count('\n'), 1);
        QVERIFY2(info.err.contains(part), info.err);
    }

    void takesOverridesAndRefusesThoseItCannotRead()
    {
        const QTemporaryDir folder;
        std::ofstream(folder.filePath("config.json").toStdString()) << "{}";
        const test::CommandRun info =
            run({"info", folder.path(), "--json", "--set", "d_model=12,n_layers=2,n_heads=3", "--set",
                 "n_ctx=7,d_vocab=11,act_fn=relu"});
        QCOMPARE(info.exitCode, 0);
        QVERIFY(json::parse(info.out.toStdString())["d_head"] == json(4));
        const test::CommandRun wrong = run({"info", folder.path(), "--set", "d_model"});
        QCOMPARE(wrong.exitCode, 2);
        QVERIFY(wrong.err.contains("KEY=VALUE"));
    }

    void saysWhatItCountsInItsHelp()
    {
        const test::CommandRun help = run({"info", "--help"});
        QCOMPARE(help.exitCode, 0);
        QVERIFY(help.out.contains("per_token = 2") && help.out.contains("weights_total = W_E + W_U"));
        QCOMPARE(run({"info"}).exitCode, 2);
        QCOMPARE(run({"info", HEADWISE_DEMO_MODEL, "--nothing"}).exitCode, 2);
    }

private:
    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, m_state.path());
    }
    json infoOf(const QString& model) const
    {
        const test::CommandRun info = run({"info", model, "--json"});
        return json::parse(info.out.toStdString(), nullptr, false);
    }

    QTemporaryDir m_state;
};

QTEST_GUILESS_MAIN(InfoTest)
#include "info_test.moc"
