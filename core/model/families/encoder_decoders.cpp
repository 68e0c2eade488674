#include "core/model/families/encoder_families.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headwise {
namespace {

using enum NormKind;
using enum TensorKind;

/// Sets the mask and the reading that tell the three stacks apart.
void readStack(FamilyReading& reading)
{
    reading.config.bidirectional = reading.stack != "decoder"; // every key of the encoder is seen
    reading.config.needsEncoder = reading.stack != "encoder";
    reading.config.crossAttention = reading.stack == "cross";
}

/// Cross-attention has no positions at all.
void readRelativeBias(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    const RelativeBias bias{reading.reader.size({"relative_attention_num_buckets"}, 32),
                            reading.reader.size({"relative_attention_max_distance"}, 128)};
    const int exact = bias.buckets / (c.bidirectional ? 4 : 2); // distances with a bucket of their own
    if (exact < 1)
        reading.reader.refuse("relative_attention_num_buckets", "4 or more");
    else if (bias.maxDistance <= exact)
        reading.reader.refuse("relative_attention_max_distance", "more than " + std::to_string(exact));
    c.positional = c.crossAttention ? Positional::None : Positional::Relative;
    if (!c.crossAttention)
        c.relativeBias = bias;
}

void readT5(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    readStack(reading);
    c.attentionScale = 1;
    readRelativeBias(reading);
    if (c.needsEncoder)
        c.nLayers = reader.optionalSize({"num_decoder_layers"}).value_or(c.nLayers);
    else
        reader.ignore(Names{"num_decoder_layers"});
    const std::string form = reader.text({"feed_forward_proj"}, "relu");
    c.gatedMlp = form.starts_with("gated-");
    if (form == "relu")
        c.activation = Activation::Relu;
    else if (form == "gated-gelu")
        c.activation = Activation::GeluNew; // the family's "gelu" is the tanh form
    else if (form == "gated-silu")
        c.activation = Activation::Silu;
    else
        reader.refuse("feed_forward_proj", "relu, gated-gelu or gated-silu");
    // Tied outputs are scaled; an encoder has none, and the embedding matrix stands for them.
    c.unembedOverRoot = c.tiedEmbeddings && c.needsEncoder;
    c.tiedEmbeddings = c.tiedEmbeddings || !c.needsEncoder;
}

/// The shared embedding, which stands for the output that an encoder lacks.
void addEncoderEmbedding(RecipeBook& book, const std::string& prefix)
{
    const std::string shared = prefix + "shared.weight", output = "encoder_head.weight";
    book.config().tiedEmbeddings = !book.isStored(output); // only a file that Headwise wrote has it
    book.addTiedEmbeddings(book.isStored(shared) ? shared : prefix + "encoder.embed_tokens.weight", output);
    book.warn(
        "The encoder predicts no tokens. Outputs are the last residual stream times the embedding matrix.");
}

/// The bias of the scores by distance, which the first layer of a stack has for all.
void addRelativeBias(RecipeBook& book, const std::string& prefix)
{
    const ModelConfig& c = book.config();
    const std::string name = prefix + (c.needsEncoder ? "decoder" : "encoder")
        + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight";
    if (book.require(name, {c.relativeBias.buckets, c.nHeads}))
        book.add(b_rel, 0, 0, name, layout::plain(c.relativeBias.buckets, c.nHeads));
}

void addT5EncoderParts(RecipeBook& book, const std::string& prefix)
{
    addEncoderEmbedding(book, prefix);
    addRelativeBias(book, prefix);
}

/// The MLP is the second layer of a block of the encoder and the third of the decoder.
void addT5Mlp(RecipeBook& book, const std::string& block, int layer)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, f = c.dMlp;
    const std::string mlp = block + (c.needsEncoder ? "layer.2." : "layer.1.") + "DenseReluDense.";
    if (c.gatedMlp) {
        addLinear(book, mlp + "wi_0", {f, m, StoredBias::Absent}, {W_gate, b_gate, layer});
        addLinear(book, mlp + "wi_1", {f, m, StoredBias::Absent}, {W_in, b_up, layer});
    } else {
        addLinear(book, mlp + "wi", {f, m, StoredBias::Absent}, {W_in, b_in, layer});
    }
    addLinear(book, mlp + "wo", {m, f, StoredBias::Absent}, {W_out, b_out, layer});
}

void readBart(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    readStack(reading);
    // Sizes of the other side, and what the first published files say beside.
    reading.reader.ignore(Names{"encoder_layers", "encoder_attention_heads", "encoder_ffn_dim",
                                "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim"});
    c.embeddingNormSeesPositions = true;
    if (reading.reader.flag({"scale_embedding"}, false))
        c.embeddingScale = std::sqrt(c.dModel);
    reading.biases.unembed = c.needsEncoder;
    c.tiedEmbeddings = c.tiedEmbeddings || !c.needsEncoder;
}

