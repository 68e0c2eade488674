#include "tests/support/command.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <vector>

using namespace headwise;
using nlohmann::json;

namespace {

/// Shapes of Llama 3 8B, by name, in Hugging Face's layout.
std::map<std::string, std::vector<std::int64_t>> largeLlama()
{
    std::map<std::string, std::vector<std::int64_t>> shapes{{"model.embed_tokens.weight", {128256, 4096}},
                                                            {"lm_head.weight", {128256, 4096}},
                                                            {"model.norm.weight", {4096}}};
    for (int layer = 0; layer < 32; ++layer) {
        const std::string block = "model.layers." + std::to_string(layer) + ".";
        shapes[block + "input_layernorm.weight"] = {4096};
        shapes[block + "post_attention_layernorm.weight"] = {4096};
        shapes[block + "self_attn.q_proj.weight"] = {4096, 4096};
        shapes[block + "self_attn.k_proj.weight"] = {1024, 4096};
        shapes[block + "self_attn.v_proj.weight"] = {1024, 4096};
        shapes[block + "self_attn.o_proj.weight"] = {4096, 4096};
        shapes[block + "mlp.gate_proj.weight"] = {14336, 4096};
        shapes[block + "mlp.up_proj.weight"] = {14336, 4096};
        shapes[block + "mlp.down_proj.weight"] = {4096, 14336};
    }
    return shapes;
}

/// Headers and shapes are real, the data are holes: 16 GB that take no disk space.
void writeLargeLlama(const std::filesystem::path& folder)
{
    std::ofstream(folder / "config.json")
        << R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
               "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256, "max_position_embeddings": 8192,
               "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu", "tie_word_embeddings": false})";
    json index, headers[4];
    std::int64_t ends[4]{};
    int next = 0;
    for (const auto& [name, shape] : largeLlama()) {
        const int shard = next++ % 4;
        const std::int64_t bytes = 2 * shape[0] * (shape.size() > 1 ? shape[1] : 1);
        headers[shard][name] = {
            {"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {ends[shard], ends[shard] + bytes}}};
        ends[shard] += bytes;
        index["weight_map"][name] = "model-0000" + std::to_string(shard + 1) + "-of-00004.safetensors";
    }
    std::ofstream(folder / "model.safetensors.index.json") << index.dump();
    for (int shard = 0; shard < 4; ++shard) {
        const std::filesystem::path file =
            folder / ("model-0000" + std::to_string(shard + 1) + "-of-00004.safetensors");
        const std::string header = headers[shard].dump();
        const std::uint64_t length = header.size();
        std::ofstream(file, std::ios::binary)
            << std::string(reinterpret_cast<const char*>(&length), 8) << header;
        std::filesystem::resize_file(file, 8 + length + static_cast<std::uint64_t>(ends[shard]));
    }
}

/// Reads the F32 numbers of one tensor directly from the bytes of model.safetensors.
std::vector<double> storedNumbers(const QString& folder, const char* name)
{
    QFile file(folder + "/model.safetensors");
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QByteArray bytes = file.readAll();
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.constData(), sizeof length);
    const json header = json::parse(bytes.mid(8, static_cast<qsizetype>(length)).toStdString());
    const auto span = header[name]["data_offsets"].get<std::array<std::size_t, 2>>();
    std::vector<float> numbers((span[1] - span[0]) / sizeof(float));
    std::memcpy(numbers.data(), bytes.constData() + 8 + length + span[0], span[1] - span[0]);
    return {numbers.begin(), numbers.end()};
}

