#pragma once

#include "core/results/table_file.h"
#include "core/session/session.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwise {

enum class ViewKind {
    Heatmap,    ///< values [rows, columns]
    Lines,      ///< values [points, lines]; the rows are the x axis
    Points,     ///< complex values [points, sets], in the complex plane
    TokenTable, ///< `table`; values [tokens, k], the largest of each token
    Numbers,    ///< More dimensions than a picture has; data formats only.
};

/// One thing of a session as it can be exported: what a picture draws and what a table lists.
struct ViewData {
    std::string name, title; ///< "spectrum", "L1H5 singular values"
    std::string subtitle;    ///< The context: "demo, processed weights, raw embedding".
    std::string embedding;   ///< For full circuits; empty if no token side is involved.
    std::string filter;      ///< The token filter, "--first-id 1000"; empty: all tokens.
    ViewKind kind = ViewKind::Numbers;
    std::string rowAxis, columnAxis; ///< "layer", "head"
    std::vector<std::string> rowLabels, columnLabels;
    bool ofPairs = false; ///< Rows and columns are all heads; NaN where two make no pair.
    std::string valueName, unit, definition;
    std::optional<std::pair<double, double>> range; ///< The values' bounds where they have some.
    std::vector<std::size_t> shape;
    ResultArray::Values values; ///< Exactly the session's numbers, product of shape.
    Table table;                ///< The same as text, for CSV.
    /// Everything needed to make it again, in the order in which it is written: model, processing, embedding, …
    std::vector<std::pair<std::string, std::string>> provenance;
};

struct ViewDescription {
    std::string name;  ///< As `export --view` takes it.
    std::string title; ///< "Copying score of every head"
    std::string needs; ///< The dataset or group of the session it reads: "/scores/copying".
    bool ofHead = false;
};

/// The views every session can have.
const std::vector<ViewDescription>& views();

/// The general views, and one per array of this session, named by its path; only those with data.
std::vector<ViewDescription> viewsOf(const Session& session);

/// \param name a view's name, or the path of an array; "-" and "_" are the same
/// Errors: InvalidArgument (no such view; a head where none or one is needed or outside the model); NotFound if the session
/// lacks what it needs, naming the command that makes it.
Result<ViewData> viewData(const Session& session, std::string_view name, std::optional<HeadId> head);

/// The token as shown, "#ID" where the session has none.
std::string tokenText(const Session& session, int id);

} // namespace headwise
