#include "app/window/main_window.h"

#include "app/demo.h"
#include "app/window/head_change_menu.h"
#include "app/window/page_tabs.h"
#include "core/base/log.h"
#include "core/session/session_file.h"
#include "ui/base/icons.h"
#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/imported_attention.h"
#include "ui/document/workspace_state.h"
#include "ui/pages/heads/head_header.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/model/start_page.h"
#include "ui/widgets/notice_bar.h"
#include "ui/widgets/token_edit.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QComboBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QGuiApplication>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTimer>
#include <QVBoxLayout>

#include <spdlog/logger.h>

#include <utility>

namespace headwise::app {

using namespace headwise::ui;

namespace {

/// As large as the pages like it, on a screen that has the room.
QSize firstSize()
{
    constexpr QSize liked(1360, 860), frame(16, 48); // what a window manager draws around it
    const bool hasDesktop = !QStringList{QStringLiteral("offscreen"), QStringLiteral("minimal")}.contains(
        QGuiApplication::platformName());
    const QScreen* screen = hasDesktop ? QGuiApplication::primaryScreen() : nullptr;
    return screen ? liked.boundedTo(screen->availableSize() - frame) : liked;
}

} // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent)
    , m_settings(readSettings())
    , m_workspace(new Workspace(this))
    , m_stack(new QStackedWidget(this))
    , m_start(new StartPage(this))
    , m_center(new QWidget(this))
    , m_banner(new QLabel(this))
    , m_header(new HeadHeader(m_workspace, this))
    , m_tabs(new PageTabs(this))
    , m_heads(new HeadsPage(m_workspace, this))
    , m_notices(new NoticeBar(this))
{
    setAcceptDrops(true);
    setWindowIcon(applicationIcon());
    resize(firstSize());
    m_banner->setWordWrap(true);
    m_banner->setObjectName(QStringLiteral("banner"));
    m_banner->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    connect(m_banner, &QLabel::linkActivated, this, [this](const QString& link) {
        if (link == QLatin1String("undo-head-changes"))
            whenResultsAreSafe([this] { undoHeadChanges(*m_workspace); });
        else if (link == QLatin1String("locate-model"))
            locateModel();
        else if (link == QLatin1String("locate-model-file"))
            locateModelFile();
        else
            addTokenizer();
    });
    m_banner->hide();
    m_tabs->setDocumentMode(true);
    m_tabs->tabBar()->setDrawBase(false);
    auto* layout = new QVBoxLayout(m_center);
    layout->setContentsMargins(8, 8, 8, 0);
    layout->setSpacing(8);
    layout->addWidget(m_banner);
    layout->addWidget(m_header);
    layout->addWidget(m_tabs, 1);
    m_stack->addWidget(m_start);
    m_stack->addWidget(m_center);
    auto* central = new QWidget(this);
    central->setMinimumSize(400, 260); // less than some pages like: half of a screen is enough for the window
    auto* rows = new QVBoxLayout(central);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_notices);
    rows->addWidget(m_stack, 1);
    setCentralWidget(central);

    createPages();
    createDocks();
    createActions();
    createToolBar();
    createStatusBar();
    connectSignals();
    createNotices();
    wearTheme(*this); // once all is in its place
    m_start->setDemoAvailable(!demoModelFolder().isEmpty());
    m_firstLayout = saveState();
    restoreGeometry(m_settings.geometry);
    showDocks(false);
    updateRecent();
    updateState();
    prepareParts();
}

/// The first page is made before a model comes, which has enough to do; so is the one that takes longest. What their style asks
/// of every part when it is shown is asked before, too. Each in an event of its own.
void MainWindow::prepareParts()
{
    const auto polish = [](QWidget* whole) {
        QTimer::singleShot(0, whole, [whole] {
            for (QWidget* part : whole->findChildren<QWidget*>())
                part->ensurePolished();
        });
    };
    QTimer::singleShot(0, this, [this, polish] {
        polish(m_tabs->currentPage());
        polish(m_header);
        for (QDockWidget* dock : findChildren<QDockWidget*>())
            polish(dock);
        QTimer::singleShot(0, this, [this, polish] {
            polish(m_tabs->page(m_tabs->indexOfName(QStringLiteral("analyses"))));
        });
    });
}

MainWindow::~MainWindow() = default;

