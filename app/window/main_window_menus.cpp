#include "app/window/main_window.h"

#include "app/window/head_change_menu.h"
#include "app/window/page_tabs.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/document/note_history.h"
#include "ui/heatmaps/color_vision_effect.h"
#include "ui/pages/analyses/analysis_list.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/session/notes_page.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/token_edit.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <QToolBar>
#include <QWhatsThis>

#include <algorithm>
#include <utility>

// What the window can be asked to do: actions, menus, keys and the palette that finds them.

namespace headwise::app {

using namespace headwise::ui;

QAction* MainWindow::action(const QString& text, const char* iconName, const QKeySequence& key,
                            void (MainWindow::*slot)())
{
    auto* made = new QAction(text, this);
    if (iconName)
        made->setIcon(icon(iconName));
    made->setShortcut(key);
    if (!key.isEmpty())
        made->setToolTip(QStringLiteral("%1 (%2)").arg(QString(text).remove(u'&').remove(u'…'),
                                                       key.toString(QKeySequence::NativeText)));
    connect(made, &QAction::triggered, this, slot);
    return made;
}

QAction* MainWindow::whenOpen(QAction* item)
{
    m_whenOpen.push_back(item);
    return item;
}

void MainWindow::createActions()
{
    QToolBar* bar = addToolBar(tr("Main"));
    bar->setObjectName(QStringLiteral("main"));
    bar->setMovable(false);
    bar->setIconSize({16, 16});
    createFileMenu(bar);
    createEditMenu();
    createGoMenu();
    createViewMenu();
    createModelMenu();
    createAnalysesMenu();
    createHelpMenu();
}

void MainWindow::createFileMenu(QToolBar* bar)
{
    QMenu* file = menuBar()->addMenu(tr("&File"));
    QAction* open = action(tr("&Open model folder…"), "open", QKeySequence::Open, &MainWindow::chooseFolder);
    QAction* openFile =
        action(tr("Open &file or session…"), "table", tr("Ctrl+Shift+O"), &MainWindow::chooseFile);
    QAction* demo = action(tr("Open &demo"), "play", {}, &MainWindow::openDemo);
    QAction* saveSession =
        whenOpen(action(tr("&Save session"), "save", QKeySequence::Save, &MainWindow::save));
    QAction* saveSessionAs =
        whenOpen(action(tr("Save session &as…"), nullptr, tr("Ctrl+Shift+S"), &MainWindow::saveAs));
    QAction* exportAction =
        whenOpen(action(tr("&Export figure…"), "export", tr("Ctrl+E"), &MainWindow::exportFigure));
    QAction* again =
        whenOpen(action(tr("Export a&gain"), nullptr, tr("Ctrl+Shift+E"), &MainWindow::exportAgain));
    QAction* heads = whenOpen(action(tr("Export all &heads…"), nullptr, {}, &MainWindow::exportHeads));
    QAction* reloadAction = whenOpen(action(tr("&Reload"), "reload", tr("F5"), &MainWindow::reload));
    QAction* closeAction =
        whenOpen(action(tr("&Close"), nullptr, QKeySequence::Close, &MainWindow::closeModel));
    file->addActions({open, openFile});
    m_recentMenu = file->addMenu(tr("Open &recent"));
    QAction* compare =
        whenOpen(action(tr("Com&pare with…"), nullptr, tr("Ctrl+Shift+D"), &MainWindow::chooseComparison));
    file->addActions({demo, compare});
    const auto add = [&](const QString& words, const char* iconName, void (MainWindow::*slot)()) {
        file->addAction(whenOpen(action(words, iconName, {}, slot)));
    };
    add(tr("Compare with a f&ile…"), nullptr, &MainWindow::chooseComparisonFile);
    add(tr("&Locate model…"), "link", &MainWindow::locateModel);
    add(tr("Locate &model file…"), nullptr, &MainWindow::locateModelFile);
    file->addActions({file->addSeparator(), saveSession, saveSessionAs, file->addSeparator(), exportAction,
                      again, heads, file->addSeparator(), reloadAction, closeAction});
    file->addSeparator();
    file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
    bar->addActions({open, saveSession});
    bar->addSeparator();
}

void MainWindow::createEditMenu()
{
    QMenu* edit = menuBar()->addMenu(tr("&Edit"));
    QUndoStack* history = m_workspace->notebook()->history();
    QAction* undo = history->createUndoAction(this, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    QAction* redo = history->createRedoAction(this, tr("&Redo"));
    QList<QKeySequence> again = QKeySequence::keyBindings(QKeySequence::Redo); // another on every desktop
    if (const QKeySequence everywhere(tr("Ctrl+Shift+Z")); !again.contains(everywhere))
        again << everywhere;
    redo->setShortcuts(again);
    edit->addActions({undo, redo, edit->addSeparator()});
    edit->addAction(
        whenOpen(action(tr("Book&mark this head"), "bookmark", tr("Ctrl+D"), &MainWindow::toggleBookmark)));
    QAction* note = action(tr("&Note on this head"), "note", tr("Ctrl+Shift+N"), &MainWindow::writeNote);
    note->setShortcuts({note->shortcut(), QKeySequence(Qt::Key_N)}); // a text field takes the letter first
    edit->addAction(whenOpen(note));
    edit->addAction(
        whenOpen(action(tr("Copy &reference"), "copy", tr("Ctrl+Shift+C"), &MainWindow::copyReference)));
    edit->addSeparator();
    edit->addAction(action(tr("&Find a command…"), "search", tr("Ctrl+K"), &MainWindow::showCommandPalette));
    edit->addSeparator();
    edit->addAction(action(tr("&Preferences…"), "settings", tr("Ctrl+,"), &MainWindow::showPreferences));
}

void MainWindow::createGoMenu()
{
    QMenu* go = menuBar()->addMenu(tr("&Go"));
    const auto add = [&](const QString& words, const QKeySequence& key, const auto& slot) {
        return whenOpen(go->addAction(words, key, this, slot));
    };
    m_back = add(tr("&Back"), tr("Alt+Left"), [this] { m_workspace->selection()->goBack(); });
    m_back->setIcon(icon("back"));
    m_forward = add(tr("&Forward"), tr("Alt+Right"), [this] { m_workspace->selection()->goForward(); });
    m_forward->setIcon(icon("forward"));
    add(tr("&Return from a jump"), QKeySequence(Qt::Key_Escape), [this] { escape(); });
    go->addSeparator();
    go->addAction(whenOpen(action(tr("&Go to head…"), nullptr, tr("Ctrl+L"), &MainWindow::goToHead)));
    add(tr("&Find a token…"), QKeySequence::Find, [this] {
        const QList<TokenEdit*> own = m_tabs->currentPage()->findChildren<TokenEdit*>();
        const auto answers = std::find_if(own.begin(), own.end(), [](const TokenEdit* edit) {
            return edit->property("answersFind").toBool();
        });
        TokenEdit* field = answers == own.end() ? m_search : *answers;
        field->setFocus();
        field->selectAll();
    })->setIcon(icon("search"));
    go->addSeparator();
    add(tr("&Next head"), tr("Ctrl+Right"), [this] { moveHead(0, 1); });
    add(tr("&Previous head"), tr("Ctrl+Left"), [this] { moveHead(0, -1); });
    add(tr("Next &layer"), tr("Ctrl+Down"), [this] { moveHead(1, 0); });
    add(tr("Previous l&ayer"), tr("Ctrl+Up"), [this] { moveHead(-1, 0); });
    go->addSeparator();
    add(tr("Next &pane"), tr("F6"), [this] { goToPane(1); });
    add(tr("Previous pan&e"), tr("Shift+F6"), [this] { goToPane(-1); });
}

namespace {

/// Whose eyes the pictures are shown with; while they are not the usual ones, the status bar says so.
void addVisions(QMenu* menu, QStatusBar* bar)
{
    auto* note = new QLabel(bar);
    note->setMinimumWidth(1);
    makeSecondary(note);
    note->hide();
    bar->addPermanentWidget(note);
    auto* group = new QActionGroup(menu);
    const auto add = [&](ColorVision vision, const QString& name) {
        QAction* choice = menu->addAction(name, menu, [vision] { ShownVision::instance().set(vision); });
        choice->setCheckable(true);
        group->addAction(choice);
        const auto follow = [vision, choice, note, name](ColorVision shown) {
            if (shown != vision)
                return;
            choice->setChecked(true);
            note->setText(MainWindow::tr("as seen with %1").arg(name.toLower()));
            note->setVisible(shown != ColorVision::Normal);
        };
        QObject::connect(&ShownVision::instance(), &ShownVision::changed, choice, follow);
        follow(ShownVision::instance().vision());
    };
    add(ColorVision::Normal, MainWindow::tr("Normal colour vision"));
    add(ColorVision::Deuteranopia, MainWindow::tr("Deuteranopia"));
    add(ColorVision::Protanopia, MainWindow::tr("Protanopia"));
    add(ColorVision::Tritanopia, MainWindow::tr("Tritanopia"));
}

} // namespace

void MainWindow::createViewMenu()
{
    QMenu* view = menuBar()->addMenu(tr("&View"));
    for (int i = 0; i < m_tabs->count(); ++i) {
        // Analyses, the last, keeps 0 however many pages come before it.
        const bool isAnalyses = m_tabs->pageName(i) == QLatin1String("analyses");
        const int digit = isAnalyses ? Qt::Key_0 : Qt::Key_1 + i;
        QAction* page =
            whenOpen(view->addAction(m_tabs->tabText(i), this, [this, i] { m_tabs->setCurrentIndex(i); }));
        if (isAnalyses || i < 9)
            page->setShortcuts({QKeySequence(Qt::ALT | digit), QKeySequence(digit)});
    }
    view->addSeparator();
    for (QDockWidget* dock : m_docks)
        view->addAction(dock->toggleViewAction());
    whenOpen(view->addAction(tr("&Reset the layout"), this, [this] { restoreState(m_firstLayout); }));
    view->addSeparator();
    addThemes(view);
    addVisions(view->addMenu(tr("Seen with &colour blindness")), statusBar());
    QAction* full = view->addAction(tr("F&ull screen"), QKeySequence(Qt::Key_F11), this, [this](bool on) {
        setWindowState(windowState().setFlag(Qt::WindowFullScreen, on));
    });
    full->setCheckable(true);
}

void MainWindow::addThemes(QMenu* menu)
{
    auto* themes = new QActionGroup(this);
    connect(themes, &QActionGroup::triggered, this,
            [this](const QAction* choice) { setTheme(static_cast<ThemeMode>(choice->data().toInt())); });
    const std::array<std::pair<ThemeMode, QString>, 4> modes{
        {{ThemeMode::System, tr("Colours of the &system")},
         {ThemeMode::Light, tr("&Light")},
         {ThemeMode::Dark, tr("&Dark")},
         {ThemeMode::HighContrast, tr("Hi&gh contrast")}}};
    for (const auto& [mode, name] : modes) {
        QAction* choice = menu->addAction(name);
        choice->setData(static_cast<int>(mode));
        choice->setCheckable(true);
        choice->setChecked(mode == m_settings.theme);
        choice->setObjectName(QStringLiteral("theme"));
        themes->addAction(choice);
    }
}

void MainWindow::checkTheme()
{
    for (QAction* choice : findChildren<QAction*>(QStringLiteral("theme")))
        choice->setChecked(choice->data().toInt() == static_cast<int>(m_settings.theme));
}

void MainWindow::createModelMenu()
{
    QMenu* model = menuBar()->addMenu(tr("&Model"));
    const auto page = [&](const QString& words, const QString& name) {
        whenOpen(model->addAction(words, this, [this, name] { showPage(name); }));
    };
    page(tr("&Model card"), QStringLiteral("model"));
    page(tr("&Tensors of the file"), QStringLiteral("tensors"));
    const auto analysis = [&](const QString& words, std::string_view id) {
        whenOpen(model->addAction(words, this, [this, id] { runAnalysis(id); }));
    };
    analysis(tr("What &folding changed"), "folding");
    analysis(tr("&Skipless merge"), "skipless");
    model->addSeparator();
    addReferenceActions(model);
    model->addSeparator();
    fillHeadChangeMenu(*model->addMenu(tr("&This head changed")), *m_workspace,
                       [this](const std::function<void()>& next) { whenResultsAreSafe(next); });
    model->addAction(whenOpen(action(tr("Add to&kenizer…"), nullptr, {}, &MainWindow::addTokenizer)));
}

void MainWindow::addReferenceActions(QMenu* menu)
{
    QAction* use = menu->addAction(tr("Use as &reference head"), this, [this] {
        m_workspace->selection()->setReference(m_workspace->selection()->head());
    });
    use->setToolTip(tr("The selected head becomes the one that others are compared with"));
    QAction* clear =
        menu->addAction(tr("&Clear reference"), this, [this] { m_workspace->selection()->setReference({}); });
    whenOpen(use);
    const auto update = [this, clear] {
        clear->setEnabled(m_workspace->model()->isOpen() && m_workspace->selection()->reference());
    };
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed})
        connect(m_workspace->model(), signal, clear, update);
    connect(m_workspace->selection(), &Selection::referenceChanged, clear, update);
    update();
}

