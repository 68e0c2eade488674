#include "core/analysis/spectra/vocabulary_parts.h"

#include "core/analysis/spectra/random_list.h"
#include "core/results/picture_of.h"

#include <span>

namespace headwise {

std::string overlapFormula(const std::string& length, const char* which)
{
    return "Jaccard index of the " + length + "largest entries of E W_V[:, k] and of W_O[l, :] W_U, the "
        + std::to_string(comparedColumns) + " longest columns of W_V; mean over " + which;
}

namespace {

/// Returns the matrix whose columns, or those of whose pseudoinverse, the part lists.
std::string_view matrixOf(const WeightsInVocabularyPart& part)
{
    const std::string_view name = part.name;
    return name.substr(0, name.find("_pinv"));
}

} // namespace

std::vector<ArraySpec> weightsInVocabularyArrays()
{
    const std::string folder = weightsInVocabularyFolder;
    std::vector<ArraySpec> all{{folder + "overlap", headAxes(),
                                "Tokens shared by W_V's columns and W_O's rows", overlapFormula("", "l = k")},
                               {folder + "overlap_null", headAxes(),
                                "Tokens shared by W_V's columns and other rows of W_O",
                                overlapFormula("", "l ≠ k")}};
    for (ArraySpec& spec : all)
        spec.range = {0.0, 1.0};
    const auto add = [&](const WeightsInVocabularyPart& part, const std::vector<ArrayAxis>& axes) {
        const std::size_t first = all.size();
        const std::string matrix(matrixOf(part)), name = matrix + (part.isInverse ? "⁺" : "");
        const std::string path = folder + part.name;
        std::vector<ArrayAxis> listAxes = axes;
        listAxes.emplace_back(Axis::Rank);
        addEndSpecs(all,
                    {path, listAxes, "Tokens of " + name,
                     std::string(part.formula) + ", the " + std::to_string(listedColumns)
                         + " longest, by falling length"});
        all.push_back(
            {path + "_null", listAxes, "Tokens of a random direction of the length of " + name + ", score",
             "mean over 32 random directions as long as the listed column (row) of their largest token scores"});
        all.push_back({.path = path + "_column",
                       .axes = axes,
                       .title = "Index in " + name,
                       .definition = "index of the listed column (row, of what writes) of " + name,
                       .type = NumberType::Whole});
        for (ArraySpec& spec : std::span(all).subspan(first))
            spec.condition = part.isGate ? "gated MLPs" : part.isOfMlp ? "MLPs without experts" : "";
    };
    for (const WeightsInVocabularyPart& part : headParts)
        add(part, headAxes({Axis::Column}));
    for (const WeightsInVocabularyPart& part : mlpParts)
        add(part, {Axis::Layer, Axis::Neuron});
    return all;
}

std::vector<Picture> weightsInVocabularyPictures()
{
    const char* note =
        "One column per row. The basis inside a head is arbitrary (gauge); singular directions are not.";
    const char* neurons = "One neuron per row, its tokens by rank; largest norm in the layer first.";
    const char* inverse = "By the pseudoinverse: the smallest token weights that sum to it.";
    const auto table = [](const char* title, const std::string& part, const char* words) {
        const std::string start = weightsInVocabularyFolder + part;
        return Picture{.kind = Picture::Kind::Table,
                       .title = title,
                       .arrays = {start + "_column", start + "_ids", start + "_values"},
                       .note = words};
    };
    const auto byRank = [](const WeightsInVocabularyPart& part) {
        const std::string matrix(matrixOf(part));
        const std::string start = weightsInVocabularyFolder + std::string(part.name);
        const std::string what = part.isInverse ? "Token weights of " + matrix : "Tokens of " + matrix;
        return Picture{.kind = Picture::Kind::Lines,
                       .title = what + " by rank, and of random directions of the same norm",
                       .arrays = {start + "_values", start + "_null"}};
    };
    std::vector<Picture> pictures{
        table("What columns of W_V read", "W_V", note),
        table("What rows of W_O write", "W_O", note),
        table("What columns of W_Q read", "W_Q", note),
        table("What columns of W_K read", "W_K", note),
        table("What neurons read", "W_in", neurons),
        table("What the gates of neurons read", "W_gate", neurons),
        table("What neurons write", "W_out", neurons),
        table("Token weights of columns of W_V", "W_V_pinv", inverse),
        table("Token weights of rows of W_O", "W_O_pinv", inverse),
        table("Token weights of columns of W_Q", "W_Q_pinv", inverse),
        table("Token weights of columns of W_K", "W_K_pinv", inverse),
        table("Token weights of neuron inputs", "W_in_pinv", inverse),
        table("Token weights of neuron gates", "W_gate_pinv", inverse),
        table("Token weights of neuron outputs", "W_out_pinv", inverse),
    };
    pictures.reserve(pictures.size() + headParts.size() + mlpParts.size() + 1);
    for (const WeightsInVocabularyPart& part : headParts)
        pictures.push_back(byRank(part));
    for (const WeightsInVocabularyPart& part : mlpParts)
        pictures.push_back(byRank(part));
    pictures.push_back(pictureOf(weightsInVocabularyFolder, Picture::Kind::HeadGrid,
                                 "Tokens shared by W_V and W_O", {"overlap", "overlap_null"}, note));
    return pictures;
}

} // namespace headwise
