#include "core/analysis/shared/positions_shown.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace headwise {

Eigen::Index shownPositions(const ModelConfig& config)
{
    return std::min(config.nCtx, 1024);
}

std::vector<int> shownQueries(Eigen::Index n)
{
    std::vector<int> queries;
    for (const double part : {50.0 / 1023, 500.0 / 1023, 1000.0 / 1023}) {
        const auto query = static_cast<int>(std::lround(part * static_cast<double>(n - 1)));
        if (queries.empty() || queries.back() < query)
            queries.push_back(query);
    }
    return queries;
}

std::vector<int> evenlySpaced(Eigen::Index n, Eigen::Index count)
{
    count = std::min(n, count);
    std::vector<int> indices;
    for (Eigen::Index i = 0; i < count; ++i)
        indices.push_back(static_cast<int>(count > 1 ? i * (n - 1) / (count - 1) : 0));
    return indices;
}

Eigen::Index squareSide(const ModelConfig& config)
{
    constexpr double most = 2097152;
    const double heads = static_cast<double>(config.nLayers) * config.nHeads;
    const auto fits = static_cast<Eigen::Index>(std::sqrt(most / heads));
    return std::min<Eigen::Index>({config.nCtx, 128, std::max<Eigen::Index>(8, fits)});
}

std::vector<int> sampledIds(const ModelConfig& config, const AnalysisOptions& options, Eigen::Index count)
{
    std::vector<int> ids;
    for (int id = 0; id < config.dVocab; ++id) {
        const auto index = static_cast<std::size_t>(id);
        if (index >= options.unusedTokens.size() || !options.unusedTokens[index])
            ids.push_back(id);
    }
    std::mt19937_64 random(options.inputs.seed);
    const std::size_t taken = std::min(ids.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < taken; ++i) // the first steps of a shuffle
        std::swap(ids[i], ids[i + random() % (ids.size() - i)]);
    ids.resize(taken);
    std::sort(ids.begin(), ids.end());
    return ids;
}

Result<ShownTokens> shownTokens(const ModelConfig& config, const AnalysisOptions& options,
                                Eigen::Index sampled, Eigen::Index longest)
{
    ShownTokens shown{options.inputs.prompt, {}};
    for (const int id : shown.ids)
        if (id < 0 || id >= config.dVocab)
            return Error{ErrorCode::InvalidArgument,
                         fmt::format("The prompt has the id {}, but this model's ids are 0 to {}.", id,
                                     config.dVocab - 1)};
    if (shown.ids.size() > static_cast<std::size_t>(longest)) {
        shown.warning = fmt::format("Only the first {} of the prompt's {} tokens are shown head by head.",
                                    longest, shown.ids.size());
        shown.ids.resize(static_cast<std::size_t>(longest));
    }
    if (!shown.ids.empty())
        return shown;
    shown.ids = sampledIds(config, options, sampled);
    std::mt19937_64 random(options.inputs.seed + 1);
    for (std::size_t i = shown.ids.size(); i > 1; --i) // in no order: a text's tokens are not sorted either
        std::swap(shown.ids[i - 1], shown.ids[random() % i]);
    if (shown.ids.empty())
        return Error{ErrorCode::InvalidArgument, "This model has no tokens in use to sample."};
    return shown;
}

Matrix<double> maskedSoftmax(const Matrix<double>& scores, int window)
{
    Matrix<double> pattern = Matrix<double>::Zero(scores.rows(), scores.cols());
    for (Eigen::Index i = 0; i < scores.rows(); ++i) {
        const Eigen::Index first = window > 0 ? std::max<Eigen::Index>(0, i + 1 - window) : 0;
        const RowVector<double> seen = scores.row(i).segment(first, i + 1 - first);
        const RowVector<double> weights = (seen.array() - seen.maxCoeff()).exp();
        pattern.row(i).segment(first, i + 1 - first) = weights / weights.sum();
    }
    return pattern;
}

void setRows(RealNumbers& out, HeadId head, const Matrix<double>& values)
{
    out.set(head, std::span<const double>(rowMajor(values)));
}

std::vector<double> rowMajor(const Matrix<double>& values)
{
    const Matrix<double> turned = values.transpose(); // column-major: rows of `values` one after the other
    return {turned.data(), turned.data() + turned.size()};
}

ArraySpec idsAlong(Axis axis, std::string path, std::string title, std::string unit)
{
    std::string along = (unit == "token" ? "token ids along the axis " : "indices along the axis ")
        + std::string(axisName(axis));
    return {.path = std::move(path),
            .axes = {axis},
            .title = std::move(title),
            .definition = std::move(along),
            .unit = std::move(unit),
            .type = NumberType::Whole};
}

void nameQueries(ResultArray& array, const std::vector<int>& queries)
{
    std::vector<std::string> names;
    for (const int query : queries)
        names.push_back(fmt::format("i = {}", query));
    array.attributes["query_labels"] = std::move(names);
}

std::vector<std::string> pathsOf(std::string_view analysis, std::initializer_list<const char*> names)
{
    std::vector<std::string> paths;
    for (const char* name : names)
        paths.push_back(fmt::format("analyses/{}/{}", analysis, name));
    return paths;
}

std::string whyNoHeadOfLayer0(const AnalysisOptions& options)
{
    const auto isOfLayer0 = [](HeadId head) { return head.layer == 0; };
    if (options.heads.empty() || std::any_of(options.heads.begin(), options.heads.end(), isOfLayer0))
        return {};
    return "It covers only heads of layer 0, which read tokens and positions unchanged, and none was requested.";
}

int countOfLayer0(const ModelConfig& config, const AnalysisOptions& options)
{
    const std::vector<HeadId> heads = selectedHeads(config, options);
    return static_cast<int>(
        std::count_if(heads.begin(), heads.end(), [](HeadId head) { return head.layer == 0; }));
}

} // namespace headwise
