#include "core/model/families/encoder_families.h"

#include <algorithm>

namespace headwise {
namespace {

using enum TensorKind;

/// The stored names of a head that predicts tokens: a matrix, an activation and a norm before the tied embedding.
struct TokenHead {
    std::string stem; ///< For the warning of a file without it.
    std::string dense, norm, bias;
};

/// A file saved without its head has none of these tensors.
void addTokenHead(RecipeBook& book, const TokenHead& names)
{
    const Eigen::Index m = book.config().dModel;
    if (!book.isStored(names.dense + ".weight")) {
        book.config().hasHeadTransform = false;
        book.config().finalNorm = NormKind::None;
        book.warn("The file has no head that predicts tokens (" + names.stem
                  + "). Outputs are the last residual stream times the embedding matrix.");
        return;
    }
    addLinear(book, names.dense, {m, m, StoredBias::Present}, {W_head, b_head});
    const bool isOld = book.isStored(names.norm + ".gamma");
    book.requireVector(ln_final_w, 0, names.norm + (isOld ? ".gamma" : ".weight"), m);
    book.requireVector(ln_final_b, 0, names.norm + (isOld ? ".beta" : ".bias"), m);
    book.requireVector(b_U, 0, names.bias, book.config().dVocabOut);
}

/// The bias is stored twice, under either of two names if a writer drops one.
std::string firstStored(const RecipeBook& book, const char* first, const char* second)
{
    return book.isStored(first) ? first : second;
}

/// The first token type: every token is taken as one of the first segment.
void addTokenType(RecipeBook& book, const std::string& prefix)
{
    const Eigen::Index m = book.config().dModel;
    const std::string segments = prefix + "embeddings.token_type_embeddings.weight";
    const auto shape = book.shapeOf(segments);
    if (book.require(segments, {shape.size() == 2 ? shape[0] : 2, m}))
        book.add(b_E, 0, 0, segments, layout::part(0, m));
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
    // The key counts the rows of the table: those up to the padding token's belong to no position.
    constexpr int skipped = 2;
    int& context = reading.config.nCtx;
    if (context <= skipped)
        reading.reader.contradiction("'max_position_embeddings' is " + std::to_string(context)
                                     + ", and the first 2 of its rows belong to no position");
    context = std::max(1, context - skipped);
}

void readDistilBert(FamilyReading& reading)
{
    readBert(reading);
    reading.config.bidirectional = true;
    reading.biases.wideVectors = 0;
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

} // namespace headwise
