#pragma once

#include "core/model/processing.h"

namespace headwise {

/// The weights of a head and the Gram matrices of its factors, from which norms and singular values of its circuits come.
struct HeadFactors {
    HeadId id;
    HeadWeights<double> weights;
    Matrix<double> W_Ot;                       ///< The transpose of W_O, [d, r].
    Matrix<double> gramQ, gramK, gramV, gramO; ///< W_QᵀW_Q, W_KᵀW_K, W_VᵀW_V, W_O W_Oᵀ, [r, r].

    /// Reads a head. \param parts those of the factors to fill
    HeadFactors(const ProcessedWeights& from, HeadId head, HeadParts parts = HeadParts::All);
};

} // namespace headwise
