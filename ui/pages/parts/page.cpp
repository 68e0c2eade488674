#include "ui/pages/parts/page.h"

#include "ui/pages/parts/figure_subject.h"

#include <QCursor>
#include <QToolTip>

#include <algorithm>
#include <utility>

namespace headwise::ui {

Page::Page(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
{
    connect(this, &Page::readOutChanged, this, &Page::showTip);
}

bool Page::isOutdated() const
{
    const QList<Page*> parts = findChildren<Page*>();
    return m_isStale || std::ranges::any_of(parts, [this](const Page* part) {
               return part->m_isStale && part->isVisibleTo(this);
           });
}

void Page::describe(FigureSource* figure, const QString& what) const
{
    figure->setFigureTitle(what);
    figure->setProvenance(m_workspace->provenance());
    setView(figure, pageViewName(this, *figure));
}

void Page::showTip(const QString& words)
{
    const bool isOverHead = !words.isEmpty() && underMouse() && m_workspace->selection()->hovered();
    const bool hadTip = std::exchange(m_hasTip, isOverHead);
    if (isOverHead)
        QToolTip::showText(QCursor::pos(), words, this);
    else if (hadTip)
        QToolTip::hideText();
}

} // namespace headwise::ui
