#include "app/window/file_watch.h"
#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "app/window/preferences_dialog.h"
#include "app/window/recovery.h"
#include "core/analysis/catalogue.h"
#include "core/files/file_write.h"
#include "ui/base/text.h"
#include "ui/base/token_font.h"
#include "ui/pages/matrix/heatmap_page.h"
#include "ui/widgets/notice_bar.h"

#include <QAction>
#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QJsonObject>
#include <QLocale>

#include <algorithm>
#include <array>
#include <chrono>

// What the window is told from outside: addresses, files that change, sessions that were lost.

namespace headwise::app {

using namespace headwise::ui;

namespace {

struct CircuitName {
    std::string_view name;
    int ofMatrix; ///< The choice on the Matrix page…
    int ofTokens; ///< …and on the Tokens page.
};
constexpr std::array<CircuitName, 4> circuitNames{
    {{"OV", 0, 0}, {"QK", 1, 1}, {"full-OV", 2, 0}, {"full-QK", 3, 1}}};

const CircuitName* circuitNamed(std::string_view name)
{
    for (const CircuitName& circuit : circuitNames)
        if (circuit.name == name)
            return &circuit;
    return nullptr;
}

bool isSameFile(const std::filesystem::path& a, const std::filesystem::path& b)
{
    std::error_code code;
    return !a.empty() && !b.empty() && (a == b || std::filesystem::equivalent(a, b, code));
}

} // namespace

void MainWindow::createNotices()
{
    setTokenFontFamily(m_settings.tokenFont);
    setColorChoice(m_settings.colors);
    connect(&ColorNews::instance(), &ColorNews::classColorChanged, this,
            [this](const QString& name, const QColor& color) {
                keep([&](Settings& settings) { settings.colors.setClass(name, color); });
            });
    for (Job* job :
         {m_workspace->opener()->job(), m_workspace->model()->tokensJob(), m_workspace->runs()->job()})
        job->setThreads(m_settings.threads);
    m_fileWatch = new FileWatch(this);
    connect(m_fileWatch, &FileWatch::changed, this, [this](const QStringList& files) {
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
        m_notices->post({QStringLiteral("changed"),
                         tr("%1 has changed on disk. You are looking at the old version.").arg(name),
                         {{tr("Reload (F5)"), [this] { reload(); }}}});
    });
    const auto watch = [this] {
        m_notices->withdraw(QStringLiteral("changed"));
        m_fileWatch->watch({m_workspace->model()->source().path, m_workspace->session()->path()});
    };
    connect(m_workspace->model(), &OpenModel::opened, this, watch);
    connect(m_workspace->session(), &SessionFile::saved, this, watch);
    connect(m_workspace->model(), &OpenModel::circuitsChanged, this, [this] {
        // The model of a session is found after the session was opened.
        if (m_workspace->model()->hasModel())
            m_fileWatch->watch({m_workspace->model()->source().path, m_workspace->session()->path()});
    });
    connect(m_workspace->model(), &OpenModel::closed, this, [this] {
        m_notices->withdraw(QStringLiteral("changed"));
        m_fileWatch->watch({});
    });
    connect(m_workspace->model(), &OpenModel::opened, this, [this] {
        if (const QString view = std::exchange(m_viewToRestore, {}); !view.isEmpty())
            restoreViewState(view);
        if (const auto address = std::exchange(m_addressToShow, {}); address && shows(address->model))
            showAddress(*address);
    });
    connect(m_workspace->opener(), &Opener::openFailed, this, [this] {
        m_viewToRestore.clear();
        m_addressToShow.reset();
    });
}

bool MainWindow::shows(const std::filesystem::path& path) const
{
    if (m_workspace->opener()->job()->isRunning())
        return isSameFile(path, m_pathToOpen);
    return m_workspace->model()->isOpen()
        && (isSameFile(path, m_workspace->model()->source().path)
            || isSameFile(path, m_workspace->session()->path()));
}

bool MainWindow::isEmpty() const
{
    return !m_workspace->model()->isOpen() && !m_workspace->opener()->job()->isRunning();
}

Result<Done> MainWindow::checkAddress(const Address& address) const
{
    if (address.analysis && !findAnalysis(*address.analysis))
        return Error{ErrorCode::InvalidArgument,
                     "There is no analysis '" + *address.analysis + "'; headwise list-analyses names them."};
    if (address.page.empty() || circuitNamed(address.page) || m_tabs->indexOfName(text(address.page)) >= 0)
        return Done{};
    return Error{ErrorCode::InvalidArgument,
                 "There is no page '" + address.page + "'; there are OV, QK, full-OV, full-QK, "
                     + m_tabs->pageNames().join(QStringLiteral(", ")).toStdString() + "."};
}

void MainWindow::comeForward()
{
    if (isMinimized())
        showNormal();
    show();
    raise();
    activateWindow();
}

void MainWindow::goTo(const Address& address)
{
    if (shows(address.model) && !m_workspace->opener()->job()->isRunning())
        return showAddress(address);
    m_addressToShow = address;
    if (!shows(address.model))
        openPath(text(address.model.string()));
}

void MainWindow::showAddress(const Address& address)
{
    const ModelCard& card = m_workspace->model()->card();
    if (address.head.layer >= card.nLayers || address.head.head >= card.nHeads)
        return showMessage(
            tr("%1 has no head %2: its last is %3.")
                .arg(text(card.name), text(address.head), text(HeadId{card.nLayers - 1, card.nHeads - 1})));
    m_workspace->selection()->setHead(address.head);
    if (address.reference)
        m_workspace->selection()->setReference(*address.reference);
    if (address.direction)
        m_workspace->selection()->setDirection(
            {address.direction->isQk ? CircuitKind::Qk : CircuitKind::Ov, address.direction->number - 1, 1});
    if (address.analysis)
        return showOn(QStringLiteral("analyses"), {{QStringLiteral("analysis"), text(*address.analysis)}});
    const std::optional<std::string>& token = address.row ? address.row : address.column;
    if (token && !chooseToken(*token))
        return;
    const CircuitName* circuit = circuitNamed(address.page);
    if (!circuit && (!address.page.empty() || !token))
        return showPage(!address.page.empty()   ? text(address.page)
                            : address.direction ? QStringLiteral("vectors")
                            : address.reference ? QStringLiteral("compare")
                                                : QString());
    const int ofTokens = circuit ? circuit->ofTokens : 0;
    if (token && !(address.row && address.column))
        return showOn(QStringLiteral("tokens"),
                      {{QStringLiteral("circuit"), ofTokens}, {QStringLiteral("side"), address.row ? 0 : 1}});
    QJsonObject choice{{QStringLiteral("circuit"), circuit ? circuit->ofMatrix : 2}};
    if (token) { // Both: the block of the two tokens.
        choice[QStringLiteral("circuit")] = 2 + ofTokens;
        choice[QStringLiteral("which")] = 0;
        choice[QStringLiteral("text")] = rawToken(*address.row) + rawToken(*address.column);
    }
    showOn(QStringLiteral("matrix"), choice);
}

bool MainWindow::chooseToken(const std::string& shown)
{
    int token = -1;
    if (const auto tokenizer = m_workspace->model()->tokenizer()) {
        const Result<int> found = tokenizer->find(shown);
        if (!found) {
            showMessage(text(found.error()));
            return false;
        }
        token = *found;
    } else {
        bool isNumber = false;
        token = text(shown).remove(u'#').toInt(&isNumber);
        if (!isNumber) {
            showMessage(tr("Without a tokenizer a token is called by its number, as in #17."));
            return false;
        }
    }
    m_workspace->selection()->setToken(token);
    return true;
}

QString MainWindow::rawToken(const std::string& shown) const
{
    const auto tokenizer = m_workspace->model()->tokenizer();
    const Result<int> found = tokenizer ? tokenizer->find(shown)
                                        : Result<int>(Error{ErrorCode::NotFound, "There is no tokenizer."});
    return found ? text(tokenizer->bytes(*found)) : QString();
}

std::string MainWindow::tokenReference(int token) const
{
    const auto tokenizer = m_workspace->model()->tokenizer();
    const std::string shown = m_workspace->model()->tokenText(token).toStdString();
    const Result<int> found = tokenizer ? tokenizer->find(shown) : Result<int>(token);
    return found && *found == token ? shown : '#' + std::to_string(token); // Several may read the same.
}

void MainWindow::showOn(const QString& name, const QJsonObject& choice)
{
    auto* page = m_tabs->page(m_tabs->indexOfName(name));
    QJsonObject state = page->viewState();
    for (auto entry = choice.begin(); entry != choice.end(); ++entry)
        state[entry.key()] = entry.value();
    page->setViewState(state);
    showPage(name);
}

void MainWindow::copyReference()
{
    const QString name = m_tabs->currentName();
    const QJsonObject state = m_tabs->currentPage()->viewState();
    const int circuit = state[QStringLiteral("circuit")].toInt();
    Address address{.model = m_workspace->session()->path().empty() ? m_workspace->model()->source().path
                                                                    : m_workspace->session()->path(),
                    .head = m_workspace->selection()->head(),
                    .page = name.toStdString(),
                    .row = std::nullopt,
                    .column = std::nullopt,
                    .reference = std::nullopt,
                    .analysis = std::nullopt,
                    .direction = std::nullopt};
    if (name == QLatin1String("compare"))
        address.reference = m_workspace->selection()->reference();
    if (name == QLatin1String("analyses"))
        address.analysis = state[QStringLiteral("analysis")].toString().toStdString();
    if (name == QLatin1String("vectors")) {
        const SingularChoice& direction = m_workspace->selection()->direction();
        address.direction = Address::Direction{direction.circuit == CircuitKind::Qk, direction.index + 1};
    }
    // What an address cannot say, as the direct path or the largest of all tokens, is left to the page.
    if (name == QLatin1String("matrix") && circuit >= 0 && circuit < static_cast<int>(circuitNames.size())) {
        address.page = circuitNames.at(static_cast<std::size_t>(circuit)).name;
        const auto cell = static_cast<HeatmapPage*>(m_tabs->currentPage())->currentTokens();
        if (cell && m_workspace->model()->tokenizer()) {
            address.row = tokenReference(cell->first);
            address.column = tokenReference(cell->second);
        }
    }
    const int side = state[QStringLiteral("side")].toInt();
    if (name == QLatin1String("tokens") && side <= 1) {
        address.page = circuit == 0 ? "full-OV" : "full-QK";
        (side == 0 ? address.row : address.column) = tokenReference(m_workspace->selection()->token());
    }
    const QString reference = text(addressText(address));
    QGuiApplication::clipboard()->setText(reference);
    showMessage(tr("Copied %1").arg(reference));
}

void MainWindow::reload()
{
    if (!m_workspace->model()->isOpen())
        return;
    whenNotesAreSafe([this] {
        m_viewToRestore = viewState();
        m_workspace->opener()->reload();
    });
}

void MainWindow::showPreferences()
{
    m_settings = readSettings(); // other windows may have changed them
    auto* dialog = new PreferencesDialog(m_settings, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &PreferencesDialog::changed, this, &MainWindow::applySettings);
    dialog->open();
}

void MainWindow::applySettings(const Settings& settings)
{
    const bool otherTheme = settings.theme != m_settings.theme || settings.tokenFont != m_settings.tokenFont;
    // The dialog was opened with what was remembered then; only what it decides comes back.
    keep([&](Settings& kept) {
        kept.tokenFont = settings.tokenFont;
        kept.autosaveMinutes = settings.autosaveMinutes;
        kept.threads = settings.threads;
        kept.exportFolder = settings.exportFolder;
        kept.colors.sequential = settings.colors.sequential;
        kept.colors.redIsNegative = settings.colors.redIsNegative;
    });
    setColorChoice(m_settings.colors);
    setTokenFontFamily(m_settings.tokenFont);
    if (otherTheme)
        setTheme(settings.theme);
    for (Job* job :
         {m_workspace->opener()->job(), m_workspace->model()->tokensJob(), m_workspace->runs()->job()})
        job->setThreads(m_settings.threads);
    if (m_recovery)
        m_recovery->setInterval(m_settings.autosaveInterval());
}

void MainWindow::keep(const std::function<void(Settings&)>& change)
{
    changeSettings(m_settings, [&](Settings& settings) {
        if (m_docksShown)
            settings.layout = saveState();
        if (isVisible())
            settings.geometry = saveGeometry();
        change(settings);
    });
}

void MainWindow::keepFolderOf(const QString& file)
{
    keep([&](Settings& settings) { settings.lastFolder = QFileInfo(file).path(); });
}

void MainWindow::keepRecovery(const std::filesystem::path& folder)
{
    m_recovery = new Recovery(
        folder, m_workspace, [this] { return viewState(); }, this);
    m_recovery->setInterval(m_settings.autosaveInterval());
    sweepTemporaries(folder);
    for (const LostSession& lost : Recovery::lostSessions(folder)) {
        const QString model = lost.model.isEmpty() ? tr("a model without a name") : lost.model;
        const QString time = lost.time.date() == QDate::currentDate()
            ? QLocale().toString(lost.time.time(), QStringLiteral("HH:mm"))
            : QLocale().toString(lost.time, QStringLiteral("d MMM yyyy, HH:mm"));
        m_notices->post({QStringLiteral("lost-") + lost.id,
                         tr("Headwise did not end as it should. The session of %1, %2, can be recovered.")
                             .arg(model, time),
                         {{tr("Recover session of %1, %2").arg(model, time),
                           [this, lost] { whenNotesAreSafe([this, lost] { m_recovery->recover(lost); }); }},
                          {tr("Discard"), [lost] { Recovery::discard(lost); }}}});
    }
}

} // namespace headwise::app
