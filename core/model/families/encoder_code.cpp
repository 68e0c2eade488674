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
std::string firstStored(const RecipeBook& book, const char* first, const char* second)
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
                                     + ", and the first 2 of its rows belong to no position");
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

void addEsmParts(RecipeBook& book, const std::string& prefix)
{
    const Eigen::Index m = book.config().dModel;
    if (book.config().positional == Positional::Learned)
        book.addPositions(prefix + "embeddings.position_embeddings.weight", paddingRows);
    const bool hasHead = addTokenHead(book,
                                      {"lm_head", "lm_head.dense", "lm_head.layer_norm",
                                       firstStored(book, "lm_head.bias", "lm_head.decoder.bias")});
    // The layers' last norm: before the head, or before the embedding in a file without one.
    const std::string last = prefix + "encoder.emb_layer_norm_after";
    if (!hasHead)
        book.config().finalNorm = NormKind::LayerNorm;
    book.requireVector(hasHead ? ln_head_w : ln_final_w, 0, last + ".weight", m);
    book.requireVector(hasHead ? ln_head_b : ln_final_b, 0, last + ".bias", m);
}

} // namespace headwise