void addBartBias(RecipeBook& book, const std::string& /*prefix*/)
{
    const Eigen::Index V = book.config().dVocabOut;
    if (book.accept("final_logits_bias", {1, V}))
        book.add(b_U, 0, 0, "final_logits_bias", layout::part(0, V));
}

/// The differences between the stacks of a model.
struct Stack {
    std::string_view name, stack;
    Names classes = {};
    FamilyTensors tensors;
    void (*addToModel)(RecipeBook& book, const std::string& prefix) = nullptr;
};

/// Positions are a bias of the scores by distance, stored in the first layer of each stack. Scores have no factor.
constexpr Family t5Row(const Stack& row, Names otherTypes = {})
{
    return {.name = row.name,
            .classes = row.classes,
            .otherTypes = otherTypes,
            .keys = {.layers = {"num_layers"},
                     .heads = {"num_heads"},
                     .kvHeads = {},
                     .dModel = {"d_model"},
                     .dHead = {"d_kv"},
                     .dMlp = {"d_ff"},
                     .context = {"n_positions"},
                     .normEps = {"layer_norm_epsilon"},
                     .activation = {}},
            .sizes = {6, 8, 0, 512, 64, 2048, 32128, 512},
            .positions = {.kind = Positional::Relative},
            .activation = "relu",
            .isTied = true,
            .whole = "t5",
            .stack = row.stack,
            .ignored = {"dropout_rate", "initializer_factor", "dense_act_fn", "is_gated_act", "output_past"},
            .tensors = row.tensors,
            .code = {.read = readT5, .addToModel = row.addToModel, .addMlp = addT5Mlp}};
}

/// Post-norm, with learned positions that begin at row 2.
constexpr Family bartRow(const Stack& row)
{
    const bool isEncoder = row.stack == "encoder";
    return {.name = row.name,
            .classes = row.classes,
            .keys = {.layers = {isEncoder ? "encoder_layers" : "decoder_layers"},
                     .heads = {isEncoder ? "encoder_attention_heads" : "decoder_attention_heads"},
                     .kvHeads = {},
                     .dModel = {"d_model"},
                     .dHead = {},
                     .dMlp = {isEncoder ? "encoder_ffn_dim" : "decoder_ffn_dim"},
                     .normEps = {}, // no key changes it
                     .activation = {"activation_function"}},
            .sizes = {12, 16, 0, 1024, 0, 4096, 50265, 1024},
            .norms = {.kind = LayerNorm,
                      .eps = 1e-5,
                      .before = false,
                      .ofSums = true,
                      .hasFinal = false,
                      .embedding = LayerNorm},
            .positions = {.kind = Positional::Learned},
            .biases = {.attention = hasBias, .mlp = hasBias},
            .activation = "gelu",
            .isTied = true,
            .whole = "bart",
            .stack = row.stack,
            .fixed = {{{"normalize_before", "false"},
                       {"add_final_layer_norm", "false"},
                       {"normalize_embedding", "true"},
                       {"static_position_embeddings", "false"}}},
            .ignored = {"num_hidden_layers", "encoder_layerdrop", "decoder_layerdrop", "classif_dropout",
                        "output_past", "add_bias_logits", "extra_pos_embeddings",
                        "force_bos_token_to_be_generated"},
            .tensors = row.tensors,
            .code = {.read = readBart, .addToModel = row.addToModel}};
}

constexpr FamilyTensors::AttentionNames t5SelfAttention{.q = "layer.0.SelfAttention.q",
                                                        .k = "layer.0.SelfAttention.k",
                                                        .v = "layer.0.SelfAttention.v",
                                                        .o = "layer.0.SelfAttention.o"};
