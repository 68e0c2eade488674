#pragma once

#include "app/window/addresses.h"
#include "app/window/opening.h"
#include "app/window/pages.h"
#include "app/window/saving.h"
#include "ui/pages/model/model_place.h"

#include <QMainWindow>

#include <functional>

class QFrame;
class QLabel;
class QStackedWidget;

namespace headwise::ui {
class HeadHeader;
class HeadsPage;
class NoticeBar;
class StartPage;
} // namespace headwise::ui

namespace headwise::app {

class Actions;
class Docks;
class FigureCommands;
class MainBar;
class Notices;
class Tour;
class WindowSettings;

/// The main window. It creates the workspace and the parts that work on it, and connects them.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    ui::Workspace* workspace() { return m_workspace; }

    /// A model folder or file, a session or a series; its content decides.
    void openPath(const QString& path) { m_opening->openPath(path); }
    void openDemo() { m_opening->openDemo(); }
    void saveTo(const QString& file) { m_saving->saveTo(file); }
    /// Whether it or a session of it is open or being opened.
    bool shows(const std::filesystem::path& path) const { return ui::isShown(*m_workspace, path); }
    bool isEmpty() const { return m_opening->isEmpty(); } ///< Nothing is open or being opened.
    /// "overview", "tokens", …; ignores unknown names.
    void showPage(const QString& name) { m_pages->showPage(name); }
    /// Shows a place in a model, which is opened first if another one is open.
    void goTo(const Address& address) { m_addresses->goTo(address); }
    /// Errors: InvalidArgument, naming the pages there are.
    Result<Done> checkAddress(const Address& address) const { return m_addresses->check(address); }

    /// Returns the view state that a session stores, as one JSON string.
    QString viewState() const;
    void restoreViewState(const QString& json);
    void comeForward();
    /// Writes recovery copies into `folder`, and offers the sessions that crashed windows left there.
    void keepRecovery(const std::filesystem::path& folder);

    /// Calls `next` once the notes and results are saved or given up, and never if the user cancels. Comes forward to ask.
    void whenNotesAreSafe(const std::function<void()>& next);
    void closeUnasked(); ///< Gives up what is not saved.

signals:
    void quitRequested(); ///< By the menu: all windows are to close.

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override; ///< Ctrl+C, where no view took it: copies the picture.

private:
    void layOut();
    void createMenus();
    void createStatusBar();
    void connectWorkspace();
    void connectParts();
    void showFirstPage();
    void prepareParts();
    void markDropTarget(bool on);         ///< A file is over the window that opens when it is dropped.
    void followLink(const QString& link); ///< Runs the command of a banner link.
    void updateState(); ///< Title, enabled actions, and whether the start page or the pages are shown.

    ui::Workspace* m_workspace;
    WindowSettings* m_settings;
    Saving* m_saving;
    Opening* m_opening;
    QStackedWidget* m_stack;
    ui::StartPage* m_start;
    QWidget* m_center;
    QLabel* m_banner;
    ui::HeadHeader* m_header;
    ui::HeadsPage* m_heads;
    Pages* m_pages;
    ui::NoticeBar* m_noticeBar;
    Docks* m_docks;
    MainBar* m_bar;
    Addresses* m_addresses;
    FigureCommands* m_figures;
    Notices* m_notices;
    Tour* m_tour;
    Actions* m_actions;
    QFrame* m_dropFrame;
    bool m_closesUnasked = false;
};

} // namespace headwise::app
