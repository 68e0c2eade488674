#pragma once

#include "core/analysis/inputs/token_filter.h"
#include "ui/base/job.h"

#include <QObject>

#include <vector>

namespace headwise::ui {

class Workspace;

/// The token filter in force and the ids it excludes from tables, ranks and searches.
class FilteredTokens : public QObject {
    Q_OBJECT

public:
    explicit FilteredTokens(Workspace* workspace);

    /// true: an id without a token, or one that the filter excludes.
    const std::vector<bool>& unused() const;
    const TokenFilter& filter() const { return m_filter; }       ///< In force; off without the model's files.
    const TokenFilter& wantedFilter() const { return m_wanted; } ///< Kept until there are files.
    int count() const; ///< Number of tokens that the filter excludes.
    /// Looks for the excluded tokens in a job. The counts are those of the inputs.
    void setFilter(const TokenFilter& filter);
    Job* job() { return &m_job; } ///< Analyses wait for it.

    // For the workspace and the opener.

    void update();       ///< Applies the wanted filter to the open model.
    void updateCounts(); ///< The same, if the filter asks for counts.
    void release();      ///< Takes the filter out of force, without a signal.
    void forget();       ///< Drops the wanted filter too, without a signal.
    void copyFrom(const FilteredTokens& other);

signals:
    void unusedChanged(); ///< Before changed(), if unused() is another.
    void changed();       ///< Another filter, or other ids.
    void updated();       ///< Analyses can go on.
    void failed(const QString& message);

private:
    void apply(const TokenFilter& filter, std::vector<bool> excluded);

    Workspace* m_workspace;
    TokenFilter m_wanted, m_filter;
    std::vector<bool> m_excluded; // by m_filter, with the ids without a token; empty while it is off
    Job m_job;
};

} // namespace headwise::ui
