#include "core/model/families/encoder_families.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headwise {
namespace {

using enum TensorKind;

constexpr int paddingRows = 2; // the padding token has the id 1

/// The stored names of a head that predicts tokens: a matrix, an activation and a norm before the tied embedding.
struct TokenHead {
    std::string stem; ///< For the warning of a file without it.
    std::string dense, norm, bias;
};

/// A file saved without its head has none of these tensors. \returns whether it is there
bool addTokenHead(RecipeBook& book, const TokenHead& names)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.dModel, out = c.normsNarrowEmbeddings() ? c.dEmbed : c.dModel;
    if (!book.isStored(names.dense + ".weight")) {
        book.config().hasHeadTransform = false;
        book.config().finalNorm = NormKind::None;
        book.warn("The file has no head that predicts tokens (" + names.stem
                  + "). Outputs are the last residual stream times the embedding matrix.");
        return false;
    }
    addLinear(book, names.dense, {out, m, StoredBias::Present}, {W_head, b_head});
    const bool isOld = book.isStored(names.norm + ".gamma");
    book.requireVector(ln_final_w, 0, names.norm + (isOld ? ".gamma" : ".weight"), out);
    book.requireVector(ln_final_b, 0, names.norm + (isOld ? ".beta" : ".bias"), out);
    book.requireVector(b_U, 0, names.bias, c.dVocabOut);
    return true;
}

/// The bias is stored twice, under either of two names if a writer drops one.
std::string firstStored(const RecipeBook& book, const std::string& first, const std::string& second)
{
    return book.isStored(first) ? first : second;
}

/// The first token type: every token is taken as one of the first segment.
void addTokenType(RecipeBook& book, const std::string& prefix)
{
    const ModelConfig& c = book.config();
    const Eigen::Index m = c.normsNarrowEmbeddings() ? c.dEmbed : c.dModel;
    const std::string segments = prefix + "embeddings.token_type_embeddings.weight";
    const auto shape = book.shapeOf(segments);
    if (book.require(segments, {shape.size() == 2 ? shape[0] : 2, m}))
        book.add(b_E, 0, 0, segments, layout::part(0, m));
}

/// The key counts the rows of the table of positions: those up to the padding token's belong to none.
void leavePaddingRows(FamilyReading& reading)
{
    int& context = reading.config.nCtx;
    if (context <= paddingRows)
        reading.reader.contradiction("'max_position_embeddings' is " + std::to_string(context)
                                     + ", but the first 2 of its rows belong to no position");
    context = std::max(1, context - paddingRows);
}

} // namespace

void readBert(FamilyReading& reading)
{
    reading.config.embeddingNormSeesPositions = true;
    reading.config.hasHeadTransform = true;
    reading.config.bidirectional = !reading.reader.flag({"is_decoder"}, false);
    reading.biases.unembed = true;
    reading.biases.wideVectors = 1; // the token type
}

void readRoberta(FamilyReading& reading)
{
    readBert(reading);
    leavePaddingRows(reading);
}

void readDistilBert(FamilyReading& reading)
{
    readBert(reading);
    reading.config.bidirectional = true;
    reading.biases.wideVectors = 0;
}

void readElectra(FamilyReading& reading)
{
    readBert(reading);
    ModelConfig& c = reading.config;
    const int embedded = reading.reader.size({"embedding_size"}, 128);
    c.dEmbed = embedded == c.dModel ? 0 : embedded;
    const auto classes = reading.json.find("architectures");
    const bool isGenerator = classes != reading.json.end() && classes->is_array() && !classes->empty()
        && (*classes)[0] == "ElectraForMaskedLM";
    c.hasHeadTransform = reading.biases.unembed = isGenerator;
    c.finalNorm = isGenerator ? NormKind::LayerNorm : NormKind::None;
}

void readEsm(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const std::string positions = reader.text({"position_embedding_type"}, "absolute");
    if (positions != "absolute" && positions != "rotary")
        reader.refuse("position_embedding_type", "absolute or rotary");
    if (positions == "absolute") {
        c.positional = Positional::Learned;
        c.rotary = {};
        leavePaddingRows(reading);
    }
    if (reader.flag({"emb_layer_norm_before"}, false)) {
        c.embeddingNorm = NormKind::LayerNorm;
        c.embeddingNormSeesPositions = true;
    }
    if (reader.flag({"token_dropout"}, false)) {
        c.embeddingScale = 1 - 0.15 * 0.8; // the share of tokens that training did not mask
        reader.note(
            "Embeddings are multiplied by 0.88, as 'token_dropout' does in a text without mask tokens.");
    }
    c.hasHeadTransform = true;
    c.bidirectional = !reader.flag({"is_decoder"}, false);
    reading.biases.unembed = true;
    reading.biases.wideVectors = 2; // the norm before the head
}

void readVision(FamilyReading& reading)
{
    ModelConfig& c = reading.config;
    ConfigReader& reader = reading.reader;
    const int image = reader.size({"image_size"}, 224), patch = reader.size({"patch_size"}, 16);
    if (image % patch != 0)
        reader.contradiction("'image_size' is " + std::to_string(image) + ", no multiple of 'patch_size', "
                             + std::to_string(patch));
    c.nCtx = 1
        + static_cast<int>(std::min<std::int64_t>(std::int64_t(image / patch) * (image / patch), mostTokens));
    c.dVocab = c.dVocabOut = 1;
    c.readsImages = c.bidirectional = true;
    c.embeddingNormSeesPositions = c.embeddingNorm != NormKind::None;
    reader.note(
        "The model reads image patches: position 0 is the class token, the others are the patches, row by row. Analyses of a vocabulary are not available.");
}

