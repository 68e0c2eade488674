#include "app/window/addresses.h"

#include "app/window/opening.h"
#include "app/window/pages.h"
#include "core/analysis/catalogue.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/document/training_series.h"
#include "ui/pages/matrix/heatmap_page.h"
#include "ui/pages/model/model_place.h"

#include <QClipboard>
#include <QGuiApplication>

#include <array>
#include <utility>

namespace headwise::app {

using namespace headwise::ui;

namespace {

struct CircuitName {
    std::string_view name;
    int ofMatrix; ///< Its choice on the Matrix page…
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

} // namespace

Addresses::Addresses(QMainWindow* window, Workspace* workspace, Opening* opening, Pages* pages)
    : WindowPart(window, workspace)
    , m_opening(opening)
    , m_pages(pages)
{
    const auto stopWaiting = [this] { m_awaited.reset(); };
    connect(m_workspace->opener(), &Opener::openFailed, this, stopWaiting);
    connect(m_opening, &Opening::begins, this, stopWaiting);
    connectSeries();
}

void Addresses::connectSeries()
{
    connect(m_pages, &Pages::stepCompared, m_opening, &Opening::compareWith);
    connect(m_pages, &Pages::stepWanted, this, [this](const QString& path) {
        Address step;
        step.model = path.toStdString();
        step.head = m_workspace->selection()->head();
        step.page = "training";
        goTo(step);
    });
    connect(TrainingSeries::of(m_workspace), &TrainingSeries::changed, this, [this] {
        if (!TrainingSeries::isOpenIn(*m_workspace))
            return;
        m_pages->showPage(QStringLiteral("training"));
        if (!m_workspace->model()->isSeries())
            showAwaited(); // Its model stays open.
    });
}

Result<Done> Addresses::check(const Address& address) const
{
    if (address.analysis && !findAnalysis(*address.analysis))
        return Error{ErrorCode::InvalidArgument,
                     "There is no analysis '" + *address.analysis + "'; headwise list-analyses names them."};
    if (address.page.empty() || circuitNamed(address.page) || m_pages->indexOfName(text(address.page)) >= 0)
        return Done{};
    return Error{ErrorCode::InvalidArgument,
                 "There is no page '" + address.page + "'; the pages are OV, QK, full-OV, full-QK, "
                     + m_pages->pageNames().join(QStringLiteral(", ")).toStdString() + "."};
}

void Addresses::goTo(const Address& address)
{
    const bool isThere = isShown(address);
    if (isThere && !m_workspace->opener()->coming())
        return show(address);
    const auto wait = [this, address] { m_awaited = address; };
    if (isThere)
        return wait();
    m_opening->openPathFor(
        placeText({text(address.model.string()), text(address.stack.value_or(std::string()))}), wait);
}

bool Addresses::isShown(const Address& address) const
{
    return ui::isShown(*m_workspace, address.model, text(address.stack.value_or(std::string())));
}

bool Addresses::isAwaited() const
{
    return m_awaited && !m_workspace->opener()->coming() && isShown(*m_awaited);
}

void Addresses::showAwaited()
{
    if (m_workspace->opener()->coming())
        return; // A model that was opened before is announced while the next one is read.
    if (const auto address = std::exchange(m_awaited, {}); address && isShown(*address))
        show(*address);
}

void Addresses::show(const Address& address)
{
    const ModelCard& card = m_workspace->model()->card();
    if (address.head.layer >= card.nLayers || address.head.head >= card.nHeads)
        return showMessage(
            tr("%1 has no head %2: its last is %3.")
                .arg(text(card.name), text(address.head), text(HeadId{card.nLayers - 1, card.nHeads - 1})));
    m_workspace->selection()->askForHead(address.head);
    if (address.reference)
        m_workspace->selection()->setReference(*address.reference);
    if (address.direction)
        m_workspace->selection()->setDirection(
            {address.direction->isQk ? CircuitKind::Qk : CircuitKind::Ov, address.direction->number - 1, 1});
    if (address.analysis)
        return m_pages->showOn(QStringLiteral("analyses"),
                               {{QStringLiteral("analysis"), text(*address.analysis)}});
    const std::optional<std::string>& token = address.row ? address.row : address.column;
    if (token && !chooseToken(*token))
        return;
    const CircuitName* circuit = circuitNamed(address.page);
    if (!circuit && (!address.page.empty() || !token))
        return m_pages->showPage(!address.page.empty()   ? text(address.page)
                                     : address.direction ? QStringLiteral("vectors")
                                     : address.reference ? QStringLiteral("compare")
                                                         : QString());
    const int ofTokens = circuit ? circuit->ofTokens : 0;
    if (token && !(address.row && address.column))
        return m_pages->showOn(
            QStringLiteral("tokens"),
            {{QStringLiteral("circuit"), ofTokens}, {QStringLiteral("side"), address.row ? 0 : 1}});
    QJsonObject choice{{QStringLiteral("circuit"), circuit ? circuit->ofMatrix : 2}};
    if (token) { // Both: the block of the two tokens.
        choice[QStringLiteral("circuit")] = 2 + ofTokens;
        choice[QStringLiteral("which")] = 0;
        choice[QStringLiteral("text")] = rawToken(*address.row) + rawToken(*address.column);
    }
    m_pages->showOn(QStringLiteral("matrix"), choice);
}

Result<int> tokenNamed(const OpenModel& model, const std::string& shown)
{
    if (const auto tokenizer = model.tokenizer())
        return tokenizer->find(shown);
    bool isNumber = false;
    const int token = text(shown).remove(u'#').toInt(&isNumber);
    if (!isNumber)
        return Error{ErrorCode::NotFound,
                     "This model has no tokenizer, so name the token by its id, as in #17."};
    return token;
}

bool Addresses::chooseToken(const std::string& shown)
{
    const Result<int> found = tokenNamed(*m_workspace->model(), shown);
    if (!found) {
        showMessage(text(found.error()));
        return false;
    }
    m_workspace->selection()->setToken(*found);
    return true;
}

QString Addresses::rawToken(const std::string& shown) const
{
    const auto tokenizer = m_workspace->model()->tokenizer();
    const Result<int> found = tokenizer ? tokenizer->find(shown)
                                        : Result<int>(Error{ErrorCode::NotFound, "There is no tokenizer."});
    return found ? text(tokenizer->bytes(*found)) : QString();
}

std::string tokenReference(const OpenModel& model, int token)
{
    const auto tokenizer = model.tokenizer();
    const std::string shown = model.tokenText(token).toStdString();
    const Result<int> found = tokenizer ? tokenizer->find(shown) : Result<int>(token);
    return found && *found == token ? shown : shownId(token); // Several may read the same.
}

void Addresses::copyReference()
{
    const QString name = m_pages->currentName();
    const QJsonObject state = m_pages->currentPage()->viewState();
    const int circuit = state[QStringLiteral("circuit")].toInt();
    const ModelPlace place = openPlace(*m_workspace);
    Address address{.model = place.path.toStdString(),
                    .head = m_workspace->selection()->head(),
                    .page = name.toStdString()};
    if (!place.stack.isEmpty())
        address.stack = place.stack.toStdString();
    if (name == QLatin1String("compare"))
        address.reference = m_workspace->selection()->reference();
    if (name == QLatin1String("analyses"))
        address.analysis = state[QStringLiteral("analysis")].toString().toStdString();
    if (name == QLatin1String("vectors")) {
        const SingularChoice& direction = m_workspace->selection()->direction();
        address.direction = Address::Direction{direction.circuit == CircuitKind::Qk, direction.index + 1};
    }
    // The page keeps what an address cannot name, such as the direct path or the largest of all tokens.
    if (name == QLatin1String("matrix") && circuit >= 0 && circuit < static_cast<int>(circuitNames.size())) {
        address.page = circuitNames.at(static_cast<std::size_t>(circuit)).name;
        const auto cell = static_cast<HeatmapPage*>(m_pages->currentPage())->currentTokens();
        if (cell && m_workspace->model()->tokenizer()) {
            address.row = tokenReference(*m_workspace->model(), cell->first);
            address.column = tokenReference(*m_workspace->model(), cell->second);
        }
    }
    const int side = state[QStringLiteral("side")].toInt();
    if (name == QLatin1String("tokens") && side <= 1) {
        address.page = circuit == 0 ? "full-OV" : "full-QK";
        (side == 0 ? address.row : address.column) =
            tokenReference(*m_workspace->model(), m_workspace->selection()->token());
    }
    const QString reference = text(addressText(address));
    QGuiApplication::clipboard()->setText(reference);
    showMessage(tr("Copied %1").arg(reference));
}

} // namespace headwise::app
