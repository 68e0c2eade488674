#include "ui/pages/head_header.h"

#include "core/model/circuit_badges.h"
#include "ui/head_metrics.h"
#include "ui/text.h"
#include "ui/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <array>
#include <cmath>

namespace headwise::ui {

namespace {

struct Shown {
    const char* path;
    const char* name;
    bool isSigned;
};

constexpr std::array<Shown, 6> shownScores{{{"scores/copying", "copying", true},
                                            {"scores/matching", "matching", true},
                                            {"scores/previous_token", "previous token", false},
                                            {"spectra/ov/frobenius_norm", "‖OV‖", false},
                                            {"spectra/qk/frobenius_norm", "‖QK‖", false},
                                            {"spectra/ov/effective_rank", "eff. rank OV", false}}};

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
    connect(workspace, &Workspace::opened, this, &HeadHeader::refresh);
    connect(workspace, &Workspace::headChanged, this, &HeadHeader::refresh);
    connect(workspace, &Workspace::resultsChanged, this, &HeadHeader::refresh);
    connect(workspace, &Workspace::circuitsChanged, this, &HeadHeader::refresh);
}

bool HeadHeader::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_scores && event->type() == QEvent::Resize)
        fitScores();
    return Page::eventFilter(watched, event);
}

void HeadHeader::fitScores()
{
    for (auto count = m_entries.size(); count >= 0; --count) {
        m_scores->setText(m_entries.first(count).join(QStringLiteral("&nbsp;&nbsp;&nbsp; ")));
        if (m_scores->sizeHint().width() <= m_scores->width())
            return;
    }
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
    m_scores->setToolTip(QStringLiteral("<qt>%1</qt>").arg(definitions.join(QStringLiteral("<br>"))));
    m_entries = entries;
    fitScores();
    const ModelCard& card = workspace()->card();
    QStringList badges;
    badges << (workspace()->isProcessed() ? tr("processed") : tr("raw weights"));
    badges << tr("E: %1").arg(text(embeddingName(workspace()->embedding())));
    if (card.nKvHeads != card.nHeads)
        badges << tr("KV head %1").arg(head.head / (card.nHeads / card.nKvHeads));
    m_state->setText(badges.join(QStringLiteral(" · ")));
    showBadges();
}

} // namespace headwise::ui
