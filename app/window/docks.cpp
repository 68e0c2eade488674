#include "app/window/docks.h"

#include "app/window/window_settings.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/session/jobs_page.h"
#include "ui/pages/session/notes_page.h"
#include "ui/widgets/log_view.h"

#include <QDockWidget>
#include <QPlainTextEdit>
#include <QTimer>

#include <utility>

namespace headwise::app {

using namespace headwise::ui;

Docks::Docks(QMainWindow* window, Workspace* workspace, HeadsPage* heads, WindowSettings* settings)
    : WindowPart(window, workspace)
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
    connect(settings, &WindowSettings::keeping, this, [this](Settings* kept) {
        if (m_areShown)
            kept->layout = m_window->saveState();
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
    if (shown)
        m_window->restoreState(m_settings->now().layout);
    m_areShown = shown;
}

void Docks::rememberLayout()
{
    m_firstLayout = m_window->saveState();
}

void Docks::reset()
{
    m_window->restoreState(m_firstLayout);
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
