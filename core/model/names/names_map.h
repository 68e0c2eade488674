#pragma once

#include "core/base/result.h"
#include "core/model/weights.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// The sizes that a stored shape is made of.
enum class SizeKind {
    One,
    Model,      ///< d_model
    Heads,      ///< Query heads; "heads" of the keys and values are the key/value heads.
    KvHeads,    ///< Key/value heads
    Head,       ///< d_head
    Mlp,        ///< d_mlp
    Vocabulary, ///< d_vocab
    Outputs,    ///< d_vocab_out, the columns of W_U
    Context,    ///< n_ctx
    Parts,      ///< The matrices that one tensor holds side by side.
};

/// A part of a transformer that a tensor can be, by its name in TransformerLens.
struct NamedRole {
    std::string_view name; ///< "blocks.{layer}.attn.W_Q"
    TensorKind kind;
    SizeKind rows, cols;    ///< The canonical matrix of one head.
    SizeKind heads;         ///< Heads or KvHeads; One if heads do not divide it.
    std::string_view usual; ///< The axes in PyTorch's nn.Linear and nn.Embedding.
};

std::span<const NamedRole> namedRoles();

/// Returns the roles that no model can do without and that are not among `given`, in the order of namedRoles(). The MLP's W_in and
/// W_out need each other.
std::vector<const NamedRole*> missingRoles(const std::set<TensorKind>& given);

/// One row of a names map: which tensors it is about and where their numbers go.
struct NamesRow {
    std::string name;                        ///< With {layer} and {head} for their numbers.
    std::vector<const NamedRole*> roles;     ///< Several: one tensor holds them side by side.
    std::vector<std::vector<SizeKind>> axes; ///< For each stored axis its factors, the slowest first.
    int skip = 0;                            ///< Rows at the beginning of a table that belong to no position.
};

/// A file beside the weights that tells config keys under other names.
struct NamesConfigFile {
    std::string file;                        ///< A plain name; empty: none.
    std::map<std::string, std::string> keys; ///< TransformerLens' key → the file's.
    std::vector<std::string>
        none; ///< The file's keys that must be absent, null or false, for they change the function.
};

/// A description of the names of a checkpoint: pure data, read from JSON (CONTRACTS.md, "Names maps").
struct NamesMap {
    std::string name;                      ///< ModelConfig::architecture
    std::string file;                      ///< Named in messages.
    std::vector<std::string> prefixes{""}; ///< Before the names of all rows; the first that fits counts.
    std::vector<NamesRow> rows;
    std::vector<std::string> ignored; ///< Patterns of tensors that are no weights.
    std::string facts = "{}";         ///< Config keys that hold for this layout, as JSON.
    std::string assumed = "{}";       ///< Config keys that are only likely, as JSON.
    NamesConfigFile config;
    std::vector<std::string> notes; ///< Warnings for whoever opens such a file.
};

/// Reads a map; nothing in it may be unknown or contradict itself.
/// Errors: Corrupt, Unsupported (a newer version), naming the row.
Result<NamesMap> readNamesMap(std::string_view text, const std::string& file);

/// Layer and head of a tensor whose name fits a row's; -1 where the name has none.
struct NameNumbers {
    int layer = -1, head = -1;
};
std::optional<NameNumbers> matchName(std::string_view pattern, std::string_view name);

/// "[heads*d_head, d_model]"
std::string axesText(const std::vector<std::vector<SizeKind>>& axes);
std::string_view sizeName(SizeKind kind); ///< "d_model"

} // namespace headwise
