#include "ui/document/workspace.h"

#include "core/base/log.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/document/imported_attention.h"

#include <QTimer>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr std::size_t historyLength = 100;

bool hasHead(const ModelCard& card, HeadId head)
{
    return head.layer >= 0 && head.layer < card.nLayers && head.head >= 0 && head.head < card.nHeads;
}

} // namespace

Workspace::Workspace(QObject* parent)
    : QObject(parent)
    , m_runs(std::make_unique<Runs>(this))
{
    connect(m_runs.get(), &Runs::failed, this, &Workspace::failed);
    connect(m_runs.get(), &Runs::countsChanged, this, [this] {
        if (m_wantedFilter.lowestCount > 0)
            findLeftOut();
    });
    auto* imported = ImportedAttention::of(this); // there when the first session brings some
    connect(imported, &ImportedAttention::kept, this, [this] { m_resultRevision.change(); });
}

Workspace::~Workspace() = default;

QStringList Workspace::warnings() const
{
    QStringList sentences;
    if (m_weights)
        for (const std::string& sentence : m_weights->warnings())
            sentences << text(sentence);
    if (m_processed) {
        for (const std::string& sentence : m_processed->plan().warnings)
            sentences << text(sentence);
    } else if (m_session) {
        for (const std::string& sentence : m_session->warnings)
            sentences << text(shownSpecialToken(sentence));
    }
    for (const std::string& sentence : m_results->warnings)
        sentences << text(sentence);
    return sentences;
}

Processing Workspace::processing() const
{
    return m_processed ? m_processed->plan().applied : m_session ? m_session->processing : Processing::none();
}

bool Workspace::isProcessed() const
{
    Processing steps = processing();
    steps.headChanges.clear();
    return steps != Processing::none();
}

QString Workspace::processingText() const
{
    const Processing applied = processing();
    QStringList steps;
    if (applied.foldLayerNorm)
        steps << tr("norms folded");
    if (applied.centerWritingWeights)
        steps << tr("writing weights centred");
    if (applied.centerUnembed)
        steps << tr("unembedding centred");
    if (applied.foldValueBiases)
        steps << tr("value biases folded");
    if (applied.refactorAttention)
        steps << tr("attention refactored");
    for (const HeadChange& change : applied.headChanges)
        steps << text(headChangeText(change));
    return steps.isEmpty() ? tr("raw weights") : steps.join(QStringLiteral(", "));
}

Provenance Workspace::provenance() const
{
    if (!m_card)
        return {};
    return {{QStringLiteral("model"), text(m_card->name)},
            {QStringLiteral("sha256"), text(m_card->sha256)},
            {QStringLiteral("head"), text(m_head)},
            {QStringLiteral("processing"), processingText()},
            {QStringLiteral("embedding"), text(embeddingName(m_embedding))},
            {QStringLiteral("software"), QStringLiteral("headwise ") + text(versionText())}};
}

void Workspace::setHead(HeadId head)
{
    if (!m_card || head == m_head || !hasHead(*m_card, head))
        return;
    remember(Selected::Head);
    m_head = head;
    emit headChanged(head);
}

Workspace::Place Workspace::place() const
{
    return {m_head, m_token, m_reference, m_direction};
}

void Workspace::remember(Selected what)
{
    m_forward.clear();
    // One click may select a pair of heads, or a head and a direction: one step back.
    const bool isSameGesture = !m_changedNow.empty() && !m_changedNow.contains(what);
    if (m_changedNow.empty())
        QTimer::singleShot(0, this, [this] { m_changedNow.clear(); });
    else if (!isSameGesture)
        m_changedNow.clear();
    m_changedNow.insert(what);
    if (isSameGesture)
        return;
    // So is a walk along the directions of a head.
    Place before = place();
    if (what == Selected::Direction && !m_back.empty()) {
        before.direction = m_back.back().direction;
        if (before == m_back.back())
            return;
    }
    m_back.push_back(place());
    if (m_back.size() > historyLength)
        m_back.pop_front();
}

void Workspace::go(std::deque<Place>& from, std::deque<Place>& to)
{
    while (!from.empty() && from.back() == place()) // a walk that ended where it began
        from.pop_back();
    if (from.empty())
        return;
    const Place before = place();
    const Place now = from.back();
    from.pop_back();
    to.push_back(before);
    m_head = now.head;
    m_token = now.token;
    m_reference = now.reference;
    m_direction = now.direction;
    if (now.reference != before.reference)
        emit referenceChanged();
    if (now.head != before.head)
        emit headChanged(m_head);
    if (now.token != before.token)
        emit tokenChanged(m_token);
    if (now.direction != before.direction)
        emit directionChanged(m_direction);
}

