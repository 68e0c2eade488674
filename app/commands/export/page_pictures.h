#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace headwise::app {

/// A picture of a page of the window that is not one of an analysis: it is drawn from the model's weights, or from several
/// results, with the choices of its page.
struct PagePicture {
    std::string_view page; ///< As --goto calls it: "matrix".
    std::string_view name; ///< On its page, as the window calls it: "Matrix of the circuit".
    std::string_view needs;
    bool ofHead = false;
    std::string_view analysis = {}; ///< The analysis with this picture; empty: none has it.
};

std::span<const PagePicture> pagePictures();

/// A picture of an analysis or a comparison, which its page draws if something is chosen in the boxes over it; other such
/// pictures are views. None if `view` is no "ANALYSIS: PICTURE".
std::optional<PagePicture> pictureWithChoices(std::string_view view);

/// Finds a picture by its name for `export --view`, "matrix: Matrix of the circuit"; null: there is none.
const PagePicture* findPagePicture(std::string_view view);

} // namespace headwise::app
