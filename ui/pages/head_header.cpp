#include "ui/pages/head_header.h"

#include "core/analysis/comparison/head_pair.h"
#include "core/model/circuit_badges.h"
#include "ui/head_metrics.h"
#include "ui/text.h"
#include "ui/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextDocumentFragment>
#include <QTextLayout>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double mostFlops = 2e10; // about a second: beyond, the nearest heads are not looked for unasked

struct Shown {
    const char* path;
    const char* name;
    bool isSigned;
};

// In the order in which they stay where there is little room; the nearest heads follow the third.
constexpr std::array<Shown, 6> shownScores{{{"scores/copying", "copying", true},
                                            {"spectra/ov/frobenius_norm", "‖OV‖", false},
                                            {"spectra/ov/effective_rank", "eff. rank OV", false},
                                            {"spectra/qk/frobenius_norm", "‖QK‖", false},
                                            {"scores/matching", "matching", true},
                                            {"scores/previous_token", "previous token", false}}};
constexpr qsizetype beforeNearest = 3;
constexpr int mostNearest = 3;
constexpr int mostLines = 2;

/// How many lines `html` takes in a label as wide as that; one too many where a single word is wider.
int lineCount(const QString& html, const QLabel& label)
{
    QTextDocument document;
    document.setDocumentMargin(0);
    document.setDefaultFont(label.font());
    document.setHtml(html);
    document.setTextWidth(label.width());
    const bool isTooWide = document.idealWidth() > label.width();
    return isTooWide ? mostLines + 1 : document.firstBlock().layout()->lineCount();
}

QString entry(const ResultArray& metric, const Shown& shown, double value, const QColor& muted)
{
    QString line = QStringLiteral("<span style='color:%1'>%2</span>&nbsp;<b>%3</b>")
                       .arg(muted.name(), QString::fromUtf8(shown.name),
                            shown.isSigned ? signedNumber(value) : number(value));
    const double z = zScore(metric, value);
    if (std::isfinite(z))
        line += QStringLiteral("&nbsp;<span style='color:%1'>(z&nbsp;%2)</span>")
                    .arg(muted.name(), signedNumber(z));
    return line;
}

} // namespace

HeadHeader::HeadHeader(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_head(new QLabel(this))
    , m_scores(new QLabel(this))
    , m_state(new QLabel(this))
    , m_badges(new QLabel(this))
{
    makeHeading(m_head);
    m_scores->setTextFormat(Qt::RichText);
    m_scores->setWordWrap(true);
    makeSecondary(m_state);
    makeSecondary(m_badges);
    m_badges->setWordWrap(true);
    m_badges->hide();
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(4, 0, 4, 0);
    outer->setSpacing(2);
    auto* layout = new QHBoxLayout;
    layout->setSpacing(24);
    outer->addLayout(layout);
    outer->addWidget(m_badges);
    layout->addWidget(m_head);
    layout->addWidget(m_scores);
    layout->addStretch();
    layout->addWidget(m_state);
    m_scores->setMinimumWidth(0);
    m_scores->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_scores->installEventFilter(this);
    layout->setStretchFactor(m_scores, 1);
    m_nearestPause.setSingleShot(true);
    m_nearestPause.setInterval(std::chrono::milliseconds(100));
    connect(&m_nearestPause, &QTimer::timeout, this, &HeadHeader::findNearest);
    connect(workspace, &Workspace::opened, this, &HeadHeader::refresh);
    connect(workspace, &Workspace::headChanged, this, &HeadHeader::refresh);
    connect(workspace, &Workspace::resultsChanged, this, &HeadHeader::refresh);
    connect(workspace, &Workspace::referenceChanged, this, &HeadHeader::refresh);
    connect(workspace, &Workspace::circuitsChanged, this, [this] {
        m_nearestOf.reset();
        refresh();
    });
    connect(m_scores, &QLabel::linkActivated, this, [this](const QString& head) {
        if (const auto near = parseHeadId(head.toStdString()))
            this->workspace()->setHead(*near);
    });
}

bool HeadHeader::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_scores && event->type() == QEvent::Resize)
        fitScores();
    return Page::eventFilter(watched, event);
}

