#include "core/analysis/tokens/token_effect.h"

#include "core/analysis/shared/cards.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {

Result<Matrix<double>> tokenEffect(const Circuits& circuits, const TokenSide& tokens, int token,
                                   const Task& task)
{
    const ModelConfig& config = circuits.config();
    if (std::string why = whyNoToken(config, token); !why.empty())
        return Error{ErrorCode::InvalidArgument, std::move(why)};
    Matrix<double> effect(config.nLayers, config.nHeads);
    const auto done = parallelFor(config.nLayers, task, "layers", [&](int layer) -> Result<Done> {
        const RowVector<double> e = tokens.embeddingOf(layer).vector(token);
        Matrix<double> written(config.nHeads, config.dModel);
        for (int head = 0; head < config.nHeads; ++head) {
            const HeadWeights<double> weights = circuits.weights().head<double>({layer, head});
            written.row(head) = (e * weights.W_V) * weights.W_O;
        }
        const Eigen::VectorXd squares = tokens.UUt.size() > 0
            ? Eigen::VectorXd((written * tokens.UUt).cwiseProduct(written).rowwise().sum())
            : Eigen::VectorXd(timesColumns(written, tokens.W_U).rowwise().squaredNorm());
        for (int head = 0; head < config.nHeads; ++head)
            effect(layer, head) = std::isfinite(squares(head)) ? std::sqrt(std::max(0.0, squares(head)))
                                                               : std::numeric_limits<double>::quiet_NaN();
        return Done{};
    });
    if (!done)
        return done.error();
    return effect;
}

} // namespace headwise
