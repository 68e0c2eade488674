#include "app/window/main_window.h"

#include "app/demo.h"
#include "app/window/actions.h"
#include "app/window/docks.h"
#include "app/window/figure_commands.h"
#include "app/window/head_change_menu.h"
#include "app/window/main_bar.h"
#include "app/window/menus.h"
#include "app/window/navigation.h"
#include "app/window/notices.h"
#include "app/window/tour.h"
#include "app/window/window_settings.h"
#include "core/model/adapters/adapter.h"
#include "ui/base/bidi.h"
#include "ui/base/icons.h"
#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/imported_attention.h"
#include "ui/document/relation_store.h"
#include "ui/document/training_series.h"
#include "ui/document/workspace_state.h"
#include "ui/pages/heads/head_header.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/model/start_page.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/notice_bar.h"

#include <QAction>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFrame>
#include <QGuiApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMimeData>
#include <QScreen>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QVBoxLayout>

namespace headwise::app {

using namespace headwise::ui;

namespace {

/// Returns the preferred size of the pages, as far as the screen has room.
QSize firstSize()
{
    constexpr QSize liked(1360, 860), frame(16, 48); // drawn by the window manager
    const bool hasDesktop = !QStringList{QStringLiteral("offscreen"), QStringLiteral("minimal")}.contains(
        QGuiApplication::platformName());
    const QScreen* screen = hasDesktop ? QGuiApplication::primaryScreen() : nullptr;
    return screen ? liked.boundedTo(screen->availableSize() - frame) : liked;
}

} // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent)
    , m_workspace(new Workspace(this))
    , m_settings(new WindowSettings(this, m_workspace))
    , m_saving(new Saving(this, m_workspace, m_settings, [this] { return viewState(); }))
    , m_opening(new Opening(this, m_workspace, m_settings, m_saving))
    , m_stack(new QStackedWidget(this))
    , m_start(new StartPage(this))
    , m_center(new QWidget(this))
    , m_banner(new QLabel(this))
    , m_header(new HeadHeader(m_workspace, this))
    , m_heads(new HeadsPage(m_workspace, this))
    , m_pages(new Pages(m_workspace, m_heads, this))
    , m_noticeBar(new NoticeBar(this))
    , m_docks(new Docks(this, m_workspace, m_heads, m_pages, m_settings))
    , m_bar(new MainBar(m_workspace, m_saving, this))
    , m_addresses(new Addresses(this, m_workspace, m_opening, m_pages))
    , m_figures(new FigureCommands(this, m_workspace, m_settings, m_pages, m_noticeBar))
    , m_notices(new Notices(this, m_workspace, m_noticeBar, m_opening))
    , m_tour(new Tour(this, m_workspace, m_pages, m_settings))
    , m_actions(new Actions(this, m_workspace))
    , m_dropFrame(new QFrame(this))
{
    setAcceptDrops(true);
    setWindowIcon(applicationIcon());
    resize(firstSize());
    layOut();
    createMenus();
    createStatusBar();
    connectWorkspace();
    connectParts();
    m_settings->apply();
    wearTheme(*this); // once all is in its place
    m_start->setDemoAvailable(!demoModelFolder().isEmpty());
    m_docks->rememberLayout();
    restoreGeometry(m_settings->now().geometry);
    m_docks->hide();
    updateState();
    prepareParts();
}

MainWindow::~MainWindow() = default;

void MainWindow::layOut()
{
    m_banner->setWordWrap(true);
    m_banner->setObjectName(QStringLiteral("banner"));
    m_banner->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    m_banner->hide();
    auto* layout = new QVBoxLayout(m_center);
    layout->setContentsMargins(8, 8, 8, 0);
    layout->setSpacing(8);
    layout->addWidget(m_banner);
    layout->addWidget(m_header);
    layout->addWidget(m_pages, 1);
    m_stack->addWidget(m_start);
    m_stack->addWidget(m_center);
    auto* central = new QWidget(this);
    central->setMinimumSize(400, 260); // less than some pages like: half of a screen is enough for the window
    auto* rows = new QVBoxLayout(central);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_noticeBar);
    rows->addWidget(m_stack, 1);
    setCentralWidget(central);
    m_dropFrame->setObjectName(QStringLiteral("dropFrame")); // its border is in the style sheet
    m_dropFrame->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_dropFrame->hide();
}

void MainWindow::createMenus()
{
    auto* navigation = new Navigation(this, m_workspace, m_pages, m_docks, m_bar);
    fillMenus({this, m_workspace, m_actions, m_settings, m_saving, m_opening, m_pages, m_docks, m_figures,
               navigation, m_addresses, m_tour});
    connect(m_actions->find("quit"), &QAction::triggered, this, &MainWindow::quitRequested);
    addToolBar(m_bar);
    m_bar->arrange(*m_actions);
}

