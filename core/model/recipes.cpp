#include "core/model/recipes.h"

#include "core/model/config_reader.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace headwise {
namespace layout {

Slice plain(Eigen::Index rows, Eigen::Index cols)
{
    return {0, rows, cols, cols, 1};
}

Slice transposed(Eigen::Index rows, Eigen::Index cols)
{
    return {0, rows, cols, 1, rows};
}

Slice stacked(Eigen::Index index, Eigen::Index rows, Eigen::Index cols)
{
    return {index * rows * cols, rows, cols, cols, 1};
}

Slice part(Eigen::Index first, Eigen::Index size)
{
    return {first, 1, size, size, 1};
}

} // namespace layout

RecipeBook::RecipeBook(ModelConfig config, std::shared_ptr<const WeightMap> file)
    : m_config(std::move(config))
    , m_file(std::move(file))
    , m_weights(m_config, m_file)
{
}

bool RecipeBook::isStored(const std::string& name) const
{
    return m_file->find(name) >= 0;
}

std::vector<Eigen::Index> RecipeBook::shapeOf(const std::string& name) const
{
    const int tensor = m_file->find(name);
    if (tensor < 0)
        return {};
    const auto& shape = m_file->tensors()[static_cast<std::size_t>(tensor)].shape;
    return {shape.begin(), shape.end()};
}

bool RecipeBook::accept(const std::string& name, Shape shape)
{
    if (!isStored(name))
        return false;
    m_used.insert(name);
    const std::vector<Eigen::Index> actual = shapeOf(name);
    const std::vector<Eigen::Index> expected(shape);
    if (actual != expected) {
        m_misshapen.push_back("'" + name + "' has shape " + shapeText(actual) + ", expected "
                              + shapeText(expected) + " by the config");
        return false;
    }
    return true;
}

void RecipeBook::add(TensorKind kind, int layer, int head, const std::string& name, const Slice& slice)
{
    const int tensor = m_file->find(name);
    assert(tensor >= 0);
    const TensorView view{.tensor = tensor,
                          .offset = slice.offset,
                          .rowStride = slice.rowStride,
                          .colStride = slice.colStride,
                          .rows = slice.rows,
                          .cols = slice.cols};
    // The shape is known to be right, so this is about numbers that are no floating-point numbers.
    if (const Result<Done> readable = m_file->checkView(view); !readable) {
        if (!m_unreadable)
            m_unreadable = readable.error();
        return;
    }
    if (m_file->tensors()[static_cast<std::size_t>(tensor)].dtype == DType::F64)
        m_config.isFloat64 = true;
    m_weights.add(kind, layer, head, view);
}

bool RecipeBook::require(const std::string& name, Shape shape)
{
    if (!isStored(name))
        missing(name);
    return accept(name, shape);
}

void RecipeBook::requireVector(TensorKind kind, int layer, const std::string& name, Eigen::Index size)
{
    if (require(name, {size}))
        add(kind, layer, 0, name, layout::part(0, size));
}

void RecipeBook::acceptVector(TensorKind kind, int layer, const std::string& name, Eigen::Index size)
{
    if (accept(name, {size}))
        add(kind, layer, 0, name, layout::part(0, size));
}

void RecipeBook::ignore(const std::function<bool(std::string_view, std::size_t)>& isBuffer)
{
    for (const StoredTensor& tensor : m_file->tensors())
        if (!m_used.contains(tensor.name) && isBuffer(tensor.name, tensor.shape.size()))
            m_used.insert(tensor.name);
}

