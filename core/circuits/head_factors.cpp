#include "core/circuits/head_factors.h"

#include "core/base/decompositions.h"

namespace headwise {

HeadFactors::HeadFactors(const ProcessedWeights& from, HeadId head, HeadParts parts)
    : id(head)
    , weights(from.head<double>(head, parts))
    , W_Ot(weights.W_O.transpose())
    , gramQ(columnGram(weights.W_Q))
    , gramK(columnGram(weights.W_K))
    , gramV(columnGram(weights.W_V))
    , gramO(columnGram(W_Ot))
{
}

} // namespace headwise
