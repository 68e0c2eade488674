#include "core/model/names/named_model.h"

#include <algorithm>
#include <set>

namespace headwise {
namespace {

enum class Need { No, May, Must };

Need mustIf(bool condition)
{
    return condition ? Need::Must : Need::No;
}

Need mayIf(bool condition)
{
    return condition ? Need::May : Need::No;
}

/// Tells whether a model of this config has a norm's weight (Must) and bias (May).
Need needOfNorm(TensorKind kind, const ModelConfig& c)
{
    const bool norms = c.norm != NormKind::None && c.normHasParameters;
    const bool bias = norms && c.norm == NormKind::LayerNorm;
    const bool post = c.hasPostNorms || c.hasSumNorms;
    switch (kind) {
    case TensorKind::ln1_w: return mustIf(norms && c.hasPreNorms);
    case TensorKind::ln1_b: return mayIf(bias && c.hasPreNorms);
    case TensorKind::ln2_w:
        return c.parallelBlocks ? mayIf(norms && c.hasPreNorms)
                                : mustIf(norms && c.hasPreNorms && !c.attentionOnly);
    case TensorKind::ln2_b: return mayIf(bias && c.hasPreNorms && !c.attentionOnly);
    case TensorKind::ln1_post_w: return mustIf(norms && post);
    case TensorKind::ln1_post_b: return mayIf(bias && post);
    case TensorKind::ln2_post_w: return mustIf(norms && post && !c.attentionOnly);
    case TensorKind::ln2_post_b: return mayIf(bias && post && !c.attentionOnly);
    case TensorKind::ln_final_w: return mayIf(norms);
    case TensorKind::ln_final_b: return mayIf(norms && c.finalNorm == NormKind::LayerNorm);
    case TensorKind::mlp_ln_w:
    case TensorKind::mlp_ln_b: return mayIf(c.activation == Activation::SoluLn && !c.attentionOnly);
    default: return Need::May;
    }
}

Need needOf(TensorKind kind, const ModelConfig& c)
{
    switch (kind) {
    case TensorKind::W_E:
    case TensorKind::W_Q:
    case TensorKind::W_K:
    case TensorKind::W_V:
    case TensorKind::W_O: return Need::Must;
    case TensorKind::W_U: return c.tiedEmbeddings ? Need::May : Need::Must;
    case TensorKind::W_pos: return mustIf(c.positional == Positional::Learned || c.positionsInQueriesAndKeys);
    case TensorKind::W_in:
    case TensorKind::W_out: return mustIf(!c.attentionOnly);
    case TensorKind::b_in:
    case TensorKind::b_out: return mayIf(!c.attentionOnly);
    case TensorKind::W_gate: return mustIf(c.gatedMlp);
    case TensorKind::b_gate:
    case TensorKind::b_up: return mayIf(c.gatedMlp);
    case TensorKind::q_norm_w:
    case TensorKind::k_norm_w: return mustIf(c.qkNorm != NormKind::None);
    default: return needOfNorm(kind, c);
    }
}

/// Compares the parts with what a model of this config has.
Result<Done> checkNeeds(const NamedModel& model, const ModelConfig& config, const WeightMap& file)
{
    std::set<TensorKind> kinds;
    for (const NamedPart& part : model.parts) {
        kinds.insert(part.kind);
        if (needOf(part.kind, config) == Need::No)
            return Error{ErrorCode::Corrupt,
                         "Tensor '" + file.tensors()[static_cast<std::size_t>(part.tensor)].name + "' is "
                             + std::string(tensorKindName(part.kind)) + " according to the names map '"
                             + model.map + "', but a model with normalization_type "
                             + std::string(normalizationName(config)) + " and "
                             + std::string(positionalName(config.positional))
                             + " positions has none; fix the facts of the map, or --set them."};
    }
    for (const NamedRole& role : namedRoles())
        if (needOf(role.kind, config) == Need::Must && !kinds.contains(role.kind))
            return Error{ErrorCode::NotFound,
                         "'" + file.path().string() + "' has no tensor for " + std::string(role.name)
                             + " according to the names map '" + model.map
                             + "'; fix its rows, or its facts if the model has none."};
    return Done{};
}

} // namespace

Result<ModelWeights> loadNamed(const NamedModel& model, const ModelConfig& config,
                               std::shared_ptr<const WeightMap> file, const std::vector<std::string>& ignored)
{
    if (const auto fits = checkNeeds(model, config, *file); !fits)
        return fits.error();
    const auto has = [&](TensorKind kind) {
        return std::any_of(model.parts.begin(), model.parts.end(),
                           [&](const NamedPart& part) { return part.kind == kind; });
    };
    if (config.merged || (!has(TensorKind::W_U) && config.dVocabOut != config.dVocab))
        return Error{ErrorCode::Unsupported,
                     "'" + file->path().string() + "' has "
                         + (config.merged ? "merged matrices" : "no W_U, and d_vocab_out is not d_vocab")
                         + ", which the names map '" + model.map + "' cannot describe."};
    RecipeBook book(config, file);
    for (const NamedPart& part : model.parts) {
        const std::string& name = file->tensors()[static_cast<std::size_t>(part.tensor)].name;
        book.use(name);
        book.add(part.kind, part.layer, part.head, name, part.slice);
    }
    // A file without W_U relies on the tie.
    book.config().tiedEmbeddings = !has(TensorKind::W_U);
    for (const NamedPart& part : model.parts)
        if (part.kind == TensorKind::W_E && book.config().tiedEmbeddings)
            book.add(TensorKind::W_U, 0, 0, file->tensors()[static_cast<std::size_t>(part.tensor)].name,
                     {part.slice.offset, part.slice.cols, part.slice.rows, part.slice.colStride,
                      part.slice.rowStride});
    if (config.normHasParameters && !has(TensorKind::ln_final_w))
        book.config().finalNorm = NormKind::None;
    for (const std::string& name : model.ignored)
        book.use(name);
    book.leaveOut(ignored);
    return book.finish();
}

} // namespace headwise
