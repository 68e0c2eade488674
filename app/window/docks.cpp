#include "app/window/docks.h"

#include "app/window/page_tabs.h"
#include "app/window/window_settings.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/session/jobs_page.h"
#include "ui/pages/session/notes_page.h"
#include "ui/widgets/log_view.h"

#include <QApplication>
#include <QDockWidget>
#include <QEvent>
#include <QLayout>
#include <QPlainTextEdit>

#include <algorithm>
#include <utility>

namespace headwise::app {

using namespace headwise::ui;

namespace {

constexpr int aroundPages = 16; // px: the margins beside them

int widthNeeded(const QDockWidget* dock)
{
    return dock->minimumSizeHint().expandedTo(dock->minimumSize()).width();
}

} // namespace

Docks::Docks(QMainWindow* window, Workspace* workspace, HeadsPage* heads, PageTabs* pages,
             WindowSettings* settings)
    : WindowPart(window, workspace)
    , m_pages(pages)
    , m_settings(settings)
{
    const auto add = [&](QWidget* widget, const QString& name, const QString& title,
                         Qt::DockWidgetArea area) {
        auto* dock = new QDockWidget(title, window);
        dock->setObjectName(name);
        dock->setWidget(widget);
        window->addDockWidget(area, dock);
        m_docks.push_back(dock);
    };
    add(heads, QStringLiteral("heads"), tr("Heads"), Qt::LeftDockWidgetArea);
    add(new NotesPage(workspace, window), QStringLiteral("notes"), tr("Notes"), Qt::RightDockWidgetArea);
    add(new LogView(window), QStringLiteral("log"), tr("Log"), Qt::BottomDockWidgetArea);
    add(new JobsPage(workspace, window), QStringLiteral("jobs"), tr("Jobs"), Qt::BottomDockWidgetArea);
    m_yielding = {{m_docks[1], false}, {m_docks[0], true}};
    for (Yielding& one : m_yielding)
        connect(one.dock->toggleViewAction(), &QAction::triggered, this, [&one] { one.gaveWay = false; });
    m_pause.setSingleShot(true);
    m_pause.setInterval(0);
    connect(&m_pause, &QTimer::timeout, this, [this] { makeRoom(std::exchange(m_mayHide, false)); });
    connect(pages, &PageTabs::pageMade, this, [this] { m_mayHide = true; });
    connect(pages, &PageTabs::wantedWidthChanged, &m_pause, qOverload<>(&QTimer::start));
    window->installEventFilter(this);
    connect(settings, &WindowSettings::keeping, this, [this](QByteArray* where) {
        if (m_areShown)
            *where = layout();
    });
    connect(workspace->model(), &OpenModel::circuitsChanged, this, [this] {
        if (m_workspace->model()->isOpen() && !m_areShown) // in an event before that of opened()
            QTimer::singleShot(0, this, [this] {
                if (m_workspace->model()->isOpen() && !m_areShown)
                    setShown(m_areEarly = true);
            });
    });
}

void Docks::show()
{
    if (!std::exchange(m_areEarly, false))
        setShown(true);
}

void Docks::hide()
{
    m_areEarly = false;
    setShown(false);
}

void Docks::setShown(bool shown)
{
    if (!shown && m_areShown)
        m_settings->keep(); // where they stand
    for (QDockWidget* dock : m_docks)
        dock->setVisible(shown && dock->objectName() != QLatin1String("log")
                         && dock->objectName() != QLatin1String("jobs"));
    m_areShown = shown;
    forgetGivenWay();
    if (shown)
        setLayout(m_settings->now().layout);
}

bool Docks::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_window && event->type() == QEvent::Resize) {
        m_mayHide = true;
        m_pause.start();
    }
    return WindowPart::eventFilter(watched, event);
}

QByteArray Docks::layout() const
{
    const auto isAway = [](const Yielding& one) { return one.gaveWay && !one.dock->isVisible(); };
    return std::ranges::any_of(m_yielding, isAway) ? m_fullLayout : m_window->saveState();
}

void Docks::forgetGivenWay()
{
    for (Yielding& one : m_yielding)
        one.gaveWay = false;
}

void Docks::setLayout(const QByteArray& layout)
{
    if (m_window->restoreState(layout))
        forgetGivenWay();
    m_mayHide = true;
    m_pause.start();
}

