#pragma once

#include "core/results/picture.h"
#include "core/session/session.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwise {

/// A picture of a session under the name that `export --view` takes, and what its figure and tables say about it.
///
/// Window and command line draw the picture with the same code; numbersOf() has its numbers.
struct View {
    std::string name;           ///< "spectrum", or the path of an array.
    Picture picture;            ///< Its title names the head: "L1H5 singular values".
    std::optional<HeadId> head; ///< The head it shows; none: all heads, or no head.
    std::size_t dimensions = 0; ///< Dimensions of its numbers. Only one or two have a picture.
    std::string subtitle;       ///< "demo, processed weights, raw embedding"
    std::string embedding;      ///< Embedding of full circuits; empty where no token side is involved.
    std::string filter;         ///< The tokens it counts, "--first-id 1000"; empty: all.
    std::string definition;
    /// Keys and values needed to make it again, in the order in which they are written: model, processing, embedding, …
    std::vector<std::pair<std::string, std::string>> provenance;
};

struct ViewDescription {
    std::string name;  ///< As `export --view` takes it.
    std::string title; ///< "Copying score of every head"
    std::string needs; ///< The dataset or group of the session it reads: "/scores/copying".
    bool ofHead = false;
};

/// The views every session can have.
std::vector<ViewDescription> views();

/// The general views, and one per array of this session, named by its path; only those with data.
std::vector<ViewDescription> viewsOf(const Session& session);

/// The name under which `export --view` draws these arrays as `picture` does: a named view, or the path of a single array.
/// Empty where there is none.
std::string viewNameOf(const Picture& picture);

/// \param name a view's name, or the path of an array; "-" and "_" are the same
/// Errors: InvalidArgument (no such view; a head where none or one is needed or outside the model); NotFound if the session
/// lacks what it needs, naming the command that makes it.
Result<View> viewOf(const Session& session, std::string_view name, std::optional<HeadId> head);

/// The same for the panels of a figure, which also take a picture from an analysis's page: "composition: Strongest pairs, K".
/// Errors: those of viewOf(); InvalidArgument for another analysis or picture, naming those there are.
Result<View> panelViewOf(const Session& session, std::string_view name, std::optional<HeadId> head);

} // namespace headwise
