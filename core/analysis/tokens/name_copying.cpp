#include "core/analysis/analyses.h"
#include "core/analysis/selected_heads.h"
#include "core/analysis/tokens/entry_ranks.h"
#include "core/analysis/tokens/relation_lists.h"
#include "core/analysis/tokens/token_factors.h"

#include "core/model/families/layer_parts.h"
#include "core/tokenizer/tokenizer.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise {

namespace {

constexpr int topNames = 5;

std::string nameCopyingAt(const std::string& name)
{
    return "analyses/name_copying/" + name;
}

std::string nameCopyingNames(const std::string& list)
{
    return list + " that are single tokens, with a leading space or else without";
}

std::vector<ArraySpec> nameCopyingArrays()
{
    const std::string counted = ", β of LN_f counted whether it is folded or not";
    const auto score = [&](const char* name, const char* title, const std::string& sign) {
        return ArraySpec{.path = nameCopyingAt(name),
                         .axes = headAxes(),
                         .title = title,
                         .definition = "share of names among the 5 largest entries of LN_f(" + sign
                             + "MLP0(LN2(W_E[name])) W_V W_O) W_U, ties against them" + counted,
                         .range = {{0.0, 1.0}}};
    };
    const auto ranks = [&](const char* name, const char* title, const std::string& sign) {
        return ArraySpec{nameCopyingAt(name), headAxes({Axis::Name}), title,
                         "how many other outputs of LN_f(" + sign
                             + "MLP0(LN2(W_E[name])) W_V W_O) W_U are at least as large as the name's"
                             + counted};
    };
    std::vector<ArraySpec> all{score("score", "Name copying", ""),
                               score("negative_score", "Negative name copying", "−"),
                               ranks("ranks", "Rank of each name", ""),
                               ranks("negative_ranks", "Rank of each name, sign flipped", "−"),
                               {.path = nameCopyingAt("names"),
                                .axes = {Axis::Name},
                                .title = "Names",
                                .definition = nameCopyingNames("the names of the list, built-in or given,"),
                                .unit = "token",
                                .type = NumberType::Whole}};
    for (ArraySpec& spec : all)
        spec.condition = "where a name of the list is a single token";
    return all;
}

struct NameTokens {
    std::vector<std::string> names;
    std::vector<int> ids;
    std::size_t strange = 0; ///< How many words of the list are no single token.
};

std::string listName(const AnalysisContext& context)
{
    return context.options.inputs.names.empty() ? "the built-in first names" : "the words of the list given";
}

/// Returns the names that are single tokens, with a leading space or else without.
NameTokens nameTokens(const AnalysisContext& context)
{
    const TokenSide& tokens = *context.tokens;
    const auto limit = std::min<Eigen::Index>(context.circuits.config().dVocab, tokens.W_U.count());
    NameTokens found;
    const std::vector<std::string>& given = context.options.inputs.names;
    for (const std::string& name : given.empty() ? firstNames() : given) {
        const WordTokens forms = wordTokens(*context.options.inputs.tokenizer, name);
        const std::optional<int> id = forms.spaced ? forms.spaced : forms.bare;
        if (!id || *id >= limit) {
            ++found.strange;
            continue;
        }
        const bool isKnown = std::find(found.ids.begin(), found.ids.end(), *id) != found.ids.end();
        if (isKnown || isUnusedToken(context.options.unusedTokens, *id))
            continue;
        found.names.push_back(name);
        found.ids.push_back(*id);
    }
    return found;
}

/// MLP0(LN2(W_E)) of these tokens, [ids, d]: rows of the embedding "mlp0".
Matrix<double> afterFirstMlp(const ProcessedWeights& weights, const std::vector<int>& ids)
{
    const ModelConfig& config = weights.config();
    Matrix<double> x(static_cast<Eigen::Index>(ids.size()), config.dModel);
    for (Eigen::Index i = 0; i < x.rows(); ++i)
        x.row(i) = weights.W_E<double>(ids[static_cast<std::size_t>(i)], 1);
    const LayerTail<double> tail(weights, 0);
    const Matrix<double> written = mlpOutput(tail.mlp, config, normalized(tail.ln2, x));
    return config.hasSumNorms ? written : normalized(tail.ln2Post, written);
}

/// Returns β W_U of the final norm up to a constant, [1, V out]; empty if the norm has no β.
/// For a folded norm, β W_U is the amount that folding added to b_U, so names rank the same folded and unfolded.
/// In a file that was already folded, β cannot be separated from b_U.
Matrix<double> logitsOfNormBias(const AnalysisContext& context)
{
    const ProcessedWeights& weights = context.circuits.weights();
    const Norm<double> norm = weights.lnFinal<double>();
    if (norm.kind == NormKind::None)
        return {};
    if (norm.b.size() > 0)
        return timesColumns<double>(norm.b, context.tokens->W_U);
    const ModelWeights& original = weights.original();
    if (!original.has(TensorKind::ln_final_b))
        return {};
    RowVector<double> added = weights.b_U<double>(0, context.tokens->W_U.count());
    if (original.has(TensorKind::b_U))
        added -= original.read<double>(TensorKind::b_U);
    added.array() -= added.mean(); // as far as b_U is centred
    return added;
}

/// LN_f(± z W_O) W_U up to a positive factor per row, as a product of inner size r, or r + 1 if the norm has a bias.
struct Readout {
    Matrix<double> raised, lowered; // [inner, names]
    Matrix<double> cols;            // [inner, V out]
};

/// \param z [names, r] \param ofBias `logitsOfNormBias`
Readout readout(const AnalysisContext& context, const Matrix<double>& z, const Matrix<double>& W_O,
                const Matrix<double>& ofBias)
{
    const Norm<double> norm = context.circuits.weights().lnFinal<double>();
    Matrix<double> centred = W_O;
    if (norm.kind == NormKind::LayerNorm)
        centred.colwise() -= W_O.rowwise().mean();
    const Matrix<double> out = z * centred; // [names, d]
    if (norm.w.size() > 0)
        centred *= norm.w.asDiagonal();
    const Matrix<double> cols = timesColumns(centred, context.tokens->W_U);
    if (ofBias.size() == 0)
        return {z.transpose(), -z.transpose(), cols};
    Readout full;
    full.cols.resize(cols.rows() + 1, cols.cols());
    full.cols << cols, ofBias;
    const RowVector<double> sigma =
        (out.rowwise().squaredNorm().array() / static_cast<double>(out.cols()) + norm.eps).sqrt().transpose();
    full.raised.resize(full.cols.rows(), z.rows());
    full.raised << z.transpose(), sigma;
    full.lowered.resize(full.cols.rows(), z.rows());
    full.lowered << -z.transpose(), sigma;
    return full;
}

struct NameScores {
    RealNumbers score, ranks;