QDockWidget* Docks::beside(Qt::DockWidgetArea area) const
{
    const auto found = std::ranges::find_if(m_docks, [&](QDockWidget* dock) {
        return dock->isVisible() && !dock->isFloating() && m_window->dockWidgetArea(dock) == area;
    });
    return found == m_docks.end() ? nullptr : *found;
}

int Docks::smallest(Qt::DockWidgetArea area) const
{
    int width = 0;
    for (QDockWidget* dock : m_docks)
        if (dock->isVisible() && !dock->isFloating() && m_window->dockWidgetArea(dock) == area)
            width = std::max(width, widthNeeded(dock));
    return width;
}

/// \returns px beside the pages, now taken by docks; negative if the pages lack room
int Docks::roomBesidePages(int& smallestDocks)
{
    int room = m_window->centralWidget()->width() - aroundPages - m_pages->wantedWidth();
    smallestDocks = 0;
    for (Side& side : m_sides)
        if (const QDockWidget* dock = beside(side.area)) {
            if (dock->width() != side.given) // the user or a layout has moved it
                side.liked = side.given = dock->width();
            room += dock->width();
            smallestDocks += smallest(side.area);
        }
    return room;
}

void Docks::makeRoom(bool mayHide)
{
    if (!m_areShown)
        return;
    int others = 0, room = roomBesidePages(others);
    if (mayHide && (giveWay(room - others, false) || giveWay(room - others, true))) {
        m_mayHide = true; // for the next dock, once the window is laid out without this one
        m_pause.start();
        m_window->layout()->activate();
        room = roomBesidePages(others);
    }
    for (Side& side : m_sides)
        if (QDockWidget* dock = beside(side.area)) {
            const int least = smallest(side.area);
            others -= least;
            side.given = std::clamp(room - others, least, std::max(side.liked, least));
            room -= side.given;
            if (dock->width() != side.given)
                m_window->resizeDocks({dock}, {side.given}, Qt::Horizontal);
        }
    m_window->layout()->activate();
}

/// \returns px that the pages may lack before such a dock is hidden
int Docks::tolerated(bool forLeast) const
{
    return forLeast ? m_pages->wantedWidth() - m_pages->leastWidth() : 0;
}

/// Hides the next dock for the pages, or shows again the one that was hidden last.
/// \param room  px that docks at their smallest leave free; negative if the pages lack room
bool Docks::giveWay(int room, bool hides)
{
    if (!hides) {
        const auto last = std::find_if(m_yielding.rbegin(), m_yielding.rend(), [](const Yielding& one) {
            return one.gaveWay && !one.dock->isVisible();
        });
        if (last == m_yielding.rend() || room + tolerated(last->forLeast) <= widthNeeded(last->dock))
            return false;
        last->gaveWay = false;
        last->dock->show();
        return true;
    }
    const auto next = std::ranges::find_if(m_yielding, [this](const Yielding& one) {
        const bool isBeside =
            beside(Qt::RightDockWidgetArea) == one.dock || beside(Qt::LeftDockWidgetArea) == one.dock;
        return isBeside && !one.dock->isAncestorOf(QApplication::focusWidget());
    });
    if (next == m_yielding.end() || room + tolerated(next->forLeast) >= 0)
        return false;
    m_fullLayout = layout();
    next->gaveWay = true;
    next->dock->hide();
    return true;
}

void Docks::rememberLayout()
{
    m_firstLayout = m_window->saveState();
}

void Docks::reset()
{
    setLayout(m_firstLayout);
}

void Docks::writeNote()
{
    for (QDockWidget* dock : m_docks)
        if (auto* note = dock->findChild<QPlainTextEdit*>(QStringLiteral("note"))) {
            dock->show();
            dock->raise();
            note->setFocus();
        }
}

std::vector<QWidget*> Docks::contents() const
{
    std::vector<QWidget*> widgets;
    for (const QDockWidget* dock : m_docks)
        widgets.push_back(dock->widget());
    return widgets;
}

QList<QAction*> Docks::toggles() const
{
    QList<QAction*> actions;
    for (const QDockWidget* dock : m_docks)
        actions << dock->toggleViewAction();
    return actions;
}

} // namespace headwise::app
