#include "app/commands/analysis_run/series_json.h"

#include "core/model/head_id.h"

#include <nlohmann/json.hpp>

namespace headwise::app {

nlohmann::ordered_json seriesJson(const Series& series)
{
    nlohmann::ordered_json json{{"model", series.modelName}, {"steps", series.steps}};
    json["skipped"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < series.steps.size(); ++i)
        if (!series.problems[i].empty())
            json["skipped"].push_back(
                {{"step", series.steps[i]}, {"member", series.members[i]}, {"problem", series.problems[i]}});
    json["scores"] = nlohmann::ordered_json::array();
    for (const SeriesScore& score : series.scores)
        json["scores"].push_back(score.name);
    json["changes"] = nlohmann::ordered_json::array();
    for (const SeriesChange& change : series.changes)
        json["changes"].push_back({{"head", dottedHead(change.head)},
                                   {"score", change.score},
                                   {"before_step", series.steps[static_cast<std::size_t>(change.before)]},
                                   {"after_step", series.steps[static_cast<std::size_t>(change.after)]},
                                   {"value_before", change.valueBefore},
                                   {"value_after", change.valueAfter},
                                   {"evidence", change.evidence},
                                   {"text", change.text}});
    return json;
}

} // namespace headwise::app
