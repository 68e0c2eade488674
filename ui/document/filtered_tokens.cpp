#include "ui/document/filtered_tokens.h"

#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <utility>

namespace headwise::ui {

FilteredTokens::FilteredTokens(Workspace* workspace)
    : m_workspace(workspace)
{
}

const std::vector<bool>& FilteredTokens::unused() const
{
    return m_filter.isOn() ? m_excluded : m_workspace->model()->files().unused;
}

int FilteredTokens::count() const
{
    if (!m_filter.isOn())
        return 0;
    return static_cast<int>(std::ranges::count(m_excluded, true)
                            - std::ranges::count(m_workspace->model()->files().unused, true));
}

void FilteredTokens::setFilter(const TokenFilter& filter)
{
    m_wanted = filter;
    m_wanted.counts = nullptr;
    update();
}

void FilteredTokens::updateCounts()
{
    if (m_wanted.lowestCount > 0)
        update();
}

void FilteredTokens::update()
{
    const OpenModel* model = m_workspace->model();
    TokenFilter filter = model->hasModel() ? m_wanted : TokenFilter();
    filter.counts = filter.lowestCount > 0 ? m_workspace->runs()->inputs().tokenCounts : nullptr;
    if (!filter.counts)
        filter.lowestCount = 0; // How often tokens occur is unknown.
    if (!filter.isOn()) {
        m_job.cancel();
        apply({}, {});
        return emit updated();
    }
    std::vector<bool> missing = model->files().unused;
    missing.resize(static_cast<std::size_t>(model->card().dVocab), false);
    m_job.start(
        tr("Filtering tokens"),
        [filter, circuits = model->circuits(), tokenizer = model->tokenizer(), missing](const Task& task) {
            return leftOutTokens(filter, tokenizer.get(), circuits->weights(), missing, task);
        },
        [this, filter](Result<std::vector<bool>> found) {
            if (found) {
                apply(filter, std::move(found).value());
            } else {
                m_wanted = m_filter;
                emit changed(); // Pages show the old one again.
                emit failed(text(found.error()));
            }
            emit updated();
        });
}

void FilteredTokens::apply(const TokenFilter& filter, std::vector<bool> excluded)
{
    const std::vector<bool> before = unused();
    const bool isOther = filter != m_filter || excluded != m_excluded;
    m_filter = filter;
    m_excluded = std::move(excluded);
    if (!isOther)
        return;
    if (before != unused())
        emit unusedChanged();
    emit changed();
}

void FilteredTokens::release()
{
    m_job.cancel();
    m_filter = {};
    m_excluded.clear();
}

void FilteredTokens::forget()
{
    release();
    m_wanted = {};
}

void FilteredTokens::copyFrom(const FilteredTokens& other)
{
    m_wanted = other.m_wanted;
    m_filter = other.m_filter;
    m_excluded = other.m_excluded;
}

} // namespace headwise::ui
