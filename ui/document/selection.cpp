#include "ui/document/selection.h"

#include "ui/document/open_model.h"

#include <QTimer>

#include <utility>

namespace headwise::ui {

namespace {

constexpr std::size_t historyLength = 100;

bool hasHead(const ModelCard& card, HeadId head)
{
    return head.layer >= 0 && head.layer < card.nLayers && head.head >= 0 && head.head < card.nHeads;
}

} // namespace

Selection::Selection(const OpenModel* model)
    : m_model(model)
{
}

void Selection::setHead(HeadId head)
{
    if (!m_model->isOpen() || head == m_now.head || !hasHead(m_model->card(), head))
        return;
    remember(Part::Head);
    m_now.head = head;
    emit headChanged(head);
}

void Selection::askForHead(HeadId head)
{
    m_isChosen = m_isChosen || (m_model->isOpen() && hasHead(m_model->card(), head));
    setHead(head);
}

void Selection::preselectHead(HeadId head)
{
    if (m_isChosen || !m_model->isOpen() || head == m_now.head || !hasHead(m_model->card(), head))
        return;
    m_now.head = head;
    forgetHistory();
    emit headChanged(head);
}

void Selection::setToken(int token)
{
    if (!m_model->isOpen() || token == m_now.token || token < 0 || token >= m_model->card().dVocab)
        return;
    remember(Part::Token);
    m_now.token = token;
    emit tokenChanged(token);
}

void Selection::setReference(std::optional<HeadId> head)
{
    if (head == m_now.reference || (head && !(m_model->isOpen() && hasHead(m_model->card(), *head))))
        return;
    remember(Part::Reference);
    m_now.reference = head;
    emit referenceChanged();
}

void Selection::setDirection(const SingularChoice& direction)
{
    if (direction == m_now.direction || direction.index < 0)
        return;
    remember(Part::Direction);
    m_now.direction = direction;
    emit directionChanged(direction);
}

void Selection::setRotaryOffset(int offset)
{
    // A session's view comes before its model.
    const bool isRotary = m_model->isOpen() && m_model->card().positional == "rotary";
    const int context = isRotary ? m_model->card().nCtx : 0; // 0: unknown
    if (!isRotary || offset == m_rotaryOffset || offset < 0 || (context > 0 && offset >= context))
        return;
    m_rotaryOffset = offset;
    emit rotaryOffsetChanged();
}

void Selection::setHovered(std::optional<HeadId> head)
{
    if (head && (!m_model->isOpen() || !hasHead(m_model->card(), *head)))
        head.reset();
    if (std::exchange(m_hovered, head) != head)
        emit hoveredChanged();
}

void Selection::remember(Part part)
{
    m_isChosen = true;
    m_forward.clear();
    // One click may select a pair of heads, or a head and a direction. That is one step back.
    const bool isSameGesture = !m_changedNow.empty() && !m_changedNow.contains(part);
    if (m_changedNow.empty())
        QTimer::singleShot(0, this, [this] { m_changedNow.clear(); });
    else if (!isSameGesture)
        m_changedNow.clear();
    m_changedNow.insert(part);
    if (isSameGesture)
        return;
    // A walk along the directions of a head is one step too.
    Place before = m_now;
    if (part == Part::Direction && !m_back.empty()) {
        before.direction = m_back.back().direction;
        if (before == m_back.back())
            return;
    }
    m_back.push_back(m_now);
    if (m_back.size() > historyLength)
        m_back.pop_front();
}

void Selection::go(std::deque<Place>& from, std::deque<Place>& to)
{
    while (!from.empty() && from.back() == m_now) // a walk that ended where it began
        from.pop_back();
    if (from.empty())
        return;
    const Place now = from.back();
    from.pop_back();
    to.push_back(m_now);
    const Place before = std::exchange(m_now, now);
    if (now.reference != before.reference)
        emit referenceChanged();
    if (now.head != before.head)
        emit headChanged(m_now.head);
    if (now.token != before.token)
        emit tokenChanged(m_now.token);
    if (now.direction != before.direction)
        emit directionChanged(m_now.direction);
}

void Selection::goBack()
{
    go(m_back, m_forward);
}

void Selection::goForward()
{
    go(m_forward, m_back);
}

void Selection::forgetHistory()
{
    m_back.clear();
    m_forward.clear();
    m_changedNow.clear();
}

void Selection::start(int token)
{
    m_now.head = {};
    m_now.token = token;
    m_isChosen = false;
    m_hovered.reset();
    forgetHistory();
}

void Selection::clear(int rotaryOffset)
{
    m_now.reference.reset();
    m_now.direction = {};
    m_rotaryOffset = rotaryOffset;
}

void Selection::copyFrom(const Selection& other, HeadId head)
{
    m_now = {head, other.m_now.token, other.m_now.reference, {}};
    m_rotaryOffset = other.m_rotaryOffset;
}

} // namespace headwise::ui
