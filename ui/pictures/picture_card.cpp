#include "ui/pictures/picture_card.h"

#include "core/session/view_names.h"

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/whats_this.h"
#include "ui/document/workspace.h"

#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

using PictureCardKind = Picture::Kind;

QString nameOf(const PictureCard& card)
{
    return text(pageNameOf(card.picture()));
}

constexpr int unseenHeight = 260; // until it is drawn, so that those below it are not on screen

} // namespace

PictureCard::PictureCard(Workspace* workspace, const Picture& picture, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_picture(picture)
    , m_body(newPictureBody(picture.kind, text(picture.title), this))
    , m_caption(new QLabel(this))
{
    auto* title = new QLabel(this);
    setMarkup(title, QStringLiteral("<b>%1</b>").arg(text(picture.title).toHtmlEscaped()));
    title->setWordWrap(true);
    makeSecondary(m_caption);
    m_caption->setWordWrap(true);
    m_caption->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 8);
    layout->setSpacing(4);
    layout->addWidget(title);
    layout->addWidget(m_body);
    layout->addWidget(m_caption);
    layout->addStretch();
    setMinimumHeight(unseenHeight);
    connect(m_body, &PictureBody::readOutChanged, this, &PictureCard::readOutChanged);
    connect(m_body, &PictureBody::captionChanged, this, &PictureCard::showWords);
    followSelection();
    guardWheel();
}

void PictureCard::followSelection()
{
    connect(m_body, &PictureBody::headChosen, m_workspace->selection(), &Selection::setHead);
    connect(m_body, &PictureBody::headHovered, m_workspace->selection(), &Selection::setHovered);
    connect(m_workspace->selection(), &Selection::hoveredChanged, this,
            [this] { m_body->lightHead(m_workspace->selection()->hovered()); });
    connect(m_body, &PictureBody::referenceChosen, m_workspace->selection(), &Selection::setReference);
    connect(m_body, &PictureBody::tokenChosen, m_workspace->selection(), &Selection::setToken);
    connect(m_body, &PictureBody::ownHeadClassesChosen, m_workspace->notebook(),
            &Notebook::setOwnHeadClasses);
    // A picture of all heads is not drawn anew for another head, but marks it when its reader chooses another order.
    const auto follow = [this] {
        if (m_workspace->model()->isOpen())
            m_body->setContext(pictureContext(*m_workspace));
    };
    connect(m_workspace->selection(), &Selection::headChanged, this, follow);
    connect(m_workspace->selection(), &Selection::referenceChanged, this, follow);
    connect(m_workspace->selection(), &Selection::tokenChanged, this,
            [this] { mark(&PictureBody::markToken); });
    connect(m_workspace->notebook(), &Notebook::ownHeadClassesChanged, this, [this] {
        if (m_workspace->model()->isOpen())
            mark(&PictureBody::markClasses);
    });
}

void PictureCard::mark(void (PictureBody::*what)())
{
    m_body->setContext(pictureContext(*m_workspace));
    (m_body->*what)();
}

void PictureCard::guardWheel()
{
    for (QWidget* child : m_body->findChildren<QWidget*>()) {
        if (child->focusPolicy() == Qt::WheelFocus) // which a wheel would give before it is asked for here
            child->setFocusPolicy(Qt::StrongFocus);
        child->removeEventFilter(this);
        child->installEventFilter(this);
    }
}

void PictureCard::fillPlace()
{
    constexpr int leastHeight = 340; // px; a smaller place scrolls
    m_body->fillPlace();
    m_body->setMinimumHeight(leastHeight);
    static_cast<QBoxLayout*>(layout())->setStretchFactor(m_body, 1);
}

bool PictureCard::isWide() const
{
    return m_picture.kind == PictureCardKind::HeadGrid || m_picture.kind == PictureCardKind::HeadPairs
        || m_picture.kind == PictureCardKind::Diagram || m_picture.kind == PictureCardKind::Table
        || m_picture.kind == PictureCardKind::Matrix;
}

void PictureCard::changeHead()
{
    if (m_body->showsAllHeads())
        m_headChanged = true;
    else
        m_isStale = true;
}

bool PictureCard::ensureCurrent()
{
    if (!m_workspace->model()->isOpen())
        return false;
    if (!std::exchange(m_isStale, false)) {
        if (std::exchange(m_headChanged, false))
            mark(&PictureBody::markHead);
        return false;
    }
    m_headChanged = false;
    setMinimumHeight(0);
    const PictureData shown = pictureData(m_picture, m_workspace->model()->results());
    m_body->setContext(pictureContext(*m_workspace));
    m_body->showPicture(shown);
    m_null = nullText(shown.arrays);
    QString explained;
    for (const ResultArray* array : shown.arrays)
        explained += explanationOf(*array);
    setWhatsThis(explained);
    if (!m_wanted.isEmpty())
        m_body->choices().restore(std::exchange(m_wanted, {}));
    showWords();
    return true;
}

