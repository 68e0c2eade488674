#include "app/main_window.h"

#include "core/analysis/catalogue.h"
#include "ui/icons.h"
#include "ui/pages/analysis_list.h"
#include "ui/pages/card_page.h"
#include "ui/pages/compare_page.h"
#include "ui/pages/composition_page.h"
#include "ui/pages/head_header.h"
#include "ui/pages/heads_page.h"
#include "ui/pages/heatmap_page.h"
#include "ui/pages/notes_page.h"
#include "ui/pages/overview_page.h"
#include "ui/pages/position_page.h"
#include "ui/pages/prompt_page.h"
#include "ui/pages/result_page.h"
#include "ui/pages/spectrum_page.h"
#include "ui/pages/tensors_page.h"
#include "ui/pages/tokens_page.h"
#include "ui/text.h"
#include "ui/views/job_bar.h"
#include "ui/views/log_view.h"
#include "ui/views/token_edit.h"

#include <QActionGroup>
#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QStatusBar>
#include <QTabWidget>
#include <QToolBar>

// The window's parts: what is made once, in the order the constructor makes it.

namespace headwise::app {

using namespace headwise::ui;

void MainWindow::addPage(Page* page, const QString& name, const QString& title)
{
    m_tabs->addTab(page, title);
    m_pageNames << name;
    connectPage(page);
}

void MainWindow::connectPage(Page* page)
{
    connect(page, &Page::readOutChanged, this,
            [this](const QString& readOut) { m_readOut->setText(readOut); });
    for (QWidget* view : page->findChildren<QWidget*>())
        if (dynamic_cast<FigureSource*>(view))
            connectView(view);
}

void MainWindow::connectView(QWidget* view)
{
    if (view->property("rightClickIsReference").toBool())
        return; // a grid of heads: its right button marks the head to compare with
    view->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view, &QWidget::customContextMenuRequested, this,
            [this, view](const QPoint& position) { showFigureMenu(view, position); });
}

void MainWindow::createPages()
{
    auto* overview = new OverviewPage(m_workspace, this);
    addPage(overview, QStringLiteral("overview"), tr("Overview"));
    addPage(new TokensPage(m_workspace, this), QStringLiteral("tokens"), tr("Tokens"));
    addPage(new HeatmapPage(m_workspace, this), QStringLiteral("matrix"), tr("Matrix"));
    addPage(new SpectrumPage(m_workspace, this), QStringLiteral("spectrum"), tr("Spectrum"));
    addPage(new PositionPage(m_workspace, this), QStringLiteral("position"), tr("Position"));
    addPage(new CompositionPage(m_workspace, this), QStringLiteral("composition"), tr("Composition"));
    addPage(new ComparePage(m_workspace, this), QStringLiteral("compare"), tr("Compare"));
    addPage(new PromptPage(m_workspace, this), QStringLiteral("prompt"), tr("Prompt"));
    addPage(new TensorsPage(m_workspace, this), QStringLiteral("tensors"), tr("Tensors"));
    addPage(new CardPage(m_workspace, this), QStringLiteral("model"), tr("Model"));
    m_results = new ResultPage(m_workspace, this);
    addPage(m_results, QStringLiteral("analyses"), tr("Analyses"));
    connect(m_results, &ResultPage::viewMade, this, &MainWindow::connectView);
    connect(overview, &OverviewPage::pageRequested, this, &MainWindow::showPage);
    connectPage(m_heads);
}

void MainWindow::createDocks()
{
    const auto add = [this](QWidget* widget, const QString& name, const QString& title,
                            Qt::DockWidgetArea area) {
        auto* dock = new QDockWidget(title, this);
        dock->setObjectName(name);
        dock->setWidget(widget);
        addDockWidget(area, dock);
        m_docks.push_back(dock);
        return dock;
    };
    add(m_heads, QStringLiteral("heads"), tr("Heads"), Qt::LeftDockWidgetArea);
    add(new NotesPage(m_workspace, this), QStringLiteral("notes"), tr("Notes"), Qt::RightDockWidgetArea);
    QDockWidget* log = add(new LogView(this), QStringLiteral("log"), tr("Log"), Qt::BottomDockWidgetArea);
    log->hide();
}

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

