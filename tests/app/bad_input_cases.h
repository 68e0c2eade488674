#pragma once

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QStringList>

#include <functional>
#include <random>
#include <sys/stat.h>
#include <vector>

// Damage of many kinds to a copy of the demo model, and the outcome of a command that meets it.

namespace headwise::test::bad_input {

inline constexpr auto lfsPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 6446928\n";

inline QByteArray contentOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline void write(const QString& path, const QByteArray& bytes)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly | QIODevice::Truncate) || file.write(bytes) != bytes.size())
        qFatal("cannot write %s", qPrintable(path));
}

inline void replace(const QString& path, const QByteArray& before, const QByteArray& after)
{
    QByteArray bytes = contentOf(path);
    if (!bytes.contains(before))
        qFatal("%s does not hold %s", qPrintable(path), before.constData());
    write(path, bytes.replace(before, after));
}

inline QByteArray noise(int count)
{
    std::mt19937 engine(5);
    QByteArray bytes;
    for (int i = 0; i < count; ++i)
        bytes.append(static_cast<char>(engine()));
    return bytes;
}

/// One fault in a copy of the demo model, a command that meets it, and the expected outcome.
struct Case {
    const char* name;
    std::function<void(const QDir&)>
        damage;            ///< in the folder "model"; its working folder holds "demo.h5" too
    QStringList arguments; ///< run in the folder that holds both
    int exitCode;
    const char* part; ///< part of the one sentence on stderr, or of stdout if the exit code is 0
};

inline const QStringList info{"info", "model"};
inline const QStringList analyze{"analyze", "model", "-o", "out.h5", "--analyses", "copying"};
inline const QStringList tokensOfSession{"tokens", "demo.h5", "--circuit", "full-ov",
                                         "--head", "1.5",     "--token",   "#5"};

inline std::function<void(const QDir&)> config(const char* before, const char* after)
{
    return [=](const QDir& model) { replace(model.filePath("config.json"), before, after); };
}

inline std::function<void(const QDir&)> content(const char* name, const QByteArray& bytes)
{
    return [=](const QDir& model) { write(model.filePath(name), bytes); };
}

inline std::function<void(const QDir&)> shortened(const char* name, qint64 bytes)
{
    return [=](const QDir& model) {
        if (!QFile::resize(model.filePath(name), bytes))
            qFatal("cannot shorten %s", name);
    };
}

inline std::function<void(const QDir&)> without(std::initializer_list<const char*> names)
{
    return [list = std::vector<const char*>(names)](const QDir& model) {
        for (const char* name : list)
            QFile::remove(model.filePath(name));
    };
}

inline void nothing(const QDir& /*model*/) { }

inline std::vector<Case> noModels()
{
    return {
        {"text file",
         content("../notes.txt", "hello\n"),
         {"info", "notes.txt"},
         3,
         "'notes.txt' is not a model"},
        {"random file", content("../random.bin", noise(5000)), {"info", "random.bin"}, 3, "is not a model"},
        {"empty file", content("../empty.bin", ""), {"info", "empty.bin"}, 3, "is not a model"},
        {"device", nothing, {"info", "/dev/zero"}, 3, "'/dev/zero' is not a regular file"},
        {"session", nothing, {"info", "demo.h5"}, 3, "is an HDF5 file"},
        {"nothing there", nothing, {"info", "absent"}, 3, "'absent' does not exist"},
        {"empty folder", without({"config.json", "model.safetensors", "tokenizer.json"}), info, 3,
         "is empty"},
        {"no weights", without({"model.safetensors"}), analyze, 3, "model.safetensors"},
    };
}

inline std::vector<Case> weights()
{
    return {
        {"header cut off", shortened("model.safetensors", 100), info, 3, "ends 2340 bytes too early"},
        {"data cut off", shortened("model.safetensors", 1'000'000), info, 3, "5447496 bytes are missing"},
        {"emptied", shortened("model.safetensors", 0), info, 3, "model.safetensors' is damaged"},
        {"noise", content("model.safetensors", noise(5000)), info, 3, "is not a safetensors file"},
        {"pointer", content("model.safetensors", lfsPointer), info, 3, "git lfs pull"},
        {"web page", content("model.safetensors", "<!doctype html><p>Sign in"), info, 3, "web page"},
        {"shape", config("\"d_head\": 32", "\"d_head\": 31"), info, 3,
         "has shape [8, 256, 32], expected [8, 256, 31]"},
        {"missing tensor", config("\"n_layers\": 2", "\"n_layers\": 3"), info, 3, "blocks.2.attn.W_Q"},
        {"extra tensor", config("\"n_layers\": 2", "\"n_layers\": 1"), info, 3, "blocks.1.attn.W_Q"},
    };
}

