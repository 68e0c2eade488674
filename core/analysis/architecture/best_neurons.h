#pragma once

// Private to core/analysis/architecture: the neurons that a head writes to or reads from most.

#include "core/base/matrix.h"

#include <vector>

namespace headwise {

struct RankedNeuron {
    double value;
    int layer, index;
};

/// The best so far, at most listedNeurons; ties to the earlier layer and the lower index.
class BestNeurons {
public:
    /// \param values one for each neuron of the layer; layers come in rising order
    void offer(const Eigen::VectorXd& values, int layer);
    const std::vector<RankedNeuron>& sorted();

private:
    void shrink();

    std::vector<RankedNeuron> m_neurons;
    double m_threshold = -1;
};

} // namespace headwise
