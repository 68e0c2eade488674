#pragma once

#include "core/findings/findings.h"

namespace headwise {

// Private to core/findings: the rules, one function each; findings.cpp has the catalogue.

// attention_rules.cpp: where a head attends.
FindingRule previousTokenRule();
FindingRule offsetRule();
FindingRule firstTokenRule();
FindingRule nearbyRule();
FindingRule slopeRule();
FindingRule positionalRule();
FindingRule contentRule();
// writing_rules.cpp: what a head does to the tokens it attends to.
FindingRule copyingRule();
FindingRule suppressionRule();
FindingRule nameMoverRule();
FindingRule negativeNameMoverRule();
FindingRule relationRule();
// token_rules.cpp: single tokens.
FindingRule repeatedTokenRule();
FindingRule inductionAttentionRule();
FindingRule skipTrigramRule();
FindingRule dominantTokenRule();
// pair_rules.cpp: two heads and more.
FindingRule inductionRule();
FindingRule compositionRule();
FindingRule nearDuplicateRule();
// weight_rules.cpp: the matrices of a head.
FindingRule lowRankRule();
FindingRule deadDirectionsRule();

} // namespace headwise
