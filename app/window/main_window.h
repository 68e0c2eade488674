#pragma once

#include "app/address.h"
#include "app/window/settings.h"
#include "ui/document/workspace.h"

#include <QMainWindow>
#include <QMessageBox>

#include <functional>
#include <string_view>
#include <vector>

class QComboBox;
class QDockWidget;
class QLabel;
class QLineEdit;
class QMenu;
class QStackedWidget;
class QToolBar;
class QToolButton;

namespace headwise::ui {
class FigureBatch;
class FigureWriter;
class HeadHeader;
class HeadsPage;
class NoticeBar;
class Page;
class StartPage;
class TokenEdit;
} // namespace headwise::ui

namespace headwise::app {

class FileWatch;
class PageTabs;
class Recovery;

/// The window: it makes the workspace and the pages, introduces them to each other and keeps files, docks and menus.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    ui::Workspace* workspace() { return m_workspace; }

    void openPath(const QString& path); ///< A model folder or file, or a session; its content decides.
    void openDemo();
    void saveTo(const QString& file);
    /// Everything about how the window looks that a session keeps, one JSON string.
    QString viewState() const;
    void restoreViewState(const QString& json);
    /// Shows a place in a model, which is opened first if another one is.
    void goTo(const Address& address);
    /// Whether it or a session of it is open or being opened.
    bool shows(const std::filesystem::path& path) const;
    bool isEmpty() const; ///< Nothing is open or being opened.
    Result<Done>
    checkAddress(const Address& address) const; ///< Errors: InvalidArgument, naming those there are.
    void comeForward();
    /// Writes recovery copies into `folder` and offers those that others have left there.
    void keepRecovery(const std::filesystem::path& folder);
    void showPage(const QString& name); ///< "overview", "tokens", …; unknown names are ignored.

protected:
    bool event(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override; ///< What no view took: Ctrl+C copies the picture.

private:
    void createPages();
    void createDocks();
    void createActions();
    void createFileMenu(QToolBar* bar);
    void createEditMenu();
    void createGoMenu();
    void createViewMenu();
    void createModelMenu();
    void addReferenceActions(QMenu* menu);
    void createAnalysesMenu();
    void createHelpMenu();
    void addThemes(QMenu* menu);
    void createToolBar();
    void createStatusBar();
    void connectSignals();
    void prepareParts();
    QAction* action(const QString& text, const char* iconName, const QKeySequence& key,
                    void (MainWindow::*slot)());
    QAction* whenOpen(QAction* item); ///< Enabled only while a model or session is open.
    template <typename PageKind>
    void addPage(const QString& name, const QString& title);
    void connectPage(ui::Page* page);
    void connectView(QWidget* view); ///< One that can be exported.

    void createNotices();
    void showAddress(const Address& address);
    bool chooseToken(const std::string& shown);
    QString rawToken(const std::string& shown) const;
    std::string tokenReference(int token) const; ///< What chooseToken() takes it for.
    /// A page, with some of its view state changed.
    void showOn(const QString& name, const QJsonObject& choice);
    void reload();
    void copyReference(); ///< Onto the clipboard: what --goto takes to come back here.

    void askAboutConflict(const QString& file); ///< Of a session that was not saved.
    void chooseFolder();
    void chooseFile();
    void chooseComparison();
    void chooseComparisonFile();
    bool canCompare(); ///< Says so if not.
    QString askForFolder(const QString& title);
    QString askForModelFile(const QString& title);
    void compareWith(const QString& path); ///< A newer model.
    void save();
    void saveAs();       ///< Forgets what was to follow the saving if no file is chosen.
    void exportFigure(); ///< Of the current page and the head grid; asks which if there are several.
    void exportFigureOf(ui::FigureSource* source);
    void exportAgain();               ///< With the same settings under the next free name, without a dialog.
    ui::FigureWriter* figureWriter(); ///< Made, with its bar of progress, when first asked for.
    void exportHeads();               ///< The same picture of other heads, a file each.
    void exportHeadsOf(ui::FigureSource* source);
    void startBatch(ui::FigureSource* source, const std::vector<HeadId>& heads, const QString& folder);
    bool isOfHead(ui::FigureSource* source) const; ///< Other heads have the same picture.
    void addCopies(QMenu* menu, ui::FigureSource* source);
    QString exportFolder() const;
    void showFigureMenu(QWidget* view, const QPoint& position);
    QList<ui::FigureSource*> figures() const;
    void closeModel();
    void locateModel();
    void locateModelFile();
    void addTokenizer();
    void askForConfig(const ModelSource& source, const QStringList& keys, const QString& message);
    void askForLocatedConfig(const ModelSource& source, const QStringList& keys, const QString& message);
    void showOpenError(const QString& message);
    void showHelp();
    void showAbout();
    void showPreferences();
    void applySettings(const Settings& settings);
    /// Changes what is remembered, on the disk too: whatever ends the program, it is kept.
    void keep(const std::function<void(Settings&)>& change);
    void keepFolderOf(const QString& file);
    void checkTheme(); ///< The choice in the menu.
    void moveHead(int layers, int heads);
    void toggleBookmark();
    void goToHead();
    void jumpTo(const QString& headName); ///< "10.7" or "L10H7"; says so if there is none.
    void returnFromJump();                ///< To where the last jump began, once.
    void escape();                        ///< Out of what is nearest: a filter, a job of the page, a jump.
    bool leaveField();                    ///< Clears the field that has the focus.
    bool cancelJob();                     ///< The first that the page shows running.
    bool clearFilter();                   ///< The first of the page that hides something.
    bool cancelAnalysis();   ///< The one that runs, if nobody but the user can have asked for it.
    void goToPane(int step); ///< The heads, the page, the docks that are shown, in a circle.
    void writeNote();
    void showCommandPalette();
    void runAnalysis(std::string_view id); ///< On its page, with what the page asks.
    void lookAtDirection(const QString& name);
    void lookAtScore(const QString& prompt, int query, int key);
    void showAnalysis(const QString& id); ///< The same, run only where it has no results yet.
    /// Calls `next` at once, or once the notes and the results that were asked for are saved or given up; not at all if the
    /// user cancels.
    void whenNotesAreSafe(const std::function<void()>& next);
    /// The same where the results alone would go; if the user cancels, everything says again what is the case.
    void whenResultsAreSafe(const std::function<void()>& next);
    QMessageBox::StandardButton askToSave(const QString& question, const std::function<void()>& next);
    void showDocks(bool open);
    void updateState(); ///< Titles, enabled actions, which of start page and pages is shown.
    void rememberRecent(const QString& path); ///< With what is open.
    void updateRecent();
    void setTheme(ui::ThemeMode mode);
    void showMessage(const QString& text); ///< A moment in the status bar.
    void showError(const QString& title, const QString& message);

    Settings m_settings;
    ui::Workspace* m_workspace;
    QStackedWidget* m_stack;
    ui::StartPage* m_start;
    QWidget* m_center;
    QLabel* m_banner;
    ui::HeadHeader* m_header;
    PageTabs* m_tabs;
    ui::HeadsPage* m_heads;
    ui::NoticeBar* m_notices;
    FileWatch* m_fileWatch = nullptr;
    Recovery* m_recovery = nullptr;
    std::filesystem::path m_pathToOpen; // the newest asked for
    QString m_viewToRestore;            // once it is open again
    std::optional<Address> m_addressToShow;
    std::vector<QDockWidget*> m_docks;
    bool m_docksShown = false;
    bool m_docksAreNew = false; // shown for a model that is not announced yet
    std::function<void()> m_afterSave;
    std::vector<QAction*> m_whenOpen; // actions that need a model or session
    bool m_jumped = false;
    bool m_themeIsAsked = false; // of the system, which has changed it
    QAction* m_back = nullptr;
    QAction* m_forward = nullptr;
    QByteArray m_firstLayout; // of docks and bars, before the user moved any
    QMenu* m_recentMenu = nullptr;
    QLineEdit* m_headEdit = nullptr;
    ui::TokenEdit* m_search = nullptr;
    QComboBox* m_embedding = nullptr;
    QComboBox* m_processing = nullptr;
    QLabel* m_readOut = nullptr;
    QString m_exportedTo;                         // by the dialog, in this window
    const ui::FigureSource* m_exported = nullptr; // to compare with only; it may be gone
    ui::FigureWriter* m_writer = nullptr;         // once one was written or copied without the dialog
    ui::FigureBatch* m_batch = nullptr;           // once one was asked for
};

} // namespace headwise::app
