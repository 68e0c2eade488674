#include "core/session/view_names.h"

#include "core/analysis/catalogue.h"
#include "core/analysis/comparison/comparison_pictures.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headwise {
namespace {

using Kind = Picture::Kind;

constexpr std::array<std::string_view, 4> circuitNames = {"qk", "ov", "full_qk", "full_ov"};

std::vector<std::string> ofCircuits(std::string_view prefix, std::string_view suffix)
{
    std::vector<std::string> paths;
    paths.reserve(circuitNames.size());
    for (const std::string_view circuit : circuitNames)
        paths.push_back(std::string(prefix).append(circuit).append(suffix));
    return paths;
}

/// Colours of a picture of all heads.
enum class Colors { Signed, Unsigned };

NamedPicture ofAllHeads(ViewDescription description, Kind kind, std::string_view analysis, Colors colors)
{
    std::string path = description.needs.substr(1);
    return {
        std::move(description),
        {.kind = kind, .title = {}, .arrays = {std::move(path)}, .signedColors = colors == Colors::Signed},
        analysis};
}

/// \param entries words over its lists
NamedPicture tokensOf(const char* name, const char* title, const std::string& group, const char* shown,
                      const char* entries)
{
    return {
        {name, title, "/" + group, true},
        {.kind = Kind::Table, .title = shown, .arrays = {group + "/ids", group + "/values"}, .note = entries},
        "tables"};
}

std::vector<NamedPicture> makeNamedPictures()
{
    std::vector<NamedPicture> all = {
        ofAllHeads({"copying", "Copying score of every head", "/scores/copying", false}, Kind::HeadGrid,
                   "copying", Colors::Signed),
        ofAllHeads({"matching", "Matching score of every head", "/scores/matching", false}, Kind::HeadGrid,
                   "matching", Colors::Signed),
        ofAllHeads({"previous_token", "Previous-token score of every head", "/scores/previous_token", false},
                   Kind::HeadGrid, "previous_token", Colors::Unsigned)};
    using Names = std::array<const char*, 3>; // of the view, its title, and what stands in the path
    for (const auto& [name, title, circuit] :
         {Names{"norm-qk", "Norm of QK of every head", "qk"},
          Names{"norm-ov", "Norm of OV of every head", "ov"},
          Names{"norm-full-qk", "Norm of full QK of every head", "full_qk"},
          Names{"norm-full-ov", "Norm of full OV of every head", "full_ov"}})
        all.push_back(ofAllHeads({name, title, std::string("/spectra/") + circuit + "/frobenius_norm", false},
                                 Kind::HeadGrid, "spectra", Colors::Unsigned));
    for (const auto& [name, title, mode] :
         {Names{"composition-q", "Q-composition of every pair of heads", "q"},
          Names{"composition-k", "K-composition of every pair of heads", "k"},
          Names{"composition-v", "V-composition of every pair of heads", "v"}})
        all.push_back(ofAllHeads({name, title, std::string("/composition/") + mode, false}, Kind::HeadPairs,
                                 "composition", Colors::Unsigned));
    all.push_back({{"spectrum", "Singular values of a head's circuits", "/spectra", true},
                   {.kind = Kind::Lines,
                    .title = "singular values",
                    .arrays = ofCircuits("spectra/", "/singular_values"),
                    .logY = true}, // circuits of one head differ by orders of magnitude
                   "spectra"});
    all.push_back({{"eigenvalues", "Eigenvalues of a head's circuits", "/eigenvalues", true},
                   {.kind = Kind::Points, .title = "eigenvalues", .arrays = ofCircuits("eigenvalues/", "")},
                   "eigenvalues"});
    all.push_back(
        {{"position", "Mean score of a head by offset", "/analyses/position_kernel/mean_score", true},
         {.kind = Kind::Lines, .title = {}, .arrays = {"analyses/position_kernel/mean_score"}},
         "position_kernel"});
    all.push_back(tokensOf("tokens-qk", "Keys that query tokens attend to", "tables/full_qk",
                           "full QK tokens", "keys it attends to most, score"));
    all.push_back(tokensOf("tokens-ov", "Outputs that source tokens promote", "tables/full_ov",
                           "full OV tokens", "outputs it raises most, logit"));
    return all;
}

} // namespace

const std::vector<NamedPicture>& namedPictures()
{
    static const std::vector<NamedPicture> table = makeNamedPictures();
    return table;
}

const std::vector<PagePictures>& pagesOfPictures()
{
    static const std::vector<PagePictures> table = [] {
        std::vector<PagePictures> pages;
        for (const Analysis& analysis : catalogue())
            pages.push_back({analysis.id, analysis.pictures});
        pages.push_back({"comparison", changePictures()});
        for (Picture& picture : matchPictures())
            pages.back().pictures.push_back(std::move(picture));
        return pages;
    }();
    return table;
}

std::string pageName(std::string_view page, const Picture& picture)
{
    return std::string(page).append(pageColon).append(picture.title);
}

Result<Picture> pagePicture(std::string_view name, std::string_view title)
{
    const auto page = std::ranges::find(pagesOfPictures(), name, &PagePictures::name);
    if (page == pagesOfPictures().end())
        return Error{ErrorCode::InvalidArgument,
                     "There is no analysis '" + std::string(name) + "'; headwise list-analyses names them."};
    std::string titles;
    for (const Picture& picture : page->pictures) {
        if (picture.title == title)
            return picture;
        titles += (titles.empty() ? "'" : ", '") + picture.title + "'";
    }
    return Error{ErrorCode::InvalidArgument,
                 "The analysis '" + std::string(name) + "' has no picture '" + std::string(title)
                     + "'; it has " + (titles.empty() ? "none" : titles) + "."};
}

std::string shortNameOf(const Picture& picture)
{
    for (const NamedPicture& named : namedPictures())
        if (named.picture.kind == picture.kind && named.picture.arrays == picture.arrays)
            return named.description.name;
    constexpr std::array ofOneArray{Kind::HeadGrid, Kind::Lines, Kind::Points, Kind::Matrix, Kind::Table};
    const bool isDrawnAlone = picture.arrays.size() == 1
        && std::find(ofOneArray.begin(), ofOneArray.end(), picture.kind) != ofOneArray.end();
    return isDrawnAlone ? picture.arrays.front() : std::string();
}

std::string viewNameOf(const Picture& picture)
{
    std::string name = shortNameOf(picture);
    return name.empty() ? pageNameOf(picture) : name;
}

std::string pageNameOf(const Picture& picture)
{
    for (const PagePictures& page : pagesOfPictures())
        for (const Picture& own : page.pictures) {
            Picture renamed = picture; // the title of a picture of one head names it
            renamed.title = own.title;
            if (renamed == own)
                return pageName(page.name, own);
        }
    return {};
}

} // namespace headwise
