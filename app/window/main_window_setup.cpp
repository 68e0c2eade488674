#include "app/window/main_window.h"

#include "app/window/page_tabs.h"
#include "ui/base/bidi.h"
#include "ui/base/text.h"
#include "ui/document/whats_this.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/compare/compare_page.h"
#include "ui/pages/compare/models_page.h"
#include "ui/pages/composition/composition_page.h"
#include "ui/pages/heads/all_heads_page.h"
#include "ui/pages/heads/head_header.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/matrix/heatmap_page.h"
#include "ui/pages/model/card_page.h"
#include "ui/pages/model/folding_page.h"
#include "ui/pages/model/tensors_page.h"
#include "ui/pages/overview/overview_page.h"
#include "ui/pages/position/position_page.h"
#include "ui/pages/prompt/prompt_page.h"
#include "ui/pages/relations/relations_page.h"
#include "ui/pages/scores/scores_page.h"
#include "ui/pages/session/jobs_page.h"
#include "ui/pages/session/notes_page.h"
#include "ui/pages/spectrum/spectrum_page.h"
#include "ui/pages/spectrum/vectors_page.h"
#include "ui/pages/tokens/tokens_page.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/log_view.h"
#include "ui/widgets/token_edit.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <QTableView>
#include <QToolBar>

// The window's parts: what is made once, in the order the constructor makes it.

namespace headwise::app {

using namespace headwise::ui;

template <typename PageKind>
void MainWindow::addPage(const QString& name, const QString& title)
{
    m_tabs->add(name, title, [this] {
        auto* page =
            new PageKind(m_workspace); // of no window yet: it is polished once, when it has its place
        if constexpr (requires { &PageKind::pageRequested; })
            connect(page, &PageKind::pageRequested, this, &MainWindow::showPage);
        if constexpr (requires { &PageKind::analysisRequested; })
            connect(page, &PageKind::analysisRequested, this, &MainWindow::showAnalysis);
        if constexpr (requires { &PageKind::viewMade; })
            connect(page, &PageKind::viewMade, this, &MainWindow::connectView);
        if constexpr (requires { &PageKind::modelWanted; })
            connect(page, &PageKind::modelWanted, this, &MainWindow::chooseComparison);
        if constexpr (requires { &PageKind::modelFileWanted; })
            connect(page, &PageKind::modelFileWanted, this, &MainWindow::chooseComparisonFile);
        return page;
    });
}

void MainWindow::connectPage(Page* page)
{
    connect(page, &Page::readOutChanged, this,
            [this](const QString& readOut) { m_readOut->setText(isolated(readOut)); });
    if (auto* vectors = qobject_cast<VectorsPage*>(page))
        connect(vectors, &VectorsPage::directionWanted, this, &MainWindow::lookAtDirection);
    if (auto* prompt = qobject_cast<PromptPage*>(page))
        connect(prompt, &PromptPage::scoreWanted, this, &MainWindow::lookAtScore);
    for (QWidget* view : page->findChildren<QWidget*>())
        if (dynamic_cast<FigureSource*>(view))
            connectView(view);
    for (auto* table : page->findChildren<QTableView*>())
        if (!dynamic_cast<FigureSource*>(table))
            explainHeader(table);
    for (auto* list : page->findChildren<QAbstractItemView*>())
        list->setTabKeyNavigation(false); // Tab goes on to what comes next
    for (auto* field : page->findChildren<QPlainTextEdit*>())
        field->setTabChangesFocus(true);
}

void MainWindow::connectView(QWidget* view)
{
    if (auto* table = qobject_cast<QTableView*>(view))
        explainHeader(table);
    if (view->property("rightClickIsReference").toBool())
        return; // a grid of heads: its right button marks the head to compare with
    view->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view, &QWidget::customContextMenuRequested, this,
            [this, view](const QPoint& position) { showFigureMenu(view, position); });
}

