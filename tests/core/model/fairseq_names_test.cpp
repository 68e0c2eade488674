#include "tests/core/model/renamed_toy.h"
#include "tests/support/program.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

#include <cmath>

using namespace headwise;

/// Checkpoints in fairseq's layouts: language models, and the stacks of a translation model.
class FairseqNamesTest : public test::RenamedToyTest {
    Q_OBJECT

private slots:
    void init() { renew(); }

    void readsFairseqsLanguageModels_data()
    {
        QTest::addColumn<bool>("isFused");
        QTest::newRow("queries, keys and values apart") << false;
        QTest::newRow("in one tensor") << true;
    }
    void readsFairseqsLanguageModels()
    {
        QFETCH(bool, isFused);
        test::ToyOptions options = plain();
        options.unembedBias = false;
        options.activation = "relu";
        const Tensors toy = make(options);
        const test::StoredTensor& positions = toy.at("pos_embed.W_pos");
        const std::size_t d = positions.shape[1];
        Tensors own{
            {"decoder.embed_tokens.weight", times(toy.at("embed.W_E"), 1 / std::sqrt(double(d)))},
            {"decoder.embed_positions.weight", below({{{2, d}, std::vector<double>(2 * d, 9.0)}, positions})},
            {"decoder.layer_norm.weight", toy.at("ln_final.w")},
            {"decoder.layer_norm.bias", toy.at("ln_final.b")},
            {"decoder.output_projection.weight", flipped(toy.at("unembed.W_U"))},
            {"decoder.version", {{1}, {3}}}};
        for (int layer = 0; layer < 2; ++layer) {
            const std::string b = "blocks." + std::to_string(layer) + ".",
                              o = "decoder.layers." + std::to_string(layer) + ".";
            fairseqAttention(toy, layer, isFused, o + "self_attn.", own);
            norms(toy, b, own,
                  {o + "self_attn_layer_norm.weight", o + "self_attn_layer_norm.bias",
                   o + "final_layer_norm.weight", o + "final_layer_norm.bias"});
            mlp(toy, b, own, o + "fc1", o + "fc2");
        }
        check(save(own), {{"n_heads", "3"}});
    }

    void readsTheStacksOfFairseqsTranslationModels_data()
    {
        QTest::addColumn<QByteArray>("stack");
        QTest::addColumn<bool>("isPre");
        QTest::addColumn<bool>("isFused");
        for (const char* stack : {"decoder", "encoder", "cross"})
            for (const bool isPre : {false, true})
                for (const bool isFused : {false, true})
                    QTest::addRow("%s, norms %s, %s", stack, isPre ? "before" : "behind",
                                  isFused ? "in_proj" : "apart")
                        << QByteArray(stack) << isPre << isFused;
    }
    /// The stack asked for has the reference's numbers, the others have theirs in another order.
    void readsTheStacksOfFairseqsTranslationModels()
    {
        QFETCH(QByteArray, stack);
        QFETCH(bool, isPre);
        QFETCH(bool, isFused);
        test::ToyOptions options = plain();
        options.unembedBias = false;
        options.activation = "relu";
        options.bidirectional = stack != "decoder";
        const Tensors toy = make(options);
        if (!isPre)
            putNormsBehind(toy);
        const auto folder =
            save(fairseq(toy, stack == "encoder" ? "encoder" : "decoder", stack == "cross", isPre, isFused));
        std::map<std::string, std::string> said{{"n_heads", "3"}};
        if (stack != "decoder") // the one that opens without a word
            said["stack"] = stack.toStdString();
        checkCircuits(folder, said);
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        const ModelConfig& c = (*weights)->config();
        QCOMPARE(c.stacks.size(), std::size_t(3));
        QCOMPARE(c.stacks[0], stack.toStdString());
        QCOMPARE(c.hasSumNorms, !isPre);
        QCOMPARE(c.crossAttention, stack == "cross");
        QCOMPARE(c.bidirectional, stack != "decoder");
        QCOMPARE(whyNoForward(c).empty(), stack == "encoder");
        if (stack != "encoder")
            return;
        const auto reference = test::referenceForward(root() / "reference", namedPrompt);
        const auto run = test::ran<double>(test::raw(*weights), namedPrompt);
        QVERIFY(
            test::isClose(run.residuals.back(), test::matrixOf(reference.steps.at("1.resid_post")), 1e-10));
        QCOMPARE((*weights)->has(TensorKind::ln_final_w), isPre);
    }

    void aStackThatFairseqLacksIsRefusedByName()
    {
        test::ToyOptions options = plain();
        options.unembedBias = false;
        const auto folder = save(fairseq(make(options), "decoder", false, true, false));
        QVERIFY(test::failsWith(open(folder, {{"n_heads", "3"}, {"stack", "middle"}}), ErrorCode::Unsupported,
                                "no stack \"middle\""));
    }

