#pragma once

#include "core/analysis/inputs/relation.h"
#include "core/circuits/circuits.h"
#include "core/results/array_spec.h"
#include "core/results/picture.h"
#include "core/results/result_set.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

class Tokenizer;
class TokenCounts;
class BigramCounts;
class SharedSpectra;

/// The metric that norm-comparing analyses use for lengths in the residual stream.
enum class ResidualMetric {
    Identity,  ///< The weights as they are.
    Embedding, ///< A basis in which the embedding in use has equal variance in every direction.
};

/// Inputs that some analyses need besides the weights. An analysis whose input is missing is skipped with a warning.
struct AnalysisInputs {
    std::vector<int> prompt;                       ///< Token ids.
    std::optional<int> queryPosition;              ///< In the prompt, from 0; empty: the last.
    std::optional<int> keyPosition;                ///< Not after the query; empty: each head's strongest key.
    std::optional<int> token;                      ///< The token to show the card of.
    std::optional<int> keyToken;                   ///< A key for that token's query.
    std::optional<std::pair<HeadId, HeadId>> pair; ///< Two heads, the earlier first.
    std::vector<double> direction;                 ///< [d], a row vector of the residual stream.
    std::string directionName;       ///< A name for readDirection(); empty: the direction has only numbers.
    std::vector<Relation> relations; ///< Empty: the built-in ones.
    std::vector<int> cycle;          ///< Token ids in cyclic order; empty: all ids.
    std::vector<HeadId> previousTokenHeads; ///< Known to attend to the previous token, whatever their score.
    std::vector<std::string> names;         ///< Words of name copying; empty: the built-in first names.
    std::shared_ptr<const TokenCounts> tokenCounts;   ///< Token counts of a text; null: unknown.
    std::shared_ptr<const BigramCounts> bigramCounts; ///< Bigram counts of a text; null: unknown.
    ResidualMetric metric = ResidualMetric::Identity;
    std::shared_ptr<const Tokenizer> tokenizer; ///< Null without one.
    std::uint64_t seed = 0;                     ///< Seed of random baselines and samples. Default: 0.

    bool operator==(const AnalysisInputs&) const = default;
};

/// The inputs that an analysis requires.
struct InputNeeds {
    bool prompt = false, token = false, pair = false, direction = false, tokenizer = false;
    /// Fields of the config that its numbers depend on and that a model may open without (ModelConfig::unknown).
    std::vector<ConfigField> config = {};
};

/// Inputs that an analysis uses where they are given, and that its form asks for. Without one it gives fewer arrays or takes
/// a built-in one.
struct OptionalInputs {
    bool prompt = false, positions = false, token = false, keyToken = false, cycle = false,
         previousTokenHeads = false, names = false, relations = false, tokenCounts = false,
         bigramCounts = false;
};

struct AnalysisOptions {
    std::vector<HeadId> heads; ///< Empty: all. Others stay NaN in per-head arrays and are absent from tables.
    bool oneEndIsEnough = false; ///< Include head pairs in which only one head is in `heads`. Default: false.
    std::optional<std::vector<HeadId>>
        share; ///< Heads that this shard computes (Analysis::isSplit); unset: all.
    Embedding embedding = Embedding::Raw;
    Precision precision = Precision::F32; ///< Precision of the arrays and of the token-side products.
    int tableSize = 10;                   ///< k of the top-k tables.
    std::vector<bool>
        unusedTokens; ///< true: an id without a token, left out of tables and ranks; empty: none.
    AnalysisInputs inputs = {};

    bool operator==(const AnalysisOptions&) const = default;
};

/// Data that all analyses of one run share.
struct AnalysisContext {
    Circuits circuits;
    std::shared_ptr<const TokenSide> tokens; ///< Null if no requested analysis needs it.
    AnalysisOptions options;
    /// Shared by the analyses of one run, about the same circuits and tokens; `spectraOf` makes them where there are none.
    std::shared_ptr<SharedSpectra> spectra = nullptr;
};

struct AnalysisCost {
    double flops = 0;
    double bytes = 0; ///< Working memory plus results.
    double speed = 1; ///< Speed of its arithmetic, relative to the usual one of analyses (tests/bench).

    double work() const { return flops / speed; } ///< Flops at the usual speed: what time follows from.
};

/// One row of the catalogue: everything the program knows about an analysis. A new analysis is one file in core/analysis
/// and one line in the table.
struct Analysis {
    std::string_view id;       ///< "spectra", as in --analyses
    std::string_view number;   ///< "E1–E3", the catalogue of the field
    std::string_view title;    ///< "Singular values, norms and ranks"
    std::string_view formula;  ///< One line
    std::string_view citation; ///< Paper, section
    bool needsTokens = false;  ///< Whether context.tokens must be there.
    bool isDefault = false;    ///< Part of `analyze` without --analyses (within defaultBudget).
    /// Returns a sentence on why it does not apply to this model; empty if it applies.
    std::string (*whyNot)(const ModelConfig& config, const AnalysisOptions& options);
    AnalysisCost (*cost)(const ModelConfig& config, const AnalysisOptions& options);
    Result<ResultSet> (*run)(const AnalysisContext& context, const Task& task);
    std::vector<ArraySpec> arrays = {}; ///< Every array that run() may give.
    InputNeeds needs = {};
    std::vector<Picture> pictures = {}; ///< Pictures on the page of this analysis, most important first.
    bool followsMetric = false;         ///< Its numbers are norms in AnalysisInputs::metric.
    bool followsFilter = false;         ///< AnalysisOptions::unusedTokens changes its numbers.
    bool isSplit =
        false; ///< Follows AnalysisOptions::share: the heads of all shards give what one process does.
    OptionalInputs uses = {};
    bool crossesStreams = false;  ///< Its matrices may lead from one residual stream to another.
    bool takesClassToken = false; ///< Has an answer where the only token is an image model's class token.
    bool needsGramsAlone = false; ///< Reads only the Gram products of the tokens, and their number.
    /// Analysis of whose work this one takes part over where both are in a run, and the cost then; empty: none.
    std::string_view after = {};
    AnalysisCost (*costAfter)(const ModelConfig& config, const AnalysisOptions& options) = nullptr;
    bool isAboutModel = false; ///< A question about the model, whatever its number says.
    /// Heads · d_vocab² · d_head up to which isDefault holds; 0: always. The window computes rows of such an analysis as it
    /// shows them.
    double defaultBudget = 0;
    std::string_view everyToken =
        {}; ///< Array that covers every token, if it could be computed; empty: none.
    std::string_view verifiedBy = {}; ///< Analysis that checks this one on random tokens; empty: none.

    bool usesPrompt() const { return needs.prompt || uses.prompt; }
    bool usesToken() const { return needs.token || uses.token; }
};

/// All analyses, in the order in which they are listed and run.
std::span<const Analysis> catalogue();
const Analysis* findAnalysis(std::string_view id);

/// Returns why the analysis has no answer for this model: a field of the config is unknown, or Analysis::whyNot; empty if it has
/// one.
std::string whyNotOf(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