void MainWindow::runAnalysis(std::string_view id)
{
    showPage(QStringLiteral("analyses"));
    auto* results = static_cast<ResultPage*>(m_tabs->currentPage());
    results->showAnalysis(id);
    results->run();
}

void MainWindow::lookAtDirection(const QString& name)
{
    showPage(QStringLiteral("analyses"));
    static_cast<ResultPage*>(m_tabs->currentPage())->lookAtDirection(name);
}

void MainWindow::lookAtScore(const QString& prompt, int query, int key)
{
    showPage(QStringLiteral("analyses"));
    static_cast<ResultPage*>(m_tabs->currentPage())->lookAtScore(prompt, query, key);
}

void MainWindow::showAnalysis(const QString& id)
{
    showPage(QStringLiteral("analyses"));
    auto* results = static_cast<ResultPage*>(m_tabs->currentPage());
    results->showAnalysis(id.toStdString());
    if (!isComputed(results->analysis(), *m_workspace->model()->results()))
        results->run(Runs::Asker::Page);
}

void MainWindow::createAnalysesMenu()
{
    QMenu* analyses = menuBar()->addMenu(tr("&Analyses"));
    analyses->setToolTipsVisible(true);
    // What most people come for, without a group on the way.
    const Analysis* induction = findAnalysis("induction");
    QAction* finder =
        analyses->addAction(tr("&Induction finder"), this, [this, id = induction->id] { runAnalysis(id); });
    finder->setToolTip(text(induction->formula));
    m_whenOpen.push_back(finder);
    analyses->addSeparator();
    for (const auto& [title, rows] : analysisGroups()) {
        QMenu* group = analyses->addMenu(title);
        group->setToolTipsVisible(true);
        for (const Analysis* analysis : rows) {
            QAction* run =
                group->addAction(text(analysis->title), this, [this, id = analysis->id] { runAnalysis(id); });
            run->setToolTip(text(analysis->formula));
            m_whenOpen.push_back(run);
        }
    }
}

