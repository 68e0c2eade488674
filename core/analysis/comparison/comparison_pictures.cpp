#include "core/analysis/comparison/comparison_pictures.h"

#include <string>

namespace headwise {

namespace {

const std::string comparisonPath = "comparison/";

} // namespace

std::vector<Picture> matchPictures()
{
    return {{.kind = Picture::Kind::Matrix,
             .title = "Outputs shared with each head of the other model",
             .arrays = {comparisonPath + "match/jaccard"},
             .signedColors = false,
             .note = "Mean Jaccard index of the largest full-OV outputs, over tokens in both vocabularies."},
            {.kind = Picture::Kind::Matrix,
             .title = "CKA with each head of the other model",
             .arrays = {comparisonPath + "match/cka"},
             .signedColors = false,
             .note = "Similarity of the two heads' outputs over the same tokens, in any basis."},
            {.kind = Picture::Kind::HeadGrid,
             .title = "Best match of every head in the other model",
             .arrays = {comparisonPath + "match/best"},
             .signedColors = false}};
}

std::vector<Picture> changePictures()
{
    using Kind = Picture::Kind;
    const auto paths = [](std::initializer_list<const char*> names) {
        std::vector<std::string> all;
        for (const char* name : names)
            all.push_back(comparisonPath + name);
        return all;
    };
    const auto matrix = [&](const char* title, const char* name) {
        return Picture{
            .kind = Kind::Matrix,
            .title = title,
            .arrays = paths({name}),
            .signedColors = false,
            .note =
                "|cosine| of each new direction with every old one (of their spans if degenerate). A row with no cell of 0.5 or more is an intruder."};
    };
    return {
        {.kind = Kind::HeadGrid,
         .title = "Relative change of W_OV and W_QK",
         .arrays = paths({"ov/relative_change", "qk/relative_change"}),
         .signedColors = false},
        {.kind = Kind::HeadGrid,
         .title = "Intruders: new directions unlike all old ones",
         .arrays =
             paths({"ov/left_intruders", "ov/right_intruders", "qk/left_intruders", "qk/right_intruders"}),
         .signedColors = false,
         .note =
             "Among the first ten directions of the newer model, by Shuttleworth et al., arXiv 2410.21228."},
        matrix("Intruder dimensions of OV: what is read", "ov/left_cosines"),
        matrix("Intruder dimensions of OV: what is written", "ov/right_cosines"),
        matrix("Intruder dimensions of QK: queries", "qk/left_cosines"),
        matrix("Intruder dimensions of QK: keys", "qk/right_cosines"),
        {.kind = Kind::Lines,
         .title = "Best match of each new direction among the old ones",
         .arrays = paths(
             {"ov/left_max_cosine", "ov/right_max_cosine", "qk/left_max_cosine", "qk/right_max_cosine"}),
         .note = "Below 0.5 a direction is an intruder."},
        {.kind = Kind::HeadGrid,
         .title = "Subspaces kept by queries, keys, values and output",
         .arrays = paths(
             {"projection_kernel/q", "projection_kernel/k", "projection_kernel/v", "projection_kernel/o"}),
         .signedColors = false,
         .note = "Projection kernel between old and new, divided by the rank: 1 means the subspace stayed."},
        {.kind = Kind::Lines,
         .title = "Singular values of OV, older and newer",
         .arrays = paths({"ov/singular_values_a", "ov/singular_values_b"})},
        {.kind = Kind::Lines,
         .title = "Singular values of QK, older and newer",
         .arrays = paths({"qk/singular_values_a", "qk/singular_values_b"})},
        {.kind = Kind::HeadGrid,
         .title = "Top full-OV tokens that left, and cosines",
         .arrays = paths({"full_ov/table_change", "ov/cosine", "qk/cosine"})},
    };
}

} // namespace headwise
