#include "ui/pages/matrix/heatmap_page.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/pages/matrix/matrix_choices.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/widgets/job_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

HeatmapPage::HeatmapPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_choices(new MatrixChoices(workspace, this))
    , m_aggregate(new QComboBox(this))
    , m_norms(new QCheckBox(tr("norms"), this))
    , m_state(new QLabel(this))
    , m_panel(new HeatmapPanel(this))
{
    m_aggregate->addItem(tr("strongest"));
    m_aggregate->addItem(tr("mean"));
    m_aggregate->setAccessibleName(tr("Pixel value"));
    m_aggregate->setToolTip(
        tr("Value of a pixel that covers several cells: the largest magnitude or the mean"));
    m_norms->setToolTip(tr("Shows row and column norms as bars at the edges"));
    makeSecondary(m_state);
    m_state->setWordWrap(true); // otherwise it would widen the window beside a job
    createLayout();
    connectView();
}

void HeatmapPage::createLayout()
{
    QHBoxLayout* bottom = textAndJob(m_state, &m_job);
    bottom->addWidget(new JobBar(m_panel->view()->content()->tileLoader()->scan(), this));
    bottom->addWidget(m_aggregate);
    bottom->addWidget(m_norms);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(m_choices);
    layout->addWidget(m_panel, 1);
    layout->addLayout(bottom);
    m_panel->view()->setAccessibleName(tr("Matrix of the circuit"));
    m_panel->view()->setCellShape(HeatmapView::CellShape::Square);
    ColorScale scale;
    scale.fit = ColorFit::Robust; // A few outlying directions would leave the rest colourless.
    m_panel->view()->colors()->setScale(scale);
}

void HeatmapPage::connectView()
{
    connect(m_choices, &MatrixChoices::changed, this, &HeatmapPage::refresh);
    HeatmapView* view = m_panel->view();
    connect(m_aggregate, &QComboBox::currentIndexChanged, view,
            [view](int index) { view->content()->setAggregate(static_cast<Aggregate>(index)); });
    connect(view->content(), &HeatmapContent::aggregateChanged, m_aggregate,
            [this](Aggregate aggregate) { m_aggregate->setCurrentIndex(static_cast<int>(aggregate)); });
    connect(m_norms, &QCheckBox::toggled, view->content(), &HeatmapContent::setNormBars);
    connect(view->content(), &HeatmapContent::normBarsChanged, m_norms, &QCheckBox::setChecked);
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        emit readOutChanged(tr("%1 → %2   %3   row %4 col %5")
                                .arg(entryName(m_rows, row), entryName(m_columns, column),
                                     signedNumber(static_cast<double>(value)))
                                .arg(row)
                                .arg(column));
    });
    connect(view, &HeatmapView::cellClicked, this, [this](int row, int) {
        if (m_choices->isTokenCircuit())
            workspace()->selection()->setToken(m_rows[static_cast<std::size_t>(row)]);
    });
}

QString HeatmapPage::entryName(const std::vector<int>& shown, int index) const
{
    if (index >= static_cast<int>(shown.size()))
        return {};
    const int entry = shown[static_cast<std::size_t>(index)];
    if (m_choices->isTokenCircuit())
        return workspace()->model()->tokenText(entry);
    return entry == workspace()->model()->card().dModel ? tr("bias") : QString::number(entry);
}

QString HeatmapPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel()
        ? tr("The matrix needs the model's files; use File → Locate model…")
        : QString();
}

void HeatmapPage::recompute()
{
    m_choices->updateEnabled();
    HeatmapView* view = m_panel->view();
    const auto circuits = workspace()->model()->circuits();
    if (!circuits) {
        m_job.cancel();
        view->setMatrix(nullptr);
        m_state->clear();
        return view->onScreen().setMessage(whyNot(*workspace()));
    }
    if (m_choices->isTokenCircuit() && !workspace()->model()->tokens()) {
        view->setMatrix(nullptr);
        return view->onScreen().setMessage(tr("Reading the embeddings…"));
    }
    view->onScreen().setPending(true);
    m_job.start(heading(),
                aboutModel(workspace()->model()->circuits(),
                           [picture = m_choices->picture()](const Task& task) {
                               return shownCircuit(picture, task);
                           }),
                [this](const Result<ShownCircuit>& shown) {
                    m_panel->view()->onScreen().setPending(false);
                    shown ? showCircuit(*shown) : showError(shown.error());
                });
}

