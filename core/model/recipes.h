#pragma once

#include "core/model/weights.h"

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Where a canonical matrix lies in a stored tensor: element (i, j) is number offset + i·rowStride + j·colStride.
struct Slice {
    Eigen::Index offset = 0;
    Eigen::Index rows = 0;
    Eigen::Index cols = 0;
    Eigen::Index rowStride = 0;
    Eigen::Index colStride = 0;
};

/// The layouts checkpoints have, as slices. Sizes as in core/model/weights.h.
namespace layout {
/// [rows, cols] as it is.
Slice plain(Eigen::Index rows, Eigen::Index cols);
/// The transpose of what is stored: canonical [rows, cols] from stored [cols, rows] (nn.Linear).
Slice transposed(Eigen::Index rows, Eigen::Index cols);
/// Entry `index` of a stack of [rows, cols] matrices.
Slice stacked(Eigen::Index index, Eigen::Index rows, Eigen::Index cols);
/// [1, size] from `first` of a vector.
Slice part(Eigen::Index first, Eigen::Index size);
} // namespace layout

/// Whether a name matches a pattern in which `*` stands for any text, also none.
bool matchesPattern(std::string_view name, std::string_view pattern);

/// Collects the recipes of one model; remembers what was missing, misshapen or left over and says all of a kind in
/// one sentence.
class RecipeBook {
public:
    using Shape = std::initializer_list<Eigen::Index>;

    RecipeBook(ModelConfig config, std::shared_ptr<const WeightMap> file);

    ModelConfig& config() { return m_config; }
    const ModelConfig& config() const { return m_config; }
    const std::filesystem::path& path() const { return m_file->path(); }
    bool isStored(const std::string& name) const;
    std::vector<Eigen::Index> shapeOf(const std::string& name) const; ///< Empty if it is not stored.

    /// Whether the tensor is there in this shape; if not, that is a fault. Only then may slices of it be added.
    bool require(const std::string& name, Shape shape);
    /// The same, but an absent tensor is not a fault.
    bool accept(const std::string& name, Shape shape);
    void add(TensorKind kind, int layer, int head, const std::string& name, const Slice& slice);

    /// `add` of the whole tensor as [1, size].
    void requireVector(TensorKind kind, int layer, const std::string& name, Eigen::Index size);
    void acceptVector(TensorKind kind, int layer, const std::string& name, Eigen::Index size);

    /// Something asked for is missing or misshapen: finish() will say so, and sizes of the config are not to be believed.
    bool hasFaults() const { return !m_missing.empty() || !m_misshapen.empty(); }
    void missing(std::string name) { m_missing.push_back("'" + std::move(name) + "'"); }
    void contradiction(std::string sentence) { m_misshapen.push_back(std::move(sentence)); }
    void warn(std::string sentence) { m_warnings.push_back(std::move(sentence)); }

    /// Counts the tensor as read.
    void use(const std::string& name) { m_used.insert(name); }

    /// Tensors that carry no weight of the model: masks, rotary tables, other heads.
    void ignore(const std::function<bool(std::string_view name, std::size_t rank)>& isBuffer);

    /// Lets finish() leave out the unexpected tensors with these names. \param patterns `*` stands for any text
    void leaveOut(std::vector<std::string> patterns) { m_patterns = std::move(patterns); }

    /// W_U from `output` [V, d] if it is stored, else from `embedding` if the config says they are tied; the
    /// embedding from `output` if only that is stored. With dEmbed that is their width.
    void addTiedEmbeddings(const std::string& embedding, const std::string& output);

    /// W_pos [n_ctx, d_model] from a table that begins with `skipped` rows of something else; a longer one is cut to the
    /// context the config speaks of.
    void addPositions(const std::string& name, Eigen::Index skipped);

    /// Errors: NotFound, Corrupt, Unsupported (unexpected tensors), in this order.
    Result<ModelWeights> finish();

private:
    void checkTie(const std::string& embedding, const std::string& output);
    /// Returns the tensors that no recipe uses and no pattern leaves out, and warns of those that are left out.
    std::vector<std::string> unexpected();
    Error unexpectedError(const std::vector<std::string>& names) const;

    ModelConfig m_config;
    std::shared_ptr<const WeightMap> m_file;
    ModelWeights m_weights;
    std::set<std::string, std::less<>> m_used;
    std::optional<Error> m_unreadable; ///< The first tensor that holds no floating-point numbers.
    std::vector<std::string> m_missing;
    std::vector<std::string> m_misshapen;
    std::vector<std::string> m_warnings;
    std::vector<std::string> m_patterns;
};

} // namespace headwise
