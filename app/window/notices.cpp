#include "app/window/notices.h"

#include "app/window/file_watch.h"
#include "app/window/opening.h"
#include "app/window/recovery.h"
#include "app/window/saving.h"
#include "app/window/window_settings.h"
#include "core/files/file_write.h"
#include "ui/base/text.h"
#include "ui/pages/model/model_place.h"
#include "ui/widgets/notice_bar.h"

#include <QFileInfo>
#include <QLocale>

namespace headwise::app {

using namespace headwise::ui;

Notices::Notices(QMainWindow* window, Workspace* workspace, NoticeBar* bar, Opening* opening)
    : WindowPart(window, workspace)
    , m_bar(bar)
    , m_opening(opening)
    , m_watch(new FileWatch(this))
{
    connect(m_watch, &FileWatch::changed, this, &Notices::tellOfChange);
    const auto watchAnew = [this] {
        m_bar->withdraw(QStringLiteral("changed"));
        watch();
    };
    connect(m_workspace->model(), &OpenModel::opened, this, watchAnew);
    connect(m_workspace->session(), &SessionFile::saved, this, watchAnew);
    connect(m_workspace->model(), &OpenModel::circuitsChanged, this, [this] {
        if (m_workspace->model()->hasModel()) // The model of a session is found after the session was opened.
            watch();
    });
    connect(m_workspace->model(), &OpenModel::closed, this, [this] {
        m_bar->withdraw(QStringLiteral("changed"));
        m_watch->watch({});
    });
}

void Notices::watch()
{
    m_watch->watch({m_workspace->model()->files().source.path, m_workspace->session()->path()});
}

void Notices::tellOfChange(const QStringList& files)
{
    if (!m_workspace->model()->isOpen())
        return;
    const std::filesystem::path& session = m_workspace->session()->path();
    const bool isSession = !session.empty()
        && files.contains(QFileInfo(text(session.string())).absoluteFilePath())
        && stampOf(session) != m_workspace->session()->stamp(); // not what this window saved
    if (!isSession && files.size() == 1 && isSameFile(files.first().toStdString(), session))
        return;
    const QString name =
        isSession ? text(session.filename().string()) : text(m_workspace->model()->card().name);
    m_bar->post({QStringLiteral("changed"),
                 tr("%1 has changed on disk. You are looking at the old version.").arg(name),
                 {{tr("Reload (F5)"), [this] { m_opening->reload(); }}}});
}

void Notices::keepRecovery(const std::filesystem::path& folder, Saving* saving,
                           const WindowSettings* settings)
{
    auto* recovery = new Recovery(
        folder, m_workspace, [saving] { return saving->viewState(); }, this);
    const auto setInterval = [recovery, settings] {
        recovery->setInterval(settings->now().autosaveInterval());
    };
    connect(settings, &WindowSettings::changed, recovery, setInterval);
    setInterval();
    sweepTemporaries(folder);
    for (const LostSession& lost : Recovery::lostSessions(folder)) {
        const QString model = lost.model.isEmpty() ? tr("an unnamed model") : lost.model;
        const QString time = lost.time.date() == QDate::currentDate()
            ? QLocale().toString(lost.time.time(), QStringLiteral("HH:mm"))
            : QLocale().toString(lost.time, QStringLiteral("d MMM yyyy, HH:mm"));
        const auto recover = [this, recovery, lost] {
            m_opening->begin([recovery, lost] { recovery->recover(lost); });
        };
        m_bar->post(
            {QStringLiteral("lost-") + lost.id,
             tr("Headwise did not close properly. The session of %1, %2, can be recovered.").arg(model, time),
             {{tr("Recover session of %1, %2").arg(model, time), recover},
              {tr("Discard"), [lost] { Recovery::discard(lost); }}}});
    }
}

} // namespace headwise::app