void addBertParts(RecipeBook& book, const std::string& prefix)
{
    addTokenType(book, prefix);
    addTokenHead(book,
                 {"cls.predictions", "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                  firstStored(book, "cls.predictions.bias", "cls.predictions.decoder.bias")});
}

void addRobertaParts(RecipeBook& book, const std::string& prefix)
{
    addTokenType(book, prefix);
    addTokenHead(book,
                 {"lm_head", "lm_head.dense", "lm_head.layer_norm",
                  firstStored(book, "lm_head.bias", "lm_head.decoder.bias")});
}

void addDistilBertParts(RecipeBook& book, const std::string& /*prefix*/)
{
    addTokenHead(book, {"vocab_transform", "vocab_transform", "vocab_layer_norm", "vocab_projector.bias"});
}

void addElectraParts(RecipeBook& book, const std::string& prefix)
{
    addTokenType(book, prefix);
    const Eigen::Index m = book.config().dModel;
    const bool isNarrow = book.config().normsNarrowEmbeddings();
    const Eigen::Index e = isNarrow ? book.config().dEmbed : m;
    book.requireVector(ln_embed_w, 0, prefix + "embeddings.LayerNorm.weight", e);
    book.requireVector(ln_embed_b, 0, prefix + "embeddings.LayerNorm.bias", e);
    const std::string head = "generator_predictions.", project = prefix + "embeddings_project";
    const bool isGenerator = book.isStored(head + "dense.weight");
    if (isGenerator) {
        book.config().hasHeadTransform = true;
        book.config().finalNorm = NormKind::LayerNorm;
    }
    addTokenHead(book,
                 {"generator_predictions; a discriminator has none", head + "dense", head + "LayerNorm",
                  "generator_lm_head.bias"});
    if (!isNarrow)
        return;
    addLinear(book, project, {m, e, StoredBias::Present}, {W_Eproj, b_Eproj});
    // Between the residual stream and the tied embedding stands the head's matrix, else the transpose of the way in.
    const std::string out = isGenerator ? head + "dense.weight" : project + ".weight";
    if (!book.hasFaults())
        book.add(W_Uproj, 0, 0, out, isGenerator ? layout::transposed(m, e) : layout::plain(m, e));
}

namespace {

/// \param last the layers' last norm  \param head the stem of the head's names
void addEsm(RecipeBook& book, const std::string& positions, const std::string& last, const std::string& head)
{
    const Eigen::Index m = book.config().dModel;
    if (book.config().positional == Positional::Learned)
        book.addPositions(positions, paddingRows);
    const bool hasHead = addTokenHead(book,
                                      {head, head + ".dense", head + ".layer_norm",
                                       firstStored(book, head + ".bias", head + ".decoder.bias")});
    // The last norm stands before the head, or before the embedding in a file without one.
    if (!hasHead)
        book.config().finalNorm = NormKind::LayerNorm;
    book.requireVector(hasHead ? ln_head_w : ln_final_w, 0, last + ".weight", m);
    book.requireVector(hasHead ? ln_head_b : ln_final_b, 0, last + ".bias", m);
}

} // namespace

void addEsmParts(RecipeBook& book, const std::string& prefix)
{
    addEsm(book, prefix + "embeddings.position_embeddings.weight", prefix + "encoder.emb_layer_norm_after",
           "lm_head");
}

void addFairseqEsmParts(RecipeBook& book, const std::string& prefix)
{
    const bool isInside = book.isStored("encoder.lm_head.dense.weight");
    addEsm(book, prefix + "embed_positions.weight", prefix + "emb_layer_norm_after",
           isInside ? "encoder.lm_head" : "lm_head");
}

namespace {

/// The class token as the only row of W_E. W_U is what the file stores as `output`, else the class token too.
void addClassToken(RecipeBook& book, const std::string& name, std::initializer_list<Eigen::Index> shape,
                   const std::string& output)
{
    const Eigen::Index m = book.config().dModel;
    if (!book.require(name, shape))
        return;
    book.add(W_E, 0, 0, name, layout::part(0, m));
    const auto outputs = book.shapeOf(output + ".weight");
    book.config().tiedEmbeddings = outputs.size() != 2;
    if (outputs.size() != 2) {
        book.add(W_U, 0, 0, name, {0, m, 1, 1, m});
    } else if (book.require(output + ".weight", {outputs[0], m})) {
        book.config().dVocabOut = static_cast<int>(outputs[0]);
        book.add(W_U, 0, 0, output + ".weight", layout::transposed(m, outputs[0]));
        book.acceptVector(b_U, 0, output + ".bias", outputs[0]);
    }
}

} // namespace

void addVitParts(RecipeBook& book, const std::string& prefix)
{
    const Eigen::Index m = book.config().dModel, n = book.config().nCtx;
    addClassToken(book, prefix + "embeddings.cls_token", {1, 1, m}, "classifier");
    const std::string positions = prefix + "embeddings.position_embeddings";
    if (book.require(positions, {1, n, m}))
        book.add(W_pos, 0, 0, positions, layout::plain(n, m));
}

void addClipTextParts(RecipeBook& book, const std::string& /*prefix*/)
{
    book.warn(
        "The text stack has no head that predicts tokens. Outputs are the last residual stream times the embedding matrix.");
}

void addClipVisionParts(RecipeBook& book, const std::string& prefix)
{
    addClassToken(book, prefix + "embeddings.class_embedding", {book.config().dModel}, "visual_projection");
}

} // namespace headwise
