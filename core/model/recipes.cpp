#include "core/model/recipes.h"

#include "core/model/config_reader.h"

#include <algorithm>
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

bool matchesPattern(std::string_view name, std::string_view pattern)
{
    // Greedy matching that goes back to the last star.
    std::size_t at = 0, in = 0, star = std::string_view::npos, afterStar = 0;
    while (at < name.size()) {
        if (in < pattern.size() && pattern[in] == '*') {
            star = in++;
            afterStar = at;
        } else if (in < pattern.size() && pattern[in] == name[at]) {
            ++in, ++at;
        } else if (star != std::string_view::npos) {
            in = star + 1;
            at = ++afterStar;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

namespace {

/// Describes a model in a sentence: "a gpt2 model of 2 layers".
std::string modelOf(const ModelConfig& config)
{
    return (config.architecture.find_first_of("aeio") == 0 ? "an " : "a ") + config.architecture
        + " model of " + std::to_string(config.nLayers) + (config.nLayers == 1 ? " layer" : " layers");
}

} // namespace

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
                              + shapeText(expected) + " according to the config");
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
    const Eigen::Index width = m_config.normsNarrowEmbeddings() ? m_config.dEmbed : m_config.dModel;
    const Eigen::Index needed = m_config.nCtx + skipped;
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

std::vector<std::string> RecipeBook::unexpected()
{
    std::vector<std::string> extra, leftOut;
    std::set<std::string> idle(m_patterns.begin(), m_patterns.end());
    for (const StoredTensor& tensor : m_file->tensors()) {
        if (m_used.contains(tensor.name))
            continue;
        const auto pattern = std::find_if(m_patterns.begin(), m_patterns.end(), [&](const std::string& one) {
            return matchesPattern(tensor.name, one);
        });
        if (pattern == m_patterns.end()) {
            extra.push_back(tensor.name);
            continue;
        }
        idle.erase(*pattern);
        leftOut.push_back(tensor.name);
    }
    if (!leftOut.empty())
        warn(std::to_string(leftOut.size())
             + (leftOut.size() == 1 ? " tensor of the file was" : " tensors of the file were")
             + " left out on request: " + listed(leftOut) + ".");
    for (const std::string& pattern : idle)
        warn(
            "--ignore '" + pattern
            + "' leaves nothing out: no tensor of that name is unknown, and those of the model are always read.");
    m_weights.setLeftOut(std::move(leftOut));
    return extra;
}

Error RecipeBook::unexpectedError(const std::vector<std::string>& names) const
{
    constexpr std::size_t mostInPatterns = 3;
    std::string patterns = "NAME,PATTERN";
    if (names.size() <= mostInPatterns)
        patterns = listed(names, ",");
    else if (const auto dot = names.front().find('.');
             dot != std::string::npos
             && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                    return name.starts_with(std::string_view(names.front()).substr(0, dot + 1));
                }))
        patterns = names.front().substr(0, dot + 1) + "*";
    std::vector<std::string> shown;
    for (const std::string& name : names)
        shown.push_back("'" + name + "'");
    const bool isOne = names.size() == 1;
    return {ErrorCode::Unsupported,
            (isOne ? "Tensor " : "Tensors ") + listed(shown) + " of '" + m_file->path().string() + "' "
                + (isOne ? "belongs" : "belong") + " to no part of " + modelOf(m_config)
                + " as its config describes it; if the function does not need "
                + (isOne ? "it, leave it" : "them, leave them") + " out with --ignore '" + patterns + "'."};
}

Result<ModelWeights> RecipeBook::finish()
{
    const std::string several = m_missing.size() == 1 ? "Tensor " : "Tensors ";
    if (!m_missing.empty())
        return Error{ErrorCode::NotFound,
                     several + listed(m_missing) + (m_missing.size() == 1 ? " is" : " are")
                         + " missing from '" + m_file->path().string() + "' ("
                         + std::to_string(m_missing.size()) + " in all), which " + modelOf(m_config)
                         + " needs."};
    if (!m_misshapen.empty())
        return Error{ErrorCode::Corrupt,
                     "In '" + m_file->path().string() + "', tensor " + listed(m_misshapen, "; ") + "."};
    if (m_unreadable)
        return *m_unreadable;
    if (const std::vector<std::string> extra = unexpected(); !extra.empty())
        return unexpectedError(extra);
    ModelWeights weights = m_weights.withConfig(m_config);
    for (const std::string& warning : m_file->warnings())
        weights.addWarning(withShortQuotations(warning));
    for (std::string& warning : m_warnings)
        weights.addWarning(withShortQuotations(std::move(warning)));
    return weights;
}

} // namespace headwise
