#include "core/analysis/architecture/best_neurons.h"

#include "core/analysis/architecture/neuron_tokens.h"

#include <algorithm>
#include <cmath>

namespace headwise {

void BestNeurons::offer(const Eigen::VectorXd& values, int layer)
{
    for (Eigen::Index i = 0; i < values.size(); ++i) {
        if (std::isfinite(values(i)) && values(i) > m_threshold)
            m_neurons.push_back({values(i), layer, static_cast<int>(i)});
        if (m_neurons.size() >= 4 * listedNeurons)
            shrink();
    }
}

const std::vector<RankedNeuron>& BestNeurons::sorted()
{
    shrink();
    return m_neurons;
}

void BestNeurons::shrink()
{
    // Neurons arrive in order, so a stable sort breaks ties correctly.
    std::stable_sort(m_neurons.begin(), m_neurons.end(),
                     [](const RankedNeuron& a, const RankedNeuron& b) { return a.value > b.value; });
    if (m_neurons.size() >= listedNeurons) {
        m_neurons.resize(listedNeurons, RankedNeuron{});
        m_threshold = m_neurons.back().value;
    }
}

} // namespace headwise
