#include "app/commands/export/page_pictures.h"

#include "core/session/view_names.h"

#include <algorithm>
#include <array>

namespace headwise::app {
namespace {

constexpr std::string_view fromModel = "MODEL", fromResults = "MODEL or SESSION.h5",
                           fromRotary = "MODEL with rotary positions",
                           fromTable = "MODEL with learned positions, a head of layer 0",
                           fromPrompt = "MODEL, --choice prompt=TEXT", fromPair = "MODEL, --reference",
                           fromComparison = "SESSION.h5 of compare", fromSeries = "SERIES.h5",
                           fromRelations = "SESSION.h5 with relations",
                           fromTensor = "MODEL, --choice tensor=NAME";

constexpr auto pagePictureTable = std::to_array<PagePicture>({
    {"heads", "Heads", fromResults},
    {"heads", "Heads by their score", fromResults},
    {"overview", "Keys of the token", fromModel, true},
    {"overview", "Outputs of the token", fromModel, true},
    {"overview", "Salient tokens of the head", fromModel, true},
    {"overview", "Singular values", fromResults, true},
    {"overview", "Eigenvalues", fromResults, true},
    {"overview", "Mean score by offset", fromModel, true},
    {"overview", "Composition of the head", fromResults, true},
    {"tokens", "Tokens of the row or column", fromModel, true},
    {"tokens", "Largest entries, all tokens", "MODEL, --choice side=2", true},
    {"tokens", "Effect of attending to the token", fromModel},
    {"matrix", "Matrix of the circuit", fromModel, true},
    {"spectrum", "Singular values", fromResults, true},
    {"spectrum", "Eigenvalues", fromResults, true},
    {"vectors", "Tokens, first side", fromModel, true},
    {"vectors", "Tokens, second side", fromModel, true},
    {"vectors", "Singular values", fromModel, true},
    {"vectors", "Directions with the token", "MODEL, --choice search=TOKEN"},
    {"position", "Scores of positions", fromModel, true},
    {"position", "Mean score by offset", fromModel, true},
    {"position", "Energy by frequency", fromRotary, true},
    {"position", "Keys at the offset", fromRotary, true},
    {"scores", "Figure 3 of Kamoda et al. 2025", fromTable, true},
    {"scores", "T^p", fromTable, true},
    {"scores", "T^pp", fromTable, true},
    {"scores", "Attention of positions", fromTable, true},
    {"scores", "Term of every pair of tokens", fromTable, true},
    {"scores", "Prefixes of the token", fromTable, true},
    {"scores", "Score by offset", fromRotary, true},
    {"scores", "Score by frequency", fromRotary, true},
    {"composition", "Composition of all pairs", fromResults},
    {"composition", "Composition of all pairs, sorted", "MODEL or SESSION.h5, --choice tab=2"},
    {"composition", "Wiring", "MODEL or SESSION.h5, --choice tab=1"},
    {"composition", "Principal angles of the pair", fromPair, true},
    {"composition", "Rank-1 parts of the pair", fromPair, true},
    {"compare", "Circuit of the selected head", fromPair, true},
    {"compare", "Circuit of the reference", fromPair, true},
    {"compare", "Reference left of the divider, selected head right", "MODEL, --reference, --choice way=1",
     true},
    {"compare", "Selected head minus reference", "MODEL, --reference, --choice way=2", true},
    {"compare", "Selected head over reference", "MODEL, --reference, --choice way=3", true},
    {"compare", "Singular values of both heads", fromPair, true},
    {"compare", "Principal angles of both heads", fromPair, true},
    {"compare", "Only in the selected head", fromPair, true},
    {"compare", "In both heads", fromPair, true},
    {"compare", "Only in the reference", fromPair, true},
    {"prompt", "Attention of the head", fromPrompt, true},
    {"prompt", "The prompt, coloured by the attention of one token", fromPrompt, true},
    {"prompt", "Attention of every head", fromPrompt},
    {"prompt", "Effect of every head on the logit", fromPrompt},
    {"all_heads", "Every score of every head", fromResults},
    {"all_heads", "Two scores of every head", fromResults},
    {"relations", "Share of pairs raised", fromRelations},
    {"relations", "Share of pairs lowered", fromRelations},
    {"relations", "Pairs of the head", fromRelations},
    {"models", "Heads by change", fromComparison},
    {"models", "Tokens that left and entered", fromComparison, true},
    {"training", "Every head over training", fromSeries},
    {"training", "Heads at this step", fromSeries},
    {"training", "Selected head over training", fromSeries, true},
    {"training", "Changes of heads", fromSeries},
    {"tensors", "Tensors of the checkpoint", fromModel},
    {"tensors", "Entries of the tensor", fromTensor},
    {"tensors", "Histogram of the tensor", fromTensor},
    {"folding", "Only with the weights in use", fromModel, true},
    {"folding", "With both weights", fromModel, true},
    {"folding", "Only with the ticked steps", fromModel, true},
    {"analyses", "Numbers", "SESSION.h5, --choice analysis=ID"},
    {"analyses", "Figure 3 of Kamoda et al. 2025", "SESSION.h5 with six_terms, --choice analysis=six_terms",
     true},
});

} // namespace

std::span<const PagePicture> pagePictures()
{
    return pagePictureTable;
}

const PagePicture* findPagePicture(std::string_view view)
{
    const auto found = std::ranges::find_if(pagePictureTable, [view](const PagePicture& picture) {
        return view.starts_with(picture.page) && view.substr(picture.page.size()).starts_with(pageColon)
            && view.substr(picture.page.size() + pageColon.size()) == picture.name;
    });
    return found == pagePictureTable.end() ? nullptr : &*found;
}

std::optional<PagePicture> pictureWithChoices(std::string_view view)
{
    const std::size_t colon = view.find(pageColon);
    if (colon == std::string_view::npos)
        return std::nullopt;
    const std::string_view analysis = view.substr(0, colon), title = view.substr(colon + pageColon.size());
    const auto page = std::ranges::find(pagesOfPictures(), analysis, &PagePictures::name);
    if (page == pagesOfPictures().end())
        return std::nullopt;
    const auto picture = std::ranges::find(page->pictures, title, &Picture::title);
    if (picture == page->pictures.end())
        return std::nullopt;
    const bool isCompared = analysis == "comparison";
    return PagePicture{.page = isCompared ? "models" : "analyses",
                       .name = picture->title,
                       .needs = isCompared ? fromComparison : "SESSION.h5 with this analysis",
                       .analysis = page->name};
}

} // namespace headwise::app
