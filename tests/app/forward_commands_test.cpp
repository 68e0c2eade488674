#include "core/files/hdf5.h"
#include "tests/support/command.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

using namespace headwise;

namespace {

QString models(const char* name)
{
    return QString::fromStdString(test::testData(std::string("models/") + name).string());
}

QJsonObject jsonOf(const test::CommandRun& run)
{
    return QJsonDocument::fromJson(run.out).object();
}

double largest(const QJsonObject& answer)
{
    double largest = 0;
    for (const QJsonValue step : answer["steps"].toArray())
        largest = std::max(largest, step["max_abs_diff"].toDouble(INFINITY));
    return largest;
}

QByteArray idText(const std::vector<int>& ids)
{
    QByteArray text;
    for (const int id : ids)
        text += (text.isEmpty() ? "" : ",") + QByteArray::number(id);
    return text;
}

} // namespace

/// `process`, `verify` and `run` as a user runs them.
class ForwardCommandsTest : public QObject {
    Q_OBJECT

private slots:
    void verifyHoldsOnTheRealModels_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("canRefactor");
        QTest::newRow("stories260k") << models("stories260k") << false;
        QTest::newRow("gpt-nano-sort") << models("gpt-nano-sort") << true;
        QTest::newRow("demo") << QString(HEADWISE_DEMO_MODEL) << true;
    }
    void verifyHoldsOnTheRealModels()
    {
        QFETCH(QString, model);
        QFETCH(bool, canRefactor);
        const test::CommandRun plain = run({"verify", model, "--json"});
        QCOMPARE(plain.exitCode, 0);
        QCOMPARE(jsonOf(plain)["ok"].toBool(), true);
        QCOMPARE(jsonOf(plain)["steps"].toArray().size(), 4);
        QVERIFY(largest(jsonOf(plain)) > 0);
        QVERIFY(largest(jsonOf(plain)) <= 1e-4);
        const test::CommandRun refactored = run({"verify", model, "--json", "--refactor-factored-attention"});
        QCOMPARE(refactored.exitCode, canRefactor ? 0 : 2);
        if (canRefactor)
            QVERIFY(largest(jsonOf(refactored)) <= 1e-4);
        else
            QVERIFY(refactored.err.contains("rotary"));
    }

    void verifySaysWhatItDid()
    {
        const test::CommandRun text = run({"verify", models("stories260k"), "--tokens", "1,403,407"});
        QCOMPARE(text.exitCode, 0);
        QVERIFY(text.out.contains("tokens: 1,403,407\n"));
        QVERIFY(text.out.contains("fold-layer-norm             applied"));
        QVERIFY(
            text.out.contains("center-writing-weights      skipped (the norm of the layers is an RMSNorm"));
        QVERIFY(text.err.contains("warning: center-writing-weights was skipped"));
        const QJsonObject json =
            jsonOf(run({"verify", models("stories260k"), "--tokens", "1,403,407", "--json"}));
        QCOMPARE(json["tokens"].toArray(), (QJsonArray{1, 403, 407}));
        QCOMPARE(json["tolerance"].toDouble(), 1e-4);
        const QJsonObject skipped = json["steps"][1].toObject();
        QCOMPARE(skipped["name"].toString(), QString("center-writing-weights"));
        QCOMPARE(skipped["applied"].toBool(true), false);
        QVERIFY(skipped["reason"].toString().contains("RMSNorm"));
    }

    void verifyWithoutTokensTakesThoseOfSeedZero()
    {
        // 2357136044 and 2546248239 are the first numbers of mt19937 with seed 0, as in NumPy's RandomState.
        const QJsonArray ids = jsonOf(run({"verify", models("stories260k"), "--json"}))["tokens"].toArray();
        QCOMPARE(ids.size(), 64);
        QCOMPARE(ids[0].toInt(), int(2357136044U % 512));
        QCOMPARE(ids[1].toInt(), int(2546248239U % 512));
        QCOMPARE(jsonOf(run({"verify", models("gpt-nano-sort"), "--json"}))["tokens"].toArray().size(), 11);
    }

    void verifyAnswersNoAboveTheTolerance()
    {
        const test::CommandRun no =
            run({"verify", models("gpt-nano-sort"), "--tolerance", "1e-12", "--json"});
        QCOMPARE(no.exitCode, 1);
        QCOMPARE(jsonOf(no)["ok"].toBool(true), false);
        const test::CommandRun nothing =
            run({"verify", models("gpt-nano-sort"), "--tolerance", "0", "--no-fold-layer-norm",
                 "--no-center-writing-weights", "--no-center-unembed", "--no-fold-value-biases"});
        QCOMPARE(nothing.exitCode, 0);
    }

    void aStepAskedForThatCannotBeDoneEndsWithTwo()
    {
        for (const char* command : {"verify", "process"}) {
            QStringList arguments{command, models("stories260k"), "--center-writing-weights"};
            if (arguments[0] == "process")
                arguments += {"-o", path("refused")};
            const test::CommandRun refused = run(arguments);
            QCOMPARE(refused.exitCode, 2);
            QCOMPARE(refused.err.count('\n'), 1);
            QVERIFY(refused.err.contains("--center-writing-weights cannot be done on this model"));
        }
        QVERIFY(!QFile::exists(path("refused")));
    }

    /// The file may have any name, as in Tokenizer::open.
    void processWritesTheTokenizerThatIsNamed()
    {
        const QString stories = QString::fromStdString(test::testData("models/stories260k").string());
        const QString named = path("words.json");
        QVERIFY(QFile::copy(QStringLiteral(HEADWISE_DEMO_MODEL "/tokenizer.json"), named));
        const auto written = run({"process", stories, "-o", path("spoken"), "--tokenizer", named});
        QVERIFY2(written.exitCode == 0, written.err);
        QVERIFY(QFile::exists(path("spoken") + "/tokenizer.json"));
        const auto asJson =
            run({"process", stories, "-o", path("spoken"), "--tokenizer", named, "--force", "--json"});
        QVERIFY2(asJson.exitCode == 0, asJson.err);
        const QJsonObject answer = jsonOf(asJson);
        QCOMPARE(answer["output"].toString(), path("spoken"));
        QByteArray lines;
        for (const QJsonValue& step : answer["steps"].toArray())
            lines += step["name"].toString().toUtf8()
                + (step["applied"].toBool() ? ": applied\n"
                                            : ": skipped (" + step["reason"].toString().toUtf8() + ")\n");
        QVERIFY2(!lines.isEmpty() && written.out.startsWith(lines), lines);
        QVERIFY(answer["remarks"].isArray());
        const auto missing = run({"process", stories, "-o", path("mute"), "--tokenizer", path("none")});
        QCOMPARE(missing.exitCode, 3);
        QVERIFY(!QFile::exists(path("mute")));
        const QString gguf =
            QString::fromStdString(test::testData("models/stories260k-gguf/stories260K.gguf").string());
        const auto inside = run({"process", gguf, "-o", path("from gguf")});
        QVERIFY2(inside.exitCode == 0, inside.err);
        QVERIFY2(inside.err.contains("--tokenizer " + gguf.toUtf8()), inside.err);
    }

    void processWritesAFolderOfTheSameFunction()
    {
        const QString folder = path("processed");
        const test::CommandRun written = run({"process", QString(HEADWISE_DEMO_MODEL), "-o", folder});
        QCOMPARE(written.exitCode, 0);
        QVERIFY(QFile::exists(folder + "/tokenizer.json"));
        const std::vector<int> tokens{0, 5, 17, 1999, 5, 17};
        const auto before = test::referenceForward(HEADWISE_DEMO_MODEL, tokens);
        const auto after = test::referenceForward(folder.toStdString(), tokens);
        QVERIFY(
            (test::logSoftmax(test::matrixOf(after.logits)) - test::logSoftmax(test::matrixOf(before.logits)))
                .cwiseAbs()
                .maxCoeff()
            < 1e-4);
        const test::CommandRun again = run({"process", QString(HEADWISE_DEMO_MODEL), "-o", folder});
        QCOMPARE(again.exitCode, 2);
        QVERIFY(again.err.contains("--force"));
        QCOMPARE(run({"process", QString(HEADWISE_DEMO_MODEL), "-o", folder, "--force"}).exitCode, 0);
        // A model without a tokenizer does not inherit that of the model it replaces.
        const QString silent = path("silent");
        test::writeToyModel(silent.toStdString());
        QCOMPARE(run({"process", silent, "-o", folder, "--force"}).exitCode, 0);
        QVERIFY(!QFile::exists(folder + "/tokenizer.json"));
    }

    void runWritesWhatTheReferenceComputes_data()
    {
        QTest::addColumn<QString>("precision");
        QTest::addColumn<double>("tolerance");
        QTest::newRow("f32") << "f32" << 1e-4;
        QTest::newRow("f64") << "f64" << 1e-10;
    }
    void runWritesWhatTheReferenceComputes()
    {
        QFETCH(QString, precision);
        QFETCH(double, tolerance);
        const QString folder = path("toy " + precision);
        test::ToyOptions options;
        options.nHeads = 6, options.nKvHeads = 2;
        const auto toy = test::writeToyModel(folder.toStdString(), options);
        const QString out = path(precision + ".h5");
        const test::CommandRun done =
            run({"run", folder, "--tokens", "3,1,4", "--greedy", "2", "--precision", precision, "-o", out});
        QCOMPARE(done.exitCode, 0);
        const std::vector<int> tokens = test::referenceGreedy(toy.folder, {3, 1, 4}, 2);
        QVERIFY(done.out.contains("tokens: " + idText(tokens) + "\n"));
        const test::CommandRun json =
            run({"run", folder, "--tokens", "3,1,4", "--json", "-o", out + ".json.h5"});
        QCOMPARE(json.out.simplified(), QByteArray("{ \"tokens\": [ 3, 1, 4 ], \"prompt_length\": 3 }"));

        const auto file = Hdf5Reader::open(out.toStdString());
        QVERIFY(test::isOk(file));
        const auto ids = file->readArray("tokens");
        QVERIFY(test::isOk(ids));
        QCOMPARE(std::get<std::vector<std::int32_t>>(ids->values),
                 (std::vector<std::int32_t>(tokens.begin(), tokens.end())));
        const auto attributes = file->attributes("tokens");
        QVERIFY(test::isOk(attributes));
        QCOMPARE(std::get<std::int64_t>(attributes->at("prompt_length")), 3);

        const test::ReferenceRun reference = test::referenceForward(toy.folder, tokens);
        const std::vector<double> logits = read(*file, "logits", {5, 11}, precision);
        const std::vector<double> patterns = read(*file, "attention/patterns", {2, 6, 5, 5}, precision);
        const std::vector<double> norms = read(*file, "attention/output_norms", {2, 6, 5}, precision);
        QVERIFY(logits.size() == 55 && patterns.size() == 300 && norms.size() == 60);
        for (std::size_t i = 0; i < 5; ++i)
            for (std::size_t v = 0; v < 11; ++v)
                QVERIFY(std::abs(logits[i * 11 + v] - reference.logits[i][v]) < 3 * tolerance);
        for (std::size_t l = 0; l < 2; ++l)
            for (std::size_t h = 0; h < 6; ++h)
                for (std::size_t i = 0; i < 5; ++i)
                    for (std::size_t j = 0; j < 5; ++j)
                        QVERIFY(
                            std::abs(patterns[((l * 6 + h) * 5 + i) * 5 + j] - reference.patterns[l][h][i][j])
                            < tolerance);
        const auto own = test::ran<double>(test::raw(test::loaded(toy.folder)), tokens);
        for (std::size_t l = 0; l < 2; ++l)
            for (std::size_t h = 0; h < 6; ++h)
                for (std::size_t i = 0; i < 5; ++i)
                    QVERIFY(std::abs(norms[(l * 6 + h) * 5 + i]
                                     - own.outputNorms[l](static_cast<Eigen::Index>(h),
                                                          static_cast<Eigen::Index>(i)))
                            < tolerance);
    }

    void runProcessesOnlyWhenAsked()
    {
        const QStringList common{"run", models("gpt-nano-sort"), "--tokens", "0,1,2", "-o", path("x.h5")};
        QCOMPARE(run(common + QStringList{"--no-center-unembed"}).exitCode, 2);
        QCOMPARE(run(common).exitCode, 0);
        const std::vector<double> raw = logits();
        QCOMPARE(run(common + QStringList{"--process", "--no-center-unembed"}).exitCode, 0);
        const std::vector<double> folded = logits();
        QCOMPARE(run(common + QStringList{"--process"}).exitCode, 0);
        const std::vector<double> centred = logits();
        QCOMPARE(raw.size(), std::size_t{9});
        for (std::size_t i = 0; i < 3; ++i) {
            const double mean = (raw[3 * i] + raw[3 * i + 1] + raw[3 * i + 2]) / 3;
            for (std::size_t v = 0; v < 3; ++v) {
                QVERIFY(std::abs(folded[3 * i + v] - raw[3 * i + v]) < 1e-4);
                QVERIFY(std::abs(centred[3 * i + v] - (raw[3 * i + v] - mean)) < 1e-4);
            }
        }
    }

    void promptsThatDoNotFitEndWithTwoAndWriteNothing()
    {
        const QString out = path("nothing.h5");
        const auto code = [&](const QStringList& arguments) {
            return run(QStringList{"run", models("gpt-nano-sort"), "-o", out} + arguments).exitCode;
        };
        QCOMPARE(code({"--tokens", "3"}), 2);
        QCOMPARE(code({"--tokens", "0,1,2,0,1,2,0,1,2,0,1,2"}), 2);
        QCOMPARE(code({"--tokens", "0", "--greedy", "11"}), 2);
        QCOMPARE(code({"--tokens", "0,x"}), 2);
        QCOMPARE(code({}), 2);
        QCOMPARE(code({"--prompt", "abc"}), 3); // no tokenizer in the folder
        QVERIFY(!QFile::exists(out));
    }

    void aTypedPromptFollowsTheTokenizer()
    {
        const test::CommandRun done =
            run({"run", QString(HEADWISE_DEMO_MODEL), "--prompt", "the king", "-o", path("prompt.h5")});
        QCOMPARE(done.exitCode, 0);
        QVERIFY(done.out.startsWith("tokens: "));
        QVERIFY(!done.out.contains("text: "));
    }

    // "Once upon a time" by a tokenizer and weights whose continuation is known (../shared's README of the model).
    void greedyDecodingPrintsTheText()
    {
        const QStringList once{"run", models("stories260k-gguf"), "--tokens", "1", "--greedy", "5",
                               "-o",  path("greedy.h5")};
        const test::CommandRun done = run(once);
        QVERIFY2(done.exitCode == 0, done.err);
        QVERIFY2(done.out.startsWith("tokens: 1,403,407,261,378,432\n"), done.out);
        QVERIFY2(done.out.contains("text: ") && done.out.contains("Once upon a"), done.out);
        const QByteArray json = run(once + QStringList{"--json"}).out;
        QVERIFY2(QJsonDocument::fromJson(json)["text"].toString().contains(QStringLiteral("Once upon a")),
                 json);
        // without a tokenizer there are only ids
        const auto bare =
            run({"run", models("gpt-nano-sort"), "--tokens", "0", "--greedy", "1", "-o", path("bare.h5")});
        QVERIFY2(bare.exitCode == 0 && !bare.out.contains("text: "), bare.err);
    }

    void anEmptyPromptIsTheBeginningOfASequence()
    {
        for (const QStringList& empty : {QStringList{"--prompt", ""}, QStringList{"--prompt="}}) {
            const auto done =
                run(QStringList{"run", HEADWISE_DEMO_MODEL} + empty + QStringList{"-o", path("empty.h5")});
            QVERIFY2(done.exitCode == 0, done.err);
            QCOMPARE(done.out, QByteArray("tokens: 0\n"));
            QVERIFY(QFile::remove(path("empty.h5")));
        }
        // GPT-2's tokenizer adds no token, but its models begin with one.
        const QString folder = path("begins");
        test::writeToyModel(folder.toStdString(), {});
        QFile vocabulary(folder + "/vocab.json"), merges(folder + "/merges.txt");
        QVERIFY(vocabulary.open(QIODevice::WriteOnly)
                && vocabulary.write(R"({"a":0,"b":1,"<|endoftext|>":2})") > 0);
        QVERIFY(merges.open(QIODevice::WriteOnly) && merges.write("#version: 0.2\n") > 0);
        vocabulary.close();
        merges.close();
        const QStringList nothing{"run", folder, "--prompt", "", "-o", path("begins.h5")};
        const auto without = run(nothing);
        QVERIFY2(without.exitCode == 2 && without.err.contains("The prompt is empty"), without.err);
        const auto done = run(nothing + QStringList{"--set", "bos_token_id=2"});
        QVERIFY2(done.exitCode == 0 && done.out == "tokens: 2\n", done.err + done.out);
    }

    void anOptionWithoutAValueTakesNoOther()
    {
        const auto done = run({"run", HEADWISE_DEMO_MODEL, "--tokens=", "-o", path("none.h5")});
        QVERIFY2(done.exitCode == 2 && done.err.contains("'' is not a list of token ids"), done.err);
        QVERIFY(!QFile::exists("-o"));
    }

    void specialTokensInAPromptAreTokensOrText()
    {
        const auto ids = [&](const QStringList& more) {
            const auto done = run(
                QStringList{"run", models("stories260k-gguf"), "--prompt", "a</s>b", "-o", path("special.h5")}
                + more);
            return done.exitCode == 0 ? done.out.trimmed() : done.err;
        };
        const QByteArray parsed = ids({}), plain = ids({"--no-parse-specials"});
        QCOMPARE(ids({"--parse-specials"}), parsed);
        QVERIFY2(parsed.contains(",2,") && !plain.contains(",2,"), parsed + plain);
        QVERIFY(plain.count(',') > parsed.count(','));
    }

    void numbersThatAreNoneAreSaid()
    {
        const QString damaged = path("damaged");
        QVERIFY(QDir().mkpath(damaged));
        for (const char* name : {"config.json", "model.safetensors"})
            QVERIFY(QFile::copy(QString(HEADWISE_DEMO_MODEL "/") + name, damaged + "/" + name));
        QFile weights(damaged + "/model.safetensors");
        QVERIFY(weights.setPermissions(QFile::ReadOwner | QFile::WriteOwner));
        QVERIFY(weights.open(QIODevice::ReadWrite) && weights.seek(weights.size() - 4));
        QCOMPARE(weights.write(QByteArray("\0\0\xC0\x7F", 4)), 4); // the last number is NaN
        weights.close();
        const QByteArray warning = "warning: Tensor 'unembed.b_U'";
        const auto processed = run({"process", damaged, "-o", path("processed damage")});
        QCOMPARE(processed.exitCode, 0);
        QVERIFY2(processed.err.contains(warning), processed.err);
        const QStringList prompt{"--tokens", "1,2", "-o", path("damage.h5")};
        QVERIFY(run(QStringList{"run", damaged} + prompt).err.contains(warning));
        QVERIFY(!run(QStringList{"run", HEADWISE_DEMO_MODEL} + prompt).err.contains("warning"));
    }

private:
    test::CommandRun run(const QStringList& arguments) const
    {
        return test::runHeadwise(arguments, path("state"));
    }
    QString path(const QString& name) const { return m_folder.path() + "/" + name; }

    std::vector<double> logits() const
    {
        const auto file = Hdf5Reader::open(path("x.h5").toStdString());
        return file ? read(*file, "logits", {3, 3}, "f32") : std::vector<double>();
    }

    /// Returns the numbers of a dataset with the given shape, precision and description; empty otherwise.
    static std::vector<double> read(const Hdf5Reader& file, const char* name,
                                    const std::vector<std::size_t>& shape, const QString& precision)
    {
        const auto array = file.readArray(name);
        const auto attributes = file.attributes(name);
        if (!test::isOk(array) || !test::isOk(attributes) || array->shape != shape)
            return {};
        if (std::get<std::vector<std::string>>(attributes->at("axes")).size() != shape.size()
            || std::get<std::string>(attributes->at("definition")).empty())
            return {};
        if (precision == "f64")
            return std::get<std::vector<double>>(array->values);
        const auto& values = std::get<std::vector<float>>(array->values);
        return {values.begin(), values.end()};
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(ForwardCommandsTest)
#include "forward_commands_test.moc"
