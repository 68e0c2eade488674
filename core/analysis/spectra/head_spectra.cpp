#include "core/analysis/spectra/head_spectra.h"

#include "core/circuits/shared_spectra.h"

namespace headwise {

Result<std::vector<std::string>> visitSpectra(const AnalysisContext& context, const SpectrumVisitor& visitor,
                                              const Task& task)
{
    using Left = std::vector<HeadId>;
    const std::shared_ptr<SharedSpectra> shared = spectraOf(context);
    const int atOnce = SharedSpectra::headsAtOnce(context.circuits.config());
    return forEachGroup(context, task, "spectra", atOnce, [&](std::span<const HeadId> ids) -> Result<Left> {
        std::vector<HeadFactors> heads;
        for (const HeadId id : ids)
            heads.emplace_back(context.circuits.weights(), id);
        shared->multiply(heads);
        Left left;
        for (const HeadFactors& head : heads) {
            visitor.onHead(head);
            bool isWhole = true;
            for (const CircuitKind kind : circuitKinds) {
                if (task.cancelled())
                    return stopped();
                const auto sigma = shared->singularValues(kind, head);
                if (sigma)
                    visitor.onSpectrum(kind, head.id, *sigma);
                else if (sigma.error().code == ErrorCode::Corrupt)
                    isWhole = false; // the other circuits of this head may still be good
                else
                    return sigma.error();
            }
            if (!isWhole)
                left.push_back(head.id);
        }
        return left;
    });
}

} // namespace headwise
