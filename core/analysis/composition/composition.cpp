#include "core/analysis/analyses.h"
#include "core/analysis/per_head.h"

#include "core/base/decompositions.h"
#include "core/base/parallel.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace headwise {

namespace {

// ‖L R · A B‖_F = ‖(R_L R) (A R_Bᵀ)‖_F, where R_L and R_B are what QR leaves of the outer factors: only thin matrices meet.
// Each side is divided by its circuit's norm, so that the norm of the product is the score. Permuting cyclically inside the
// norm would be shorter and wrong (Elhage et al. 2021, correction).

/// R_outer · inner / ‖outer · inner‖, [r, d]: the circuit with its orthonormal outer factor dropped.
/// \param outer [d, r] \param inner [r, d]
Result<Matrix<double>> collapsed(const Matrix<double>& outer, const Matrix<double>& inner)
{
    const Result<ThinQr> qr = thinQr(outer); // outer [d, r]
    if (!qr)
        return qr.error();
    Matrix<double> out = Matrix<double>::Zero(inner.rows(), inner.cols()); // R has min(d, r) rows
    out.topRows(qr->R.rows()).noalias() = qr->R * inner;
    out /= out.norm(); // 0/0: NaN, as a zero circuit's scores are
    return out;
}

enum Mode { Q, K, V };
constexpr std::array<const char*, 3> modeNames{"q", "k", "v"};
constexpr std::array<const char*, 3> modeTitles{"Q-composition", "K-composition", "V-composition"};

/// The side of a later head that meets an earlier head's output, [d, r] transposed to [r, d].
Result<Matrix<double>> readingSide(const HeadWeights<double>& head, Mode mode)
{
    if (mode == Mode::Q) // W_Q W_Kᵀ
        return collapsed(head.W_K, head.W_Q.transpose());
    if (mode == Mode::K) // its transpose
        return collapsed(head.W_Q, head.W_K.transpose());
    return collapsed(head.W_O.transpose(), head.W_V.transpose());
}

template <typename Scalar>
class Composition {
public:
    Composition(const AnalysisContext& context, const Task& task)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_isAsked(static_cast<std::size_t>(m_config.nLayers) * m_config.nHeads, false)
    {
        for (const HeadId head : selectedHeads(m_config, context.options))
            m_isAsked[index(head)] = true;
        const std::size_t heads = m_isAsked.size();
        for (auto& scores : m_scores)
            scores.assign(heads * heads, std::numeric_limits<double>::quiet_NaN());
        m_writing.assign(
            static_cast<std::size_t>(m_config.nLayers),
            Matrix<Scalar>::Zero(Eigen::Index(m_config.nHeads) * m_config.dHead, m_config.dModel));
    }

    Result<std::array<std::vector<double>, 3>> run()
    {
        if (const auto done = readWriters(); !done)
            return done.error();
        for (int layer = 1; layer < m_config.nLayers; ++layer) {
            if (const auto done = runLayer(layer); !done)
                return done.error();
            m_task.report(layer, m_config.nLayers - 1, "layers composed");
        }
        return std::move(m_scores);
    }

private:
    std::size_t index(HeadId head) const
    {
        return static_cast<std::size_t>(head.layer) * m_config.nHeads + head.head;
    }

    Result<Done> readWriters()
    {
        const int count = (m_config.nLayers - 1) * m_config.nHeads;
        return parallelFor(count, m_task, "outputs of heads", [&](int i) -> Result<Done> {
            const HeadId id{i / m_config.nHeads, i % m_config.nHeads};
            if (!m_isAsked[index(id)])
                return Done{};
            const auto head = m_context.circuits.weights().head<double>(id);
            const auto side = collapsed(head.W_V, head.W_O);
            auto rows = m_writing[static_cast<std::size_t>(id.layer)].middleRows(
                Eigen::Index(id.head) * m_config.dHead, m_config.dHead);
            if (side)
                rows = side->template cast<Scalar>();
            else if (side.error().code == ErrorCode::Corrupt)
                rows.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
            else
                return side.error();
            return Done{};
        });
    }

    /// Everything that heads of this layer read from all earlier heads.
    Result<Done> runLayer(int layer)
    {
        return parallelFor(m_config.nHeads, withoutProgress(m_task), "heads", [&](int h) -> Result<Done> {
            const HeadId later{layer, h};
            if (!m_isAsked[index(later)])
                return Done{};
            const auto weights = m_context.circuits.weights().head<double>(later);
            for (const Mode mode : {Mode::Q, Mode::K, Mode::V}) {
                const auto side = readingSide(weights, mode);
                if (!side && side.error().code != ErrorCode::Corrupt)
                    return side.error();
                if (!side)
                    continue;
                const Matrix<Scalar> reading = side->transpose().template cast<Scalar>(); // [d, r]
                for (int earlier = 0; earlier < layer; ++earlier) {
                    if (m_task.cancelled())
                        return stopped();
                    put(mode, earlier, later, m_writing[static_cast<std::size_t>(earlier)] * reading);
                }
            }
            return Done{};
        });
    }