void MainWindow::createActions()
{
    QMenu* file = menuBar()->addMenu(tr("&File"));
    QToolBar* bar = addToolBar(tr("Main"));
    bar->setObjectName(QStringLiteral("main"));
    bar->setMovable(false);
    bar->setIconSize({16, 16});
    QAction* open = action(tr("&Open model folder…"), "open", QKeySequence::Open, &MainWindow::chooseFolder);
    QAction* openFile =
        action(tr("Open &file or session…"), "table", tr("Ctrl+Shift+O"), &MainWindow::chooseFile);
    QAction* demo = action(tr("Open &demo"), "play", {}, &MainWindow::openDemo);
    QAction* saveSession = action(tr("&Save session"), "save", QKeySequence::Save, &MainWindow::save);
    QAction* saveSessionAs =
        action(tr("Save session &as…"), nullptr, tr("Ctrl+Shift+S"), &MainWindow::saveAs);
    QAction* exportAction = action(tr("&Export figure…"), "export", tr("Ctrl+E"), &MainWindow::exportFigure);
    QAction* locate = action(tr("&Locate model…"), "link", {}, &MainWindow::locateModel);
    QAction* tokenizer = action(tr("Add &tokenizer…"), nullptr, {}, &MainWindow::addTokenizer);
    QAction* closeAction = action(tr("&Close"), nullptr, QKeySequence::Close, &MainWindow::closeModel);
    file->addActions({open, openFile});
    m_recentMenu = file->addMenu(tr("Open &recent"));
    file->addActions({demo, file->addSeparator(), saveSession, saveSessionAs, file->addSeparator(),
                      exportAction, file->addSeparator(), locate, tokenizer, closeAction});
    file->addSeparator();
    auto* quit = file->addAction(tr("&Quit"), this, &QWidget::close);
    quit->setShortcut(QKeySequence::Quit);
    bar->addActions({open, saveSession});
    bar->addSeparator();
    m_whenOpen = {saveSession, saveSessionAs, exportAction, locate, tokenizer, closeAction};
    createMenus();
}

void MainWindow::createMenus()
{
    QMenu* go = menuBar()->addMenu(tr("&Go"));
    const auto back = [this] { m_workspace->goBack(); };
    const auto forward = [this] { m_workspace->goForward(); };
    m_whenOpen.push_back(go->addAction(icon("back"), tr("&Back"), tr("Alt+Left"), this, back));
    m_whenOpen.push_back(go->addAction(icon("forward"), tr("&Forward"), tr("Alt+Right"), this, forward));
    go->addSeparator();
    m_whenOpen.push_back(action(tr("&Go to head…"), nullptr, tr("Ctrl+L"), &MainWindow::goToHead));
    go->addAction(m_whenOpen.back());
    m_whenOpen.push_back(
        go->addAction(icon("search"), tr("&Find a token…"), QKeySequence::Find, this, [this] {
            m_search->setFocus();
            m_search->selectAll();
        }));
    m_whenOpen.push_back(go->addAction(tr("&Next head"), tr("Ctrl+Right"), this, [this] { moveHead(0, 1); }));
    m_whenOpen.push_back(
        go->addAction(tr("&Previous head"), tr("Ctrl+Left"), this, [this] { moveHead(0, -1); }));
    m_whenOpen.push_back(go->addAction(tr("Next &layer"), tr("Ctrl+Down"), this, [this] { moveHead(1, 0); }));
    m_whenOpen.push_back(
        go->addAction(tr("Previous l&ayer"), tr("Ctrl+Up"), this, [this] { moveHead(-1, 0); }));
    go->addSeparator();
    m_whenOpen.push_back(
        action(tr("Book&mark this head"), "bookmark", tr("Ctrl+D"), &MainWindow::toggleBookmark));
    go->addAction(m_whenOpen.back());

    createViewMenu();
    createAnalysesMenu();
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    help->addAction(action(tr("&Keys and views"), "help", QKeySequence::HelpContents, &MainWindow::showHelp));
    help->addAction(action(tr("&About Headwise"), nullptr, {}, &MainWindow::showAbout));
}

void MainWindow::createViewMenu()
{
    QMenu* view = menuBar()->addMenu(tr("&View"));
    for (int i = 0; i < m_tabs->count(); ++i) {
        const bool isLast = i == m_tabs->count() - 1; // the analyses, whatever comes before them
        const QKeySequence key = i < 9 ? QKeySequence(Qt::ALT | (Qt::Key_1 + i))
            : isLast                   ? QKeySequence(Qt::ALT | Qt::Key_0)
                                       : QKeySequence();
        m_whenOpen.push_back(
            view->addAction(m_tabs->tabText(i), key, this, [this, i] { m_tabs->setCurrentIndex(i); }));
    }
    view->addSeparator();
    for (QDockWidget* dock : m_docks)
        view->addAction(dock->toggleViewAction());
    view->addSeparator();
    addThemes(view);
}

void MainWindow::addThemes(QMenu* menu)
{
    auto* themes = new QActionGroup(this);
    connect(themes, &QActionGroup::triggered, this,
            [this](const QAction* choice) { setTheme(static_cast<ThemeMode>(choice->data().toInt())); });
    const std::array<std::pair<ThemeMode, QString>, 3> modes{
        {{ThemeMode::System, tr("Colours of the &system")},
         {ThemeMode::Light, tr("&Light")},
         {ThemeMode::Dark, tr("&Dark")}}};
    for (const auto& [mode, name] : modes) {
        QAction* choice = menu->addAction(name);
        choice->setData(static_cast<int>(mode));
        choice->setCheckable(true);
        choice->setChecked(mode == m_settings.theme);
        themes->addAction(choice);
    }
}

