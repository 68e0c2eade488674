#include "app/window/windows.h"

#include "app/window/main_window.h"
#include "app/window/recovery.h"

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QTimer>

#include <algorithm>
#include <chrono>
#include <utility>

namespace headwise::app {

Windows::Windows(Memory memory, QObject* parent)
    : QObject(parent)
    , m_memory(memory)
{
}

Windows::~Windows()
{
    const QList<MainWindow*> open = std::exchange(m_windows, {});
    qDeleteAll(open);
}

MainWindow* Windows::first()
{
    return m_windows.isEmpty() ? add() : m_windows.first();
}

void Windows::quit()
{
    askNext({});
}

void Windows::askNext(const Asked& asked)
{
    const auto next = std::ranges::find_if(
        m_windows, [&asked](MainWindow* window) { return !asked.contains(QPointer(window)); });
    if (next == m_windows.end()) {
        const QList<MainWindow*> open = m_windows;
        for (MainWindow* window : open)
            window->closeUnasked();
        return;
    }
    const Asked now = asked + Asked{*next};
    (*next)->whenNotesAreSafe([this, now] { askNext(now); });
}

void Windows::saveAndExit(int code)
{
    using namespace std::chrono_literals;
    constexpr auto patience = 20s; // for a disk that does not answer
    for (MainWindow* window : m_windows)
        if (auto* recovery = window->findChild<Recovery*>())
            recovery->saveForEnd();
    auto* wait = new QTimer(this);
    connect(wait, &QTimer::timeout, this, [this, code, end = QDeadlineTimer(patience)] {
        for (const MainWindow* window : m_windows)
            if (const auto* recovery = window->findChild<Recovery*>();
                recovery && !recovery->isAtRest() && !end.hasExpired())
                return;
        QCoreApplication::exit(code);
    });
    wait->start(10ms);
}

MainWindow* Windows::add()
{
    auto* window = new MainWindow; // ends with its closing, or with us
    window->setAttribute(Qt::WA_DeleteOnClose);
    connect(window, &MainWindow::quitRequested, this, &Windows::quit);
    connect(window, &QObject::destroyed, this, [this, window] { m_windows.removeAll(window); });
    if (m_memory == Memory::Kept)
        window->keepRecovery(Recovery::defaultFolder());
    if (!m_windows.isEmpty())
        window->move(m_windows.last()->pos() + QPoint(32, 32));
    m_windows << window;
    window->show();
    return window;
}

MainWindow* Windows::windowFor(const std::filesystem::path& path)
{
    for (MainWindow* window : m_windows)
        if (window->shows(path))
            return window;
    for (MainWindow* window : m_windows)
        if (window->isEmpty())
            return window;
    return add();
}

Result<RemoteServer::Answer> Windows::handle(const RemoteRequest& request)
{
    if (!request.display.isEmpty() && request.display != displayName())
        return RemoteServer::Answer::Declined;
    if (request.address) {
        if (const Result<Done> page = first()->checkAddress(*request.address); !page)
            return page.error();
        MainWindow* window = windowFor(request.address->model);
        window->comeForward();
        window->goTo(*request.address);
    }
    for (const QString& path : request.toOpen) {
        MainWindow* window = windowFor(path.toStdString());
        window->comeForward();
        if (!window->shows(path.toStdString()))
            window->openPath(path);
    }
    return RemoteServer::Answer::Done;
}

} // namespace headwise::app
