#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <algorithm>
#include <utility>

// Choice of the tokens that tables, ranks and searches look at.

namespace headwise::ui {

int Workspace::filteredOut() const
{
    if (!m_tokenFilter.isOn())
        return 0;
    return static_cast<int>(std::ranges::count(m_leftOut, true) - std::ranges::count(m_unused, true));
}

void Workspace::setTokenFilter(const TokenFilter& filter)
{
    m_wantedFilter = filter;
    m_wantedFilter.counts = nullptr;
    findLeftOut();
}

void Workspace::findLeftOut()
{
    TokenFilter filter = m_circuits ? m_wantedFilter : TokenFilter();
    filter.counts = filter.lowestCount > 0 ? m_runs->inputs().tokenCounts : nullptr;
    if (!filter.counts)
        filter.lowestCount = 0; // How often tokens occur is unknown.
    if (!filter.isOn()) {
        m_filterJob.cancel();
        setLeftOut({}, {});
        return m_runs->runNext();
    }
    std::vector<bool> unused = m_unused;
    unused.resize(static_cast<std::size_t>(m_card->dVocab), false);
    m_filterJob.start(
        tr("Choosing tokens"),
        [filter, circuits = m_circuits, tokenizer = m_tokenizer, unused](const Task& task) {
            return leftOutTokens(filter, tokenizer.get(), circuits->weights(), unused, task);
        },
        [this, filter](Result<std::vector<bool>> found) {
            if (found) {
                setLeftOut(filter, std::move(found).value());
            } else {
                m_wantedFilter = m_tokenFilter;
                emit tokenFilterChanged(); // back to what it is
                emit failed(text(found.error()));
            }
            m_runs->runNext();
        });
}

void Workspace::setLeftOut(const TokenFilter& filter, std::vector<bool> leftOut)
{
    const std::vector<bool> before = unusedTokens();
    const bool isOther = filter != m_tokenFilter || leftOut != m_leftOut;
    m_tokenFilter = filter;
    m_leftOut = std::move(leftOut);
    if (!isOther)
        return;
    if (before != unusedTokens())
        m_runs->queueOtherwiseFiltered();
    emit tokenFilterChanged();
}

} // namespace headwise::ui