void HeadHeader::fitScores()
{
    const QString gap = QStringLiteral("&nbsp;&nbsp;&nbsp; "); // lines end only between entries
    qsizetype shown = m_entries.size();
    for (; shown >= 0; --shown) {
        const bool isWhole = shown == m_entries.size();
        const QString line = m_entries.first(shown).join(gap) + (isWhole ? QString() : QStringLiteral(" …"));
        if (shown > 0 && lineCount(line, *m_scores) > mostLines)
            continue;
        m_scores->setText(line);
        break;
    }
    QStringList explained{m_definitions};
    if (const QStringList others = m_entries.sliced(std::max(shown, qsizetype{0})); !others.isEmpty())
        explained.prepend(others.join(gap));
    m_scores->setToolTip(QStringLiteral("<qt>%1</qt>").arg(explained.join(QStringLiteral("<br><br>"))));
    const QString all = QTextDocumentFragment::fromHtml(m_entries.join(QStringLiteral(", "))).toPlainText();
    m_scores->setAccessibleDescription(QString(all).replace(QChar::Nbsp, u' '));
}

void HeadHeader::showBadges()
{
    QStringList badges, notes;
    if (const auto weights = workspace()->weights()) {
        for (const std::string& badge : circuitBadges(weights->config(), workspace()->head().layer))
            badges << text(badge);
        for (const std::string& note : circuitNotes(weights->config()))
            notes << text(note).toHtmlEscaped();
    } else if (workspace()->card().positional == "rotary") {
        badges << tr("rotary: QK at Δ = 0");
    }
    m_badges->setText(badges.join(QStringLiteral("  ·  ")));
    m_badges->setToolTip(
        notes.isEmpty() ? QString() : QStringLiteral("<qt>%1</qt>").arg(notes.join(QStringLiteral("<br>"))));
    m_badges->setVisible(!badges.isEmpty());
}

void HeadHeader::findNearest()
{
    const auto circuits = workspace()->circuits();
    if (!circuits)
        return m_nearestJob.cancel();
    const ModelConfig& config = circuits->config();
    const double flops = 4.0 * config.dModel * config.dHead * config.dHead * config.nLayers * config.nHeads;
    if (flops > mostFlops)
        return m_nearestJob.cancel(); // the analysis "similarity" knows them
    m_nearestJob.start(
        tr("Heads like %1").arg(text(workspace()->head())),
        [circuits, head = workspace()->head()](const Task& task) {
            return nearestHeads(*circuits, CircuitKind::Ov, head, mostNearest, task);
        },
        [this](const Result<std::vector<NearHead>>& found) {
            if (!found || found->empty())
                return;
            m_nearest = QStringLiteral("<span style='color:%1'>%2</span>")
                            .arg(themeColors(palette()).muted.name(), tr("nearest"));
            for (const NearHead& near : *found)
                m_nearest +=
                    QStringLiteral("&nbsp;<a href='%1'>%2</a>&nbsp;<b>%3</b>")
                        .arg(text(dottedHead(near.head)), text(near.head), signedNumber(near.cosine));
            refresh();
        });
}

void HeadHeader::refresh()
{
    if (!workspace()->isOpen())
        return;
    const HeadId head = workspace()->head();
    m_head->setText(text(head));
    const QColor muted = themeColors(palette()).muted;
    QStringList entries, definitions;
    for (const Shown& shown : shownScores) {
        const ResultArray* metric = workspace()->results()->find(shown.path);
        const double value = metric ? metricAt(*metric, head) : std::nan("");
        if (std::isfinite(value))
            entries << entry(*metric, shown, value, muted);
        if (metric)
            definitions << QStringLiteral("<b>%1</b>: %2")
                               .arg(QString::fromUtf8(shown.name), text(metric->definition).toHtmlEscaped());
    }
    definitions << tr("<b>nearest</b>: the heads whose W_V W_O have the largest cosines with this one's; of "
                      "chance 0 ± %1")
                       .arg(number(1.0 / workspace()->card().dModel));
    m_definitions = definitions.join(QStringLiteral("<br>"));
    if (!m_nearest.isEmpty() && m_nearestOf == head)
        entries.insert(std::min(entries.size(), beforeNearest), m_nearest);
    m_entries = entries;
    fitScores();
    if (m_nearestOf != head) {
        m_nearestOf = head;
        m_nearest.clear();
        m_nearestJob.cancel();
        m_nearestPause.start();
    }
    const ModelCard& card = workspace()->card();
    QStringList badges;
    if (const auto reference = workspace()->reference())
        badges << tr("ref: %1").arg(text(*reference));
    badges << (workspace()->isProcessed() ? tr("processed") : tr("raw weights"));
    for (const HeadChange& change : workspace()->processing().headChanges)
        if (change.head == head)
            badges << text(headChangeText(change));
    badges << tr("E: %1").arg(text(embeddingName(workspace()->embedding())));
    if (card.nKvHeads != card.nHeads)
        badges << tr("KV head %1").arg(head.head / (card.nHeads / card.nKvHeads));
    m_state->setText(badges.join(QStringLiteral(" · ")));
    showBadges();
}

} // namespace headwise::ui
