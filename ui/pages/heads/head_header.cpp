#include "ui/pages/heads/head_header.h"

#include "core/analysis/comparison/head_pair.h"
#include "core/analysis/residual_basis.h"
#include "core/model/circuit_badges.h"
#include "core/results/layer_null.h"
#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/document/head_metrics.h"

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

constexpr double mostFlops = 2e10; // about a second; above this, nearest heads are not searched automatically

struct Shown {
    const char* path;
    const char* name;
    bool isSigned;
};

// In the order in which they get space. The nearest head follows the third; further similar heads come last.
constexpr std::array<Shown, 6> scoresInHeader{
    {{"scores/copying", QT_TRANSLATE_NOOP("headwise::ui::HeadHeader", "copying"), true},
     {"spectra/ov/frobenius_norm", QT_TRANSLATE_NOOP("headwise::ui::HeadHeader", "‖OV‖"), false},
     {"spectra/ov/effective_rank", QT_TRANSLATE_NOOP("headwise::ui::HeadHeader", "eff. rank OV"), false},
     {"spectra/qk/frobenius_norm", QT_TRANSLATE_NOOP("headwise::ui::HeadHeader", "‖QK‖"), false},
     {"scores/matching", QT_TRANSLATE_NOOP("headwise::ui::HeadHeader", "matching"), true},
     {"scores/previous_token", QT_TRANSLATE_NOOP("headwise::ui::HeadHeader", "previous token"), false}}};
constexpr qsizetype beforeNearest = 3;
constexpr int mostNearest = 3;
constexpr int headHeaderMostLines = 2;

/// Returns how many lines `html` takes in a label of that width; one too many if a single word is wider.
int lineCount(const QString& html, const QLabel& label)
{
    QTextDocument document;
    document.setDocumentMargin(0);
    document.setDefaultFont(label.font());
    document.setHtml(harmlessMarkup(html));
    document.setTextWidth(label.width());
    const bool isTooWide = document.idealWidth() > label.width();
    return isTooWide ? headHeaderMostLines + 1 : document.firstBlock().layout()->lineCount();
}

QString withoutMarkup(const QString& html)
{
    return QTextDocumentFragment::fromHtml(html).toPlainText().replace(QChar::Nbsp, u' ');
}

QString unbroken(QString name)
{
    return name.replace(u' ', QStringLiteral("&nbsp;"));
}

/// Formats a score with its z among random heads of the same layer, if known.
QString headHeaderEntry(const ResultArray& metric, const Shown& shown, HeadId head, const QColor& muted)
{
    const double value = metricAt(metric, head);
    const double z = layerNull(metric, head.layer).zScore(value);
    const QString name = unbroken(HeadHeader::tr(shown.name));
    QString line =
        QStringLiteral("<span style='color:%1'>%2</span>&nbsp;<b>%3</b>")
            .arg(muted.name(),
                 isInEmbeddingMetric(metric) ? HeadHeader::tr("%1&nbsp;by&nbsp;embedding").arg(name) : name,
                 shown.isSigned ? signedNumber(value) : number(value));
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
    m_nearestPause.setInterval(pauseBeforeExtras);
    connect(&m_nearestPause, &QTimer::timeout, this, &HeadHeader::findNearest);
    connect(workspace->model(), &OpenModel::opened, this, &HeadHeader::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &HeadHeader::refresh);
    connect(workspace->model(), &OpenModel::resultsChanged, this, &HeadHeader::refresh);
    connect(workspace->selection(), &Selection::referenceChanged, this, &HeadHeader::refresh);
    connect(workspace->model(), &OpenModel::circuitsChanged, this, [this] {
        m_nearestOf.reset();
        refresh();
    });
    connect(m_scores, &QLabel::linkActivated, this, [this](const QString& head) {
        if (const auto near = parseHeadId(head.toStdString()))
            this->workspace()->selection()->setHead(*near);
    });
}

void HeadHeader::changeEvent(QEvent* event)
{
    Page::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        refresh(); // The markup names the colours.
}

bool HeadHeader::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_scores && event->type() == QEvent::Resize)
        fitScores();
    return Page::eventFilter(watched, event);
}

QString HeadHeader::lineOf(const std::vector<bool>& shown) const
{
    QString line;
    for (qsizetype i = 0; i < m_entries.size(); ++i) {
        if (!shown[static_cast<std::size_t>(i)])
            continue;
        if (!line.isEmpty()) // lines break only between entries
            line += isFurtherNearest(i) ? QStringLiteral("&nbsp; ") : QStringLiteral("&nbsp;&nbsp;&nbsp; ");
        line += m_entries[i];
    }
    const bool isWhole = std::find(shown.begin(), shown.end(), false) == shown.end();
    return isWhole ? line : line + QStringLiteral(" …");
}

bool HeadHeader::isFurtherNearest(qsizetype entry) const
{
    return m_firstNearest >= 0 && entry > m_firstNearest && entry < m_firstNearest + m_nearest.size();
}

