#include "ui/pages/prompt/head_pattern.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/prompt_text.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/heatmap_subjects.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/prompt/prompt_answer.h"

#include <QAction>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headwise::ui {

HeadPattern::HeadPattern(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_text(new PromptText(this))
    , m_panel(new HeatmapPanel(this, Qt::Horizontal))
    , m_askForScore(new QAction(tr("Where this score comes from"), this))
{
    createLayout();
    connectText();
    connectScores();
    connect(view(), &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view(), &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        emit readOutChanged(
            tr("query %1 → key %2   %3").arg(placeText(row), placeText(column), number(value)));
    });
}

void HeadPattern::createLayout()
{
    view()->setAccessibleName(tr("Attention of the head"));
    view()->setCellShape(HeatmapView::CellShape::Square);
    view()->colors()->proposeScale({ColorMap::Attention, 0, 1, ColorFit::Fixed});
    m_text->setAccessibleName(tr("The prompt, coloured by the attention of one token"));
    m_text->setToolTip(
        tr("Each token's colour shows how much the framed token attends to it. Click a token to frame it"));
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(m_text);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumHeight(QFontMetrics(tokenFont()).height() * 2);
    auto* halves = new QSplitter(Qt::Vertical, this);
    halves->setChildrenCollapsible(false);
    halves->addWidget(scroll);
    halves->addWidget(m_panel);
    halves->setSizes({96, 520});
    halves->setStretchFactor(1, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(halves);
}

HeatmapView* HeadPattern::view() const
{
    return m_panel->view();
}

std::optional<int> HeadPattern::tokenOf(int shown) const
{
    const auto at = static_cast<std::size_t>(shown) + static_cast<std::size_t>(m_skipped);
    return shown >= 0 && m_answer && at < m_answer->tokens.size() ? std::optional(m_answer->tokens[at])
                                                                  : std::nullopt;
}

QString HeadPattern::placeText(int shown) const
{
    const auto at = static_cast<std::size_t>(shown) + static_cast<std::size_t>(m_skipped);
    return QStringLiteral("%1 %2").arg(at).arg(workspace()->model()->tokenText(m_answer->tokens[at]));
}

void HeadPattern::connectText()
{
    connect(view()->colors(), &HeatmapColors::scaleChanged, m_text, &PromptText::setScale);
    connect(view()->zoom(), &HeatmapZoom::currentCellChanged, m_text, [this](int row) {
        if (row >= 0)
            m_text->setQuery(row);
    });
    connect(m_text, &PromptText::queryChosen, view(), [view = view()](int query) {
        view->zoom()->setCurrentCell(query, std::max(0, view->zoom()->state().column));
    });
    connect(m_text, &PromptText::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_text, &PromptText::tokenHovered, this, [this](int token) {
        emit readOutChanged(tr("%1 of query %2").arg(m_answer->measure(), placeText(token)));
    });
}

void HeadPattern::connectScores()
{
    HeatmapView* cells = view();
    cells->setToolTip(tr("Double-click or press Enter to split a query's score with a key into its sources"));
    cells->addAction(m_askForScore);
    connect(m_askForScore, &QAction::triggered, this, [this, cells] {
        if (const QPoint cell = m_askForScore->data().toPoint(); m_askForScore->data().isValid())
            cells->zoom()->setCurrentCell(cell.y(), cell.x());
        askForScore();
    });
    setCellSubjects(cells, [this](int, int column) { return Subject{.token = tokenOf(column)}; });
    setSubjects(m_text, [this](const QPoint& position) {
        return Subject{.token = tokenOf(m_text->tokenAt(position))};
    });
    connect(cells, &HeatmapView::cellActivated, this, [this, cells](int row, int column) {
        cells->zoom()->setCurrentCell(row, column);
        askForScore();
    });
    connect(cells, &QWidget::customContextMenuRequested, this, [this, cells](const QPoint& at) {
        const std::optional<QPoint> cell = cells->cells().at(at);
        m_askForScore->setData(cell ? QVariant(*cell) : QVariant());
        // Imported attention does not come from this model's scores.
        m_askForScore->setVisible(cell && cell->x() <= cell->y() && m_answer && !m_answer->imported);
    });
}

void HeadPattern::askForScore()
{
    const HeatmapState& state = view()->zoom()->state();
    if (!m_answer || m_answer->imported || state.row < 0 || state.column > state.row)
        return;
    emit scoreWanted(m_answer->prompt, state.row + m_skipped, state.column + m_skipped);
}

void HeadPattern::clear()
{
    m_answer.reset();
    view()->setMatrix(nullptr);
    m_text->setPattern({}, nullptr);
}

void HeadPattern::fitColors(bool toNumbers)
{
    ColorScale scale = view()->colors()->scale();
    scale.fit = toNumbers ? ColorFit::Full : ColorFit::Fixed;
    scale.low = 0;
    scale.high = 1;
    view()->colors()->setScale(scale);
}

void HeadPattern::setAnswer(std::shared_ptr<const PromptAnswer> answer, int skipped)
{
    m_answer = std::move(answer);
    m_skipped = skipped;
    const HeadId head = workspace()->selection()->head();
    QStringList labels;
    for (auto at = static_cast<std::size_t>(skipped); at < m_answer->tokens.size(); ++at)
        labels << workspace()->model()->tokenText(m_answer->tokens[at]);
    view()->content()->setRowAxis(labelledAxis(tr("query"), labels));
    view()->content()->setColumnAxis(labelledAxis(tr("key"), labels));
    const Eigen::MatrixXf& pattern =
        (*m_answer->patterns)[static_cast<std::size_t>(head.layer)][static_cast<std::size_t>(head.head)];
    const Eigen::Index shown = pattern.rows() - skipped;
    const auto matrix = std::make_shared<const Eigen::MatrixXf>(pattern.bottomRightCorner(shown, shown));
    view()->content()->setValueTitle(m_answer->valueTitle());
    view()->setMatrix(matrix);
    m_text->setPattern(labels, matrix);
    m_text->setScale(view()->colors()->scale());
}

ViewFields HeadPattern::viewFields()
{
    return m_panel->viewFields();
}

QList<FigureSource*> HeadPattern::figures()
{
    if (!view()->matrix())
        return {};
    const QString of = text(workspace()->model()->card().name) + m_answer->origin();
    const QString head = text(workspace()->selection()->head());
    const QString measure = m_answer->measure();
    describe(
        view(),
        (m_skipped > 0 ? tr("%1 %2 without the first token, %3") : tr("%1 %2, %3")).arg(head, measure, of));
    describe(m_text, tr("%1 %2 of token %3, %4").arg(head, measure, placeText(m_text->query()), of));
    return {view(), m_text};
}

} // namespace headwise::ui