void PictureCard::showWords()
{
    QStringList words{text(m_picture.note), m_body->caption(), m_null};
    words.removeAll(QString());
    m_caption->setText(words.join(QStringLiteral("  ·  ")));
    m_caption->setVisible(!words.isEmpty());
    guardWheel(); // also what was made since
    for (const auto& [view, what] : m_body->figures()) {
        if (m_announced.contains(view))
            continue;
        m_announced.insert(view);
        emit viewMade(view);
    }
}

QJsonObject PictureCard::choices() const
{
    return m_wanted.isEmpty() ? m_body->choices().state() : m_wanted;
}

void PictureCard::choose(const QJsonObject& choices)
{
    m_wanted = choices;
    if (!m_isStale)
        m_body->choices().restore(std::exchange(m_wanted, {}));
}

std::vector<std::pair<QWidget*, QString>> PictureCard::figures()
{
    ensureCurrent();
    std::vector<std::pair<QWidget*, QString>> all;
    for (const auto& [view, what] : m_body->figures()) {
        const auto head = headOf(view);
        all.emplace_back(view,
                         (head ? text(*head) + u' ' : QString()) + text(m_picture.title)
                             + (what.isEmpty() ? QString() : QStringLiteral(": ") + what));
    }
    return all;
}

std::optional<HeadId> PictureCard::headOf(const QWidget* figure) const
{
    if (m_body->showsAllHeads() || qobject_cast<const SmallMultiples*>(figure))
        return {};
    const bool isOfHeads = std::ranges::any_of(m_picture.arrays, [this](const std::string& path) {
        const ResultArray* array = m_workspace->model()->results()->find(path);
        return array && headAxes(*array, m_workspace->model()->card()) != HeadAxes::None;
    });
    return isOfHeads ? std::optional(m_workspace->selection()->head()) : std::nullopt;
}

QString PictureCard::viewNameOf(const QWidget* figure) const
{
    if (!choices().isEmpty())
        return text(pageNameOf(m_picture)); // a short name takes no choices
    Picture shown = m_picture;
    if (shown.kind == PictureCardKind::HeadGrid) { // a figure for each array
        const auto figures = m_body->figures();
        const auto at = std::ranges::find(figures, figure, [](const auto& named) { return named.first; });
        auto arrays = pictureData(m_picture, m_workspace->model()->results()).arrays;
        std::erase_if(arrays, [](const ResultArray* array) { return array->shape.size() != 2; });
        const auto place = static_cast<std::size_t>(at - figures.begin());
        if (place < arrays.size())
            shown.arrays = {arrays[place]->path};
    }
    return text(headwise::viewNameOf(shown));
}

bool PictureCard::eventFilter(QObject* watched, QEvent* event)
{
    // The page scrolls under the wheel, not the picture that happens to come along: that one is clicked first. A choice
    // keeps the focus after it is made, so that it never listens to the wheel.
    if (event->type() == QEvent::Wheel) {
        const QWidget* focused = QApplication::focusWidget();
        auto* widget = static_cast<QWidget*>(watched);
        const bool isMeant =
            focused && (widget == focused || widget->isAncestorOf(focused) || focused->isAncestorOf(widget));
        if (!isMeant || !isAncestorOf(focused) || qobject_cast<QComboBox*>(watched)) {
            event->ignore();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

void CardChoices::give(PictureCard* card)
{
    if (const QJsonValue choices = m_waiting.take(nameOf(*card)); choices.isObject())
        card->choose(choices.toObject());
}

ViewFields CardChoices::viewFields()
{
    return ViewFields().add(
        "pictures",
        [this] {
            QJsonObject all = m_waiting;
            for (const PictureCard* card : m_cards())
                if (const QJsonObject choices = card->choices(); !choices.isEmpty())
                    all[nameOf(*card)] = choices;
            return QJsonValue(all);
        },
        [this](const QJsonValue& choices) {
            m_waiting = choices.toObject();
            for (PictureCard* card : m_cards())
                card->choose(m_waiting.take(nameOf(*card)).toObject());
        });
}

bool drawCardsIn(const QRect& seen, const std::vector<PictureCard*>& cards)
{
    bool drawn = false;
    for (PictureCard* card : cards)
        if (card->geometry().intersects(seen))
            drawn = card->ensureCurrent() || drawn;
    return drawn;
}

} // namespace headwise::ui