void RecipeBook::addTiedEmbeddings(const std::string& embedding, const std::string& output)
{
    const Eigen::Index vocabulary = m_config.dVocab;
    const Eigen::Index width = m_config.dEmbed > 0 ? m_config.dEmbed : m_config.dModel;
    m_weights.setEmbeddingNames({embedding, output});
    // A writer that drops one of two shared tensors may keep either name.
    const bool hasBoth = isStored(embedding) && isStored(output);
    const bool fromOutput = m_config.tiedEmbeddings && !isStored(embedding) && isStored(output);
    const bool fromEmbedding = m_config.tiedEmbeddings && !isStored(output);
    const std::string& in = fromOutput ? output : embedding;
    const std::string& out = fromEmbedding ? embedding : output;
    const bool hasIn = require(in, {vocabulary, width});
    const bool hasOut = in == out ? hasIn : require(out, {vocabulary, width});
    if (hasIn)
        add(TensorKind::W_E, 0, 0, in, layout::plain(vocabulary, width));
    if (hasOut)
        add(TensorKind::W_U, 0, 0, out, layout::transposed(width, vocabulary));
    if (hasBoth && hasIn && hasOut && !m_unreadable && m_config.tiedEmbeddings)
        checkTie(embedding, output);
}

void RecipeBook::addPositions(const std::string& name, Eigen::Index skipped)
{
    const Eigen::Index width = m_config.dModel, needed = m_config.nCtx + skipped;
    const auto table = shapeOf(name);
    const Eigen::Index rows = table.size() == 2 ? std::max(table[0], needed) : needed;
    if (require(name, {rows, width}))
        add(TensorKind::W_pos, 0, 0, name, {skipped * width, m_config.nCtx, width, width, 1});
}

void RecipeBook::checkTie(const std::string& embedding, const std::string& output)
{
    // A sample of rows, so that opening a model reads next to nothing. Nothing but a warning and the count of
    // parameters depends on it: the file's own output matrix is used either way.
    constexpr Eigen::Index samples = 8;
    double difference = 0;
    for (Eigen::Index i = 0; i < samples; ++i) {
        const Eigen::Index row = i * (m_config.dVocab - 1) / (samples - 1);
        const RowVector<double> in = m_weights.readRows<double>(TensorKind::W_E, row, 1);
        const RowVector<double> out = m_weights.readColumns<double>(TensorKind::W_U, row, 1).transpose();
        if (in != out)
            difference = std::max(difference, (in - out).cwiseAbs().maxCoeff());
    }
    if (difference == 0)
        return;
    m_config.tiedEmbeddings = false;
    warn("The config says that the embeddings are tied, but '" + output + "' differs from '" + embedding
         + "' by up to " + std::to_string(difference)
         + " in the rows compared; the file's own matrix is used.");
}

Result<ModelWeights> RecipeBook::finish()
{
    const std::string several = m_missing.size() == 1 ? "Tensor " : "Tensors ";
    if (!m_missing.empty())
        return Error{ErrorCode::NotFound,
                     several + listed(m_missing) + (m_missing.size() == 1 ? " is" : " are")
                         + " missing from '" + m_file->path().string() + "' ("
                         + std::to_string(m_missing.size()) + " in all), which a " + m_config.architecture
                         + " model of " + std::to_string(m_config.nLayers) + " layers needs."};
    if (!m_misshapen.empty())
        return Error{ErrorCode::Corrupt,
                     "In '" + m_file->path().string() + "', tensor " + listed(m_misshapen, "; ") + "."};
    if (m_unreadable)
        return *m_unreadable;
    std::vector<std::string> extra;
    for (const StoredTensor& tensor : m_file->tensors())
        if (!m_used.contains(tensor.name))
            extra.push_back("'" + tensor.name + "'");
    if (!extra.empty())
        return Error{ErrorCode::Unsupported,
                     (extra.size() == 1 ? "Tensor " : "Tensors ") + listed(extra) + " of '"
                         + m_file->path().string() + "' " + (extra.size() == 1 ? "belongs" : "belong")
                         + " to no part of a " + m_config.architecture + " model of "
                         + std::to_string(m_config.nLayers) + " layers as its config describes it; leaving "
                         + (extra.size() == 1 ? "it" : "them") + " out would change the function."};
    ModelWeights weights = m_weights.withConfig(m_config);
    for (const std::string& warning : m_file->warnings())
        weights.addWarning(warning);
    for (std::string& warning : m_warnings)
        weights.addWarning(std::move(warning));
    return weights;
}

} // namespace headwise