void MainWindow::createAnalysesMenu()
{
    QMenu* analyses = menuBar()->addMenu(tr("&Analyses"));
    analyses->setToolTipsVisible(true);
    for (const auto& [title, rows] : analysisGroups()) {
        QMenu* group = analyses->addMenu(title);
        group->setToolTipsVisible(true);
        for (const Analysis* analysis : rows) {
            QAction* run = group->addAction(text(analysis->title), this, [this, id = analysis->id] {
                showPage(QStringLiteral("analyses"));
                m_results->showAnalysis(id);
                m_results->run();
            });
            run->setToolTip(text(analysis->formula));
            m_whenOpen.push_back(run);
        }
    }
}

void MainWindow::createToolBar()
{
    auto* bar = findChild<QToolBar*>(QStringLiteral("main"));
    const auto label = [bar](const QString& words) {
        auto* made = new QLabel(words, bar);
        made->setContentsMargins(8, 0, 4, 0);
        makeSecondary(made);
        bar->addWidget(made);
    };
    label(tr("head"));
    m_headEdit = new QLineEdit(bar);
    m_headEdit->setFixedWidth(64);
    m_headEdit->setAlignment(Qt::AlignCenter);
    m_headEdit->setToolTip(tr("Layer.head, as 1.5 or L1H5 (Ctrl+L)"));
    connect(m_headEdit, &QLineEdit::returnPressed, this, [this] {
        if (const auto head = parseHeadId(m_headEdit->text().toStdString()))
            m_workspace->setHead(*head);
        updateState();
    });
    bar->addWidget(m_headEdit);
    for (QAction* item : m_whenOpen)
        if (item->text().remove(u'&') == tr("Back") || item->text().remove(u'&') == tr("Forward"))
            bar->addAction(item);
    bar->addSeparator();
    m_search = new TokenEdit(bar);
    m_search->setMinimumWidth(220);
    m_search->setMaximumWidth(360);
    m_search->setToolTip(tr("Find a token (Ctrl+F) or a head"));
    bar->addWidget(m_search);
    connect(m_workspace, &Workspace::circuitsChanged, this,
            [this] { m_search->setTokenizer(m_workspace->tokenizer()); });
    auto* space = new QWidget(bar);
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(space);
    label(tr("E"));
    m_embedding = new QComboBox(bar);
    for (const Embedding kind : {Embedding::Raw, Embedding::Effective, Embedding::Mlp0, Embedding::Unembed})
        m_embedding->addItem(text(embeddingName(kind)), static_cast<int>(kind));
    m_embedding->setToolTip(tr("Which token vectors stand on the token sides of the full circuits"));
    connect(m_embedding, &QComboBox::activated, this, [this] {
        m_workspace->setEmbedding(static_cast<Embedding>(m_embedding->currentData().toInt()));
    });
    bar->addWidget(m_embedding);
    label(tr("weights"));
    m_processing = new QComboBox(bar);
    m_processing->addItems({tr("processed"), tr("raw")});
    m_processing->setToolTip(tr("Processed: norms and value biases folded, writing weights and unembedding "
                                "centred, where that keeps the model's function"));
    connect(m_processing, &QComboBox::activated, this, [this](int index) {
        ProcessingWish wish;
        if (index == 1)
            wish = {StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off};
        m_workspace->setProcessingWish(wish);
    });
    bar->addWidget(m_processing);
    for (QAction* item : m_whenOpen)
        if (item->shortcut() == QKeySequence(tr("Ctrl+E")))
            bar->addAction(item);
}

void MainWindow::createStatusBar()
{
    m_readOut = new QLabel(this);
    m_readOut->setFont(tokenFont());
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(new JobBar(m_workspace->openJob(), this));
    statusBar()->addWidget(new JobBar(m_workspace->tokensJob(), this));
    statusBar()->addWidget(new JobBar(m_workspace->analysisJob(), this));
    statusBar()->addPermanentWidget(m_readOut);
}

void MainWindow::moveHead(int layers, int heads)
{
    const HeadId head = m_workspace->head();
    m_workspace->setHead({head.layer + layers, head.head + heads});
}

void MainWindow::toggleBookmark()
{
    m_workspace->setBookmarked(m_workspace->head(), !m_workspace->isBookmarked(m_workspace->head()));
}

void MainWindow::goToHead()
{
    m_headEdit->setFocus();
    m_headEdit->selectAll();
}

} // namespace headwise::app