    NameScores(const ModelConfig& config, std::size_t names)
        : score(RealNumbers::perHead(config))
        , ranks(RealNumbers::perHead(config, names))
    {
    }

    void set(HeadId head, const std::vector<EntryRank>& found)
    {
        double hits = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const int rank = found[i].above + found[i].equal; // ties against the name
            ranks.of(head)[i] = rank;
            hits += rank < topNames ? 1 : 0;
        }
        score.set(head, hits / static_cast<double>(found.size()));
    }
};

/// Scores of the two signs of OV.
struct SignedScores {
    NameScores raised, lowered;
};

/// \param outputs number of tokens that a name is ranked among
void putNameCopying(Results& results, const SignedScores& scores, const NameTokens& names,
                    const AnalysisContext& context, double outputs)
{
    const auto& [raised, lowered] = scores;
    const double p = std::min(1.0, topNames / outputs);
    for (const auto& [name, side] : {std::pair("score", &raised), std::pair("negative_score", &lowered)}) {
        ResultArray& array = results.put(nameCopyingAt(name), side->score);
        array.nullMean = p;
        array.nullDeviation = std::sqrt(p * (1 - p) / static_cast<double>(names.ids.size()));
    }
    for (const auto& [name, side] : {std::pair("ranks", &raised), std::pair("negative_ranks", &lowered)}) {
        ResultArray& array = results.put(nameCopyingAt(name), side->ranks);
        array.nullMean = (outputs - 1) / 2;
        array.nullDeviation = outputs / std::sqrt(12.0);
        array.attributes["labels"] = names.names;
    }
    ResultArray& ids = results.put(nameCopyingAt("names"), names.ids);
    ids.definition = nameCopyingNames(listName(context));
    ids.attributes["labels"] = names.names;
}