    /// Computed positions leave no table behind: the weights open, and a forward pass says what it lacks.
    void fairseqsComputedPositionsAreUnknown()
    {
        test::ToyOptions options = plain();
        options.unembedBias = false;
        Tensors own = fairseq(make(options), "encoder", false, true, false);
        for (const char* side : {"encoder", "decoder"}) {
            own.erase(std::string(side) + ".embed_positions.weight");
            own[std::string(side) + ".embed_positions._float_tensor"] = {{1}, {0}};
        }
        const std::map<std::string, std::string> said{{"n_heads", "3"}, {"stack", "encoder"}};
        const auto folder = save(own);
        checkCircuits(folder, said);
        const auto weights = open(folder, said);
        QVERIFY(test::isOk(weights));
        QVERIFY(!(*weights)->config().isKnown(ConfigField::Positions));
        QVERIFY(test::failsWith(forward<double>(test::raw(*weights), namedPrompt, Task{}),
                                ErrorCode::InvalidArgument, "positional_embedding_type"));
    }

    /// Attention and MLP are layers in turn, and positions are divided by the root of d_model.

private:
    /// The reference as a model with norms behind the additions: what they are called, and the config.
    void putNormsBehind(const Tensors& toy) const
    {
        Tensors renamed;
        for (const auto& [name, tensor] : toy) {
            const auto at = name.find(".ln");
            renamed[at == std::string::npos ? name : name.substr(0, at + 4) + "_post" + name.substr(at + 4)] =
                tensor;
        }
        test::writeSafetensors(root() / "reference" / "model.safetensors", renamed, true);
        QFile file(QString::fromStdString((root() / "reference/config.json").string()));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QJsonObject config = QJsonDocument::fromJson(file.readAll()).object();
        file.close();
        config[QLatin1String("norm_placement")] = QStringLiteral("post");
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QJsonDocument(config).toJson());
    }

    /// Layer `from` of the toy as attention under fairseq's names.
    static void fairseqAttention(const Tensors& toy, int from, bool isFused, const std::string& a,
                                 Tensors& own)
    {
        const std::string b = "blocks." + std::to_string(from) + ".attn.";
        const auto weight = [&](const char* letter) { return linear(toy.at(b + "W_" + letter)); };
        const auto bias = [&](const char* letter) { return flat(toy.at(b + "b_" + letter)); };
        if (isFused) {
            own[a + "in_proj_weight"] = below({weight("Q"), weight("K"), weight("V")});
            own[a + "in_proj_bias"] = below({bias("Q"), bias("K"), bias("V")});
        } else {
            for (const auto& [stem, letter] :
                 {std::pair("q", "Q"), std::pair("k", "K"), std::pair("v", "V")}) {
                own[a + stem + "_proj.weight"] = weight(letter);
                own[a + stem + "_proj.bias"] = bias(letter);
            }
        }
        own[a + "out_proj.weight"] = outputLinear(toy.at(b + "W_O"));
        own[a + "out_proj.bias"] = toy.at(b + "b_O");
    }

    /// \param side the side with the toy's layers in order; the other has them turned round
    /// \param isCross the layers are those of the attention between the two, and the decoder's own are turned round
    static Tensors fairseq(const Tensors& toy, const std::string& side, bool isCross, bool isPre,
                           bool isFused)
    {
        Tensors own{{"decoder.output_projection.weight", flipped(toy.at("unembed.W_U"))}};
        const test::StoredTensor& positions = toy.at("pos_embed.W_pos");
        const std::size_t d = positions.shape[1];
        for (const std::string one : {"encoder", "decoder"}) {
            own[one + ".version"] = {{1}, {3}};
            own[one + ".embed_tokens.weight"] = times(toy.at("embed.W_E"), 1 / std::sqrt(double(d)));
            own[one + ".embed_positions.weight"] =
                below({{{2, d}, std::vector<double>(2 * d, 9.0)}, positions});
            for (const auto& [norm, part] : {std::pair("weight", "w"), std::pair("bias", "b")})
                if (isPre)
                    own[one + ".layer_norm." + norm] = toy.at(std::string("ln_final.") + part);
            for (int layer = 0; layer < 2; ++layer) {
                const int from = one == side ? layer : 1 - layer;
                const std::string b = "blocks." + std::to_string(from) + ".",
                                  o = one + ".layers." + std::to_string(layer) + ".",
                                  read = isCross && one == side ? "encoder_attn" : "self_attn";
                fairseqAttention(toy, from, isFused, o + read + ".", own);
                norms(toy, b, own,
                      {o + read + "_layer_norm.weight", o + read + "_layer_norm.bias",
                       o + "final_layer_norm.weight", o + "final_layer_norm.bias"});
                mlp(toy, b, own, o + "fc1", o + "fc2");
                if (one == "encoder")
                    continue;
                const std::string unread = read == "self_attn" ? "encoder_attn" : "self_attn";
                fairseqAttention(toy, 1 - from, isFused, o + unread + ".", own);
                own[o + unread + "_layer_norm.weight"] = toy.at(b + "ln2.w");
                own[o + unread + "_layer_norm.bias"] = toy.at(b + "ln2.b");
            }
        }
        return own;
    }
};

HEADWISE_TEST(FairseqNamesTest)
#include "fairseq_names_test.moc"