void MainWindow::createHelpMenu()
{
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    QAction* keys = action(tr("&Keys and views"), "help", QKeySequence::HelpContents, &MainWindow::showHelp);
    keys->setShortcuts({QKeySequence(QKeySequence::HelpContents), QKeySequence(Qt::Key_Question)});
    help->addAction(keys);
    help->addAction(QWhatsThis::createAction(this));
    help->addAction(action(tr("&About Headwise"), nullptr, {}, &MainWindow::showAbout));
}

namespace {

void addCommands(const QMenu* menu, const QString& path, QList<PaletteCommand>& commands)
{
    for (QAction* item : menu->actions()) {
        QString words = item->text().remove(u'&');
        if (item->menu())
            addCommands(item->menu(), path + words + QStringLiteral(" › "), commands);
        else if (item->isEnabled() && !item->isSeparator())
            commands << PaletteCommand{words, path, item->shortcut().toString(QKeySequence::NativeText),
                                       [item] { item->trigger(); }};
    }
}

} // namespace

void MainWindow::showCommandPalette()
{
    QList<PaletteCommand> commands;
    for (const QAction* top : menuBar()->actions())
        if (top->menu())
            addCommands(top->menu(), top->text().remove(u'&') + QStringLiteral(" › "), commands);
    if (m_workspace->model()->isOpen())
        for (const HeadId head : m_workspace->notebook()->bookmarks())
            commands << PaletteCommand{
                text(head), tr("Bookmark › "), {}, [this, head] { jumpTo(text(head)); }};
    auto* palette = new CommandPalette(commands, this);
    palette->setAttribute(Qt::WA_DeleteOnClose);
    if (m_workspace->model()->isOpen())
        palette->setFallback([this](const QString& words) -> QList<PaletteCommand> {
            QList<PaletteCommand> found;
            if (const auto head = parseHeadId(words.toStdString()))
                found << PaletteCommand{
                    tr("Go to %1").arg(text(*head)), {}, {}, [this, words] { jumpTo(words); }};
            found << PaletteCommand{tr("Find the token “%1”").arg(words), {}, {}, [this, words] {
                                        m_search->setFocus();
                                        m_search->setText(words);
                                        emit m_search->returnPressed();
                                    }};
            return found;
        });
    palette->open();
}

