#include "app/window/page_tabs.h"

#include "ui/pages/parts/page.h"

#include <QEvent>
#include <QMenu>
#include <QResizeEvent>
#include <QScrollArea>
#include <QTabBar>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace headwise::app {

namespace {

/// Container of a page in a scroll area. It fills the area but is never smaller than the page can be. Without it, the area
/// would give the page its preferred height for its width.
class Place : public QWidget {
public:
    explicit Place(QWidget* page)
        : m_page(page)
    {
    }

    /// Takes the page. Call it last, because this polishes everything in the page for its new window.
    void take() { m_page->setParent(this); }

    QSize minimumSizeHint() const override
    {
        return m_page->minimumSizeHint().expandedTo(m_page->minimumSize());
    }
    QSize sizeHint() const override { return m_page->sizeHint(); }

protected:
    bool event(QEvent* event) override
    {
        if (event->type() == QEvent::LayoutRequest)
            updateGeometry(); // the page's hint is this one's
        return QWidget::event(event);
    }

    void resizeEvent(QResizeEvent* event) override { m_page->resize(event->size()); }

private:
    QWidget* m_page;
};

} // namespace

PageTabs::PageTabs(QWidget* parent)
    : QTabWidget(parent)
    , m_list(new QToolButton(this))
{
    auto* menu = new QMenu(m_list);
    m_list->setMenu(menu);
    m_list->setPopupMode(QToolButton::InstantPopup);
    m_list->setAutoRaise(true);
    m_list->setText(QStringLiteral("\u2026"));
    m_list->setToolTip(tr("All pages"));
    m_list->setAccessibleName(tr("All pages"));
    setCornerWidget(m_list);
    m_list->hide();
}

void PageTabs::add(const QString& name, const QString& title, std::function<ui::Page*()> make)
{
    m_tabs.push_back({name, std::move(make), nullptr, {}});
    // A window smaller than the page shows a part of it, so that the page does not limit the window.
    auto* place = new QScrollArea(this);
    place->setFrameShape(QFrame::NoFrame);
    place->setWidgetResizable(true);
    place->setFocusPolicy(Qt::NoFocus);
    place->installEventFilter(this);
    addTab(place, title);
    m_list->menu()->addAction(title, this, [this, place] { setCurrentWidget(place); });
}

void PageTabs::resizeEvent(QResizeEvent* event)
{
    QTabWidget::resizeEvent(event);
    showList();
}

void PageTabs::showList()
{
    int needed = 0;
    for (int i = 0; i < count(); ++i)
        needed += tabBar()->tabRect(i).width();
    m_list->setVisible(needed > width());
}

QString PageTabs::pageName(int index) const
{
    return index >= 0 && index < std::ssize(m_tabs) ? m_tabs[static_cast<std::size_t>(index)].name
                                                    : QString();
}

int PageTabs::indexOfName(const QString& name) const
{
    const auto found = std::ranges::find(m_tabs, name, &Tab::name);
    return found == m_tabs.end() ? -1 : static_cast<int>(found - m_tabs.begin());
}

QStringList PageTabs::pageNames() const
{
    QStringList names;
    for (const Tab& tab : m_tabs)
        names << tab.name;
    return names;
}

ui::Page* PageTabs::page(int index)
{
    Tab& tab = m_tabs.at(static_cast<std::size_t>(index));
    if (tab.page)
        return tab.page;
    tab.page = tab.make();
    auto* place = static_cast<QScrollArea*>(widget(index));
    auto* inside = new Place(tab.page);
    place->setWidget(inside);
    inside->take();
    tab.page->show();
    place->setFocusProxy(tab.page);
    if (!tab.state.isEmpty())
        tab.page->setViewState(std::exchange(tab.state, {}));
    emit pageMade(tab.page);
    return tab.page;
}

QJsonObject PageTabs::viewState() const
{
    QJsonObject state;
    for (const Tab& tab : m_tabs)
        state[tab.name] = tab.page ? tab.page->viewState() : tab.state;
    return state;
}

void PageTabs::forgetStates()
{
    for (Tab& tab : m_tabs)
        tab.state = {};
}

void PageTabs::setViewState(const QJsonObject& state)
{
    for (Tab& tab : m_tabs) {
        const QJsonObject own = state[tab.name].toObject();
        if (tab.page)
            tab.page->setViewState(own);
        else
            tab.state = own;
    }
}

bool PageTabs::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Show)
        if (const int index = indexOf(static_cast<QWidget*>(watched)); index >= 0) {
            ui::Page* shown = page(index);
            QWidget* place = shown->parentWidget();
            place->resize(widget(index)->size().expandedTo(place->minimumSizeHint())); // before it draws
            shown->show();
            place->show();
        }
    return QTabWidget::eventFilter(watched, event);
}

} // namespace headwise::app
