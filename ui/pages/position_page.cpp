#include "ui/pages/position_page.h"

#include "core/analysis/position/rotary_kernel.h"
#include "core/analysis/position_scores.h"
#include "ui/pages/kernel_panel.h"
#include "ui/pages/offset_table.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/heatmap_panel.h"
#include "ui/views/spectrum_chart.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <numbers>

namespace headwise::ui {

namespace {

bool hasLearnedPositions(const ModelConfig& config)
{
    return config.positional == Positional::Learned;
}

/// `picture` under a heading, to be shown and hidden together.
QWidget* titled(const QString& title, QWidget* picture)
{
    auto* box = new QWidget(picture->parentWidget());
    auto* heading = new QLabel(title, box);
    makeHeading(heading);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(heading);
    layout->addWidget(picture, 1);
    return box;
}

} // namespace

struct PositionPage::Answer {
    std::vector<double> byOffset;
    std::shared_ptr<const Eigen::MatrixXf> pattern; // null for rotary positions
    std::vector<double> frequencies;                // radians per place; of rotary positions
    RotaryEnergies energies;
};

PositionPage::PositionPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_explanation(new QLabel(this))
    , m_chart(new LineChart(this))
    , m_energies(new LineChart(this))
    , m_panel(new HeatmapPanel(this))
    , m_offsets(new OffsetTable(workspace, this))
{
    makeSecondary(m_explanation);
    m_explanation->setWordWrap(true);
    auto* splitter = new QSplitter(this);
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(16);
    splitter->addWidget(titled(tr("Attention of positions"), m_panel));
    auto* charts = new QSplitter(Qt::Vertical, this);
    charts->setChildrenCollapsible(false);
    charts->addWidget(titled(tr("Mean score by offset"), m_chart));
    charts->addWidget(titled(tr("Energy of every frequency"), m_energies));
    splitter->addWidget(charts);
    splitter->addWidget(m_offsets);
    m_offsets->hide();
    connect(m_offsets, &Page::readOutChanged, this, &Page::readOutChanged);
    splitter->setSizes({500, 460, 420});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(splitter, 1);
    layout->addWidget(m_explanation);
    HeatmapView* view = m_panel->view();
    view->setCellShape(HeatmapView::CellShape::Square);
    view->setRowAxis({tr("query position"), {}});
    view->setColumnAxis({tr("key position"), {}});
    ColorScale scale;
    scale.map = ColorMap::Attention;
    scale.low = 0;
    scale.high = 1;
    scale.fit = ColorFit::Fixed;
    view->proposeScale(scale);
    ChartLook look;
    look.xTitle = tr("offset Δ = query − key position");
    look.yTitle = tr("mean score (logits)");
    m_chart->setLook(look);
    m_chart->setAccessibleName(tr("Mean score by offset"));
    createEnergies();
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        emit readOutChanged(
            column <= row ? tr("query %1 → key %2   attention %3").arg(row).arg(column).arg(number(value))
                          : tr("query %1 → key %2   not visible to it").arg(row).arg(column));
    });
    connect(m_chart, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_chart, &LineChart::pointHovered, this, [this](const QString&, int, QPointF point) {
        emit readOutChanged(tr("Δ = %1   %2").arg(point.x()).arg(signedNumber(point.y())));
    });
    connect(workspace, &Workspace::headChanged, this, &PositionPage::refresh);
    connect(workspace, &Workspace::circuitsChanged, this, &PositionPage::refresh);
    connect(workspace, &Workspace::tokensChanged, this, &PositionPage::refresh);
    connect(workspace, &Workspace::closed, this, &PositionPage::refresh);
}

void PositionPage::createEnergies()
{
    m_panel->view()->setAccessibleName(tr("Attention of positions"));
    m_energies->setLook({.xTitle = tr("frequency m"), .yTitle = tr("‖Q_m K_mᵀ‖")});
    m_energies->setAccessibleName(tr("Energy of every frequency"));
    m_energies->parentWidget()->hide();
    connect(m_energies, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_energies, &LineChart::pointHovered, this, [this](const QString&, int m, QPointF) {
        const std::vector<ChartSeries>& shown = m_energies->series();
        emit readOutChanged(tr("frequency %1, a turn in %2 places   energy %3   unaligned %4")
                                .arg(m)
                                .arg(number(m_turns[static_cast<std::size_t>(m)]),
                                     number(shown[0].points[m].y()), number(shown[1].points[m].y())));
    });
}

void PositionPage::clear(const QString& message)
{
    m_job.cancel();
    m_chart->setSeries({});
    m_chart->setMessage(message);
    m_panel->view()->setMatrix(nullptr);
    m_panel->parentWidget()->hide();
    m_offsets->hide();
    m_energies->parentWidget()->hide();
    m_explanation->clear();
}