void Workspace::forgetHistory()
{
    m_back.clear();
    m_forward.clear();
    m_changedNow.clear();
}

void Workspace::goBack()
{
    go(m_back, m_forward);
}

void Workspace::goForward()
{
    go(m_forward, m_back);
}

void Workspace::setToken(int token)
{
    if (!m_card || token == m_token || token < 0 || token >= m_card->dVocab)
        return;
    remember(Selected::Token);
    m_token = token;
    emit tokenChanged(token);
}

void Workspace::setReference(std::optional<HeadId> head)
{
    if (head == m_reference || (head && !(m_card && hasHead(*m_card, *head))))
        return;
    remember(Selected::Reference);
    m_reference = head;
    emit referenceChanged();
}

void Workspace::setDirection(const SingularChoice& direction)
{
    if (direction == m_direction || direction.index < 0)
        return;
    remember(Selected::Direction);
    m_direction = direction;
    emit directionChanged(direction);
}

void Workspace::setRotaryOffset(int offset)
{
    const bool isRotary = m_card && m_card->positional == "rotary"; // a session's view comes before its model
    if (!isRotary || offset == m_rotaryOffset || offset < 0 || offset >= m_card->nCtx)
        return;
    m_rotaryOffset = offset;
    emit rotaryOffsetChanged();
}

void Workspace::setOwnHeadClasses(std::map<HeadId, QString> classes)
{
    if (classes == m_ownHeadClasses)
        return;
    m_ownHeadClasses = std::move(classes);
    emit ownHeadClassesChanged();
}

void Workspace::forgetInputs()
{
    m_runs->forget();
    m_rotaryOffset = 0;
    m_ownHeadClasses.clear();
    m_wantedFilter = {};
    m_filterJob.cancel();
    m_tokenFilter = {};
    m_leftOut.clear();
    m_reference.reset();
    m_direction = {};
}

void Workspace::updateBanner()
{
    if (m_readOnly)
        emit bannerChanged(tr(
            "This session was written by a newer Headwise. It is open read-only; what this version does not know is not shown."));
    else if (m_session && !m_circuits)
        emit bannerChanged(tr(
            "The model's files are not here. What the session holds is shown; the rest needs them. <a href=\"locate-model\">Locate model…</a> <a href=\"locate-model-file\">Locate model file…</a>"));
    else if (const auto changes = processing().headChanges; !changes.empty()) {
        QStringList words;
        for (const HeadChange& change : changes)
            words << text(headChangeText(change)).toHtmlEscaped();
        emit bannerChanged(
            tr("%1. What is shown is not the function of the model. <a href=\"undo-head-changes\">Undo</a>")
                .arg(words.join(QStringLiteral(", "))));
    } else if (lacksTokenizer())
        emit bannerChanged(tr(
            "This model has no tokenizer, so numbers stand for its tokens. <a href=\"add-tokenizer\">Add tokenizer…</a>"));
    else
        emit bannerChanged({});
}

QString Workspace::note(HeadId head) const
{
    const auto found = m_notes.find(dottedHead(head));
    return found == m_notes.end() ? QString() : text(found->second);
}

void Workspace::setNote(HeadId head, const QString& noteText)
{
    if (noteText == note(head))
        return;
    if (noteText.isEmpty())
        m_notes.erase(dottedHead(head));
    else
        m_notes[dottedHead(head)] = noteText.toStdString();
    m_noteRevision.change();
    emit notesChanged(head);
}

bool Workspace::isBookmarked(HeadId head) const
{
    return std::find(m_bookmarks.begin(), m_bookmarks.end(), dottedHead(head)) != m_bookmarks.end();
}

void Workspace::setBookmarked(HeadId head, bool on)
{
    if (on == isBookmarked(head))
        return;
    if (on)
        m_bookmarks.push_back(dottedHead(head));
    else
        std::erase(m_bookmarks, dottedHead(head));
    m_noteRevision.change();
    emit notesChanged(head);
}

QList<HeadId> Workspace::bookmarks() const
{
    QList<HeadId> heads;
    for (const std::string& dotted : m_bookmarks)
        if (const auto head = parseHeadId(dotted))
            heads << *head;
    return heads;
}

QString Workspace::tokenText(int token) const
{
    if (!m_tokenizer)
        return QStringLiteral("#%1").arg(token);
    return text(m_tokenizer->shown(token));
}

} // namespace headwise::ui
