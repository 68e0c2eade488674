#pragma once

#include "core/circuits/circuits.h"
#include "core/results/numbers.h"
#include "core/results/result_set.h"
#include "ui/base/job.h"

#include <memory>
#include <optional>

namespace headwise::ui {

/// ‖W_OV‖_F of every head, layer by layer: the colours of the heads until the first analysis is done. It needs only the weights
/// of the heads; the spectra, which contain it too, need the whole embedding.
class FirstNorms : public QObject {
    Q_OBJECT

public:
    explicit FirstNorms(QObject* parent = nullptr);

    void start(std::shared_ptr<const Circuits> circuits);
    void stop(); ///< And forgets them, without a signal.

    /// [layer, head], NaN where it is not known yet; null before the first layer. As the analysis `spectra` names it.
    const ResultArray* array() const { return m_array ? &*m_array : nullptr; }

signals:
    void changed(); ///< One more layer.

private:
    void startLayer();

    std::shared_ptr<const Circuits> m_circuits;
    std::optional<RealNumbers> m_norms;
    std::optional<ResultArray> m_array;
    int m_layer = 0;
    Job m_job;
};

} // namespace headwise::ui
