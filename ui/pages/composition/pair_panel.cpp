#include "ui/pages/composition/pair_panel.h"

#include "core/analysis/residual_basis.h"
#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/about_model.h"

#include <QLabel>
#include <QVBoxLayout>

namespace headwise::ui {

PairPanel::PairPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_title(new QLabel(this))
    , m_angles(new LineChart(this))
    , m_parts(new LineChart(this))
{
    m_title->setWordWrap(true);
    m_title->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_angles->setLook({.xTitle = tr("index"), .yTitle = tr("angle (degrees)"), .wholeX = true});
    m_parts->setLook({.xTitle = tr("rank-1 part"), .yTitle = tr("share of score²"), .wholeX = true});
    m_angles->setAccessibleName(tr("Principal angles of the pair"));
    m_parts->setAccessibleName(tr("Rank-1 parts of the pair"));
    m_angles->setToolTip(tr(
        "Principal angles between the earlier head's output and the later head's input. Small angles are shared directions. Dashed: random subspaces"));
    m_parts->setToolTip(tr(
        "σ²/Σσ² of the earlier head's W_OV times the later head's reading weights. Few tall bars mean a narrow channel"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_title);
    setMinimumSize(1, 1); // not that of a long title; the page knows how much room there is
    for (LineChart* chart : {m_angles, m_parts}) {
        QSizePolicy kept = chart->sizePolicy();
        kept.setRetainSizeWhenHidden(true);
        chart->setSizePolicy(kept);
        layout->addWidget(chart, 1);
    }
    for (LineChart* chart : {m_angles, m_parts})
        connect(chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_angles, &LineChart::pointHovered, this,
            [this](const QString& series, int index, const QPointF& point) {
                const QString name = series.isEmpty() ? m_pair.section(u',', 0, 0) : series;
                emit readOutChanged(
                    tr("%1   angle %2   %3°").arg(name).arg(index + 1).arg(number(point.y())));
            });
    connect(m_parts, &LineChart::pointHovered, this, [this](const QString&, int index, const QPointF& point) {
        emit readOutChanged(
            tr("%1   part %2   %3 of score²").arg(m_pair).arg(index + 1).arg(percent(point.y())));
    });
    say({});
}

void PairPanel::say(const QString& message)
{
    setPlain(m_title, message);
    m_pair.clear();
    for (LineChart* chart : {m_angles, m_parts}) {
        chart->setSeries({});
        chart->hide();
    }
}

bool PairPanel::isMeasuredByEmbedding() const
{
    const ResultArray* map = workspace()->model()->results()->find("composition/k");
    const auto tokens = workspace()->model()->tokens();
    return map && isInEmbeddingMetric(*map) && tokens && tokens->EtE.size() > 0;
}

void PairPanel::showPair(ReadBy by, const QString& letter)
{
    const auto reference = workspace()->selection()->reference();
    const HeadId later = workspace()->selection()->head();
    if (!workspace()->model()->circuits() || !reference || reference->layer >= later.layer) {
        m_job.cancel();
        if (workspace()->model()->card().nLayers < 2) // The place of the map says why there is none.
            return say({});
        return say(tr("Click a pair in the map to see its principal angles and rank-1 parts."));
    }
    const bool isByEmbedding = isMeasuredByEmbedding();
    QString pair = tr("%1 → %2, %3-composition").arg(text(*reference), text(later), letter);
    if (isByEmbedding)
        pair += tr(", norms by the embedding covariance");
    m_job.start(
        pair,
        aboutModel(
            workspace()->model()->circuits(),
            [context = AnalysisContext{*workspace()->model()->circuits(), workspace()->model()->tokens(),
                                       workspace()->runs()->analysisOptions()},
             isByEmbedding, by, earlier = *reference, later](const Task& task) -> Result<PairParts> {
                const auto as =
                    isByEmbedding ? inEmbeddingBasis(context, TokensInBasis::LeftOut, task) : context;
                if (!as)
                    return as.error();
                return pairParts(as->circuits, by, earlier, later, task);
            }),
        [this, pair](const Result<PairParts>& parts) {
            if (!parts)
                return say(text(parts.error()));
            m_pair = pair;
            showParts(*parts);
        });
}

void PairPanel::showParts(const PairParts& pair)
{
    ChartSeries angles{QString(), {}, SeriesStyle::Line}; // of the pair in the title
    ChartSeries chance{tr("random"), {}, SeriesStyle::Dashed};
    ChartSeries parts{QString(), {}, SeriesStyle::Bars};
    for (std::size_t i = 0; i < pair.angles.size(); ++i) {
        angles.points << QPointF(static_cast<double>(i + 1), pair.angles[i]);
        chance.points << QPointF(static_cast<double>(i + 1), pair.anglesOfChance[i]);
    }
    const double score = pair.score();
    for (std::size_t i = 0; i < pair.parts.size(); ++i) {
        const double share = pair.parts[i] / score;
        parts.points << QPointF(static_cast<double>(i + 1), share * share);
    }
    m_angles->setSeries({angles, chance});
    m_parts->setSeries({parts});
    m_angles->show();
    m_parts->show();
    setMarkup(m_title,
              tr("<b>%1</b>: score %2, of which the first rank-1 part is %3; smallest angle %4° (random %5°)")
                  .arg(m_pair, number(score),
                       pair.parts.empty() ? QStringLiteral("–") : percent(parts.points.front().y()),
                       pair.angles.empty() ? QStringLiteral("–") : number(pair.angles.front()),
                       pair.angles.empty() ? QStringLiteral("–") : number(pair.anglesOfChance.front())));
}

QList<FigureSource*> PairPanel::figures()
{
    if (m_pair.isEmpty())
        return {};
    const QString of = QStringLiteral("%1, %2").arg(m_pair, text(workspace()->model()->card().name));
    describe(m_angles, tr("Principal angles, %1").arg(of));
    describe(m_parts, tr("Rank-1 parts, %1").arg(of));
    return {m_angles, m_parts};
}

} // namespace headwise::ui
