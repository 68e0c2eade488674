#include "core/analysis/spectra/random_list.h"

#include "core/circuits/random_matrix.h"
#include "core/circuits/token_table.h"

#include <cmath>

namespace headwise {

Result<RandomList> randomList(const AnalysisContext& context, const DirectionSide& side, std::size_t length,
                              const Task& task)
{
    return randomList(context, {side, context.circuits.config().nLayers - 1}, length, task);
}

Result<RandomList> randomList(const AnalysisContext& context, const RandomListSide& of, std::size_t length,
                              const Task& task)
{
    const ModelConfig& config = context.circuits.config();
    Matrix<double> directions =
        gaussianMatrix(config.dModel, listedNullDirections, context.options.inputs.seed);
    directions.colwise().normalize();
    if (of.map)
        directions = (*of.map * directions).eval();
    const auto scores = directionScores(*context.tokens, of.side, of.layer, directions, task);
    if (!scores)
        return scores.error();
    RandomList out{std::vector<double>(length, 0.0), 0};
    for (Eigen::Index k = 0; k < listedNullDirections; ++k) {
        const RowVector<double> line = scores->col(k).transpose();
        const TokenEnds found = ends(line, static_cast<int>(length), context.options.unusedTokens);
        for (std::size_t i = 0; i < found.top.size(); ++i)
            out.means[i] += found.top[i].value / listedNullDirections;
    }
    out.deviation = std::sqrt(scores->squaredNorm() / static_cast<double>(scores->size()));
    return out;
}

void addEndSpecs(std::vector<ArraySpec>& specs, const ArraySpec& line)
{
    for (const bool isLowest : {false, true}) {
        ArraySpec ids = line;
        ids.path += isLowest ? "_lowest_ids" : "_ids";
        ids.title += isLowest ? ", other end" : "";
        ids.definition =
            (isLowest ? "the smallest entries of " : "the largest entries of ") + line.definition;
        ArraySpec values = ids;
        values.path = line.path + (isLowest ? "_lowest_values" : "_values");
        values.title += ", score";
        ids.unit = "token";
        ids.type = NumberType::Whole;
        specs.insert(specs.end(), {std::move(ids), std::move(values)});
    }
}

void putEnds(Results& results, const std::string& path, const EndLists& lists,
             std::optional<double> deviation)
{
    const auto put = [&](const std::string& end, const EntryLists& from) {
        results.put(path + end + "_ids", from.ids);
        ResultArray& values = results.put(path + end + "_values", from.values);
        if (deviation)
            values.nullMean = 0.0;
        values.nullDeviation = deviation;
    };
    put("", lists.top);
    put("_lowest", lists.bottom);
}

} // namespace headwise