void MainWindow::createStatusBar()
{
    auto* readOut = new QLabel(this);
    readOut->setFont(tokenFont());
    readOut->setMinimumWidth(1); // Rather cut off than a window that grows.
    readOut->setContentsMargins(8, 0, 12, 0);
    statusBar()->setSizeGripEnabled(false);
    for (Job* job : {m_workspace->opener()->job(), m_workspace->model()->tokenReader()->job(),
                     m_workspace->runs()->job(), TrainingSeries::of(m_workspace)->job()})
        statusBar()->addWidget(new JobBar(job, this));
    statusBar()->addPermanentWidget(readOut);
    connect(m_workspace->model(), &OpenModel::replaced, readOut, &QLabel::clear);
    connect(m_pages, &Pages::readOutChanged, readOut,
            [readOut](const QString& text) { readOut->setText(isolated(text)); });
}

void MainWindow::connectWorkspace()
{
    connect(m_workspace->model(), &OpenModel::opened, this, [this] {
        m_settings->rememberRecent(placeText(openPlace(*m_workspace)));
        m_start->setError({});
        m_docks->show();
        const QString view = m_opening->takeViewState();
        if (m_workspace->session()->view().isEmpty() && view.isEmpty())
            showFirstPage();
        restoreViewState(m_workspace->session()->view());
        restoreViewState(view);
        m_addresses->showAwaited();
        updateState();
    });
    connect(m_workspace->model(), &OpenModel::replaced, m_pages, &Pages::forgetStates);
    connect(m_workspace->model(), &OpenModel::closed, this, [this] {
        m_docks->hide();
        updateState();
    });
    for (const auto signal :
         {&OpenModel::circuitsChanged, &OpenModel::embeddingChanged, &OpenModel::resultsChanged})
        connect(m_workspace->model(), signal, this, &MainWindow::updateState);
    connect(m_workspace->selection(), &Selection::headChanged, this, &MainWindow::updateState);
    connect(m_workspace->notebook(), &Notebook::notesChanged, this, &MainWindow::updateState);
    connect(m_workspace->session(), &SessionFile::saved, this, &MainWindow::updateState);
    connect(ImportedAttention::of(m_workspace), &ImportedAttention::kept, this, &MainWindow::updateState);
    for (const auto signal : {&OpenModel::circuitsChanged, &OpenModel::closed})
        connect(m_workspace->model(), signal, this, [this] {
            const QString message = bannerText(*m_workspace->model());
            setMarkup(m_banner, message);
            m_banner->setVisible(!message.isEmpty());
        });
}

/// Shows the findings of a model that nobody has looked at yet, with the head that stands out most.
void MainWindow::showFirstPage()
{
    if (m_addresses->isAwaited())
        return showPage(QStringLiteral("overview")); // of the head that was asked for
    if (TrainingSeries::isOpenIn(*m_workspace))
        return showPage(QStringLiteral("training"));
    m_pages->showOn(QStringLiteral("findings"), {{QStringLiteral("preselect"), true}});
}

void MainWindow::connectParts()
{
    const auto showRecent = [this] {
        m_start->setRecentFiles(m_settings->now().recentFiles, m_settings->now().recentCards);
    };
    showRecent();
    connect(m_settings, &WindowSettings::recentChanged, m_start, showRecent);
    connect(m_saving, &Saving::declined, this, &MainWindow::updateState);
    connect(m_opening, &Opening::failed, m_start, &StartPage::setError);
    connect(m_opening, &Opening::comparisonChosen, this, [this] { showPage(QStringLiteral("models")); });
    connect(m_start, &StartPage::openFolderRequested, m_opening, &Opening::chooseFolder);
    connect(m_start, &StartPage::openFileRequested, m_opening, &Opening::chooseFile);
    connect(m_start, &StartPage::openDemoRequested, m_tour, &Tour::offer);
    connect(m_start, &StartPage::openDemoRequested, m_opening, &Opening::openDemo);
    connect(m_start, &StartPage::openRecentRequested, m_opening, &Opening::openPath);
    connect(m_pages, &Pages::fillWanted, m_opening, &Opening::fill);
    connect(m_pages, &Pages::modelWanted, m_opening, &Opening::chooseComparison);
    connect(m_pages, &Pages::modelFileWanted, m_opening, &Opening::chooseComparisonFile);
    connect(m_heads, &HeadsPage::problemFound, m_opening,
            [this](const QString& message) { m_opening->showError(tr("Relations"), message); });
    connect(m_banner, &QLabel::linkActivated, this, &MainWindow::followLink);
}

void MainWindow::followLink(const QString& link)
{
    if (link == QLatin1String("undo-head-changes"))
        m_saving->whenResultsAreSafe([this] { undoHeadChanges(*m_workspace); });
    else if (link == QLatin1String("locate-model"))
        m_opening->locateModel();
    else if (link == QLatin1String("locate-model-file"))
        m_opening->locateModelFile();
    else
        m_opening->addTokenizer();
}