void HeadHeader::fitScores()
{
    const auto count = static_cast<std::size_t>(m_entries.size());
    std::vector<bool> shown(count, true);
    if (count > 0 && lineCount(lineOf(shown), *m_scores) > headHeaderMostLines) {
        shown.assign(count, false);
        shown.front() = true;
        const auto showIfThereIsRoom = [&](std::size_t entry) {
            shown[entry] = true;
            shown[entry] = entry == 0 || lineCount(lineOf(shown), *m_scores) <= headHeaderMostLines;
        };
        for (std::size_t i = 1; i < count; ++i)
            if (!isFurtherNearest(static_cast<qsizetype>(i)))
                showIfThereIsRoom(i);
        for (std::size_t i = 1; i < count; ++i) // further similar heads come after the nearest
            if (isFurtherNearest(static_cast<qsizetype>(i)) && shown[i - 1])
                showIfThereIsRoom(i);
    }
    setMarkup(m_scores, lineOf(shown));
    QStringList explained{m_definitions}, others;
    for (std::size_t i = 0; i < count; ++i)
        if (!shown[i])
            others << m_entries[static_cast<qsizetype>(i)];
    if (!others.isEmpty())
        explained.prepend(others.join(QStringLiteral("&nbsp;&nbsp;&nbsp; ")));
    m_scores->setToolTip(withoutMarkup(explained.join(QStringLiteral("<br><br>"))));
    m_scores->setAccessibleDescription(withoutMarkup(m_entries.join(QStringLiteral(", "))));
}

void HeadHeader::showBadges()
{
    QStringList badges, notes;
    if (const auto weights = workspace()->model()->weights()) {
        for (const std::string& badge :
             circuitBadges(weights->config(), workspace()->selection()->head().layer))
            badges << text(badge);
        for (const std::string& note : circuitNotes(weights->config()))
            notes << text(note);
    } else if (workspace()->model()->card().positional == "rotary") {
        badges << tr("rotary: QK at Δ = 0");
    }
    m_badges->setText(badges.join(QStringLiteral("  ·  ")));
    m_badges->setToolTip(notes.join(u'\n'));
    m_badges->setVisible(!badges.isEmpty());
}

void HeadHeader::findNearest()
{
    const auto circuits = workspace()->model()->circuits();
    if (!circuits)
        return m_nearestJob.cancel();
    const ModelConfig& config = circuits->config();
    const double flops = 4.0 * config.dModel * config.dHead * config.dHead * config.nLayers * config.nHeads;
    if (flops > mostFlops)
        return m_nearestJob.cancel(); // the analysis "similarity" has them already
    m_nearestJob.start(tr("Heads like %1").arg(text(workspace()->selection()->head())),
                       aboutModel(workspace()->model()->circuits(),
                                  [circuits, head = workspace()->selection()->head()](const Task& task) {
                                      return nearestHeads(*circuits, CircuitKind::Ov, head, mostNearest,
                                                          task);
                                  }),
                       [this](const Result<std::vector<NearHead>>& found) {
                           if (!found || found->empty())
                               return;
                           m_nearest.clear();
                           for (const NearHead& near : *found)
                               m_nearest << QStringLiteral("<a href='%1'>%2</a>&nbsp;<b>%3</b>")
                                                .arg(text(dottedHead(near.head)), text(near.head),
                                                     signedNumber(near.cosine));
                           refresh();
                       });
}

void HeadHeader::refresh()
{
    if (!workspace()->model()->isOpen())
        return;
    const HeadId head = workspace()->selection()->head();
    m_head->setText(text(head));
    const QColor muted = themeColors(palette()).muted;
    QStringList entries, definitions;
    for (const Shown& shown : scoresInHeader) {
        const ResultArray* metric = workspace()->model()->results()->find(shown.path);
        const double value = metric ? metricAt(*metric, head) : std::nan("");
        if (std::isfinite(value))
            entries << headHeaderEntry(*metric, shown, head, muted);
        if (metric)
            definitions << QStringLiteral("<b>%1</b>: %2")
                               .arg(HeadHeader::tr(shown.name), text(metric->definition).toHtmlEscaped());
    }
    definitions
        << tr("<b>nearest</b>: heads whose W_V W_O has the largest cosine with this head's; random baseline 0 ± %1")
               .arg(number(1.0 / workspace()->model()->card().dModel));
    m_definitions = definitions.join(QStringLiteral("<br>"));
    m_firstNearest = -1;
    if (!m_nearest.isEmpty() && m_nearestOf == head) {
        m_firstNearest = std::min(entries.size(), beforeNearest);
        QStringList nearest = m_nearest;
        nearest.front().prepend(
            QStringLiteral("<span style='color:%1'>%2</span>&nbsp;").arg(muted.name(), tr("nearest")));
        entries = entries.first(m_firstNearest) + nearest + entries.sliced(m_firstNearest);
    }
    m_entries = entries;
    fitScores();
    if (m_nearestOf != head) {
        m_nearestOf = head;
        m_nearest.clear();
        m_nearestJob.cancel();
        m_nearestPause.start();
    }
    const ModelCard& card = workspace()->model()->card();
    QStringList badges;
    if (const auto reference = workspace()->selection()->reference())
        badges << tr("ref: %1").arg(text(*reference));
    badges << (isProcessed(workspace()->model()->processing()) ? tr("processed") : tr("raw weights"));
    for (const HeadChange& change : workspace()->model()->processing().headChanges)
        if (change.head == head)
            badges << text(headChangeText(change));
    badges << tr("E: %1").arg(text(embeddingName(workspace()->model()->embedding())));
    if (card.nKvHeads != card.nHeads)
        badges << tr("KV head %1").arg(head.head / (card.nHeads / card.nKvHeads));
    m_state->setText(badges.join(QStringLiteral(" · ")));
    showBadges();
}

} // namespace headwise::ui
