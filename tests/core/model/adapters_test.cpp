#include "core/analysis/comparison/model_comparison.h"
#include "core/base/decompositions.h"
#include "core/checkpoint/npy.h"
#include "core/model/adapters/adapter.h"
#include "core/session/session.h"
#include "tests/support/analysed.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_adapter.h"

#include <QTemporaryDir>

#include <cmath>
#include <cstring>

using namespace headwise;

namespace {

/// A base, an adapter of it, and the adapter's strength.
struct AdapterCase {
    test::ToyOptions base;
    test::ToyAdapter adapter;
    double strength = 1;
};

const std::string llamaLayer = "model.layers.1.", gpt2Layer = "transformer.h.1.";

std::vector<AdapterCase> adapterCases()
{
    const std::vector<std::string> llama{llamaLayer + "self_attn.q_proj", llamaLayer + "self_attn.v_proj",
                                         llamaLayer + "self_attn.o_proj", llamaLayer + "mlp.down_proj"};
    const std::vector<std::string> gpt2{gpt2Layer + "attn.c_attn", gpt2Layer + "attn.c_proj",
                                        gpt2Layer + "mlp.c_fc"};
    std::vector<AdapterCase> cases;
    for (const bool isGpt2 : {false, true}) {
        const test::ToyOptions base = isGpt2 ? test::gpt2Options() : test::llamaOptions();
        test::ToyAdapter lora{isGpt2 ? gpt2 : llama};
        lora.inputsFirst = isGpt2;
        cases.push_back({base, lora});
        cases.push_back({base, lora, 0.3});
        lora.rankStabilised = true;
        lora.rank = 3;
        lora.infix = ".default";
        cases.push_back({base, lora});
        lora.dora = true;
        cases.push_back({base, lora});
        cases.push_back({base, lora, 0.3});
    }
    cases.back().base.prefix = ""; // as in the official gpt2 file
    return cases;
}

/// W of a base in float64 as [outputs, inputs].
Matrix<double> denseOf(const test::StoredTensor& tensor, bool inputsFirst)
{
    const auto rows = static_cast<Eigen::Index>(tensor.shape[0]),
               cols = static_cast<Eigen::Index>(tensor.shape[1]);
    Matrix<double> matrix(rows, cols);
    for (Eigen::Index r = 0; r < rows; ++r)
        for (Eigen::Index c = 0; c < cols; ++c)
            matrix(r, c) = tensor.values[static_cast<std::size_t>(r * cols + c)];
    return inputsFirst ? Matrix<double>(matrix.transpose()) : matrix;
}

/// The adapted matrix by the papers' formulas, number by number.
Matrix<double> adaptedDense(const AdapterCase& given, const test::ToyModel& base, const std::string& module,
                            const std::map<std::string, test::StoredTensor>& tensors)
{
    const Matrix<double> W =
        denseOf(base.tensors.at(test::storedName(base, module)), given.adapter.inputsFirst);
    const std::string name = "base_model.model." + module, end = given.adapter.infix;
    const Matrix<double> A = denseOf(tensors.at(name + ".lora_A" + end + ".weight"), false);
    const Matrix<double> B = denseOf(tensors.at(name + ".lora_B" + end + ".weight"), false);
    Matrix<double> adapted = W;
    for (Eigen::Index o = 0; o < W.rows(); ++o) {
        for (Eigen::Index i = 0; i < W.cols(); ++i)
            for (Eigen::Index k = 0; k < A.rows(); ++k)
                adapted(o, i) += given.adapter.scale() * B(o, k) * A(k, i);
        if (given.adapter.dora)
            adapted.row(o) *=
                tensors.at(name + ".lora_magnitude_vector" + end).values[static_cast<std::size_t>(o)]
                / adapted.row(o).norm();
    }
    return W + given.strength * (adapted - W);
}

/// True if each number is the expected one, rounded to float32.
bool isRounded(const Matrix<float>& actual, const Matrix<double>& expected)
{
    const double unit = 0x1p-24 * (1 + 1e-6);
    return actual.rows() == expected.rows() && actual.cols() == expected.cols()
        && ((actual.cast<double>() - expected).array().abs() <= unit * expected.array().abs() + 1e-15).all();
}

} // namespace

class AdaptersTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_temporary;

    std::filesystem::path folder(const char* name) const
    {
        return std::filesystem::path(m_temporary.path().toStdString()) / QTest::currentTestFunction()
            / (QTest::currentDataTag() ? QTest::currentDataTag() : "one") / name;
    }

    ModelSource source(const char* adapter = "adapter", const char* base = "base") const
    {
        ModelSource source{folder(adapter), std::nullopt, {}};
        source.base = folder(base);
        return source;
    }

    std::shared_ptr<const ModelWeights> opened(const ModelSource& from) const
    {
        auto model = loadModel(from, Task{});
        if (!model)
            qFatal("%s", test::printed(model.error()).constData());
        return *model;
    }

private slots:
    void readsTheDenseFormula_data()
    {
        QTest::addColumn<int>("index");
        for (int i = 0; i < static_cast<int>(adapterCases().size()); ++i)
            QTest::newRow(qPrintable(QStringLiteral("case%1").arg(i))) << i;
    }

    void readsTheDenseFormula()
    {
        QFETCH(int, index);
        const AdapterCase given = adapterCases()[static_cast<std::size_t>(index)];
        const test::ToyModel base = test::writeToyModel(folder("base"), given.base);
        const auto tensors = test::tensorsOf(given.adapter, base);
        test::writeAdapter(folder("adapter"), given.adapter.config(), tensors);
        ModelSource from = source();
        from.adapterStrength = given.strength;
        const auto model = opened(from);
        const WeightMap& file = model->file();
        QCOMPARE(file.changes().size(), given.adapter.modules.size());
        for (const std::string& module : given.adapter.modules) {
            const int tensor = file.find(test::storedName(base, module));
            QVERIFY(file.changes().contains(tensor));
            Matrix<double> expected = adaptedDense(given, base, module, tensors);
            if (given.adapter.inputsFirst)
                expected.transposeInPlace();
            const Eigen::Index rows = expected.rows(), cols = expected.cols();
            Matrix<float> whole;
            file.read({tensor, 0, cols, 1, rows, cols}, whole);
            QVERIFY2(isRounded(whole, expected), module.c_str());
            // The same numbers whatever the rectangle: transposed, as one run, by rows two apart, and strangely strided.
            Matrix<float> other;
            file.read({tensor, 0, 1, cols, cols, rows}, other);
            QVERIFY(other == whole.transpose());
            std::vector<float> run(static_cast<std::size_t>(rows * cols - 3));
            file.readNumbers(tensor, 2, rows * cols - 3, run.data());
            for (Eigen::Index i = 0; i < rows * cols - 3; ++i)
                QCOMPARE(run[static_cast<std::size_t>(i)], whole((i + 2) / cols, (i + 2) % cols));
            file.read({tensor, cols + 1, 2 * cols, 1, (rows - 1) / 2, cols - 1}, other);
            for (Eigen::Index r = 0; r < other.rows(); ++r)
                QVERIFY(other.row(r) == whole.row(1 + 2 * r).rightCols(cols - 1));
            file.read({tensor, 1, 3, 2, 4, 3}, other);
            for (Eigen::Index r = 0; r < 4; ++r)
                for (Eigen::Index c = 0; c < 3; ++c)
                    QCOMPARE(other(r, c), whole((1 + 3 * r + 2 * c) / cols, (1 + 3 * r + 2 * c) % cols));
        }
        const auto plain = test::loaded(folder("base"));
        for (const auto& [key, view] : model->views())
            if (!file.changes().contains(view.tensor)) {
                const auto& [kind, layer, head] = key;
                QVERIFY(model->read<float>(kind, layer, head) == plain->read<float>(kind, layer, head));
            }
        QVERIFY(model->file().sha256() != plain->file().sha256());
        QCOMPARE(model->file().path(), folder("adapter"));
    }

    void strengthZeroIsTheBase()
    {
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        test::ToyAdapter adapter{{llamaLayer + "self_attn.q_proj"}};
        adapter.dora = true;
        test::writeAdapter(folder("adapter"), adapter, base);
        ModelSource from = source();
        from.adapterStrength = 0;
        const auto model = opened(from), plain = test::loaded(folder("base"));
        for (const auto& [key, view] : model->views()) {
            const auto& [kind, layer, head] = key;
            const Matrix<float> a = model->read<float>(kind, layer, head),
                                b = plain->read<float>(kind, layer, head);
            QVERIFY(a.size() == b.size()
                    && std::memcmp(a.data(), b.data(), sizeof(float) * static_cast<std::size_t>(a.size()))
                        == 0);
        }
        from.adapterStrength = 1; // The comparison above can fail.
        QVERIFY(opened(from)->read<float>(TensorKind::W_Q, 1, 0)
                != plain->read<float>(TensorKind::W_Q, 1, 0));
    }

    void theDifferenceHasTheAdaptersRank()
    {
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        test::writeAdapter(folder("adapter"), test::ToyAdapter{{llamaLayer + "self_attn.q_proj"}}, base);
        const auto model = opened(source()), plain = test::loaded(folder("base"));
        const int tensor = model->file().find(llamaLayer + "self_attn.q_proj.weight");
        Matrix<double> adapted, original;
        model->file().read({tensor, 0, 7, 1, 24, 7}, adapted);
        plain->file().read({tensor, 0, 7, 1, 24, 7}, original);
        const auto sizes = singularValues(adapted - original);
        QVERIFY(test::isOk(sizes));
        QVERIFY((*sizes)(1) > 0.1 && (*sizes)(2) < 1e-14);
    }

    /// B is 0 but in the rows of one query head.
    void comparisonFindsThePlantedHeadAlone()
    {
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        const test::ToyAdapter adapter{{llamaLayer + "self_attn.q_proj"}};
        auto tensors = test::tensorsOf(adapter, base);
        std::vector<double>& B =
            tensors.at("base_model.model." + llamaLayer + "self_attn.q_proj.lora_B.weight").values;
        constexpr std::size_t head = 3, dHead = 4;
        for (std::size_t i = 0; i < B.size(); ++i)
            if (i / adapter.rank / dHead != head)
                B[i] = 0;
        test::writeAdapter(folder("adapter"), adapter.config(), tensors);
        const ProcessedWeights older = test::raw(test::loaded(folder("base"))),
                               newer = test::raw(opened(source()));
        const auto results =
            compareModels(Circuits(std::make_shared<const ProcessedWeights>(older)),
                          Circuits(std::make_shared<const ProcessedWeights>(newer)), {}, Task{});
        QVERIFY(test::isOk(results));
        const std::vector<double> qk = test::numbers(*results, "comparison/qk/relative_change");
        QCOMPARE(qk.size(), std::size_t(12));
        for (std::size_t i = 0; i < qk.size(); ++i)
            QVERIFY2(i == 6 + head ? qk[i] > 0.01 : qk[i] == 0, std::to_string(i).c_str());
        for (const double change : test::numbers(*results, "comparison/ov/relative_change"))
            QCOMPARE(change, 0.0);
    }

    void patternsChangeRankAndScale()
    {
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        test::ToyAdapter adapter{{llamaLayer + "self_attn.q_proj", llamaLayer + "self_attn.v_proj"}};
        auto tensors = test::tensorsOf(adapter, base);
        adapter.rank = 3;
        const std::string v = "base_model.model." + llamaLayer + "self_attn.v_proj.lora_";
        for (const auto& [name, tensor] : test::tensorsOf(adapter, base))
            if (name.starts_with(v))
                tensors[name] = tensor;
        adapter.rank = 2;
        adapter.more =
            R"(, "rank_pattern": {"v_proj": 3}, "alpha_pattern": {"^model.layers.1.self_attn\\.v_proj": 12})";
        test::writeAdapter(folder("adapter"), adapter.config(), tensors);
        const auto facts = adapterFacts(*opened(source()));
        QVERIFY(facts);
        QCOMPARE(facts->kind, std::string("LoRA"));
        QVERIFY((facts->ranks == std::set<std::int64_t>{2, 3}) && (facts->scales == std::set<double>{3, 4}));
        QVERIFY((facts->matrices == std::set<std::string>{"W_Q", "W_V"})
                && facts->layers == std::set<int>{1});
        QCOMPARE(facts->tensors, 2);
    }

    /// Square matrices do not say by their shape how they are stored; the others of the adapter do, whatever the config says.
    void shapesDecideHowSquaresAreStored()
    {
        const test::ToyModel base = test::writeToyModel(folder("base"), test::gpt2Options());
        test::ToyAdapter adapter{{gpt2Layer + "attn.c_attn", gpt2Layer + "attn.c_proj"}};
        adapter.inputsFirst = true;
        const auto tensors = test::tensorsOf(adapter, base);
        adapter.inputsFirst = false;
        test::writeAdapter(folder("adapter"), adapter.config(), tensors);
        const auto model = opened(source());
        for (const auto& [tensor, change] : model->file().changes())
            QVERIFY(change.isTransposed);
    }

    void refusesWithAReason_data()
    {
        QTest::addColumn<QByteArray>("keys");   // of the config, after a comma
        QTest::addColumn<QByteArray>("change"); // of the tensors
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("part");
        const auto row = [](const char* name, const char* keys, const char* change, ErrorCode code,
                            const char* part) {
            QTest::newRow(name) << QByteArray(keys) << QByteArray(change) << static_cast<int>(code)
                                << QByteArray(part);
        };
        constexpr ErrorCode no = ErrorCode::Unsupported, bad = ErrorCode::Corrupt;
        row("modules", R"(, "modules_to_save": ["lm_head"])", "", no, R"('modules_to_save' = ["lm_head"])");
        row("biases", R"(, "lora_bias": true)", "", no, "'lora_bias' = true");
        row("pissa", R"(, "init_lora_weights": "pissa_niter_4")", "", no, "pissa_niter_4");
        row("replication", R"(, "layer_replication": [[0, 2]])", "", no, "'layer_replication'");
        row("pattern", R"(, "alpha_pattern": {"a|b": 3})", "", no, "\"a|b\" is a regular expression");
        row("pattern's kind", R"(, "alpha_pattern": {"a": "x"})", "", bad, "expected a number above 0");
        row("pattern's rank", R"(, "rank_pattern": {"a": 1.5})", "", bad, "expected a whole number");
        row("rank", R"(, "rank_pattern": {"q_proj": 4})", "", bad, "q_proj.lora_A.weight' in");
        row("rank expected", R"(, "rank_pattern": {"q_proj": 4})", "", bad,
            "has shape [2, 7], expected [4, inputs]");
        row("no B", "", "noB", bad, "lacks its lora_B");
        row("embedding", "", "embedding", no, "lora_embedding_A' in");
        row("bias", "", "bias", no, "lora_B.bias' in");
        row("two adapters", "", "two", no, "', but others to 'other'; save each adapter into");
        row("other base", "", "shape", bad,
            "change a matrix of shape [24, 8], but 'model.layers.1.self_attn.q_proj.weight'");
        row("other base found", "", "shape", bad, "has shape [24, 7]; the adapter is made for \"org/toy\"");
        row("more layers", "", "layer", bad,
            "changes 'model.layers.9.self_attn.q_proj.weight', which the base");
        row("magnitude", "", "magnitude", bad, "'use_dora' in 'adapter_config.json' is false");
        row("no magnitude", R"(, "use_dora": true)", "", bad, "lacks its lora_magnitude_vector");
        row("integers", "", "empty", bad, "holds no tensors");
    }

    void refusesWithAReason()
    {
        QFETCH(QByteArray, keys);
        QFETCH(QByteArray, change);
        QFETCH(int, code);
        QFETCH(QByteArray, part);
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        test::ToyAdapter adapter{{llamaLayer + "self_attn.q_proj"}};
        std::string config = adapter.config();
        if (keys.contains("use_dora"))
            config.replace(config.find(R"(, "use_dora": false)"), 19, "");
        config.insert(config.size() - 1, R"(, "base_model_name_or_path": "org/toy")" + keys.toStdString());
        auto tensors = test::tensorsOf(adapter, base);
        const std::string q = "base_model.model." + llamaLayer + "self_attn.q_proj.";
        const test::StoredTensor small{{2}, {1, 1}};
        if (change == "noB")
            tensors.erase(q + "lora_B.weight");
        else if (change == "embedding")
            tensors["base_model.model.model.embed_tokens.lora_embedding_A"] = small;
        else if (change == "bias")
            tensors[q + "lora_B.bias"] = small;
        else if (change == "two")
            tensors[q + "lora_A.other.weight"] = small;
        else if (change == "shape")
            tensors[q + "lora_A.weight"] = {{2, 8}, std::vector<double>(16, 1)};
        else if (change == "magnitude")
            tensors[q + "lora_magnitude_vector"] = {{24}, std::vector<double>(24, 1)};
        else if (change == "empty")
            tensors.clear();
        else if (change == "layer")
            for (const char* half : {"lora_A.weight", "lora_B.weight"})
                tensors["base_model.model.model.layers.9.self_attn.q_proj." + std::string(half)] =
                    tensors.at(q + half);
        test::writeAdapter(folder("adapter"), config, tensors);
        const auto model = loadModel(source(), Task{});
        QVERIFY(test::failsWith(model, static_cast<ErrorCode>(code), part.toStdString()));
    }

    void refusesOtherMethodsAndStrengths()
    {
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        const test::ToyAdapter adapter{{llamaLayer + "self_attn.q_proj"}};
        test::writeAdapter(folder("adapter"), R"({"peft_type": "IA3"})", test::tensorsOf(adapter, base));
        QVERIFY(
            test::failsWith(loadModel(source(), Task{}), ErrorCode::Unsupported, "'peft_type' is \"IA3\""));
        test::writeAdapter(folder("adapter"), "{}", test::tensorsOf(adapter, base));
        QVERIFY(
            test::failsWith(loadModel(source(), Task{}), ErrorCode::Unsupported, "'peft_type' is missing"));
        test::writeAdapter(folder("adapter"), adapter, base);
        ModelSource from = source();
        for (const double strength : {-0.1, 1.5, std::nan("")}) {
            from.adapterStrength = strength;
            QVERIFY(test::failsWith(loadModel(from, Task{}), ErrorCode::InvalidArgument, "from 0 to 1"));
        }
        from = source("base", "adapter");
        QVERIFY(test::failsWith(loadModel(from, Task{}), ErrorCode::InvalidArgument, "are for adapters"));
        from = source("adapter", "adapter");
        QVERIFY(test::failsWith(loadModel(from, Task{}), ErrorCode::Unsupported, "is an adapter too"));
        std::filesystem::remove(folder("adapter") / "adapter_model.safetensors");
        QVERIFY(test::failsWith(loadModel(source(), Task{}), ErrorCode::NotFound, "without its weights"));
    }

    void findsItsBase()
    {
        qputenv("HF_HUB_CACHE", QByteArray::fromStdString(folder("hub").string()));
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        test::ToyAdapter adapter{{llamaLayer + "self_attn.q_proj"}};
        ModelSource from{folder("adapter"), std::nullopt, {}};
        test::writeAdapter(folder("adapter"), adapter, base);
        QVERIFY(test::failsWith(loadModel(from, Task{}), ErrorCode::NotFound, "does not say which model"));
        QVERIFY(isBaseMissing(from));
        adapter.more = R"(, "base_model_name_or_path": "../base")";
        test::writeAdapter(folder("adapter"), adapter, base);
        QCOMPARE(opened(from)->config().name, std::string("base + adapter"));
        adapter.more = R"(, "base_model_name_or_path": "org/toy")";
        test::writeAdapter(folder("adapter"), adapter, base);
        QVERIFY(
            test::failsWith(loadModel(from, Task{}), ErrorCode::NotFound, "name the base with --base MODEL"));
        QVERIFY(isBaseMissing(from));
        const std::string commit(40, 'a');
        test::writeToyModel(folder("hub") / "models--org--toy" / "snapshots" / commit, test::llamaOptions());
        from.adapterStrength = 0.5;
        const auto cached = opened(from);
        QCOMPARE(cached->config().name, std::string("org/toy + adapter × 0.5"));
        // A session remembers base and strength.
        Session session = makeSession(test::raw(cached), "raw", nullptr, {});
        setConfigSource(session, from);
        const ModelSource again = modelSource(session);
        QVERIFY(again.base.string().ends_with(commit) && again.adapterStrength == 0.5);
        QCOMPARE(opened(again)->file().sha256(), session.model.sha256);
        qunsetenv("HF_HUB_CACHE");
    }

    void otherReadersSeeTheChange()
    {
        const test::ToyModel base = test::writeToyModel(folder("base"), test::llamaOptions());
        test::writeAdapter(folder("adapter"), test::ToyAdapter{{llamaLayer + "self_attn.q_proj"}}, base);
        const auto model = opened(source());
        const int tensor = model->file().find(llamaLayer + "self_attn.q_proj.weight");
        QVERIFY(test::isOk(writeNpy(model->file(), tensor, folder("q.npy"), Task{})));
        const auto written = readNpyNumbers(folder("q.npy"));
        QVERIFY(test::isOk(written));
        std::vector<double> numbers(written->values.size());
        model->file().readNumbers(tensor, 0, static_cast<std::int64_t>(numbers.size()), numbers.data());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            QCOMPARE(written->values[i], static_cast<double>(static_cast<float>(numbers[i])));
        QVERIFY(numbers != base.tensors.at(llamaLayer + "self_attn.q_proj.weight").values);
        bool isSaid = false;
        for (const std::string& warning : model->warnings())
            isSaid = isSaid || warning.find("with the LoRA adapter") != std::string::npos;
        QVERIFY(isSaid);
    }
};

HEADWISE_TEST(AdaptersTest)
#include "adapters_test.moc"
