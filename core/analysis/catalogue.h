#pragma once

#include "core/analysis/inputs/relation.h"
#include "core/circuits/circuits.h"
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

/// How lengths in the residual stream are measured by what compares norms.
enum class ResidualMetric {
    Identity,  ///< As the weights are.
    Embedding, ///< In the basis where the embedding in use spreads as much in every direction.
};

/// What some analyses are about beside the weights; where it is missing they are left out, saying so.
struct AnalysisInputs {
    std::vector<int> prompt;                       ///< Token ids.
    std::optional<int> queryPosition;              ///< In the prompt, from 0; empty: the last.
    std::optional<int> keyPosition;                ///< Not after the query; empty: each head's strongest.
    std::optional<int> token;                      ///< The token whose card is asked for.
    std::optional<int> keyToken;                   ///< A key for that token's query.
    std::optional<std::pair<HeadId, HeadId>> pair; ///< Two heads, the earlier first.
    std::vector<double> direction;                 ///< [d], a row vector of the residual stream.
    std::string directionName;                     ///< As readDirection() reads it; empty: numbers alone.
    std::vector<Relation> relations;               ///< Empty: the built-in ones.
    std::vector<HeadId> previousTokenHeads; ///< Known to attend to the previous token, whatever their score.
    std::vector<std::string> names;         ///< Words of name copying; empty: the built-in first names.
    std::shared_ptr<const TokenCounts> tokenCounts;   ///< Of a text; null: unknown.
    std::shared_ptr<const BigramCounts> bigramCounts; ///< Of a text; null: unknown.
    ResidualMetric metric = ResidualMetric::Identity;
    std::shared_ptr<const Tokenizer> tokenizer; ///< Null without one.
    std::uint64_t seed = 0;                     ///< Of every random baseline and sample.

    bool operator==(const AnalysisInputs&) const = default;
};

/// The inputs an analysis cannot do without.
struct InputNeeds {
    bool prompt = false, token = false, pair = false, direction = false, tokenizer = false;
};

struct AnalysisOptions {
    std::vector<HeadId> heads; ///< Empty: all. Others stay NaN in per-head arrays and are absent from tables.
    bool oneEndIsEnough =
        false; ///< Of pairs of heads: those with one end among `heads` too, not with both alone.
    Embedding embedding = Embedding::Raw;
    Precision precision = Precision::F32; ///< Of the arrays, and of the token-side products.
    int tableSize = 10;                   ///< k of the top-k tables.
    std::vector<bool>
        unusedTokens; ///< true: an id without a token, left out of tables and ranks; empty: none.
    AnalysisInputs inputs = {};

    bool operator==(const AnalysisOptions&) const = default;
};

/// What every analysis of one run shares.
struct AnalysisContext {
    Circuits circuits;
    std::shared_ptr<const TokenSide> tokens; ///< Null where no asked analysis needs it.
    AnalysisOptions options;
};

struct AnalysisCost {
    double flops = 0;
    double bytes = 0; ///< Of working memory and results.
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
    bool isDefault = false;    ///< Part of `analyze` without --analyses (tables: within their budget).
    /// Empty if it applies to this model, else one sentence why not.
    std::string (*whyNot)(const ModelConfig& config, const AnalysisOptions& options);
    AnalysisCost (*cost)(const ModelConfig& config, const AnalysisOptions& options);
    Result<ResultSet> (*run)(const AnalysisContext& context, const Task& task);
    InputNeeds needs = {};
    std::vector<Picture> pictures = {}; ///< What the page of this analysis shows, the most important first.
    bool followsMetric = false;         ///< Its numbers are norms, which AnalysisInputs::metric measures.
    bool followsFilter = false;         ///< AnalysisOptions::unusedTokens changes its numbers.
};

/// Why `analysis` is not run: it does not apply to the model, or an input it needs was not given; empty if it is.
std::string whyLeftOut(const Analysis& analysis, const ModelConfig& config, const AnalysisOptions& options);

/// All analyses, in the order in which they are listed and run.
std::span<const Analysis> catalogue();
const Analysis* findAnalysis(std::string_view id);

/// Runs `chosen` (token side computed once if any needs it) and merges what they return; those that do not apply are
/// left out with a warning.
/// Errors: InvalidArgument (a head outside the model, k < 1), Cancelled, OutOfMemory.
Result<ResultSet> runAnalyses(const Circuits& circuits, std::span<const Analysis* const> chosen,
                              const AnalysisOptions& options, const Task& task);

/// What `analyze` computes without --analyses: the same on every machine (CONTRACTS.md §13).
std::vector<const Analysis*> defaultAnalyses(const ModelConfig& config, const AnalysisOptions& options);

} // namespace headwise
