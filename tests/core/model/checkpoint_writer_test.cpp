#include "core/model/checkpoint_writer.h"

#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <sys/stat.h>

using namespace headwise;

namespace {

const std::vector<int> promptTokens{3, 1, 4, 1, 5, 0, 2, 6, 5};

QByteArray content(const std::filesystem::path& path)
{
    QFile file(QString::fromStdString(path.string()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QJsonObject configOf(const std::filesystem::path& folder)
{
    return QJsonDocument::fromJson(content(folder / "config.json")).object();
}

Matrix<double> logProbabilities(const std::filesystem::path& folder)
{
    return test::logSoftmax(test::matrixOf(test::referenceForward(folder, promptTokens).logits));
}

} // namespace

class CheckpointWriterTest : public QObject {
    Q_OBJECT

private slots:
    void whatIsWrittenHasTheFunctionOfTheOriginal_data()
    {
        QTest::addColumn<int>("index");
        const auto classes = test::toyClasses();
        for (int i = 0; i < static_cast<int>(classes.size()); ++i)
            QTest::newRow(classes[static_cast<std::size_t>(i)].first) << i;
        QTest::newRow("bidirectional") << -1;
    }
    void whatIsWrittenHasTheFunctionOfTheOriginal()
    {
        QFETCH(int, index);
        test::ToyOptions bidirectional;
        bidirectional.bidirectional = true;
        const test::ToyModel toy =
            write(index < 0 ? bidirectional : test::toyClasses()[static_cast<std::size_t>(index)].second);
        const auto model = test::loaded(toy.folder);
        const double tolerance = toy.options.float64 ? 1e-10 : 1e-4;
        ProcessingWish refactoring;
        refactoring.refactorAttention = StepWish::Default;
        ProcessingWish keepingNormBiases;
        keepingNormBiases.foldBiases = false;
        const ProcessedWeights variants[] = {test::raw(model), test::processed(model),
                                             test::processed(model, refactoring),
                                             test::processed(model, keepingNormBiases)};
        for (const ProcessedWeights& weights : variants) {
            const std::filesystem::path folder = fresh();
            QVERIFY(test::isOk(
                writeTransformerLensFolder(weights, toy.folder, folder, ExistingFolder::Refuse, Task{})));
            // Read by the reference, which knows the stored names itself, and by our own reader.
            const Matrix<double> expected = logProbabilities(toy.folder);
            const double difference = (logProbabilities(folder) - expected).cwiseAbs().maxCoeff();
            QVERIFY2(difference < tolerance, qPrintable(QString::number(difference)));
            const auto again = test::loaded(folder);
            QVERIFY(again->warnings().empty());
            QCOMPARE(normalizationName(again->config()), normalizationName(weights.config()));
            const auto run = test::ran<double>(test::raw(again), promptTokens);
            QVERIFY((test::logSoftmax(run.logits) - expected).cwiseAbs().maxCoeff() < tolerance);
            // `verify` measures exactly these numbers.
            QVERIFY(test::ran<double>(weights.asStored(), promptTokens).logits.isApprox(run.logits, 1e-14));
        }
    }

    void rawWeightsAreWrittenAsTheyWere()
    {
        const test::ToyModel toy = write({});
        const std::filesystem::path folder = fresh();
        QVERIFY(test::isOk(writeTransformerLensFolder(test::raw(test::loaded(toy.folder)), toy.folder, folder,
                                                      ExistingFolder::Refuse, Task{})));
        const auto stored = test::readStoredTensors(folder);
        QCOMPARE(stored.size(), toy.tensors.size());
        for (const auto& [name, tensor] : toy.tensors) {
            QVERIFY2(stored.contains(name), name.c_str());
            QCOMPARE(stored.at(name).shape, tensor.shape);
            QCOMPARE(stored.at(name).values, tensor.values);
        }
    }

    void foldedNormsAreAbsentAndTheirBiasesAreWritten()
    {
        test::ToyOptions options;
        options.qkvBias = options.outBias = options.mlpBias = options.unembedBias = false;
        options.nHeads = 6, options.nKvHeads = 2;
        options.gatedMlp = true;
        const test::ToyModel toy = write(options);
        const std::filesystem::path folder = fresh();
        QVERIFY(test::isOk(writeTransformerLensFolder(test::processed(test::loaded(toy.folder)), toy.folder,
                                                      folder, ExistingFolder::Refuse, Task{})));
        const auto stored = test::readStoredTensors(folder);
        using Shape = std::vector<std::size_t>;
        QVERIFY(!stored.contains("blocks.0.ln1.w") && !stored.contains("ln_final.b"));
        QCOMPARE(stored.at("blocks.1.attn.W_Q").shape, (Shape{6, 7, 5}));
        QCOMPARE(stored.at("blocks.1.attn._W_K").shape, (Shape{2, 7, 5}));
        QCOMPARE(stored.at("blocks.1.attn._b_V").shape, (Shape{2, 5}));
        QCOMPARE(stored.at("blocks.1.attn.W_O").shape, (Shape{6, 5, 7}));
        QCOMPARE(stored.at("blocks.1.attn.b_O").shape, (Shape{7}));
        QCOMPARE(stored.at("blocks.1.mlp.b_gate").shape, (Shape{13}));
        QCOMPARE(stored.at("blocks.1.mlp.b_up").shape, (Shape{13}));
        QCOMPARE(stored.at("unembed.W_U").shape, (Shape{7, 11}));
        QCOMPARE(stored.at("unembed.b_U").shape, (Shape{11}));
        const QJsonObject config = configOf(folder);
        QCOMPARE(config["normalization_type"].toString(), QString("LNPre"));
        QCOMPARE(config["n_key_value_heads"].toInt(), 2);
    }

    /// In TransformerLens a number of key heads goes together with the names with an underscore.
    void aRefactoredGroupedModelHasKeysForEachQueryHead()
    {
        test::ToyOptions options;
        options.nHeads = 6, options.nKvHeads = 2;
        const test::ToyModel toy = write(options);
        const std::filesystem::path folder = fresh();
        ProcessingWish wish;
        wish.refactorAttention = StepWish::Required;
        QVERIFY(test::isOk(writeTransformerLensFolder(test::processed(test::loaded(toy.folder), wish),
                                                      toy.folder, folder, ExistingFolder::Refuse, Task{})));
        QCOMPARE(configOf(folder)["n_key_value_heads"].toInt(), 6);
        QCOMPARE(test::readStoredTensors(folder).at("blocks.1.attn._W_K").shape,
                 (std::vector<std::size_t>{6, 7, 5}));
    }

    void configHasEveryKeyOfAHookedTransformerConfig()
    {
        // The fields of the data class, in its order.
        const QString fields =
            "d_model d_head n_layers n_ctx n_heads d_mlp d_vocab device use_attn_result use_split_qkv_input default_prepend_bos positional_embedding_type n_key_value_heads attn_only gated_mlp "
            "uses_rms_norm eps layer_norm_folding act_fn normalization_type num_experts experts_per_token final_rms dtype "
            "model_name use_attn_scale attn_scale use_hook_mlp_in use_attn_in use_qk_norm use_local_attn "
            "ungroup_grouped_query_attention original_architecture from_checkpoint checkpoint_index checkpoint_label_type checkpoint_value tokenizer_name window_size attn_types init_mode "
            "n_devices attention_dir seed initializer_range init_weights scale_attn_by_inverse_layer_idx d_vocab_out parallel_attn_mlp rotary_dim n_params use_hook_tokens tokenizer_prepends_bos post_embedding_ln rotary_base "
            "rotary_base_local rotary_scaling_factor trust_remote_code rotary_adjacent_pairs load_in_4bit relative_attention_max_distance relative_attention_num_buckets decoder_start_token_id "
            "tie_word_embeddings use_normalization_before_and_after attn_scores_soft_cap output_logits_soft_cap "
            "use_NTK_by_parts_rope NTK_by_parts_low_freq_factor NTK_by_parts_high_freq_factor NTK_by_parts_factor NTK_original_ctx_len use_yarn_rope yarn_factor yarn_attention_factor yarn_beta_fast yarn_beta_slow "
            "yarn_original_max_position_embeddings norm_topk_prob rmsnorm_uses_offset";
        const test::ToyModel toy = write({});
        const QJsonObject config =
            QJsonDocument::fromJson(
                QByteArray::fromStdString(transformerLensConfig(test::loaded(toy.folder)->config(), false)))
                .object();
        for (const QString& key : fields.split(' '))
            QVERIFY2(config.contains(key), qPrintable(key));
        QCOMPARE(config["n_params"].toInt(), 2 * (4 * 7 * 5 * 3 + 2 * 7 * 13));
        QCOMPARE(config["attn_scale"].toDouble(), std::sqrt(5.0));
    }

    void tokenizerFilesComeAlong()
    {
        const test::ToyModel toy = write({});
        QFile file(QString::fromStdString((toy.folder / "tokenizer.json").string()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{\"a\": 1}");
        file.close();
        const std::filesystem::path folder = fresh();
        QVERIFY(test::isOk(writeTransformerLensFolder(test::raw(test::loaded(toy.folder)), toy.folder, folder,
                                                      ExistingFolder::Refuse, Task{})));
        QCOMPARE(content(folder / "tokenizer.json"), QByteArray("{\"a\": 1}"));
    }

    void aFolderThatIsNotEmptyIsLeftAloneUnlessAskedFor()
    {
        const test::ToyModel toy = write({});
        const ProcessedWeights weights = test::raw(test::loaded(toy.folder));
        const std::filesystem::path folder = fresh();
        const auto put = [&](ExistingFolder existing) {
            return writeTransformerLensFolder(weights, toy.folder, folder, existing, Task{});
        };
        std::filesystem::create_directory(folder);
        QVERIFY(test::isOk(put(ExistingFolder::Refuse))); // empty
        QFile note(QString::fromStdString((folder / "note").string()));
        QVERIFY(note.open(QIODevice::WriteOnly));
        note.close();
        QVERIFY(QFile::remove(QString::fromStdString((folder / "config.json").string())));
        QVERIFY(test::failsWith(put(ExistingFolder::Refuse), ErrorCode::InvalidArgument, "not empty"));
        QVERIFY(!std::filesystem::exists(folder / "config.json"));
        QVERIFY(test::isOk(put(ExistingFolder::Replace)));
        QVERIFY(std::filesystem::exists(folder / "config.json"));
        QVERIFY(std::filesystem::exists(folder / "note"));
        QCOMPARE(QDir(m_folder.path()).entryList({".*"}, QDir::Hidden | QDir::Dirs | QDir::NoDotAndDotDot),
                 QStringList());
    }

    void aFolderIsReplacedInOneStep()
    {
        const test::ToyModel toy = write({});
        const ProcessedWeights weights = test::raw(test::loaded(toy.folder));
        const std::filesystem::path folder = fresh();
        std::filesystem::create_directory(folder);
        std::filesystem::create_symlink("nowhere", folder / "link");
        struct stat old { };
        QCOMPARE(::stat(folder.c_str(), &old), 0);
        QVERIFY(test::isOk(
            writeTransformerLensFolder(weights, toy.folder, folder, ExistingFolder::Replace, Task{})));
        struct stat now { };
        QCOMPARE(::stat(folder.c_str(), &now), 0);
        QVERIFY2(now.st_ino != old.st_ino, "the new files were put into the old folder one by one");
        QVERIFY(std::filesystem::is_symlink(folder / "link"));
        QVERIFY(std::filesystem::exists(folder / "model.safetensors"));
    }

    void theModelsOwnFolderIsRefused()
    {
        const test::ToyModel toy = write({});
        const auto done = writeTransformerLensFolder(test::raw(test::loaded(toy.folder)), toy.folder,
                                                     toy.folder, ExistingFolder::Replace, Task{});
        QVERIFY(test::failsWith(done, ErrorCode::InvalidArgument, "the model itself"));
    }

    void aCancelledWriteLeavesNothing()
    {
        const test::ToyModel toy = write({});
        const std::filesystem::path folder = fresh();
        std::stop_source stop;
        const Task task{stop.get_token(), [&](int, int, std::string_view) { stop.request_stop(); }, 0};
        QVERIFY(test::failsWith(writeTransformerLensFolder(test::raw(test::loaded(toy.folder)), toy.folder,
                                                           folder, ExistingFolder::Refuse, task),
                                ErrorCode::Cancelled, ""));
        QVERIFY(!std::filesystem::exists(folder));
        QCOMPARE(QDir(m_folder.path()).entryList({".*"}, QDir::Hidden | QDir::Dirs | QDir::NoDotAndDotDot),
                 QStringList());
    }

    void anUnwritablePlaceIsNamed()
    {
        const test::ToyModel toy = write({});
        const auto done =
            writeTransformerLensFolder(test::raw(test::loaded(toy.folder)), toy.folder,
                                       "/proc/no-such-place/out", ExistingFolder::Refuse, Task{});
        QVERIFY(test::failsWith(done, ErrorCode::Io, "/proc/no-such-place/out"));
    }

private:
    test::ToyModel write(const test::ToyOptions& options) { return test::writeToyModel(fresh(), options); }
    std::filesystem::path fresh()
    {
        return std::filesystem::path(m_folder.path().toStdString()) / std::to_string(m_count++);
    }

    QTemporaryDir m_folder;
    int m_count = 0;
};

HEADWISE_TEST(CheckpointWriterTest)
#include "checkpoint_writer_test.moc"
