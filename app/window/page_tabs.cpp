#include "app/window/page_tabs.h"

#include "app/window/page_sentence.h"
#include "app/window/page_sidebar.h"
#include "ui/pages/parts/page.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QResizeEvent>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStyle>

#include <algorithm>
#include <utility>

namespace headwise::app {

namespace {

constexpr int besideSidebar = 8;      // px
constexpr int comfortableWidth = 760; // px, for a page that could be narrower

QSize neededBy(const QWidget& page)
{
    return page.minimumSizeHint().expandedTo(page.minimumSize());
}

/// Container of a page in a scroll area. It fills the area but is never smaller than the page can be. Without it, the area
/// would give the page its preferred height for its width.
class Place : public QWidget {
public:
    Place(QWidget* page, std::function<void()> onNewHint)
        : m_page(page)
        , m_onNewHint(std::move(onNewHint))
    {
    }

    /// Takes the page. Call it last, because this polishes everything in the page for its new window.
    void take() { m_page->setParent(this); }

    QSize minimumSizeHint() const override { return neededBy(*m_page); }
    QSize sizeHint() const override { return m_page->sizeHint(); }

protected:
    bool event(QEvent* event) override
    {
        if (event->type() == QEvent::LayoutRequest) {
            updateGeometry(); // the page's hint is this one's
            m_onNewHint();
        }
        return QWidget::event(event);
    }

    void resizeEvent(QResizeEvent* event) override { m_page->resize(event->size()); }

private:
    QWidget* m_page;
    std::function<void()> m_onNewHint;
};

} // namespace

PageTabs::PageTabs(QWidget* parent)
    : QWidget(parent)
    , m_sidebar(new PageSidebar(this))
    , m_sentence(new PageSentence(this))
    , m_stack(new QStackedWidget(this))
    , m_column(new QVBoxLayout)
{
    m_column->setSpacing(0);
    m_column->addWidget(m_sentence);
    m_column->addWidget(m_stack, 1);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(besideSidebar);
    layout->addWidget(m_sidebar);
    layout->addLayout(m_column, 1);
    setFocusProxy(m_sidebar);
    connect(m_sidebar, &PageSidebar::chosen, this, &PageTabs::setCurrentIndex);
    connect(m_sidebar, &PageSidebar::headingChosen, this, &PageTabs::headingChosen);
    connect(m_stack, &QStackedWidget::currentChanged, this, [this](int index) {
        m_sidebar->setCurrent(index);
        m_sentence->showPage(pageName(index));
        emit currentChanged(index);
    });
}

void PageTabs::add(const QString& name, const QString& title, const QString& heading,
                   std::function<ui::Page*()> make)
{
    m_tabs.push_back({name, title, heading, std::move(make), nullptr, {}});
    m_sidebar->add(title, heading);
    // A window smaller than the page shows a part of it, so that the page does not limit the window.
    auto* place = new QScrollArea(this);
    place->setFrameShape(QFrame::NoFrame);
    place->setWidgetResizable(true);
    place->setFocusPolicy(Qt::NoFocus);
    place->installEventFilter(this);
    m_stack->addWidget(place);
}

int PageTabs::count() const
{
    return m_stack->count();
}

int PageTabs::currentIndex() const
{
    return m_stack->currentIndex();
}

void PageTabs::setCurrentIndex(int index)
{
    m_stack->setCurrentIndex(index);
}

QWidget* PageTabs::widget(int index) const
{
    return m_stack->widget(index);
}

int PageTabs::indexOf(const QWidget* widget) const
{
    return m_stack->indexOf(widget);
}

QString PageTabs::tabText(int index) const
{
    return index >= 0 && index < std::ssize(m_tabs) ? m_tabs[static_cast<std::size_t>(index)].title
                                                    : QString();
}

QString PageTabs::heading(int index) const
{
    return index >= 0 && index < std::ssize(m_tabs) ? m_tabs[static_cast<std::size_t>(index)].heading
                                                    : QString();
}

void PageTabs::setReason(int index, const QString& whyNot)
{
    m_sidebar->setReason(index, whyNot);
}

int PageTabs::wantedWidth() const
{
    int widest = comfortableWidth;
    for (const Tab& tab : m_tabs)
        if (tab.page)
            widest = std::max(widest, neededBy(*tab.page).width());
    return m_sidebar->minimumWidth() + besideSidebar + widest
        + style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, this);
}

int PageTabs::leastWidth() const
{
    const int bar = style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, this);
    int widest = 0;
    for (const Tab& tab : m_tabs)
        if (tab.page) {
            const QSize needed = neededBy(*tab.page);
            widest = std::max(widest, needed.width() + (needed.height() > m_stack->height() ? bar : 0));
        }
    return m_sidebar->minimumWidth() + besideSidebar + widest;
}

void PageTabs::goTo(int step)
{
    int to = m_sidebar->neighbour(currentIndex(), step);
    if (to < 0) // from one end to the other
        for (int next = currentIndex(); next >= 0; next = m_sidebar->neighbour(next, -step))
            to = next;
    setCurrentIndex(to);
}

void PageTabs::keyPressEvent(QKeyEvent* event)
{
    const bool isBack = event->key() == Qt::Key_Backtab || event->key() == Qt::Key_PageUp
        || (event->modifiers() & Qt::ShiftModifier);
    const bool isKey = event->key() == Qt::Key_Tab || event->key() == Qt::Key_Backtab
        || event->key() == Qt::Key_PageUp || event->key() == Qt::Key_PageDown;
    if (!isKey || !(event->modifiers() & Qt::ControlModifier))
        return QWidget::keyPressEvent(event);
    goTo(isBack ? -1 : 1);
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
    auto* inside = new Place(tab.page, [this] { emit wantedWidthChanged(); });
    place->setWidget(inside);
    inside->take();
    tab.page->show();
    place->setFocusProxy(tab.page);
    if (!tab.state.isEmpty())
        tab.page->setViewState(std::exchange(tab.state, {}));
    emit pageMade(tab.page);
    emit wantedWidthChanged();
    return tab.page;
}

ui::Page* PageTabs::madePage(int index) const
{
    return m_tabs.at(static_cast<std::size_t>(index)).page;
}

void PageTabs::placeBelow(QWidget* part)
{
    m_column->addWidget(part, 2);
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
    return QWidget::eventFilter(watched, event);
}

} // namespace headwise::app