QString HeatmapPage::heading() const
{
    const QString circuit = m_choices->circuit().section(u':', 0, 0);
    return m_choices->isDirect() ? circuit
                                 : tr("%1 of %2").arg(circuit, text(workspace()->selection()->head()));
}

void HeatmapPage::showError(const Error& error)
{
    m_panel->view()->setMatrix(nullptr);
    m_panel->view()->onScreen().setMessage(text(error));
}

void HeatmapPage::showCircuit(const ShownCircuit& shown)
{
    m_rows = shown.rows;
    m_columns = shown.columns;
    describeAxes();
    m_panel->view()->content()->setValueTitle(valueTitle(m_choices->picture()));
    if (shown.tiles)
        m_panel->view()->content()->setTiles(shown.tiles);
    else
        m_panel->view()->setMatrix(std::make_shared<Eigen::MatrixXf>(shown.matrix));
    m_state->setText(stateText(shown.statistics));
}

QString HeatmapPage::stateText(const EntryStatistics& entries) const
{
    // The mean of centred weights is rounding error.
    const double mean = std::abs(entries.mean) < 1e-6 * entries.deviation ? 0 : entries.mean;
    QString numbers = tr("mean %1, deviation %2").arg(signedNumber(mean), number(entries.deviation));
    if (entries.range)
        numbers += tr(", from %1 to %2")
                       .arg(signedNumber(entries.range->first), signedNumber(entries.range->second));
    return tr("%1 · %2 × %3 · %4%5 · %6 · %7")
        .arg(m_choices->isDirect() ? tr("direct path") : text(workspace()->selection()->head()))
        .arg(m_rows.size())
        .arg(m_columns.size())
        .arg(m_choices->termsText(), m_choices->formText(), numbers,
             processingText(workspace()->model()->processing()));
}

void HeatmapPage::describeAxes()
{
    HeatmapView* view = m_panel->view();
    const bool isQk = m_choices->kind() == CircuitKind::Qk || m_choices->kind() == CircuitKind::FullQk;
    const QString rows = m_choices->isTokenCircuit()
        ? (isQk ? tr("query token") : tr("source token"))
        : (isQk ? tr("residual direction, query") : tr("residual direction, read"));
    const QString columns = m_choices->isTokenCircuit()
        ? (isQk ? tr("key token") : tr("output token"))
        : (isQk ? tr("residual direction, key") : tr("residual direction, written"));
    view->content()->setRowAxis({rows, [this](int index) { return entryName(m_rows, index); }});
    view->content()->setColumnAxis({columns, [this](int index) { return entryName(m_columns, index); }});
}

ViewFields HeatmapPage::viewFields()
{
    return m_choices->viewFields().addPart("heatmap", m_panel).then([this] { refresh(); });
}

QList<FigureSource*> HeatmapPage::figures()
{
    if (m_panel->view()->isEmpty())
        return {};
    const QString circuit = m_choices->isDirect()
        ? m_choices->circuit()
        : tr("%1 %2").arg(text(workspace()->selection()->head()), m_choices->circuit());
    describe(m_panel->view(),
             tr("%1, %2, %3").arg(circuit, m_choices->termsText(), text(workspace()->model()->card().name)));
    setSubject(m_panel->view(),
               m_choices->isDirect() ? std::nullopt : std::optional(workspace()->selection()->head()));
    return {m_panel->view()};
}

std::optional<std::pair<int, int>> HeatmapPage::currentTokens() const
{
    const HeatmapState& at = m_panel->view()->zoom()->state();
    const bool isCell = at.row >= 0 && at.row < static_cast<int>(m_rows.size()) && at.column >= 0
        && at.column < static_cast<int>(m_columns.size());
    if (!m_choices->isTokenCircuit() || m_choices->isDirect() || !isCell)
        return {};
    return std::pair(m_rows[static_cast<std::size_t>(at.row)],
                     m_columns[static_cast<std::size_t>(at.column)]);
}

} // namespace headwise::ui
