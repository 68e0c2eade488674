#pragma once

#include "core/analysis/inputs/relation.h"

#include <string>
#include <vector>

namespace headwise {

/// Twenty relations of common English words, made for this program: 36 to 60 pairs each, most of which are single tokens in
/// the vocabularies of GPT-2 and its likes.
std::vector<Relation> builtInRelations();

/// Sixty common English first names.
std::vector<std::string> firstNames();

} // namespace headwise