/// Returns the kB of mapped files that this process has touched; -1 if the kernel does not say.
long touchedOfFiles()
{
    std::ifstream statm("/proc/self/statm");
    long size = 0, resident = 0, ofFiles = 0;
    return statm >> size >> resident >> ofFiles ? ofFiles * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

} // namespace

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

    void opensEightBillionParametersWithoutReadingThem()
    {
        const QTemporaryDir folder;
        writeLargeLlama(folder.path().toStdString());
        const auto start = std::chrono::steady_clock::now();
        const json info = infoOf(folder.path());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        rusage usage{};
        QCOMPARE(getrusage(RUSAGE_CHILDREN, &usage), 0);
        qInfo("%.2f s, %ld MB", seconds.count(), usage.ru_maxrss / 1024);
        QVERIFY(info.is_object());
        QCOMPARE(info["parameters"]["total"].get<std::int64_t>(), std::int64_t{8030261248});
        QVERIFY(info["merges"][0]["possible"] == json(true));
        QVERIFY(info["merges"][0]["reason"].get<std::string>().find("by its sizes alone") == 0);
        QVERIFY(usage.ru_maxrss < 300 * 1024); // maximum over all children so far, in kB
        QVERIFY(seconds.count() < 1);
    }

    void aHeadIsReadWithoutItsNeighboursLayers()
    {
        const QTemporaryDir folder;
        writeLargeLlama(folder.path().toStdString());
        const long before = touchedOfFiles();
        QVERIFY(before >= 0);
        const ProcessedWeights weights = test::raw(test::loaded(folder.path().toStdString()));
        const HeadWeights<float> head = weights.head<float>({16, 5});
        const long touched = touchedOfFiles() - before;
        QCOMPARE(head.W_Q.rows(), Eigen::Index{4096});
        QCOMPARE(head.W_O.rows(), Eigen::Index{128});
        // Its Q, K and V are 3 MB; its columns of W_O lie on all 32 MB of it. A whole layer is 436 MB.
        qInfo("%.1f MB", static_cast<double>(touched) / 1024);
        QVERIFY(touched >= 3 * 1024);
        QVERIFY(touched < 64 * 1024);
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
        // Everything but the condition numbers follows from the config, including the count of all parameters.
        const json whole = infoOf(model);
        QCOMPARE(QByteArray::fromStdString(infoOf(folder).dump()), QByteArray::fromStdString(whole.dump()));
        const test::CommandRun tensors = run({"info", folder, "--tensors"});
        QCOMPARE(tensors.exitCode, 3);
        QVERIFY(tensors.err.contains("no weights"));
    }

    void listsTheTensors()
    {
        const json info =
            json::parse(run({"info", "--json", "--tensors", HEADWISE_DEMO_MODEL}).out.toStdString());
        QCOMPARE(info["tensors"].size(), std::size_t{26});
        const auto found =
            std::find_if(info["tensors"].begin(), info["tensors"].end(),
                         [](const json& tensor) { return tensor["name"] == "blocks.1.attn.W_Q"; });
        QVERIFY(found != info["tensors"].end());
        json tensor = *found;
        const std::vector<double> numbers = storedNumbers(HEADWISE_DEMO_MODEL, "blocks.1.attn.W_Q");
        QCOMPARE(numbers.size(), std::size_t{8 * 256 * 32});
        double sum = 0, squares = 0;
        for (const double x : numbers)
            sum += x;
        const double mean = sum / static_cast<double>(numbers.size());
        for (const double x : numbers)
            squares += (x - mean) * (x - mean);
        QCOMPARE(tensor["min"].get<double>(), *std::min_element(numbers.begin(), numbers.end()));
        QCOMPARE(tensor["max"].get<double>(), *std::max_element(numbers.begin(), numbers.end()));
        QVERIFY(std::abs(tensor["mean"].get<double>() - mean) < 1e-15);
        QCOMPARE(tensor["std"].get<double>(), std::sqrt(squares / static_cast<double>(numbers.size())));
        QVERIFY(tensor["histogram"]["low"] == tensor["min"] && tensor["histogram"]["high"] == tensor["max"]);
        const auto counts = tensor["histogram"]["counts"].get<std::vector<std::int64_t>>();
        QCOMPARE(counts.size(), std::size_t{64});
        QCOMPARE(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), std::int64_t{8 * 256 * 32});
        for (const char* key : {"min", "max", "mean", "std", "histogram"})
            tensor.erase(key);
        QCOMPARE(QByteArray::fromStdString(tensor.dump()),
                 QByteArray::fromStdString(
                     json::parse(R"({"name": "blocks.1.attn.W_Q", "dtype": "F32", "shape": [8, 256, 32],
                                     "bytes": 262144, "file": "model.safetensors", "used_as": "W_Q of layer 1",
                                     "nan": 0, "inf": 0, "zeros": 0})")
                         .dump()));
        const QByteArray card = run({"info", HEADWISE_DEMO_MODEL, "--tensors"}).out;
        QVERIFY(card.contains("[8, 256, 32]") && card.contains("blocks.1.attn.W_Q"));
        QVERIFY(card.contains("1 611 264") && card.contains("attention only"));
        for (const QByteArray& line : card.mid(card.indexOf("\nTensors")).split('\n'))
            QVERIFY2(line.size() <= 80, line);
    }

    void listsTheSameTensorsOfAShardedModel()
    {
        const auto tensors = [this](const char* model) {
            json list = json::parse(run({"info", "--json", "--tensors", model}).out.toStdString())["tensors"];
            for (json& tensor : list)
                tensor.erase("file");
            return QByteArray::fromStdString(list.dump());
        };
        const QByteArray whole = tensors(HEADWISE_TEST_DATA "/models/stories260k");
        QVERIFY(whole.contains("histogram"));
        QCOMPARE(tensors(HEADWISE_TEST_DATA "/models/stories260k-sharded"), whole);
    }

    void tellsWhatWasUsedAndHowTheNormsAct()
    {
        const json info = json::parse(
            run({"info", "--json", "--tensors", HEADWISE_TEST_DATA "/models/stories260k"}).out.toStdString());
        const json& report = info["load_report"];
        QVERIFY(info["circuit_notes"].is_array());
        QVERIFY(report["tensors_used"] == json(info["tensors"].size()));
        QVERIFY(report["ignored"].empty());
        QVERIFY(report["embeddings"] == json("Tied: W_E and W_U are both 'model.embed_tokens.weight'."));
        for (const json& check : report["config_against_tensors"])
            QVERIFY2(check["agrees"] == json(true), check.dump().c_str());
        QVERIFY(info["norm_factors"].size() == 3 && info["norm_factors"][0]["count"] == json(5));
        const QByteArray card = run({"info", "--tensors", HEADWISE_TEST_DATA "/models/stories260k"}).out;
        QVERIFY(card.contains("key/value heads") && card.contains("4 = 4 of W_K in a layer"));
        QVERIFY(card.contains("5 × RMS, times w"));
    }

    void endsWithThreeAndOneSentenceOnBadInput_data()
    {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const char* config, const char* part) {
            QTest::newRow(name) << QByteArray(config) << QByteArray(part);
        };
        row("pointer", "version https://git-lfs.github.com/spec/v1\n", "git lfs pull");
        row("family", "{'model_type': 'whisper'}", "'whisper'");
        row("key", "{'model_type': 'gpt2', 'add_cross_attention': true}", "'add_cross_attention' = true");
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

    void listsWhatNoFileSays()
    {
        const test::CommandRun demo = run({"info", HEADWISE_DEMO_MODEL});
        QCOMPARE(demo.exitCode, 0);
        QVERIFY(demo.out.contains("Assumed, because no file states it\n"));
        QVERIFY(demo.out.contains("  scale_attn_by_inverse_layer_idx = false\n"));
        QVERIFY(!demo.out.contains("attention_dir"));
    }

    void listsTheTensorsOfAnyReadableFile()
    {
        const QTemporaryDir folder;
        const QString alone = folder.filePath("alone.pt");
        QVERIFY(QFile::copy(HEADWISE_TEST_DATA "/models/modadd-1l/modadd_seed0.pt", alone));
        const test::CommandRun asked = run({"info", alone});
        QCOMPARE(asked.exitCode, 3);
        QVERIFY2(asked.err.contains("normalization_type"), asked.err);
        const test::CommandRun listed = run({"info", alone, "--tensors"});
        QCOMPARE(listed.exitCode, 0);
        QVERIFY(listed.out.contains("blocks.0.attn.W_Q\n") && listed.out.contains("[4, 128, 32]"));
        QVERIFY(listed.err.contains("normalization_type"));
        const test::CommandRun inJson = run({"info", alone, "--tensors", "--json"});
        QCOMPARE(inJson.exitCode, 0);
        const json content = json::parse(inJson.out.toStdString());
        QVERIFY(content["tensors"].size() > 10 && content["tensors"][0].contains("mean"));
        QVERIFY(content["warnings"][0].get<std::string>().find("normalization_type") != std::string::npos);
        // An adapter is no model, and its tensors can be looked at.
        const QString adapter = folder.filePath("adapter.safetensors");
        test::writeSafetensors(adapter.toStdString(), {{"q_proj.lora_A.weight", {{1, 2}, {1, 2}}}}, false);
        const test::CommandRun foreign = run({"info", adapter, "--tensors"});
        QCOMPARE(foreign.exitCode, 0);
        QVERIFY(foreign.out.contains("q_proj.lora_A.weight") && foreign.err.contains("LoRA"));
    }

    void leavesOutWhatIgnoreNames()
    {
        const QTemporaryDir folder;
        test::ToyModel toy = test::writeToyModel(folder.path().toStdString());
        toy.tensors["extra.one"] = toy.tensors["extra.two"] = {{1}, {1}};
        test::writeSafetensors(toy.folder / "model.safetensors", toy.tensors, false);
        const test::CommandRun refused = run({"info", folder.path()});
        QCOMPARE(refused.exitCode, 3);
        QVERIFY2(refused.err.contains("--ignore 'extra.one,extra.two'"), refused.err);
        for (const char* names : {"extra.one,extra.two", "extra.*"}) {
            const test::CommandRun taken = run({"info", folder.path(), "--ignore", names});
            QCOMPARE(taken.exitCode, 0);
            QVERIFY(taken.out.contains("unknown, left out on request"));
        }
    }

    void quotesLittleOfAFile()
    {
        const QTemporaryDir folder;
        std::ofstream(folder.filePath("config.json").toStdString())
            << "{\"model_type\": \"" << std::string(4'750'000, 'x') << "\"}";
        const test::CommandRun info = run({"info", folder.path()});
        QCOMPARE(info.exitCode, 3);
        QVERIFY(info.err.contains("xxx") && info.err.count('x') < 300);
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

HEADWISE_TEST(InfoTest)
#include "info_test.moc"
