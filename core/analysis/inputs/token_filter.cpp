#include "core/analysis/inputs/token_filter.h"

#include "core/analysis/catalogue.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/analysis/residual_basis.h"
#include "core/files/utf8.h"
#include "core/tokenizer/token_pattern.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace headwise {

namespace {

constexpr double fewestDeviations = 4;
constexpr Eigen::Index rowsAtOnce = 4096;

double median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1)
        return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool isWord(const std::string& text)
{
    static const auto pattern = TokenPattern::compile({.isRegex = true, .text = R"( ?\p{L}[\p{L}\p{M}]*)"});
    if (!pattern || firstInvalidUtf8(text))
        return false;
    const auto found = pattern->matches(text);
    return found && found->size() == 1 && found->front().begin == 0 && found->front().end == text.size();
}

/// body(first, rows) over W_E in blocks.
template <typename Body>
Result<Done> forEachBlock(const ProcessedWeights& weights, const Task& task, Body body)
{
    const Eigen::Index count = weights.config().dVocab;
    for (Eigen::Index first = 0; first < count; first += rowsAtOnce) {
        if (task.cancelled())
            return stopped();
        body(first, weights.W_E<double>(first, std::min(rowsAtOnce, count - first)));
    }
    return Done{};
}

} // namespace

std::string filterName(const TokenFilter& filter)
{
    const TokenFilter off;
    std::string name;
    const auto add = [&](bool isOn, const std::string& option) {
        if (isOn)
            name += (name.empty() ? "" : " ") + option;
    };
    add(filter.asciiOnly, "--ascii");
    add(filter.wordsOnly, "--words");
    add(filter.trainedOnly, "--trained");
    add(filter.noSpecials, "--no-specials");
    add(filter.leadingSpace == TokenFilter::LeadingSpace::With, "--leading-space with");
    add(filter.leadingSpace == TokenFilter::LeadingSpace::Without, "--leading-space without");
    add(filter.firstId != off.firstId, fmt::format("--first-id {}", filter.firstId));
    add(filter.lastId != off.lastId, fmt::format("--last-id {}", filter.lastId));
    add(filter.lowestNorm > 0, fmt::format("--min-norm {}", filter.lowestNorm));
    add(std::isfinite(filter.highestNorm), fmt::format("--max-norm {}", filter.highestNorm));
    add(filter.lowestCount > 0, fmt::format("--min-count {}", filter.lowestCount));
    return name;
}

bool followsFilter(const ResultArray& array)
{
    constexpr std::string_view folder = "analyses/";
    if (array.path.starts_with("tables/") || isInEmbeddingMetric(array))
        return true;
    if (!array.path.starts_with(folder))
        return false;
    const std::string_view inside = std::string_view(array.path).substr(folder.size());
    const Analysis* analysis = findAnalysis(inside.substr(0, inside.find('/')));
    return !analysis || analysis->followsFilter;
}

void markFilter(ResultSet& results, const TokenFilter& filter)
{
    if (!filter.isOn())
        return;
    for (ResultArray& array : results.arrays) {
        if (followsFilter(array))
            array.attributes["token_filter"] = filterName(filter);
    }
}

std::string filterOf(const ResultArray& array)
{
    const auto found = array.attributes.find("token_filter");
    const auto* name = found == array.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    return name ? *name : std::string();
}

bool passes(const TokenFilter& filter, const std::string& bytes)
{
    const auto isPrintable = [](char c) { return c >= ' ' && c <= '~'; };
    return (!filter.asciiOnly || std::all_of(bytes.begin(), bytes.end(), isPrintable))
        && (!filter.wordsOnly || isWord(bytes))
        && (filter.leadingSpace == TokenFilter::LeadingSpace::Either
            || bytes.starts_with(' ') == (filter.leadingSpace == TokenFilter::LeadingSpace::With));
}

Result<std::vector<bool>> hardlyTrained(const ProcessedWeights& weights, const std::vector<bool>& unused,
                                        const Task& task)
{
    const auto count = static_cast<std::size_t>(weights.config().dVocab);
    RowVector<double> sum = RowVector<double>::Zero(weights.config().dModel);
    auto done = forEachBlock(weights, task,
                             [&](Eigen::Index, const Matrix<double>& rows) { sum += rows.colwise().sum(); });
    if (!done)
        return done.error();
    const RowVector<double> mean = sum / static_cast<double>(count);
    std::vector<double> distances;
    distances.reserve(count);
    done = forEachBlock(weights, task, [&](Eigen::Index, const Matrix<double>& rows) {
        const Eigen::VectorXd found = (rows.rowwise() - mean).rowwise().norm();
        distances.insert(distances.end(), found.begin(), found.end());
    });
    if (!done)
        return done.error();
    std::vector<double> asked;
    for (std::size_t id = 0; id < count; ++id) {
        if (id >= unused.size() || !unused[id])
            asked.push_back(distances[id]);
    }
    const double middle = median(asked);
    for (double& distance : asked)
        distance = std::abs(distance - middle);
    const double lowest = middle - fewestDeviations * 1.4826 * median(asked);
    std::vector<bool> marks(count, false);
    for (std::size_t id = 0; id < count; ++id)
        marks[id] = distances[id] < lowest && (id >= unused.size() || !unused[id]);
    return marks;
}

Result<std::vector<bool>> leftOutTokens(const TokenFilter& filter, const Tokenizer* tokenizer,
                                        const ProcessedWeights& weights, std::vector<bool> unused,
                                        const Task& task)
{
    if (filter.trainedOnly) {
        const auto marks = hardlyTrained(weights, unused, task);
        if (!marks)
            return marks.error();
        for (std::size_t id = 0; id < std::min(marks->size(), unused.size()); ++id)
            unused[id] = unused[id] || (*marks)[id];
    }
    if (filter.asksForNorms()) {
        const auto done = forEachBlock(weights, task, [&](Eigen::Index first, const Matrix<double>& rows) {
            for (Eigen::Index row = 0; row < rows.rows(); ++row) {
                const auto id = static_cast<std::size_t>(first + row);
                const double norm = rows.row(row).norm();
                if (id < unused.size() && (norm < filter.lowestNorm || norm > filter.highestNorm))
                    unused[id] = true;
            }
        });
        if (!done)
            return done.error();
    }
    for (std::size_t id = 0; id < unused.size(); ++id) {
        const int token = static_cast<int>(id);
        if (token < filter.firstId || token > filter.lastId
            || (filter.counts && filter.counts->of(token) < filter.lowestCount))
            unused[id] = true;
        if (!unused[id] && tokenizer && filter.asksForText())
            unused[id] = !passes(filter, tokenizer->bytes(token))
                || ((filter.wordsOnly || filter.noSpecials) && tokenizer->isSpecial(token));
    }
    return unused;
}

} // namespace headwise