Result<ResultSet> runNameCopying(const AnalysisContext& context, const Task& task)
{
    const NameTokens names = nameTokens(context);
    Results results = resultsOf(context, nameCopyingArrays());
    if (names.ids.empty()) {
        results.warn("Name copying was skipped because none of " + listName(context)
                     + " is a single token here.");
        return std::move(results).finish();
    }
    const Matrix<double> x = afterFirstMlp(context.circuits.weights(), names.ids);
    const Matrix<double> ofBias = logitsOfNormBias(context);
    const std::vector<bool> unused = sizedMarks(context.options.unusedTokens, context.tokens->W_U.count());
    const NameScores none(context.circuits.config(), names.ids.size());
    SignedScores scores{none, none};
    const auto done = forEachHead(context, task, "name copying", [&](HeadId head) -> Result<Done> {
        const HeadWeights<double> weights = context.circuits.weights().head<double>(head);
        const Readout read = readout(context, x * weights.W_V, weights.W_O, ofBias);
        const RankColumns columns(read.cols, unused);
        const auto raised = entryRanks({read.raised, columns, names.ids}, withoutProgress(task));
        if (!raised)
            return raised.error();
        const auto lowered = entryRanks({read.lowered, columns, names.ids}, withoutProgress(task));
        if (!lowered)
            return lowered.error();
        if (weights.W_V.isZero(0) || weights.W_O.isZero(0))
            return Done{}; // scores of a zero circuit are NaN
        scores.raised.set(head, *raised);
        scores.lowered.set(head, *lowered);
        return Done{};
    });
    if (!done)
        return done.error();
    results.warn(*done);
    if (const auto& given = context.options.inputs.names; !given.empty() && names.strange > 0) {
        results.warn(fmt::format(
            "Name copying: {} of the {} words of the list are not single tokens of this model and were ignored.",
            names.strange, given.size()));
    }
    const double outputs =
        static_cast<double>(context.tokens->W_U.count() - std::count(unused.begin(), unused.end(), true));
    putNameCopying(results, scores, names, context, outputs);
    return std::move(results).finish();
}

std::string whyNoNames(const ModelConfig& config, const AnalysisOptions&)
{
    if (config.attentionOnly)
        return "Name copying reads names after the first MLP; this model has none.";
    if (config.hasHeadTransform)
        return "Name copying reads outputs through the final norm, but this model has another layer before it.";
    return {};
}

AnalysisCost nameCopyingCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double V = config.dVocabOut;
    const double d = config.dModel;
    const double r = config.dHead;
    const double names = options.inputs.names.empty() ? 60 : static_cast<double>(options.inputs.names.size());
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    return {heads * (2 * d * r * V + 4 * names * r * (V + d)) + 6 * names * d * config.dMlp,
            20 * r * V + 8 * names * (d + config.dMlp) + 24.0 * d * config.dMlp + heads * names * 16};
}

} // namespace

Analysis nameCopyingAnalysis()
{
    using Kind = Picture::Kind;
    return {
        .id = "name_copying",
        .number = "B5",
        .title = "Name copying",
        .formula =
            "share of names among the 5 largest outputs of LN_f(MLP0(LN2(W_E[name])) W_V W_O) W_U; the same with the sign flipped",
        .citation = "Wang et al. 2022, arXiv 2211.00593",
        .needsTokens = true,
        .whyNot = whyNoNames,
        .cost = nameCopyingCost,
        .run = runNameCopying,
        .arrays = nameCopyingArrays(),
        .needs = {.tokenizer = true, .config = {ConfigField::NormEps, ConfigField::Activation}},
        .pictures =
            {
                {.kind = Kind::HeadGrid,
                 .title = "Names copied, names suppressed",
                 .arrays = {"analyses/name_copying/score", "analyses/name_copying/negative_score"},
                 .signedColors = false,
                 .note = "Always read after the first MLP, for every embedding. Random baseline: 5/V."},
                {.kind = Kind::HeadPlane,
                 .title = "Copied against suppressed",
                 .arrays = {"analyses/name_copying/score", "analyses/name_copying/negative_score"},
                 .note = "One point per head."},
                {.kind = Kind::Table,
                 .title = "Rank of each name, selected head",
                 .arrays = {"analyses/name_copying/names", "analyses/name_copying/ranks",
                            "analyses/name_copying/negative_ranks"},
                 .note = "0: the name itself is the output promoted (suppressed) most."},
            },
        .followsFilter = true,
        .uses = {.names = true}};
}

} // namespace headwise
