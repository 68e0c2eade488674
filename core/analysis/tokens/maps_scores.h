#pragma once

#include "core/analysis/selected_heads.h"
#include "core/analysis/tokens/relation_questions.h"

#include <string>
#include <vector>

namespace headwise {

/// Scores with the embedding mlp0 in every layer, and the relations they belong to.
struct Mlp0Scores {
    const AnalysisContext& context;
    const RelationQuestions& questions;
    RealNumbers scores, suppression; // [n_layers, n_heads, relation]
    std::vector<std::string> names;
};

/// Contracts of "analyses/relations/maps_scores" and "…/maps_suppression".
std::vector<ArraySpec> mapsScoresArrays();

/// Puts `maps_scores` and `maps_suppression`, the relation scores as MAPS has them: W_E itself in layer 0, MLP0(LN2(W_E))
/// in later layers. Its salient operations read MLP0(LN2(W_E)) in layer 0 too, and so does `salient_tokens`.
/// Source: Elhelo & Geva 2024, arXiv 2412.11965; src/maps.py of their code, calc_relation_scores and
/// get_salient_operations.
/// Errors: Cancelled.
Result<Done> putMapsScores(Results& results, Mlp0Scores from, const Task& task);

} // namespace headwise
