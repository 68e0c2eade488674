#include "core/analysis/tokens/skip_trigram_bugs.h"

#include "core/analysis/inputs/token_counts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace headwise {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

std::string skipTrigramBugsAt(const char* name)
{
    return std::string("analyses/skip_trigrams/") + name;
}

double numberAt(const ResultArray& array, std::size_t index)
{
    if (const auto* f64 = std::get_if<std::vector<double>>(&array.values))
        return (*f64)[index];
    return std::get<std::vector<float>>(array.values)[index];
}

const std::vector<std::int32_t>& idsOf(const ResultArray& array)
{
    return std::get<std::vector<std::int32_t>>(array.values);
}

struct Pair {
    std::int32_t destination = -1, output = -1;
    double strength = missing;
};

/// Pairs from the destination and output lists of the requested token whose bigram never occurs, and their share.
struct Crossings {
    std::size_t heads = 0, listed = 0;
    std::vector<Pair> absent;  // [heads, listed]
    std::vector<double> share; // [heads]
};

/// \param lists destination_ids, destination_z, output_ids, output_z
Crossings crossings(const std::array<const ResultArray*, 4>& lists, const BigramCounts& bigrams,
                    std::size_t listed)
{
    const std::vector<std::int32_t>&destinations = idsOf(*lists[0]), &outputs = idsOf(*lists[2]);
    const std::size_t rows = lists[0]->shape[2], cols = lists[2]->shape[2];
    Crossings found{lists[0]->shape[0] * lists[0]->shape[1], listed, {}, {}};
    for (std::size_t head = 0; head < found.heads; ++head) {
        std::vector<Pair> absent;
        double raised = 0;
        for (std::size_t i = head * rows; i < (head + 1) * rows; ++i) {
            for (std::size_t j = head * cols; j < (head + 1) * cols; ++j) {
                const double first = numberAt(*lists[1], i), second = numberAt(*lists[3], j);
                if (destinations[i] < 0 || outputs[j] < 0 || !(first > 0 && second > 0))
                    continue;
                raised += 1;
                if (bigrams.of(destinations[i], outputs[j]) == 0)
                    absent.push_back({destinations[i], outputs[j], first * second});
            }
        }
        found.share.push_back(raised > 0 ? static_cast<double>(absent.size()) / raised : missing);
        std::stable_sort(absent.begin(), absent.end(),
                         [](const Pair& a, const Pair& b) { return a.strength > b.strength; });
        absent.resize(listed);
        found.absent.insert(found.absent.end(), absent.begin(), absent.end());
    }
    return found;
}

/// Returns the array of that name, or null. Good until the next put().
const ResultArray* skipTrigramBugsFind(Results& results, const char* name)
{
    const auto found = std::ranges::find(results.arrays(), skipTrigramBugsAt(name), &ResultArray::path);
    return found == results.arrays().end() ? nullptr : &*found;
}

void putCrossings(Results& results, const BigramCounts& bigrams, std::size_t listed)
{
    const std::array lists{
        skipTrigramBugsFind(results, "destination_ids"), skipTrigramBugsFind(results, "destination_z"),
        skipTrigramBugsFind(results, "output_ids"), skipTrigramBugsFind(results, "output_z")};
    if (std::find(lists.begin(), lists.end(), nullptr) != lists.end())
        return; // no token was asked about
    const std::vector<std::size_t> heads(lists[0]->shape.begin(), lists[0]->shape.begin() + 2);
    const std::vector<std::size_t> shape{heads[0], heads[1], listed};
    const Crossings found = crossings(lists, bigrams, listed);
    std::vector<std::int32_t> destinations, outputs;
    std::vector<double> strengths;
    for (const Pair& pair : found.absent) {
        destinations.push_back(pair.destination);
        outputs.push_back(pair.output);
        strengths.push_back(pair.strength);
    }
    results.put(skipTrigramBugsAt("absent_destination_ids"), shape, std::move(destinations));
    results.put(skipTrigramBugsAt("absent_output_ids"), shape, std::move(outputs));
    results.put(skipTrigramBugsAt("absent_strength"), shape, std::move(strengths));
    results.put(skipTrigramBugsAt("absent_share"), heads, found.share);
}

/// Puts the text's count of the final bigram of each of the strongest skip-trigrams.
void putRankedCounts(Results& results, const BigramCounts& bigrams)
{
    const ResultArray* destinations = skipTrigramBugsFind(results, "ranked_destination_ids");
    const ResultArray* outputs = skipTrigramBugsFind(results, "ranked_output_ids");
    if (!destinations || !outputs)
        return;
    std::vector<double> counts;
    for (std::size_t i = 0; i < idsOf(*destinations).size(); ++i) {
        const std::int32_t first = idsOf(*destinations)[i], second = idsOf(*outputs)[i];
        counts.push_back(first < 0 || second < 0 ? missing : bigrams.of(first, second));
    }
    std::vector<std::size_t> shape = destinations->shape;
    results.put(skipTrigramBugsAt("ranked_count"), std::move(shape), std::move(counts));
}

} // namespace

std::vector<ArraySpec> skipTrigramBugsArrays()
{
    const std::vector<ArrayAxis> axes = headAxes({Axis::Rank});
    const char* strength =
        "z of the destination times z of the out, of the pairs of both lists in which the out never directly follows the destination in a text; both z above 0, falling";
    std::vector<ArraySpec> all;
    for (const bool isOutput : {false, true})
        all.push_back({.path = skipTrigramBugsAt(isOutput ? "absent_output_ids" : "absent_destination_ids"),
                       .axes = axes,
                       .title = isOutput ? "Out" : "Destination",
                       .definition = strength,
                       .unit = "token",
                       .type = NumberType::Whole});
    all.push_back({skipTrigramBugsAt("absent_strength"), axes, "Strength", strength});
    all.push_back(
        {.path = skipTrigramBugsAt("absent_share"),
         .axes = headAxes(),
         .title = "Skip-trigrams absent from the text",
         .definition =
             "share of the pairs of the listed destinations and outs of the given token, both z above 0, in which the out never directly follows the destination in a text",
         .range = {{0.0, 1.0}}});
    for (ArraySpec& spec : all)
        spec.condition = "with --token and --bigram-counts";
    all.push_back({.path = skipTrigramBugsAt("ranked_count"),
                   .axes = axes,
                   .title = "Count",
                   .definition = "how often the out directly follows the destination in a text",
                   .condition = "with --bigram-counts, for sweeps up to 2e13 operations or with --heads"});
    return all;
}

void putSkipTrigramBugs(Results& results, const BigramCounts& bigrams, int listed)
{
    const std::size_t before = results.arrays().size();
    putCrossings(results, bigrams, static_cast<std::size_t>(listed));
    putRankedCounts(results, bigrams);
    for (std::size_t i = before; i < results.arrays().size(); ++i)
        results.arrays()[i].attributes["bigram_counts"] = bigrams.source();
}

} // namespace headwise