void MainWindow::createPages()
{
    connect(m_tabs, &PageTabs::pageMade, this, [this](Page* page) {
        int index = -1;
        for (QWidget* place = page->parentWidget(); place && index < 0; place = place->parentWidget())
            index = m_tabs->indexOf(place);
        page->setWhatsThis(explanationOfPage(m_tabs->pageName(index)));
        connectPage(page);
    });
    m_heads->setWhatsThis(explanationOfPage(QStringLiteral("heads")));
    addPage<OverviewPage>(QStringLiteral("overview"), tr("Overview"));
    addPage<TokensPage>(QStringLiteral("tokens"), tr("Tokens"));
    addPage<HeatmapPage>(QStringLiteral("matrix"), tr("Matrix"));
    addPage<SpectrumPage>(QStringLiteral("spectrum"), tr("Spectrum"));
    addPage<VectorsPage>(QStringLiteral("vectors"), tr("Vectors"));
    addPage<PositionPage>(QStringLiteral("position"), tr("Position"));
    addPage<ScoresPage>(QStringLiteral("scores"), tr("Scores"));
    addPage<CompositionPage>(QStringLiteral("composition"), tr("Composition"));
    addPage<ComparePage>(QStringLiteral("compare"), tr("Compare"));
    addPage<PromptPage>(QStringLiteral("prompt"), tr("Prompt"));
    addPage<AllHeadsPage>(QStringLiteral("all_heads"), tr("All heads"));
    addPage<RelationsPage>(QStringLiteral("relations"), tr("Relations"));
    addPage<ModelsPage>(QStringLiteral("models"), tr("Two models"));
    addPage<TensorsPage>(QStringLiteral("tensors"), tr("Tensors"));
    addPage<FoldingPage>(QStringLiteral("folding"), tr("Folding"));
    addPage<CardPage>(QStringLiteral("model"), tr("Model"));
    addPage<ResultPage>(QStringLiteral("analyses"), tr("Analyses"));
    connectPage(m_heads);
    connect(m_heads, &HeadsPage::pageRequested, this, &MainWindow::showPage);
    connect(m_heads, &HeadsPage::relationsAsked, this, [this] { showPage(QStringLiteral("relations")); });
    connect(m_heads, &HeadsPage::problemFound, this,
            [this](const QString& message) { showError(tr("Relations"), message); });
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
    QDockWidget* jobs =
        add(new JobsPage(m_workspace, this), QStringLiteral("jobs"), tr("Jobs"), Qt::BottomDockWidgetArea);
    jobs->hide();
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
    m_headEdit->setAccessibleName(tr("Head"));
    connect(m_headEdit, &QLineEdit::returnPressed, this, [this] { jumpTo(m_headEdit->text()); });
    bar->addWidget(m_headEdit);
    bar->addActions({m_back, m_forward});
    bar->addSeparator();
    m_search = new TokenEdit(bar);
    m_search->setMinimumWidth(220);
    m_search->setMaximumWidth(360);
    m_search->setAccessibleName(tr("Find a token"));
    m_search->setToolTip(tr("Find a token (Ctrl+F), by a regular expression between slashes too, or a head"));
    bar->addWidget(m_search);
    m_search->follow(m_workspace);
    m_search->offerHeads();
    auto* space = new QWidget(bar);
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    bar->addWidget(space);
    label(tr("E"));
    m_embedding = new QComboBox(bar);
    for (const auto& [kind, name] :
         {std::pair(Embedding::Raw, tr("raw")), std::pair(Embedding::Effective, tr("effective")),
          std::pair(Embedding::Mlp0, tr("mlp0")), std::pair(Embedding::Unembed, tr("unembed"))})
        m_embedding->addItem(name, static_cast<int>(kind));
    m_embedding->setAccessibleName(tr("Embedding"));
    m_embedding->setToolTip(tr("Which token vectors stand on the token sides of the full circuits"));
    connect(m_embedding, &QComboBox::activated, this, [this] {
        whenResultsAreSafe([this, chosen = static_cast<Embedding>(m_embedding->currentData().toInt())] {
            m_workspace->model()->setEmbedding(chosen);
        });
    });
    bar->addWidget(m_embedding);
    label(tr("weights"));
    m_processing = new QComboBox(bar);
    m_processing->addItems({tr("processed"), tr("raw")});
    m_processing->setAccessibleName(tr("Weights"));
    m_processing->setToolTip(tr(
        "Processed: norms and value biases folded, writing weights and unembedding centred, where that keeps the model's function"));
    connect(m_processing, &QComboBox::activated, this, [this](int index) {
        ProcessingWish wish;
        if (index == 1)
            wish = {StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off};
        wish.headChanges = m_workspace->model()->processingWish().headChanges;
        whenResultsAreSafe([this, wish] { m_workspace->model()->setProcessingWish(wish); });
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
    m_readOut->setMinimumWidth(1); // Rather cut off than a window that grows.
    m_readOut->setContentsMargins(8, 0, 12, 0);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->addWidget(new JobBar(m_workspace->opener()->job(), this));
    statusBar()->addWidget(new JobBar(m_workspace->model()->tokensJob(), this));
    statusBar()->addWidget(new JobBar(m_workspace->runs()->job(), this));
    statusBar()->addPermanentWidget(m_readOut);
}

} // namespace headwise::app
