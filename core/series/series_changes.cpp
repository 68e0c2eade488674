#include "core/series/series_changes.h"

#include "core/findings/rule_numbers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace headwise {
namespace {

constexpr double leastRise = 0.3; // above the null, as in core/findings

/// A score whose turns have words of their own.
struct Role {
    std::string_view score;
    double least; ///< Least value, whatever the null.
    std::string_view gained, lost;
};
constexpr std::array roles{
    Role{"previous_token", 0.4, "became a previous-token head", "stopped being a previous-token head"},
    Role{"copying", 0, "became a copying head", "stopped being a copying head"},
    Role{"matching", 0, "began to match equal tokens", "stopped matching equal tokens"},
    Role{"pattern_scores_induction", 0, "became an induction head", "stopped being an induction head"},
    Role{"pattern_scores_duplicate", 0, "became a duplicate-token head",
         "stopped being a duplicate-token head"},
    Role{"pattern_scores_first", 0.5, "began to attend to the first token",
         "stopped attending to the first token"}};

/// Scores that say of a head the same as one of the roles.
constexpr std::array<std::string_view, 4> repeatedScores{
    "copying_weights", "induction_copying", "induction_previous_token", "position_kernel_previous_token"};

const Role* roleOf(std::string_view score)
{
    const auto role = std::ranges::find(roles, score, &Role::score);
    return role == roles.end() ? nullptr : &*role;
}

/// Tells whether an array [S, L, H] is judged. One without a role needs the spread of random heads.
bool isJudged(const ResultArray& array, const Role* role)
{
    return array.shape.size() == 3 && array.nullMean && array.range && (role || array.nullDeviation);
}

TurnLevels levelsOf(const ResultArray& array, const Role* role)
{
    const double null = *array.nullMean;
    const double tests = static_cast<double>(std::get<std::vector<float>>(array.values).size());
    const double chance = thresholdZ(static_cast<std::size_t>(tests)) * array.nullDeviation.value_or(0);
    const double clear = std::max(null + std::max(leastRise, chance), role ? role->least : 0.0);
    return {clear, (null + clear) / 2};
}

double meanOf(std::span<const double> values)
{
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squaresAround(std::span<const double> values, double mean)
{
    return std::accumulate(values.begin(), values.end(), 0.0, [mean](double sum, double value) {
        return sum + (value - mean) * (value - mean);
    });
}

/// Returns the share of the variance that the split in front of `at` explains.
double explained(std::span<const double> values, std::size_t at)
{
    const auto before = values.first(at), after = values.subspan(at);
    const double all = squaresAround(values, meanOf(values));
    const double left = squaresAround(before, meanOf(before)) + squaresAround(after, meanOf(after));
    return all > 0 ? std::clamp(1 - left / all, 0.0, 1.0) : 0;
}

/// Steps at which a head has a role: values [begin, end).
struct RoleSpan {
    std::size_t begin, end;
};

/// Returns the spans that last to the end or have the role at two steps at least.
std::vector<RoleSpan> spansOf(const std::vector<double>& known, const TurnLevels& levels)
{
    std::vector<RoleSpan> spans;
    for (std::size_t i = 0; i < known.size();) {
        if (known[i] < levels.clear) {
            ++i;
            continue;
        }
        const std::size_t begin = i;
        int clear = 0;
        for (; i < known.size() && known[i] >= levels.kept; ++i)
            clear += known[i] >= levels.clear;
        if (clear > 1 || i == known.size())
            spans.push_back({begin, i});
    }
    return spans;
}

std::string wordsOf(const SeriesChange& change, const Role* role, const ResultArray& array)
{
    const bool isLoss = change.valueAfter < change.valueBefore;
    if (role)
        return std::string(isLoss ? role->lost : role->gained);
    return fmt::format("{} in {}",
                       isLoss ? "fell back to the level of random heads" : "rose above random heads",
                       array.title.empty() ? change.score : array.title);
}

std::string sentenceOf(const SeriesChange& change, const SeriesRecord& record, const std::string& words)
{
    const auto stepAt = [&](int i) { return record.entries[static_cast<std::size_t>(i)].step; };
    return fmt::format("between steps {} and {} {} {} ({} to {})", stepAt(change.before),
                       stepAt(change.after), headLabel(change.head), words, shortNumber(change.valueBefore),
                       shortNumber(change.valueAfter));
}

void addChanges(std::vector<SeriesChange>& changes, const SeriesRecord& record, const ResultArray& array)
{
    const std::string score = array.path.substr(array.path.find('/') + 1);
    const Role* role = roleOf(score);
    if (!isJudged(array, role) || std::ranges::find(repeatedScores, score) != repeatedScores.end())
        return;
    const TurnLevels levels = levelsOf(array, role);
    const auto& values = std::get<std::vector<float>>(array.values);
    const std::size_t heads = array.shape[1] * array.shape[2];
    for (std::size_t place = 0; place < heads; ++place) {
        std::vector<float> ofHead;
        for (std::size_t i = 0; i < array.shape[0]; ++i)
            ofHead.push_back(values[i * heads + place]);
        for (const ScoreTurn& turn : turnsOf(ofHead, levels)) {
            SeriesChange change{
                .head = {static_cast<int>(place / array.shape[2]), static_cast<int>(place % array.shape[2])},
                .score = score,
                .before = turn.before,
                .after = turn.after,
                .valueBefore = ofHead[static_cast<std::size_t>(turn.before)],
                .valueAfter = ofHead[static_cast<std::size_t>(turn.after)],
                .evidence = turn.evidence,
                .text = {}};
            change.text = sentenceOf(change, record, wordsOf(change, role, array));
            changes.push_back(std::move(change));
        }
    }
}

} // namespace

std::vector<ScoreTurn> turnsOf(std::span<const float> values, const TurnLevels& levels)
{
    std::vector<double> known;
    std::vector<int> places;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i])) {
            known.push_back(values[i]);
            places.push_back(static_cast<int>(i));
        }
    std::vector<std::size_t> at;
    for (const RoleSpan& span : spansOf(known, levels))
        for (const std::size_t end : {span.begin, span.end})
            if (end > 0 && end < known.size())
                at.push_back(end);
    std::vector<ScoreTurn> turns;
    for (std::size_t i = 0; i < at.size(); ++i) {
        const std::size_t begin = i > 0 ? at[i - 1] : 0, end = i + 1 < at.size() ? at[i + 1] : known.size();
        const std::span<const double> around(known.data() + begin, end - begin);
        turns.push_back(
            {places[at[i] - 1], places[at[i]], known[at[i]] < levels.kept, explained(around, at[i] - begin)});
    }
    return turns;
}

std::vector<SeriesChange> changesOf(const SeriesRecord& record)
{
    std::vector<SeriesChange> changes;
    const ResultSet joined = joinedArrays(record);
    for (const ResultArray& array : joined.arrays)
        if (array.path.starts_with("scores/"))
            addChanges(changes, record, array);
    std::stable_sort(changes.begin(), changes.end(), [](const SeriesChange& a, const SeriesChange& b) {
        return a.after != b.after ? a.after < b.after : a.head < b.head;
    });
    return changes;
}

} // namespace headwise