void PositionPage::recompute()
{
    if (!workspace()->isOpen())
        return clear({});
    const auto circuits = workspace()->circuits();
    if (!circuits)
        return clear(tr("Scores by position need the model's files; use File → Locate model…"));
    const ModelConfig& config = circuits->config();
    const bool isLearned = hasLearnedPositions(config);
    if (const QString why = whyNoKernel(config); !why.isEmpty())
        return clear(why);
    const auto tokens = workspace()->tokens();
    if (!isLearned && !tokens)
        return clear(tr("Reading the embeddings…"));
    const Eigen::Index n = std::min(config.nCtx, longestKernel);
    m_panel->view()->setPending(true);
    m_job.start(
        tr("Positions of %1").arg(text(workspace()->head())),
        [circuits, tokens, isLearned, head = workspace()->head(), n](const Task&) -> Result<Answer> {
            Answer answer;
            if (isLearned) {
                const Matrix<double> scores = positionScores(
                    circuits->weights(), head, positionVectors(circuits->weights(), head.layer, n));
                answer.byOffset = positionKernel(scores).centred;
                answer.byOffset.resize((answer.byOffset.size() + 1)
                                       / 2); // Large offsets have few pairs to average.
                answer.pattern = std::make_shared<Eigen::MatrixXf>(
                    positionPattern(scores, circuits->config().windowOf(head.layer)));
            } else {
                answer.byOffset = scoresByOffset(*circuits, tokens.get(), head, n);
                answer.frequencies = rotaryFrequencies(circuits->config().rotaryOf(head.layer));
                answer.energies = rotaryEnergies(circuits->weights(), head);
            }
            return answer;
        },
        [this](const Result<Answer>& answer) {
            if (answer)
                show(*answer);
            else
                clear(text(answer.error()));
        });
}

void PositionPage::show(const Answer& answer)
{
    m_panel->view()->setPending(false);
    m_panel->parentWidget()->setVisible(answer.pattern != nullptr);
    m_offsets->setVisible(!answer.pattern);
    m_panel->view()->setMatrix(answer.pattern);
    ChartSeries series{text(workspace()->head()), {}, SeriesStyle::Line};
    for (std::size_t i = 0; i < answer.byOffset.size(); ++i)
        series.points << QPointF(static_cast<double>(i), answer.byOffset[i]);
    m_chart->setSeries({series});
    showEnergies(answer);
    QString words = answer.pattern
        ? tr("Attention of LN(W_pos) alone over %1 positions, and the mean over "
             "queries of the score at each offset "
             "up to half of them, every query's mean taken off.")
              .arg(answer.pattern->rows())
        : tr("Score of the mean token with itself, rotated by the offset Δ. Below it how much "
             "of W_Q R_Δ W_Kᵀ each rotary frequency holds, the fastest first; dashed: of "
             "columns at right angles.");
    if (workspace()->head().layer > 0)
        words +=
            tr(" Layers above 0 read positions that earlier layers have changed: an approximation here.");
    m_explanation->setText(words);
}

void PositionPage::showEnergies(const Answer& answer)
{
    m_energies->parentWidget()->setVisible(!answer.frequencies.empty());
    m_turns.clear();
    ChartSeries energy{tr("energy"), {}, SeriesStyle::Bars},
        unaligned{tr("unaligned"), {}, SeriesStyle::Dashed};
    for (std::size_t m = 0; m < answer.frequencies.size(); ++m) {
        const auto at = static_cast<Eigen::Index>(m);
        energy.points << QPointF(static_cast<double>(m), answer.energies.energy(at));
        unaligned.points << QPointF(static_cast<double>(m), answer.energies.unaligned(at));
        m_turns.push_back(2 * std::numbers::pi / answer.frequencies[m]);
    }
    m_energies->setSeries(answer.frequencies.empty() ? std::vector<ChartSeries>{}
                                                     : std::vector{energy, unaligned});
}

QJsonObject PositionPage::viewState() const
{
    return {{QStringLiteral("heatmap"), m_panel->viewState()},
            {QStringLiteral("offset"), m_offsets->offset()}};
}

void PositionPage::setViewState(const QJsonObject& state)
{
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    m_offsets->setOffset(state[QStringLiteral("offset")].toInt());
}

QList<FigureSource*> PositionPage::figures()
{
    if (m_explanation->text().isEmpty())
        return {};
    const QString of = tr("%1, %2").arg(text(workspace()->head()), text(workspace()->card().name));
    QList<FigureSource*> all{m_chart};
    describe(m_chart, tr("Score by offset, %1").arg(of));
    if (m_panel->view()->matrix()) {
        describe(m_panel->view(), tr("Positional attention, %1").arg(of));
        all.prepend(m_panel->view());
    }
    if (!m_turns.empty()) {
        describe(m_energies, tr("Energy by frequency, %1").arg(of));
        all << m_energies;
    }
    return all + m_offsets->figures();
}

} // namespace headwise::ui
