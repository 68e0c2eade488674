#include "ui/document/first_norms.h"

#include "core/analysis/catalogue.h"
#include "core/base/parallel.h"
#include "core/results/results.h"
#include "ui/document/about_model.h"

#include <utility>

namespace headwise::ui {

FirstNorms::FirstNorms(QObject* parent)
    : QObject(parent)
{
}

void FirstNorms::start(std::shared_ptr<const Circuits> circuits)
{
    stop();
    m_circuits = std::move(circuits);
    m_norms = RealNumbers::perHead(m_circuits->config());
    startLayer();
}

void FirstNorms::stop()
{
    m_job.cancel();
    m_circuits.reset();
    m_norms.reset();
    m_array.reset();
    m_layer = 0;
}

void FirstNorms::startLayer()
{
    using Norms = std::vector<double>;
    m_job.start(
        tr("Norms of layer %1").arg(m_layer),
        aboutModel(
            m_circuits,
            [circuits = m_circuits, layer = m_layer](const Task& task) -> Result<Norms> {
                Norms norms(static_cast<std::size_t>(circuits->config().nHeads));
                const auto done =
                    parallelFor(static_cast<int>(norms.size()), task, "heads", [&](int head) -> Result<Done> {
                        norms[static_cast<std::size_t>(head)] = circuits->ov({layer, head}).frobeniusNorm();
                        return Done{};
                    });
                if (!done)
                    return done.error();
                return norms;
            }),
        [this](const Result<Norms>& norms) {
            if (!norms)
                return; // The analyses say what is wrong.
            for (int head = 0; head < m_circuits->config().nHeads; ++head)
                m_norms->set({m_layer, head}, (*norms)[static_cast<std::size_t>(head)]);
            Results results(m_circuits->config(), Precision::F32, findAnalysis("spectra")->arrays);
            m_array = results.put("spectra/ov/frobenius_norm", *m_norms);
            if (++m_layer < m_circuits->config().nLayers)
                startLayer();
            emit changed();
        });
}

} // namespace headwise::ui
