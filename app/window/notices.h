#pragma once

#include "app/window/window_part.h"

#include <filesystem>

namespace headwise::ui {
class NoticeBar;
} // namespace headwise::ui

namespace headwise::app {

class FileWatch;
class Opening;
class Recovery;
class Saving;
class WindowSettings;

/// Tells about files that changed on disk and sessions that a crash left behind, and offers what to do.
class Notices : public WindowPart {
    Q_OBJECT

public:
    Notices(QMainWindow* window, ui::Workspace* workspace, ui::NoticeBar* bar, Opening* opening);

    /// Writes recovery copies into `folder`, and offers the sessions that crashed windows left there.
    void keepRecovery(const std::filesystem::path& folder, Saving* saving, const WindowSettings* settings);

private:
    void watch(); ///< The files that are open now.
    void tellOfChange(const QStringList& files);

    ui::NoticeBar* m_bar;
    Opening* m_opening;
    FileWatch* m_watch;
};

} // namespace headwise::app