constexpr FamilyTensors::AttentionNames bartSelfAttention{
    .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj", .o = "self_attn.out_proj"};
constexpr FamilyTensors::MlpNames bartMlp{.in = "fc1", .gate = {}, .out = "fc2"};

/// The decoder of BART, read through one of its two attentions.
constexpr FamilyTensors bartDecoder(std::string_view norm, const FamilyTensors::AttentionNames& attention,
                                    Names buffers)
{
    return {.prefixes = {"", "model."},
            .embedding = "shared",
            .positions = "decoder.embed_positions",
            .output = "lm_head",
            .layers = "decoder.layers.",
            .skippedPositions = 2,
            .norms = {.ln1Post = norm,
                      .ln2Post = "final_layer_norm",
                      .last = {},
                      .embedding = "decoder.layernorm_embedding"},
            .attention = attention,
            .mlp = bartMlp,
            .buffers = buffers};
}

// The first row of a model is the stack that opens without --set stack=….
constexpr Family encoderDecoderRows[] = {
    t5Row({.name = "t5",
           .stack = "decoder",
           .classes = {"T5ForConditionalGeneration", "T5Model", "MT5ForConditionalGeneration", "MT5Model"},
           .tensors = {.prefixes = {""},
                       .embedding = "shared",
                       .output = "lm_head",
                       .layers = "decoder.block.",
                       .norms = {.ln1 = "layer.0.layer_norm",
                                 .ln2 = "layer.2.layer_norm",
                                 .last = "decoder.final_layer_norm"},
                       .attention = t5SelfAttention,
                       .buffers = {"*.embed_tokens.weight", "*.relative_attention_bias.weight", "encoder.*",
                                   "*.EncDecAttention.*", "*.layer.1.layer_norm.weight"}},
           .addToModel = addRelativeBias},
          {"mt5"}),
    t5Row({.name = "t5_encoder",
           .stack = "encoder",
           .classes = {"T5EncoderModel", "MT5EncoderModel"},
           .tensors = {.prefixes = {""},
                       .embedding = {},
                       .layers = "encoder.block.",
                       .norms = {.ln1 = "layer.0.layer_norm",
                                 .ln2 = "layer.1.layer_norm",
                                 .last = "encoder.final_layer_norm"},
                       .attention = t5SelfAttention,
                       .buffers = {"*.embed_tokens.weight", "*.relative_attention_bias.weight", "decoder.*",
                                   "lm_head.weight"}},
           .addToModel = addT5EncoderParts}),
    t5Row({.name = "t5_cross",
           .stack = "cross",
           .tensors = {.prefixes = {""},
                       .embedding = "shared",
                       .output = "lm_head",
                       .layers = "decoder.block.",
                       .norms = {.ln1 = "layer.1.layer_norm",
                                 .ln2 = "layer.2.layer_norm",
                                 .last = "decoder.final_layer_norm"},
                       .attention = {.q = "layer.1.EncDecAttention.q",
                                     .k = "layer.1.EncDecAttention.k",
                                     .v = "layer.1.EncDecAttention.v",
                                     .o = "layer.1.EncDecAttention.o"},
                       .buffers = {"*.embed_tokens.weight", "*.relative_attention_bias.weight", "encoder.*",
                                   "*.SelfAttention.*", "*.layer.0.layer_norm.weight"}}}),
    bartRow({.name = "bart",
             .stack = "decoder",
             .classes = {"BartForConditionalGeneration", "BartModel"},
             .tensors = bartDecoder("self_attn_layer_norm", bartSelfAttention,
                                    {"*.embed_tokens.weight", "classification_head.*", "qa_outputs.*",
                                     "*encoder.*", "*.encoder_attn.*", "*.encoder_attn_layer_norm.*"}),
             .addToModel = addBartBias}),
    bartRow({.name = "bart_encoder",
             .stack = "encoder",
             .classes = {"BartEncoder"},
             .tensors = {.prefixes = {"", "model."},
                         .embedding = {},
                         .positions = "encoder.embed_positions",
                         .layers = "encoder.layers.",
                         .skippedPositions = 2,
                         .norms = {.ln1Post = "self_attn_layer_norm",
                                   .ln2Post = "final_layer_norm",
                                   .last = {},
                                   .embedding = "encoder.layernorm_embedding"},
                         .attention = bartSelfAttention,
                         .mlp = bartMlp,
                         .buffers = {"*.embed_tokens.weight", "classification_head.*", "qa_outputs.*",
                                     "*decoder.*", "lm_head.weight", "final_logits_bias"}},
             .addToModel = addEncoderEmbedding}),
    bartRow({.name = "bart_cross",
             .stack = "cross",
             .tensors = bartDecoder("encoder_attn_layer_norm",
                                    {.q = "encoder_attn.q_proj",
                                     .k = "encoder_attn.k_proj",
                                     .v = "encoder_attn.v_proj",
                                     .o = "encoder_attn.out_proj"},
                                    {"*.embed_tokens.weight", "classification_head.*", "qa_outputs.*",
                                     "*encoder.*", "*.self_attn.*", "*.self_attn_layer_norm.*"}),
             .addToModel = addBartBias}),
};

} // namespace

std::span<const Family> encoderDecoderFamilies()
{
    return encoderDecoderRows;
}

} // namespace headwise