void MainWindow::writeNote()
{
    for (QDockWidget* dock : m_docks)
        if (auto* note = dock->findChild<QPlainTextEdit*>(QStringLiteral("note"))) {
            dock->show();
            dock->raise();
            note->setFocus();
        }
}

void MainWindow::moveHead(int layers, int heads)
{
    const HeadId head = m_workspace->selection()->head();
    m_workspace->selection()->setHead({head.layer + layers, head.head + heads});
}

void MainWindow::toggleBookmark()
{
    const HeadId head = m_workspace->selection()->head();
    m_workspace->notebook()->history()->setBookmarked(head, !m_workspace->notebook()->isBookmarked(head));
}

void MainWindow::jumpTo(const QString& headName)
{
    const auto head = parseHeadId(headName.trimmed().toStdString());
    const ModelCard& card = m_workspace->model()->card();
    if (!head || head->layer >= card.nLayers || head->head >= card.nHeads) {
        showMessage(tr("'%1' is no head of this model; its heads are 0.0 to %2.%3.")
                        .arg(headName)
                        .arg(card.nLayers - 1)
                        .arg(card.nHeads - 1));
        return updateState();
    }
    m_jumped = *head != m_workspace->selection()->head();
    m_workspace->selection()->setHead(*head);
    updateState();
    m_tabs->currentPage()->setFocus(); // so that the keys belong to the page again
}

void MainWindow::goToHead()
{
    m_headEdit->setFocus();
    m_headEdit->selectAll();
}

} // namespace headwise::app
