#include "ui/pictures/picture_card.h"

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/whats_this.h"

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

constexpr int unseenHeight = 260; // until it is drawn, so that those below it are not on screen

PictureBody* newBody(PictureCardKind kind, Workspace* workspace, QWidget* parent)
{
    switch (kind) {
    case PictureCardKind::HeadGrid:
    case PictureCardKind::Matrix:
    case PictureCardKind::HeadPairs: return newCellsBody(kind, workspace, parent);
    case PictureCardKind::Table: return newTableBody(workspace, parent);
    case PictureCardKind::Diagram: return newDiagramBody(workspace, parent);
    default: return newChartBody(kind, workspace, parent);
    }
}

} // namespace

PictureCard::PictureCard(Workspace* workspace, const Picture& picture, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_picture(picture)
    , m_body(newBody(picture.kind, workspace, this))
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
    guardWheel();
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
            m_body->markHead();
        return false;
    }
    m_headChanged = false;
    setMinimumHeight(0);
    PictureData shown{m_picture, m_workspace->model()->results(), {}};
    for (const std::string& path : m_picture.arrays)
        if (const ResultArray* array = shown.results->find(path))
            shown.arrays.push_back(array);
    m_body->showPicture(shown);
    m_null = nullText(shown.arrays);
    QString explained;
    for (const ResultArray* array : shown.arrays)
        explained += explanationOf(*array);
    setWhatsThis(explained);
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

bool drawCardsIn(const QRect& seen, const std::vector<PictureCard*>& cards)
{
    bool drawn = false;
    for (PictureCard* card : cards)
        if (card->geometry().intersects(seen))
            drawn = card->ensureCurrent() || drawn;
    return drawn;
}

} // namespace headwise::ui
