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
    bool isOfPage = false; ///< "ANALYSIS: PICTURE": its numbers are the table behind its figure.
};

struct ViewDescription {
    std::string name;  ///< As `export --view` takes it.
    std::string title; ///< "Copying score of every head"
    std::string needs; ///< The dataset or group of the session it reads: "/scores/copying".
    bool ofHead = false;
};

/// The views every session can have.
std::vector<ViewDescription> views();

/// The general views, one per array of this session, named by its path, and the pictures of several arrays on the pages of
/// analyses; only those with data.
std::vector<ViewDescription> viewsOf(const Session& session);

/// \param name a view's name, the path of an array, or a picture of a page: "composition: Strongest pairs, K-composition";
/// in a view's name "-" and "_" are the same
/// Errors: InvalidArgument (no such view, analysis or picture; a head where none or one is needed or outside the model);
/// NotFound if the session lacks what it needs, naming the command that makes it.
Result<View> viewOf(const Session& session, std::string_view name, std::optional<HeadId> head);

} // namespace headwise
