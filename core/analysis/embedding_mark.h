#pragma once

#include "core/analysis/result_set.h"
#include "core/circuits/circuits.h"

namespace headwise {

/// Says in the attribute `embedding` of every array about full circuits which E stood on their token sides (DESIGN §2).
void markEmbedding(ResultSet& results, Embedding embedding);

} // namespace headwise
