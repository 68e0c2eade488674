#include "core/analysis/tokens/skip_trigram_bugs.h"

#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/per_head.h"

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

ResultArray idsArray(const ResultArray& like, const char* path, const char* title, const Crossings& found,
                     std::int32_t Pair::*which)
{
    ResultArray array = like;
    array.path = skipTrigramBugsAt(path);
    array.title = title;
    array.unit = "token";
    std::vector<std::int32_t> ids;
    for (const Pair& pair : found.absent)
        ids.push_back(pair.*which);
    array.values = std::move(ids);
    return array;
}

void addCrossings(ResultSet& results, const BigramCounts& bigrams, Precision precision, std::size_t listed)
{
    const std::array lists{
        results.find(skipTrigramBugsAt("destination_ids")), results.find(skipTrigramBugsAt("destination_z")),
        results.find(skipTrigramBugsAt("output_ids")), results.find(skipTrigramBugsAt("output_z"))};
    if (std::find(lists.begin(), lists.end(), nullptr) != lists.end())
        return; // no token was asked about
    const std::vector<std::size_t> shape = lists[0]->shape;
    const Crossings found = crossings(lists, bigrams, listed);
    std::vector<double> strengths;
    for (const Pair& pair : found.absent)
        strengths.push_back(pair.strength);
    ResultArray strength =
        realArray(precision, skipTrigramBugsAt("absent_strength"), {shape[0], shape[1], listed},
                  std::move(strengths), {Axis::Layer, Axis::Head, Axis::Rank});
    strength.title = "Strength";
    strength.definition =
        "z of the destination times z of the out, of the pairs of both lists in which the out never directly follows the destination in a text; both z above 0, falling";
    ResultArray share = realArray(precision, skipTrigramBugsAt("absent_share"), {shape[0], shape[1]},
                                  found.share, {Axis::Layer, Axis::Head});
    share.title = "Skip-trigrams that no text has";
    share.definition =
        "share of the pairs of the listed destinations and outs of the asked token, both z above 0, in which the out never directly follows the destination in a text";
    share.range = {0.0, 1.0};
    std::vector<ResultArray> added{
        idsArray(strength, "absent_destination_ids", "Destination", found, &Pair::destination),
        idsArray(strength, "absent_output_ids", "Out", found, &Pair::output), strength, share};
    for (ResultArray& array : added) {
        array.attributes["bigram_counts"] = bigrams.source();
        results.arrays.push_back(std::move(array));
    }
}

/// Adds the text's count of the final bigram of each of the strongest skip-trigrams.
void addRankedCounts(ResultSet& results, const BigramCounts& bigrams, Precision precision)
{
    const ResultArray* destinations = results.find(skipTrigramBugsAt("ranked_destination_ids"));
    const ResultArray* outputs = results.find(skipTrigramBugsAt("ranked_output_ids"));
    if (!destinations || !outputs)
        return;
    std::vector<double> counts;
    for (std::size_t i = 0; i < idsOf(*destinations).size(); ++i) {
        const std::int32_t first = idsOf(*destinations)[i], second = idsOf(*outputs)[i];
        counts.push_back(first < 0 || second < 0 ? missing : bigrams.of(first, second));
    }
    ResultArray array = realArray(precision, skipTrigramBugsAt("ranked_count"), destinations->shape,
                                  std::move(counts), {Axis::Layer, Axis::Head, Axis::Rank});
    array.title = "Count";
    array.definition = "how often the out directly follows the destination in a text";
    array.attributes["bigram_counts"] = bigrams.source();
    results.arrays.push_back(std::move(array));
}

} // namespace

void addSkipTrigramBugs(ResultSet& results, const BigramCounts& bigrams, Precision precision, int listed)
{
    addCrossings(results, bigrams, precision, static_cast<std::size_t>(listed));
    addRankedCounts(results, bigrams, precision);
}

} // namespace headwise
