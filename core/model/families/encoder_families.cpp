#include "core/model/families/encoder_families.h"

namespace headwise {
namespace {

using enum NormKind;

constexpr FamilyKeys bertKeys{
    .kvHeads = {}, .dHead = {}, .normEps = {"layer_norm_eps"}, .activation = {"hidden_act"}};
constexpr FamilyNorms bertLikeNorms{
    .kind = LayerNorm, .eps = 1e-12, .before = false, .ofSums = true, .embedding = LayerNorm};
constexpr FamilyPositions learnedPositions{.kind = Positional::Learned};
constexpr FamilyBiases biasesEverywhere{.attention = hasBias, .mlp = hasBias};

constexpr FamilyTensors::NormNames bertNorms{.ln1Post = "attention.output.LayerNorm",
                                             .ln2Post = "output.LayerNorm",
                                             .last = {}, // as its head
                                             .embedding = "embeddings.LayerNorm",
                                             .suffixes = {".weight", ".bias", ".gamma", ".beta"}};
constexpr FamilyTensors::AttentionNames bertAttention{.q = "attention.self.query",
                                                      .k = "attention.self.key",
                                                      .v = "attention.self.value",
                                                      .o = "attention.output.dense"};
constexpr FamilyTensors::MlpNames bertMlp{.in = "intermediate.dense", .gate = {}, .out = "output.dense"};

// Without a vocabulary: readVision sets the sizes that follow from the image.
constexpr FamilyKeys visionKeys{.kvHeads = {},
                                .dHead = {},
                                .vocabulary = {},
                                .context = {},
                                .normEps = {"layer_norm_eps"},
                                .activation = {"hidden_act"}};
constexpr FamilyTensors::NormNames clipNorms{
    .ln1 = "layer_norm1", .ln2 = "layer_norm2", .last = "final_layer_norm"};
constexpr FamilyTensors::NormNames clipVisionNorms{
    .ln1 = "layer_norm1", .ln2 = "layer_norm2", .last = "post_layernorm", .embedding = "pre_layrnorm"};
constexpr FamilyTensors::AttentionNames clipAttention{.o = "self_attn.out_proj"};
constexpr FamilyTensors::MlpNames clipMlp{.in = "mlp.fc1", .gate = {}, .out = "mlp.fc2"};

constexpr Family encoderRows[] = {
    {.name = "bert",
     .classes = {"BertForMaskedLM", "BertForPreTraining", "BertLMHeadModel", "BertModel"},
     .keys = bertKeys,
     .sizes = {12, 12, 0, 768, 0, 3072, 30522, 512},
     .norms = bertLikeNorms,
     .positions = learnedPositions,
     .biases = biasesEverywhere,
     .activation = "gelu",
     .isTied = true,
     .fixed = {{{"position_embedding_type", "\"absolute\""}}},
     .ignored = {"type_vocab_size", "directionality", "pooler_fc_size", "pooler_num_attention_heads",
                 "pooler_type", "pooler_num_fc_layers", "pooler_size_per_head"},
     .tensors = {.prefixes = {"", "bert."},
                 .embedding = "embeddings.word_embeddings",
                 .positions = "embeddings.position_embeddings",
                 .output = "cls.predictions.decoder",
                 .layers = "encoder.layer.",
                 .norms = bertNorms,
                 .attention = bertAttention,
                 .mlp = bertMlp,
                 // Heads for other tasks, and the output bias once more.
                 .buffers = {"*embeddings.position_ids", "*pooler.*", "cls.seq_relationship.*",
                             "cls.predictions.decoder.bias", "classifier.*"}},
     .code = {.read = readBert, .addToModel = addBertParts}},
    // Positions are counted from the padding token's id, 1, so the first one is row 2. The head's activation is gelu whatever
    // hidden_act says.
    {.name = "roberta",
     .classes = {"RobertaForMaskedLM", "RobertaForCausalLM", "RobertaModel", "XLMRobertaForMaskedLM",
                 "XLMRobertaModel", "CamembertForMaskedLM", "CamembertModel"},
     .otherTypes = {"xlm-roberta", "camembert"},
     .keys = bertKeys,
     .sizes = {12, 12, 0, 768, 0, 3072, 50265, 512},
     .norms = bertLikeNorms,
     .positions = learnedPositions,
     .biases = biasesEverywhere,
     .activation = "gelu",
     .isTied = true,
     .fixed = {{{"position_embedding_type", "\"absolute\""},
                {"pad_token_id", "1"},
                {"hidden_act", "\"gelu\""}}},
     .ignored = {"type_vocab_size"},
     .tensors = {.prefixes = {"", "roberta."},
                 .embedding = "embeddings.word_embeddings",
                 .positions = "embeddings.position_embeddings",
                 .output = "lm_head.decoder",
                 .layers = "encoder.layer.",
                 .skippedPositions = 2,
                 .norms = bertNorms,
                 .attention = bertAttention,
                 .mlp = bertMlp,
                 .buffers = {"*embeddings.position_ids", "*pooler.*", "lm_head.decoder.bias",
                             "classifier.*"}},
     .code = {.read = readRoberta, .addToModel = addRobertaParts}},
    // The sinusoidal positions of the first files are stored as a table too.
    {.name = "distilbert",
     .classes = {"DistilBertForMaskedLM", "DistilBertModel"},
     .keys = {.layers = {"n_layers"},
              .heads = {"n_heads"},
              .kvHeads = {},
              .dModel = {"dim"},
              .dHead = {},
              .dMlp = {"hidden_dim"},
              .normEps = {}, // no key changes it
              .activation = {"activation"}},
     .sizes = {6, 12, 0, 768, 0, 3072, 30522, 512},
     .norms = bertLikeNorms,
     .positions = learnedPositions,
     .biases = biasesEverywhere,
     .activation = "gelu",
     .isTied = true,
     .ignored = {"sinusoidal_pos_embds", "tie_weights_", "qa_dropout", "seq_classif_dropout"},
     .tensors = {.prefixes = {"", "distilbert."},
                 .embedding = "embeddings.word_embeddings",
                 .positions = "embeddings.position_embeddings",
                 .output = "vocab_projector",
                 .layers = "transformer.layer.",
                 .norms = {.ln1Post = "sa_layer_norm",
                           .ln2Post = "output_layer_norm",
                           .last = {}, // as its head
                           .embedding = "embeddings.LayerNorm"},
                 .attention = {.q = "attention.q_lin",
                               .k = "attention.k_lin",
                               .v = "attention.v_lin",
                               .o = "attention.out_lin"},
                 .mlp = {.in = "ffn.lin1", .gate = {}, .out = "ffn.lin2"},
                 .buffers = {"*embeddings.position_ids", "pre_classifier.*", "classifier.*", "qa_outputs.*"}},
     .code = {.read = readDistilBert, .addToModel = addDistilBertParts}},
    // Embeddings may be narrower than the residual stream (small models, every generator); a matrix and its bias follow their norm.
    {.name = "electra",
     .classes = {"ElectraForPreTraining", "ElectraForMaskedLM", "ElectraModel"},
     .keys = bertKeys,
     .sizes = {12, 4, 0, 256, 0, 1024, 30522, 512},
     .norms = bertLikeNorms,
     .positions = learnedPositions,
     .biases = biasesEverywhere,
     .activation = "gelu",
     .isTied = true,
     // The generator's head has gelu whatever hidden_act says.
     .fixed = {{{"position_embedding_type", "\"absolute\""}, {"hidden_act", "\"gelu\""}}},
     .ignored = {"type_vocab_size", "summary_last_dropout"},
     .tensors = {.prefixes = {"", "electra."},
                 .embedding = "embeddings.word_embeddings",
                 .positions = "embeddings.position_embeddings",
                 .output = "generator_lm_head",
                 .layers = "encoder.layer.",
                 .norms = {.ln1Post = "attention.output.LayerNorm",
                           .ln2Post = "output.LayerNorm",
                           .last = {}}, // as its head
                 .attention = bertAttention,
                 .mlp = bertMlp,
                 .buffers = {"*embeddings.position_ids", "discriminator_predictions.*", "classifier.*"}},
     .code = {.read = readElectra, .addToModel = addElectraParts}},
    // Protein models: ESM-2 rotates queries and keys, ESM-1b has learned positions. The activation is gelu whatever hidden_act says.
    {.name = "esm",
     .classes = {"EsmForMaskedLM", "EsmModel"},
     .keys = bertKeys,
     .sizes = {12, 12, 0, 768, 0, 3072, 0, 1026},
     .norms = {.kind = LayerNorm, .eps = 1e-12},
     .biases = biasesEverywhere,
     .activation = "gelu",
     .isTied = true,
     .fixed = {{{"pad_token_id", "1"}, {"hidden_act", "\"gelu\""}, {"is_folding_model", "false"}}},
     .ignored = {"mask_token_id", "esmfold_config", "vocab_list"},
     .tensors = {.prefixes = {"", "esm."},
                 .embedding = "embeddings.word_embeddings",
                 .output = "lm_head.decoder",
                 .layers = "encoder.layer.",
                 .norms = {.ln1 = "attention.LayerNorm",
                           .ln2 = "LayerNorm",
                           .last = {}, // as its head
                           .embedding = "embeddings.layer_norm"},
                 .attention = bertAttention,
                 .mlp = bertMlp,
                 .buffers = {"*embeddings.position_ids", "*embeddings.position_embeddings.weight",
                             "*pooler.*", "*contact_head.*", "*rotary_embeddings.inv_freq", "classifier.*"}},
     .code = {.read = readEsm, .addToModel = addEsmParts}},
    // The patches enter through a convolution, which no circuit needs.
    {.name = "vit",
     .classes = {"ViTForImageClassification", "ViTModel", "ViTForMaskedImageModeling"},
     .keys = visionKeys,
     .sizes = {12, 12, 0, 768, 0, 3072, 1, 1},
     .norms = {.kind = LayerNorm, .eps = 1e-12},
     .positions = learnedPositions,
     .biases = {.attention = {.key = "qkv_bias", .standard = true}, .output = hasBias, .mlp = hasBias},
     .activation = "gelu",
     .ignored = {"num_channels", "encoder_stride", "pooler_output_size", "pooler_act"},
     .tensors = {.prefixes = {"", "vit."},
                 .embedding = {},
                 .layers = "encoder.layer.",
                 .norms = {.ln1 = "layernorm_before", .ln2 = "layernorm_after", .last = "layernorm"},
                 .attention = {.q = "attention.attention.query",
                               .k = "attention.attention.key",
                               .v = "attention.attention.value",
                               .o = "attention.output.dense"},
                 .mlp = bertMlp,
                 .buffers = {"*embeddings.patch_embeddings.*", "*embeddings.mask_token", "*pooler.*",
                             "decoder.*"}},
     .code = {.read = readVision, .addToModel = addVitParts}},
    {.name = "clip",
     .classes = {"CLIPModel", "CLIPTextModel", "CLIPTextModelWithProjection"},
     .otherTypes = {"clip_text_model"},
     .keys = bertKeys,
     .sizes = {12, 8, 0, 512, 0, 2048, 49408, 77},
     .norms = {.kind = LayerNorm, .eps = 1e-5},
     .positions = learnedPositions,
     .biases = biasesEverywhere,
     .activation = "quick_gelu",
     .isTied = true,
     .whole = "clip",
     .stack = "text",
     .part = "text_config",
     .ignored = {"projection_dim", "initializer_factor", "logit_scale_init_value"},
     .tensors = {.prefixes = {"", "text_model."},
                 .embedding = "embeddings.token_embedding",
                 .positions = "embeddings.position_embedding",
                 .layers = "encoder.layers.",
                 .norms = clipNorms,
                 .attention = clipAttention,
                 .mlp = clipMlp,
                 .buffers = {"*embeddings.position_ids", "text_projection.weight", "vision_model.*",
                             "visual_projection.weight", "logit_scale"}},
     .code = {.addToModel = addClipTextParts}},
    {.name = "clip_vision_model",
     .classes = {"CLIPVisionModel", "CLIPVisionModelWithProjection"},
     .keys = visionKeys,
     .sizes = {12, 12, 0, 768, 0, 3072, 1, 1},
     .norms = {.kind = LayerNorm, .eps = 1e-5, .embedding = LayerNorm},
     .positions = learnedPositions,
     .biases = biasesEverywhere,
     .activation = "quick_gelu",
     .whole = "clip",
     .stack = "vision",
     .part = "vision_config",
     .ignored = {"num_channels", "projection_dim", "initializer_factor", "logit_scale_init_value"},
     .tensors = {.prefixes = {"", "vision_model."},
                 .embedding = {},
                 .positions = "embeddings.position_embedding",
                 .layers = "encoder.layers.",
                 .norms = clipVisionNorms,
                 .attention = clipAttention,
                 .mlp = clipMlp,
                 .buffers = {"*embeddings.position_ids", "*embeddings.patch_embedding.weight", "text_model.*",
                             "text_projection.weight", "logit_scale"}},
     .code = {.read = readVision, .addToModel = addClipVisionParts}},
};

} // namespace

std::span<const Family> encoderFamilies()
{
    return encoderRows;
}

} // namespace headwise