inline std::vector<Case> configs()
{
    return {
        {"no config", without({"config.json", "model.safetensors"}), info, 3,
         "There is no config.json in 'model'"},
        {"no JSON", content("config.json", "{\"d_model\": "), info, 3, "config.json' is not valid JSON"},
        {"no object", content("config.json", "[1]"), info, 3, "holds no JSON object"},
        {"config is a pointer", content("config.json", lfsPointer), info, 3, "git lfs pull"},
        {"missing keys", content("config.json", "{\"d_model\": 256}"), info, 3, "'n_layers'"},
        {"wrong kind", config("\"n_heads\": 8", "\"n_heads\": [8]"), info, 3,
         "'n_heads' is [8], expected a whole number"},
        {"no heads",
         content(
             "config.json",
             R"({"model_type": "gptj", "n_embd": 64, "n_head": 0, "n_layer": 2, "rotary_dim": 8, "vocab_size": 9})"),
         info, 3, "'n_head' is 0"},
        {"fraction", config("\"n_layers\": 2", "\"n_layers\": 2.5"), info, 3, "'n_layers' is 2.5"},
        {"wrong flag", config("\"attn_only\": true", "\"attn_only\": \"maybe\""), info, 3,
         "\"maybe\", expected true or false"},
        {"huge", config("\"d_model\": 256", "\"d_model\": 2147483647"), info, 3, "2147483647"},
        {"past int", config("\"d_model\": 256", "\"d_model\": 1e30"), info, 3, "'d_model' is 1e+30"},
        {"layers", config("\"n_layers\": 2", "\"n_layers\": 1000000000"), info, 3, "1000000000 layers"},
        {"unsupported", config("\"normalization_type\": \"LN\"", "\"normalization_type\": \"Batch\""), info,
         3, "'normalization_type' = \"Batch\""},
        {"override", nothing, {"info", "model", "--set", "d_model"}, 2, "KEY=VALUE"},
        {"one file, some keys",
         without({"config.json"}),
         {"info", "model/model.safetensors", "--set", "n_heads=7"},
         3,
         "'blocks.0.attn.W_Q' has shape [8, 256, 32], expected [7, 256, 32]"},
    };
}

inline std::vector<Case> tokenizers()
{
    const auto none = without({"tokenizer.json"});
    const auto pointer = content("tokenizer.json", lfsPointer);
    const QStringList question{"tokens", "model", "--circuit", "full-ov", "--head",
                               "1.5",    "-k",    "1",         "--csv",   "--token"};
    return {
        {"none: info", none, info, 0, "demo-attn-2l"},
        {"none: analyze", none, analyze, 0, "Wrote out.h5"},
        {"none: ids", none, {"run", "model", "--tokens", "1,2", "-o", "out.h5"}, 0, "tokens: 1,2"},
        {"none: prompt", none, {"run", "model", "--prompt", "a", "-o", "out.h5"}, 3, "--tokens 1,2,3"},
        {"none: verify", none, {"verify", "model"}, 0, "within"},
        {"none: process", none, {"process", "model", "-o", "processed"}, 0, "Wrote processed"},
        {"none: id", none, question + QStringList{"#5"}, 0, "top,1,"},
        {"named: prompt",
         none,
         {"run", "model", "--prompt", "a", "-o", "out.h5", "--tokenizer",
          HEADWISE_DEMO_MODEL "/tokenizer.json"},
         0,
         "tokens: 0,"},
        {"named: text", none, question + QStringList{"␣the", "--tokenizer", HEADWISE_DEMO_MODEL}, 0,
         "top,1,"},
        {"named: missing", none, question + QStringList{"#5", "--tokenizer", "nowhere"}, 3, "nowhere"},
        {"named: no tokenizer",
         none,
         {"analyze", "model", "-o", "out.h5", "--tokenizer", "model/config.json"},
         3,
         "config.json': It has no model"},
        {"none: text", none, question + QStringList{"the"}, 3, "by its id, as in #42"},
        {"pointer: info", pointer, info, 0, "demo-attn-2l"},
        {"pointer: ids", pointer, {"run", "model", "--tokens", "1,2", "-o", "out.h5"}, 0, "tokens: 1,2"},
        {"pointer: prompt", pointer, {"run", "model", "--prompt", "a", "-o", "out.h5"}, 3, "git lfs pull"},
        {"pointer: analyze", pointer, analyze, 3, "git lfs pull"},
        {"no JSON", content("tokenizer.json", "{"), analyze, 3, "tokenizer.json' is not valid JSON"},
    };
}