void MainWindow::connectSignals()
{
    connect(m_workspace->model(), &OpenModel::opened, this, [this] {
        const QString file = text(m_workspace->session()->path().string());
        rememberRecent(file.isEmpty() ? text(m_workspace->model()->source().path.string()) : file);
        m_start->setError({});
        if (!std::exchange(m_docksAreNew, false))
            showDocks(true);
        restoreViewState(m_workspace->session()->view());
        updateState();
    });
    connect(m_workspace->model(), &OpenModel::closed, this, [this] {
        m_docksAreNew = false;
        showDocks(false);
        updateState();
    });
    connect(m_workspace->model(), &OpenModel::circuitsChanged, this, [this] {
        updateState();
        if (m_workspace->model()->isOpen() && !m_docksShown) // in an event before that of opened()
            QTimer::singleShot(0, this, [this] {
                if (m_workspace->model()->isOpen() && !m_docksShown)
                    showDocks(m_docksAreNew = true);
            });
    });
    connect(m_workspace->selection(), &Selection::headChanged, this, &MainWindow::updateState);
    connect(m_workspace->notebook(), &Notebook::notesChanged, this, &MainWindow::updateState);
    connect(m_workspace->model(), &OpenModel::embeddingChanged, this, &MainWindow::updateState);
    connect(m_workspace->model(), &OpenModel::resultsChanged, this, &MainWindow::updateState);
    connect(ImportedAttention::of(m_workspace), &ImportedAttention::kept, this, &MainWindow::updateState);
    connect(m_workspace->session(), &SessionFile::saved, this, [this](const QString& file) {
        rememberRecent(file);
        updateState();
        logger().info("saved {}", file.toStdString());
        showMessage(tr("Saved %1").arg(file));
        if (const auto next = std::exchange(m_afterSave, {}))
            whenNotesAreSafe(next); // asks again about what changed while this was being saved
    });
    connect(m_workspace->session(), &SessionFile::conflict, this, &MainWindow::askAboutConflict);
    connect(m_workspace->session(), &SessionFile::merged, this, &MainWindow::save);
    connect(m_workspace->opener(), &Opener::openFailed, this, &MainWindow::showOpenError);
    connect(m_workspace->opener(), &Opener::configMissing, this, &MainWindow::askForConfig);
    connect(m_workspace->opener(), &Opener::locatedConfigMissing, this, &MainWindow::askForLocatedConfig);
    connect(m_workspace, &Workspace::failed, this, [this](const QString& message) {
        m_afterSave = {};
        logger().warn("{}", message.toStdString());
        showError(tr("Headwise"), message);
    });
    connect(m_workspace->model(), &OpenModel::bannerChanged, this, [this](const QString& message) {
        setMarkup(m_banner, message);
        m_banner->setVisible(!message.isEmpty());
    });
    connect(m_start, &StartPage::openFolderRequested, this, &MainWindow::chooseFolder);
    connect(m_start, &StartPage::openFileRequested, this, &MainWindow::chooseFile);
    connect(m_start, &StartPage::openDemoRequested, this, &MainWindow::openDemo);
    connect(m_start, &StartPage::openRecentRequested, this, &MainWindow::openPath);
    connect(m_search, &TokenEdit::tokenChosen, this, [this](int token) {
        m_workspace->selection()->setToken(token);
        showPage(QStringLiteral("tokens"));
    });
    connect(m_search, &TokenEdit::headChosen, m_workspace->selection(), &Selection::setHead);
    connect(m_search, &TokenEdit::notFound, this, &MainWindow::showMessage);
}

QString MainWindow::viewState() const
{
    QJsonObject pages = m_tabs->viewState();
    pages[QStringLiteral("heads")] = m_heads->viewState();
    QJsonObject state;
    state[QStringLiteral("head")] = text(dottedHead(m_workspace->selection()->head()));
    state[QStringLiteral("token")] = m_workspace->selection()->token();
    if (const auto reference = m_workspace->selection()->reference())
        state[QStringLiteral("reference")] = text(dottedHead(*reference));
    state[QStringLiteral("question")] = questionState(*m_workspace);
    state[QStringLiteral("page")] = m_tabs->currentName();
    state[QStringLiteral("pages")] = pages;
    state[QStringLiteral("layout")] = QString::fromLatin1(saveState().toBase64());
    return QString::fromUtf8(QJsonDocument(state).toJson(QJsonDocument::Compact));
}

void MainWindow::restoreViewState(const QString& json)
{
    const QJsonObject state = QJsonDocument::fromJson(json.toUtf8()).object();
    if (state.isEmpty())
        return;
    restoreState(QByteArray::fromBase64(state[QStringLiteral("layout")].toString().toLatin1()));
    const QJsonObject pages = state[QStringLiteral("pages")].toObject();
    m_tabs->setViewState(pages);
    m_heads->setViewState(pages[QStringLiteral("heads")].toObject());
    if (const auto head = parseHeadId(state[QStringLiteral("head")].toString().toStdString()))
        m_workspace->selection()->setHead(*head);
    m_workspace->selection()->setToken(state[QStringLiteral("token")].toInt());
    restoreQuestion(*m_workspace, state[QStringLiteral("question")].toObject());
    m_workspace->selection()->setReference(
        parseHeadId(state[QStringLiteral("reference")].toString().toStdString()));
    showPage(state[QStringLiteral("page")].toString());
    m_workspace->selection()->forgetHistory();
}

