#pragma once

#include "core/files/delimited.h"
#include "core/results/picture.h"
#include "core/session/session.h"

#include <optional>

namespace headwise {

/// The numbers behind a picture, exactly as the session has them.
struct PictureNumbers {
    std::vector<std::size_t> shape;
    ResultArray::Values values; ///< Product of shape.
    Table table;                ///< The same as text, and the tokens of token tables.
};

/// Returns the numbers that `picture` draws at `head`, or of all heads.
///
/// One array gives its own numbers: a row per entry of two dimensions, a record per number of more. Several arrays of heads
/// stand side by side, a column each. A table of tokens gives every list that stands in the group of its arrays.
/// Errors: NotFound if the session has none of its arrays, or a table leaves out the head.
Result<PictureNumbers> numbersOf(const Session& session, const Picture& picture, std::optional<HeadId> head);

/// Arrays of `picture` that can stand side by side at one head: [layer, head, n] of the same shape and type.
std::vector<const ResultArray*> sideBySide(const Session& session, const Picture& picture);
/// The circuit whose numbers an array holds, the second part of its path: "full_ov" of "eigenvalues/full_ov".
std::string circuitIn(std::string_view path);

/// Whether an array has a part for each head of the model: [layer, head, …].
bool isPerHead(const ModelCard& model, const ResultArray& array);
/// Whether an array has a number for every head with every head.
bool isOfPairs(const ModelCard& model, const ResultArray& array);

/// The token as shown, "#ID" where the session has none.
std::string tokenText(const Session& session, int id);

} // namespace headwise