    /// \param products [H r, r]: every head of the earlier layer against one later head
    void put(Mode mode, int earlierLayer, HeadId later, const Matrix<Scalar>& products)
    {
        for (int head = 0; head < m_config.nHeads; ++head) {
            const HeadId earlier{earlierLayer, head};
            const auto product = products.middleRows(Eigen::Index(head) * m_config.dHead, m_config.dHead);
            if (m_isAsked[index(earlier)])
                m_scores[mode][index(earlier) * m_isAsked.size() + index(later)] =
                    std::sqrt(product.template cast<double>().squaredNorm());
        }
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    std::vector<bool> m_isAsked;
    std::vector<Matrix<Scalar>> m_writing; // per layer: [H r, d]
    std::array<std::vector<double>, 3> m_scores;
};

Result<ResultSet> runComposition(const AnalysisContext& context, const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    auto scores = context.options.precision == Precision::F64 ? Composition<double>(context, task).run()
                                                              : Composition<float>(context, task).run();
    if (!scores)
        return scores.error();
    const std::size_t layers = config.nLayers;
    const std::size_t heads = config.nHeads;
    static constexpr std::array<const char*, 3> formulas{"‖W_OV¹ W_QK²‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)",
                                                         "‖W_OV¹ W_QK²ᵀ‖_F / (‖W_OV¹‖_F ‖W_QK²‖_F)",
                                                         "‖W_OV¹ W_OV²‖_F / (‖W_OV¹‖_F ‖W_OV²‖_F)"};
    auto values = std::move(scores).value();
    ResultSet results;
    for (std::size_t mode = 0; mode < values.size(); ++mode) {
        ResultArray array =
            realArray(context.options.precision, std::string("composition/") + modeNames[mode],
                      {layers, heads, layers, heads}, std::move(values[mode]),
                      {"earlier layer", "earlier head", "later layer", "later head"});
        array.title = modeTitles[mode];
        array.definition = formulas[mode];
        array.nullMean = 1 / std::sqrt(static_cast<double>(config.dModel));
        array.range = {0.0, 1.0};
        array.attributes["baseline"] = *array.nullMean;
        results.arrays.push_back(std::move(array));
    }
    return results;
}

AnalysisCost compositionCost(const ModelConfig& config, const AnalysisOptions& options)
{
    const double r = config.dHead;
    const double heads = static_cast<double>(selectedHeads(config, options).size());
    const double pairs = heads * heads * (1 - 1.0 / config.nLayers) / 2;
    const double all = static_cast<double>(config.nLayers) * config.nHeads;
    return {pairs * 3 * 2 * r * r * config.dModel, 3 * all * all * 4 + heads * r * config.dModel * 4};
}

std::vector<Picture> compositionPictures()
{
    using Kind = Picture::Kind;
    std::vector<Picture> pictures;
    for (std::size_t mode = 0; mode < modeNames.size(); ++mode) {
        pictures.push_back(
            {.kind = Kind::HeadPairs,
             .title = modeTitles[mode],
             .arrays = {std::string("composition/") + modeNames[mode]},
             .signedColors = false,
             .note = "Rows: the earlier head, columns: the later one; random heads get 1/√d_model."});
    }
    for (std::size_t mode = 0; mode < modeNames.size(); ++mode) {
        pictures.push_back(
            {.kind = Kind::Table,
             .title = std::string("All pairs, ") + modeTitles[mode],
             .arrays = {std::string("composition/") + modeNames[mode]},
             .signedColors = false,
             .note = "A click selects both heads; z and percentile: Composition against chance."});
    }
    for (std::size_t mode = 0; mode < modeNames.size(); ++mode) {
        pictures.push_back({.kind = Kind::Diagram,
                            .title = std::string("Strongest pairs, ") + modeTitles[mode],
                            .arrays = {std::string("composition/") + modeNames[mode]},
                            .signedColors = false,
                            .note = {}});
    }
    pictures.push_back({.kind = Kind::Diagram,
                        .title = "Strongest pairs of all kinds",
                        .arrays = {"composition/q", "composition/k", "composition/v"},
                        .signedColors = false,
                        .note = {}});
    return pictures;
}

} // namespace

Analysis compositionAnalysis()
{
    return {"composition",
            "D1",
            "Q-, K- and V-composition",
            "‖W_OV¹ M²‖_F / (‖W_OV¹‖_F ‖M²‖_F), M² = W_QK, W_QKᵀ, W_OV of the later head",
            "Elhage et al. 2021, \"Three Kinds of Composition\"",
            false,
            true,
            appliesAlways,
            compositionCost,
            runComposition,
            {},
            compositionPictures(),
            true};
}

} // namespace headwise
