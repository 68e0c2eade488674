#include "core/model/weights.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

namespace headwise {

std::string_view tensorKindName(TensorKind kind)
{
    static constexpr std::array<std::string_view, 57> names{"W_E",        "W_pos",       "W_Q",
                                                            "W_K",        "W_V",         "W_O",
                                                            "b_Q",        "b_K",         "b_V",
                                                            "b_O",        "ln1.w",       "ln1.b",
                                                            "ln2.w",      "ln2.b",       "W_in",
                                                            "b_in",       "W_gate",      "b_gate",
                                                            "b_up",       "W_out",       "b_out",
                                                            "mlp.ln.w",   "mlp.ln.b",    "ln_final.w",
                                                            "ln_final.b", "ln1_post.w",  "ln1_post.b",
                                                            "ln2_post.w", "ln2_post.b",  "q_norm.w",
                                                            "k_norm.w",   "embed.ln.w",  "embed.ln.b",
                                                            "b_E",        "W_Eproj",     "W_Uproj",
                                                            "W_router",   "W_head",      "b_head",
                                                            "W_U",        "b_U",         "b_Eproj",
                                                            "head.ln.w",  "head.ln.b",   "W_DQ",
                                                            "W_UQ",       "W_QR",        "W_DKV",
                                                            "W_UK",       "W_KR",        "W_UV",
                                                            "q_latent.w", "kv_latent.w", "b_rel",
                                                            "sink",       "b_router",    "router_correction"};
    return names[static_cast<std::size_t>(kind)];
}

ModelWeights::ModelWeights(ModelConfig config, std::shared_ptr<const WeightMap> file)
    : m_config(std::move(config))
    , m_file(std::move(file))
{
}

void ModelWeights::add(TensorKind kind, int layer, int head, const TensorView& view)
{
    m_views.insert_or_assign({kind, layer, head}, view);
}

const TensorView* ModelWeights::find(TensorKind kind, int layer, int head) const
{
    const auto found = m_views.find({kind, layer, head});
    return found == m_views.end() ? nullptr : &found->second;
}

bool ModelWeights::has(TensorKind kind, int layer, int head) const
{
    return find(kind, layer, head) != nullptr;
}

ModelWeights ModelWeights::withConfig(ModelConfig config) const
{
    ModelWeights weights = *this;
    weights.m_config = std::move(config);
    return weights;
}

std::int64_t ModelWeights::parameterCount() const
{
    std::int64_t count = 0;
    TensorView previous; // One weight of a norm may serve all heads of a layer.
    for (const auto& [key, view] : m_views) {
        if (view != previous && (std::get<0>(key) != TensorKind::W_U || !m_config.tiedEmbeddings))
            count += static_cast<std::int64_t>(view.rows) * view.cols;
        previous = view;
    }
    return count;
}

StoredForm ModelWeights::form(TensorKind kind) const
{
    const auto found = m_forms.find(kind);
    return found == m_forms.end() ? StoredForm{} : found->second;
}

namespace {

/// Source: torch.nn.functional.normalize, from which the least length is.
template <typename Scalar>
void divideByLengths(Matrix<Scalar>& columns)
{
    constexpr double least = 1e-12;
    for (Eigen::Index i = 0; i < columns.cols(); ++i) {
        const double length = std::sqrt(columns.col(i).template cast<double>().squaredNorm());
        columns.col(i) /= static_cast<Scalar>(std::max(length, least));
    }
}

} // namespace

template <typename Scalar>
Matrix<Scalar> ModelWeights::readBlock(TensorKind kind, const TensorView& block) const
{
    Matrix<Scalar> out;
    m_file->read(block, out);
    const StoredForm stored = form(kind);
    if (stored.factor != 1 || stored.addend != 0)
        out = (out.array() * static_cast<Scalar>(stored.factor) + static_cast<Scalar>(stored.addend)).eval();
    if (stored.hasUnitColumns)
        divideByLengths(out);
    return out;
}

template <typename Scalar>
Matrix<Scalar> ModelWeights::readThroughLatent(TensorKind kind, int layer, int head) const
{
    using enum TensorKind;
    const bool isQuery = kind == W_Q, isValue = kind == W_V;
    const TensorKind plain = isQuery ? W_UQ : isValue ? W_UV : W_UK;
    const Matrix<Scalar> rotated = isQuery ? read<Scalar>(W_QR, layer, head)
        : isValue                          ? Matrix<Scalar>()
                                           : read<Scalar>(W_KR, layer);
    const Eigen::Index turned = rotated.cols();
    const Matrix<Scalar> up = read<Scalar>(plain, layer, head);
    Matrix<Scalar> out = Matrix<Scalar>::Zero(m_config.dModel, m_config.dHead);
    const TensorKind down = isQuery ? W_DQ : W_DKV;
    if (!has(down, layer)) {
        out.leftCols(turned) = rotated;
        out.middleCols(turned, up.cols()) = up;
        return out;
    }
    Matrix<Scalar> latent = read<Scalar>(down, layer);
    latent.array().rowwise() *= read<Scalar>(isQuery ? q_latent_w : kv_latent_w, layer).row(0).array();
    if (turned > 0 && isQuery)
        out.leftCols(turned) = latent * rotated;
    else if (turned > 0)
        out.leftCols(turned) = rotated;
    out.middleCols(turned, up.cols()) = latent * up;
    return out;
}

template <typename Scalar>
Matrix<Scalar> ModelWeights::read(TensorKind kind, int layer, int head) const
{
    using enum TensorKind;
    const TensorView* view = find(kind, layer, head);
    if (!view && (kind == W_Q || kind == W_K || kind == W_V) && has(W_DKV, layer))
        return readThroughLatent<Scalar>(kind, layer, head);
    Matrix<Scalar> out = view ? readBlock<Scalar>(kind, *view) : Matrix<Scalar>();
    // Heads write fewer components than they compare: zeros fill the rows up to d_head.
    if (kind == W_O && view && has(W_DKV, layer))
        out.conservativeResizeLike(Matrix<Scalar>::Zero(m_config.dHead, out.cols()));
    return out;
}

template <typename Scalar>
Matrix<Scalar> ModelWeights::readRows(TensorKind kind, Eigen::Index first, Eigen::Index count) const
{
    const TensorView* view = find(kind, 0, 0);
    assert(view && first >= 0 && first + count <= view->rows);
    TensorView block = *view;
    block.offset += first * block.rowStride;
    block.rows = count;
    return readBlock<Scalar>(kind, block);
}

template <typename Scalar>
Matrix<Scalar> ModelWeights::readColumns(TensorKind kind, Eigen::Index first, Eigen::Index count) const
{
    const TensorView* view = find(kind, 0, 0);
    assert(view && first >= 0 && first + count <= view->cols);
    TensorView block = *view;
    block.offset += first * block.colStride;
    block.cols = count;
    return readBlock<Scalar>(kind, block);
}

template <typename Scalar>
Matrix<Scalar> ModelWeights::readTokens(TensorKind end, Eigen::Index first, Eigen::Index count) const
{
    if (end == TensorKind::W_U)
        return readColumns<Scalar>(end, first, count);
    const TensorView* view = find(end, 0, 0);
    assert(view && first >= 0 && first + count <= view->rows);
    return readBlock<Scalar>(end,
                             TensorView{.tensor = view->tensor,
                                        .offset = view->offset + first * view->rowStride,
                                        .rowStride = view->colStride,
                                        .colStride = view->rowStride,
                                        .rows = view->cols,
                                        .cols = count});
}

template Matrix<float> ModelWeights::read(TensorKind, int, int) const;
template Matrix<double> ModelWeights::read(TensorKind, int, int) const;
template Matrix<float> ModelWeights::readRows(TensorKind, Eigen::Index, Eigen::Index) const;
template Matrix<double> ModelWeights::readRows(TensorKind, Eigen::Index, Eigen::Index) const;
template Matrix<float> ModelWeights::readColumns(TensorKind, Eigen::Index, Eigen::Index) const;
template Matrix<double> ModelWeights::readColumns(TensorKind, Eigen::Index, Eigen::Index) const;
template Matrix<float> ModelWeights::readTokens(TensorKind, Eigen::Index, Eigen::Index) const;
template Matrix<double> ModelWeights::readTokens(TensorKind, Eigen::Index, Eigen::Index) const;

} // namespace headwise