void MainWindow::showPage(const QString& name)
{
    if (const int index = m_tabs->indexOfName(name); index >= 0)
        m_tabs->setCurrentIndex(index);
}

void MainWindow::showDocks(bool open)
{
    if (!open && m_docksShown)
        keep([](Settings&) {}); // where they stand
    for (QDockWidget* dock : m_docks)
        dock->setVisible(open && dock->objectName() != QLatin1String("log")
                         && dock->objectName() != QLatin1String("jobs"));
    if (open)
        restoreState(m_settings.layout);
    m_docksShown = open;
}

void MainWindow::updateState()
{
    const bool open = m_workspace->model()->isOpen();
    m_stack->setCurrentWidget(open ? m_center : static_cast<QWidget*>(m_start));
    for (QAction* item : m_whenOpen)
        item->setEnabled(open);
    m_headEdit->setEnabled(open);
    m_search->setEnabled(open);
    m_embedding->setEnabled(open && m_workspace->model()->hasModel());
    m_processing->setEnabled(open && m_workspace->model()->hasModel());
    if (!open) {
        m_headEdit->clear();
        setWindowTitle(QStringLiteral("Headwise"));
        return;
    }
    m_headEdit->setText(text(dottedHead(m_workspace->selection()->head())));
    const QSignalBlocker quietProcessing(m_processing);
    m_processing->setCurrentIndex(isProcessed(m_workspace->model()->processing()) ? 0 : 1);
    const QSignalBlocker quietEmbedding(m_embedding);
    m_embedding->setCurrentIndex(m_embedding->findData(static_cast<int>(m_workspace->model()->embedding())));
    const QString file = text(m_workspace->session()->path().filename().string());
    setWindowTitle(tr("%1%2[*] — Headwise")
                       .arg(text(m_workspace->model()->card().name),
                            file.isEmpty() ? QString() : QStringLiteral(" · ") + file));
    setWindowModified(m_workspace->session()->isModified());
}

void MainWindow::rememberRecent(const QString& path)
{
    const ModelCard& card = m_workspace->model()->card();
    keep([&](Settings& settings) {
        settings.addRecent(
            path, {card.nLayers, card.nHeads, card.dModel, text(card.architecture), QDate::currentDate()});
    });
    updateRecent();
}

void MainWindow::updateRecent()
{
    m_start->setRecentFiles(m_settings.recentFiles, m_settings.recentCards);
    if (!m_recentMenu)
        return;
    m_recentMenu->clear();
    for (const QString& path : m_settings.recentFiles)
        m_recentMenu->addAction(path, this, [this, path] { openPath(path); });
    m_recentMenu->setEnabled(!m_settings.recentFiles.isEmpty());
}

void MainWindow::setTheme(ThemeMode mode)
{
    keep([mode](Settings& settings) { settings.theme = mode; });
    applyTheme(*qApp, mode);
    for (QWidget* top : QApplication::topLevelWidgets())
        if (auto* window = qobject_cast<MainWindow*>(top)) {
            window->m_settings.theme = mode;
            window->checkTheme();
        }
}

void MainWindow::showError(const QString& title, const QString& message)
{
    auto* box = new QMessageBox(QMessageBox::Warning, title, message, QMessageBox::Close, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    QPushButton* copy = box->addButton(tr("Copy"), QMessageBox::ActionRole);
    QObject::disconnect(copy, nullptr, box, nullptr); // copying does not close it
    connect(copy, &QAbstractButton::clicked, box,
            [message] { QGuiApplication::clipboard()->setText(message); });
    box->open();
}

void MainWindow::showMessage(const QString& message)
{
    statusBar()->showMessage(message, 6000);
}

bool MainWindow::event(QEvent* event)
{
    // What Qt says of a desktop that turns dark. Our own palettes say ApplicationPaletteChange alone, so that this does not
    // answer itself; asking for the system's palette sets one, so that it is asked later and once for all windows.
    if (event->type() == QEvent::ThemeChange && !std::exchange(m_themeIsAsked, true))
        QTimer::singleShot(0, this, [this] {
            m_themeIsAsked = false;
            const bool follows = m_settings.theme == ThemeMode::System;
            if (follows && systemIsDark() != themeColors(QApplication::palette()).dark)
                applyTheme(*qApp, ThemeMode::System);
        });
    return QMainWindow::event(event);
}

void MainWindow::changeEvent(QEvent* event)
{
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        update();
}

} // namespace headwise::app