/// Polishes the first page, the header and the docks before a model is opened, then creates and polishes the next page that
/// is looked at and the slowest one. Each step runs in an event of its own.
void MainWindow::prepareParts()
{
    const auto polish = [](QWidget* whole) {
        QTimer::singleShot(0, whole, [whole] {
            for (QWidget* part : whole->findChildren<QWidget*>())
                part->ensurePolished();
        });
    };
    QTimer::singleShot(0, this, [this, polish] {
        polish(m_pages->page(m_pages->indexOfName(QStringLiteral("findings"))));
        polish(m_header);
        for (QDockWidget* dock : findChildren<QDockWidget*>())
            polish(dock);
        QTimer::singleShot(0, this, [this, polish] {
            polish(m_pages->page(m_pages->indexOfName(QStringLiteral("overview"))));
            QTimer::singleShot(0, this, [this, polish] {
                polish(m_pages->page(m_pages->indexOfName(QStringLiteral("analyses"))));
            });
        });
    });
}

QString MainWindow::viewState() const
{
    QJsonObject pages = m_pages->viewState();
    pages[QStringLiteral("heads")] = m_heads->viewState();
    QJsonObject state;
    state[QStringLiteral("head")] = text(dottedHead(m_workspace->selection()->head()));
    state[QStringLiteral("token")] = m_workspace->selection()->token();
    if (const auto reference = m_workspace->selection()->reference())
        state[QStringLiteral("reference")] = text(dottedHead(*reference));
    state[QStringLiteral("question")] = questionState(*m_workspace);
    state[QStringLiteral("page")] = m_pages->currentName();
    state[QStringLiteral("pages")] = pages;
    state[QStringLiteral("layout")] = QString::fromLatin1(m_docks->layout().toBase64());
    return QString::fromUtf8(QJsonDocument(state).toJson(QJsonDocument::Compact));
}

void MainWindow::restoreViewState(const QString& json)
{
    const QJsonObject state = QJsonDocument::fromJson(json.toUtf8()).object();
    if (state.isEmpty())
        return;
    m_docks->setLayout(QByteArray::fromBase64(state[QStringLiteral("layout")].toString().toLatin1()));
    m_pages->restore(state);
    showPage(state[QStringLiteral("page")].toString());
    m_workspace->selection()->forgetHistory();
}

void MainWindow::comeForward()
{
    if (isMinimized())
        showNormal();
    show();
    raise();
    activateWindow();
}

void MainWindow::keepRecovery(const std::filesystem::path& folder)
{
    m_notices->keepRecovery(folder, m_saving, m_settings);
}

void MainWindow::updateState()
{
    const bool open = m_workspace->model()->isOpen();
    m_stack->setCurrentWidget(open ? m_center : static_cast<QWidget*>(m_start));
    m_actions->refresh();
    m_bar->refresh();
    if (!open)
        return setWindowTitle(QStringLiteral("Headwise"));
    const QString file = text(m_workspace->session()->path().filename().string());
    const QString stack = openStack(*m_workspace);
    const QString name = text(m_workspace->model()->card().name);
    setWindowTitle(tr("%1%2[*] — Headwise")
                       .arg(stack.isEmpty() ? name : tr("%1 (%2)").arg(name, stack),
                            file.isEmpty() ? QString() : QStringLiteral(" · ") + file));
    setWindowModified(m_workspace->session()->isModified());
}

void MainWindow::whenNotesAreSafe(const std::function<void()>& next)
{
    if (m_saving->asksFirst())
        comeForward();
    m_saving->whenNotesAreSafe(next);
}

void MainWindow::closeUnasked()
{
    m_closesUnasked = true;
    close();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    const auto leave = [this, event] {
        m_settings->keep();             // where everything stands
        m_workspace->opener()->close(); // asks the jobs to stop; nothing waits for them
        event->accept();
    };
    if (m_closesUnasked)
        return leave();
    event->ignore();
    const auto asking = std::make_shared<bool>(true);
    m_saving->whenNotesAreSafe([this, leave, asking] {
        if (*asking)
            return leave();
        close(); // The notes were saved first; the event is long gone.
    });
    *asking = false;
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls() && event->mimeData()->urls().first().isLocalFile())
        event->acceptProposedAction();
    markDropTarget(event->isAccepted());
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* event)
{
    markDropTarget(false);
    QMainWindow::dragLeaveEvent(event);
}

void MainWindow::markDropTarget(bool on)
{
    m_start->setDropHovered(on);
    m_dropFrame->setGeometry(rect());
    m_dropFrame->raise();
    m_dropFrame->setVisible(on && !m_start->isVisible());
}

void MainWindow::dropEvent(QDropEvent* event)
{
    markDropTarget(false);
    const QString file = event->mimeData()->urls().first().toLocalFile();
    event->acceptProposedAction();
    if (m_workspace->model()->hasModel() && isRelationFile(file))
        return m_heads->askRelations(file);
    const bool isNewer = event->modifiers().testFlag(Qt::AltModifier) || isAdapter(file.toStdString());
    if (m_workspace->model()->hasModel() && isNewer)
        return m_opening->compareWith(file);
    openPath(file);
}

void MainWindow::changeEvent(QEvent* event)
{
    QMainWindow::changeEvent(event);
    if (event->type() != QEvent::PaletteChange)
        return;
    const QString message = m_banner->text(); // Its links keep the colour they were read with.
    m_banner->clear();
    setMarkup(m_banner, message);
    update();
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    if (!event->matches(QKeySequence::Copy) || !m_figures->copyFocused())
        QMainWindow::keyPressEvent(event);
}

} // namespace headwise::app