inline std::vector<Case> prompts()
{
    const auto run = [](const char* option, const char* value) {
        return QStringList{"run", "model", "-o", "out.h5", option, value};
    };
    const QByteArray long129 = QByteArray("1,").repeated(128) + "1";
    return {
        {"id too large", nothing, run("--tokens", "1,2048"), 2,
         "the id 2048, but this model's ids are 0 to 2047"},
        {"id below zero", nothing, run("--tokens", "-1"), 2, "the id -1"},
        {"no list", nothing, run("--tokens", "1,,2"), 2, "'1,,2'"},
        {"empty list", nothing, run("--tokens", ""), 2, "not a list of token ids"},
        {"nothing to run", nothing, {"run", "model", "-o", "out.h5"}, 2, "--tokens 1,2,3 or --prompt"},
        {"too long", nothing, run("--tokens", long129.constData()), 2, "129 tokens do not fit"},
        {"decodes too far", nothing, run("--tokens", "1") + QStringList{"--greedy", "128"}, 2,
         "129 tokens do not fit"},
        {"decodes backwards", nothing, run("--tokens", "1") + QStringList{"--greedy", "-1"}, 2, "--greedy"},
        // The tokenizer's own rule puts its special token first, so an empty prompt is one token.
        {"empty prompt", nothing, run("--prompt", ""), 0, "tokens: 0\n"},
        {"verify: id", nothing, {"verify", "model", "--tokens", "2048"}, 2, "the id 2048"},
        {"verify: tolerance",
         nothing,
         {"verify", "model", "--tolerance", "-1"},
         2,
         "'-1' is not a number of at least 0"},
        {"empty token", nothing, QStringList(tokensOfSession).replaceInStrings("#5", ""), 2,
         "--token is empty"},
        {"no analyses",
         nothing,
         {"analyze", "model", "-o", "out.h5", "--analyses", ""},
         2,
         "--analyses names no analysis"},
        {"no heads", nothing, {"analyze", "model", "-o", "out.h5", "--heads", ""}, 2, "No head is named"},
    };
}

