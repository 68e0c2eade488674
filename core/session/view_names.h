#pragma once

#include "core/session/views.h"

#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A picture every session can have.
struct NamedPicture {
    ViewDescription description;
    Picture picture;           ///< Its title follows the head's name; empty: the title of its array does.
    std::string_view analysis; ///< Makes its arrays.
};

const std::vector<NamedPicture>& namedPictures();

/// Pictures of a page, and the name of its analysis.
struct PagePictures {
    std::string_view name;
    std::vector<Picture> pictures;
};
/// The pages of all analyses and that of the comparison of two models.
const std::vector<PagePictures>& pagesOfPictures();

inline constexpr std::string_view pageColon = ": "; ///< In "ANALYSIS: PICTURE".
std::string pageName(std::string_view page, const Picture& picture);
/// Errors: InvalidArgument for another analysis or picture, naming those there are.
Result<Picture> pagePicture(std::string_view page, std::string_view title);

/// The name of a named view that shows the same, or the path of a picture's only array; empty if it has no such name.
std::string shortNameOf(const Picture& picture);
/// "ANALYSIS: PICTURE" of the page that has this picture; empty if none has.
std::string pageNameOf(const Picture& picture);
/// The name under which `export --view` draws these arrays as `picture` does: shortNameOf(), or "ANALYSIS: PICTURE" of a page.
/// Empty where there is none.
std::string viewNameOf(const Picture& picture);

} // namespace headwise
