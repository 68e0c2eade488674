#pragma once

// Private to core/series: a look at all members before the work.

#include "core/model/model_card.h"
#include "core/series/series_run.h"

#include <string>
#include <vector>

namespace headwise {

/// The sizes that the members of a series share.
struct ModelShape {
    std::string architecture;
    int nLayers = 0, nHeads = 0, nKvHeads = 0, dModel = 0, dHead = 0, dMlp = 0, dVocab = 0;

    ModelShape() = default;
    explicit ModelShape(const ModelConfig& config);
    explicit ModelShape(const ModelCard& card);

    /// "2 layers of 8 heads, d_model 64, …"
    std::string text() const;

    auto operator<=>(const ModelShape&) const = default;
};

/// Problems of the members: one that does not open, or has another shape than most.
class Survey {
public:
    Survey(std::vector<SeriesMember> members, std::vector<std::string> problems)
        : m_members(std::move(members))
        , m_problems(std::move(problems))
    {
    }

    const std::string& problem(std::size_t member) const
    {
        return m_problems[member];
    } ///< Empty: it is good.
    /// The last good member before another; null if there is none.
    const SeriesMember* before(std::size_t member) const;
    /// The last good member, which stands for all. There is one.
    const SeriesMember& reference() const;

private:
    std::vector<SeriesMember> m_members;
    std::vector<std::string> m_problems;
};

/// Reads the headers of all members. The shape of most of them counts, of the later ones in a tie.
/// Errors: Corrupt if no member opens; Cancelled.
Result<Survey> surveyOf(const SeriesRequest& request, const Task& task);

/// Names the files of a member with sizes and times of the last change, in one line.
std::string filesOfMember(const SeriesMember& member);

} // namespace headwise