inline std::vector<Case> sessions()
{
    return {
        {"session cut off, for a model",
         shortened("../demo.h5", 20'000),
         {"info", "demo.h5"},
         3,
         "damaged or incomplete"},
        {"session cut off", shortened("../demo.h5", 20'000), tokensOfSession, 3, "damaged or incomplete"},
        {"session emptied", shortened("../demo.h5", 0), tokensOfSession, 3, "'demo.h5' is not an HDF5 file"},
        {"session of text", content("../demo.h5", "hello"), tokensOfSession, 3,
         "'demo.h5' is not an HDF5 file"},
        {"no session", without({"../demo.h5"}), tokensOfSession, 3, "'demo.h5' does not exist"},
        {"no model: info", nothing, {"info", "demo.h5"}, 3, "needs a model with its weights"},
        {"no model: verify", nothing, {"verify", "demo.h5"}, 3, "needs a model with its weights"},
        {"no model: run",
         nothing,
         {"run", "demo.h5", "--tokens", "1", "-o", "out.h5"},
         3,
         "needs a model with its weights"},
        {"no model: process",
         nothing,
         {"process", "demo.h5", "-o", "out"},
         3,
         "needs a model with its weights"},
        {"no model: analyze",
         nothing,
         {"analyze", "demo.h5", "-o", "out.h5"},
         3,
         "needs a model with its weights"},
        {"another HDF5",
         [](const QDir& model) {
             replace(model.filePath("../demo.h5"), "headwise-session", "headwise-picture");
         },
         tokensOfSession, 3, "demo.h5"},
        {"export cut off",
         shortened("../demo.h5", 20'000),
         {"export", "demo.h5", "--view", "copying", "-o", "out.csv"},
         3,
         "damaged or incomplete"},
        {"unknown view", nothing, {"export", "demo.h5", "--view", "moods", "-o", "out.csv"}, 2, "'moods'"},
        {"view not held",
         nothing,
         {"export", "demo.h5", "--view", "composition-q", "-o", "out.csv"},
         3,
         "headwise analyze"},
        {"other embedding", nothing, tokensOfSession + QStringList{"--embedding", "effective"}, 3,
         "--analyses tables --heads 1.5 --embedding effective"},
        {"other folds", nothing, tokensOfSession + QStringList{"--no-fold-layer-norm"}, 3,
         "not made with --no-fold-layer-norm"},
        {"refactored", nothing, tokensOfSession + QStringList{"--refactor-factored-attention"}, 3,
         "--refactor-factored-attention"},
        {"other head", nothing, tokensOfSession + QStringList{"--without-component", "1.5:0"}, 3,
         "--without-component"},
        {"config of a session", nothing, tokensOfSession + QStringList{"--set", "n_heads=4"}, 2,
         "is a session"},
        {"as it was made", nothing, tokensOfSession + QStringList{"--embedding", "raw", "--fold-layer-norm"},
         0, "top"},
        {"head not there",
         nothing,
         {"export", "demo.h5", "--view", "tokens-ov", "--head", "9.9", "-o", "out.csv"},
         2,
         "9.9"},
    };
}

inline std::vector<Case> targets()
{
    const auto to = [](const char* path) {
        return QStringList{"analyze", "model", "--analyses", "copying", "-o", path};
    };
    const auto dangling = [](const QDir& model) {
        QFile::link("absent/x.h5", model.filePath("../link.h5"));
        QFile::link("absent/x.csv", model.filePath("../link.csv"));
    };
    // fits, but leaves no space for a temporary name
    static const QByteArray longName = QByteArray(247, 'n') + ".h5";
    const auto pipe = [](const QDir& model) {
        ::mkfifo(qPrintable(model.filePath("../pipe")), 0600);
        ::mkfifo(qPrintable(model.filePath("../pipe.png")), 0600);
    };
    return {
        {"over the weights", nothing, to("model/model.safetensors"), 2, "is not an HDF5 file"},
        {"no name", nothing, to(""), 2, "has no name"},
        {"run: over the config",
         nothing,
         {"run", "model", "--tokens", "1", "-o", "model/config.json"},
         2,
         "is not an HDF5 file"},
        {"compare: over the weights",
         nothing,
         {"compare", "model", "model", "-o", "model/model.safetensors"},
         2,
         "is not an HDF5 file"},
        {"missing folder", nothing, to("absent/out.h5"), 4, "There is no folder 'absent'"},
        {"folder", nothing, to("model"), 4, "'model' is a folder"},
        {"below a file", nothing, to("demo.h5/out.h5"), 4, "demo.h5"},
        {"pipe", pipe, to("pipe"), 4, "'pipe' is a device, a pipe or a socket"},
        {"run: pipe", pipe, {"run", "model", "--tokens", "1", "-o", "pipe"}, 4, "'pipe' is a device"},
        {"run: folder", nothing, {"run", "model", "--tokens", "1", "-o", "model"}, 4, "'model'"},
        {"link to nothing", dangling, to("link.h5"), 4,
         "'link.h5' is a link to 'absent/x.h5', which does not exist"},
        {"process: link to nothing",
         dangling,
         {"process", "model", "-o", "link.h5"},
         4,
         "which does not exist"},
        {"export: link to nothing",
         dangling,
         {"export", "demo.h5", "--view", "copying", "-o", "link.csv"},
         4,
         "which does not exist"},
        {"long name", nothing, to(longName), 4, "File name too long; name a shorter one"},
        {"process: long name", nothing, {"process", "model", "-o", longName}, 4, "File name too long"},
        {"run: long name",
         nothing,
         {"run", "model", "--tokens", "1", "-o", longName},
         4,
         "File name too long"},
        {"export: pipe",
         pipe,
         {"export", "demo.h5", "--view", "copying", "-o", "pipe.png"},
         4,
         "'pipe.png' is a device"},
        {"process: file", nothing, {"process", "model", "-o", "demo.h5"}, 2, "'demo.h5' is a file"},
        {"process: itself", nothing, {"process", "model", "-o", "model", "--force"}, 2, "the model itself"},
        {"process: full folder", content("../full/a", "a"), {"process", "model", "-o", "full"}, 2, "--force"},
        {"export: missing folder",
         nothing,
         {"export", "demo.h5", "--view", "copying", "-o", "absent/a.csv"},
         4,
         "absent/a.csv"},
    };
}

inline std::vector<Case> cases()
{
    std::vector<Case> all;
    for (const auto& part :
         {noModels(), weights(), configs(), tokenizers(), prompts(), sessions(), targets()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

} // namespace headwise::test::bad_input
