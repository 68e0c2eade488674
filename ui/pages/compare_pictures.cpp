#include "ui/pages/compare_pictures.h"

#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/heatmap_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

namespace {

double entry(const HeatmapView::Matrix& matrix, int row, int column)
{
    return matrix && row < matrix->rows() && column < matrix->cols() ? double{(*matrix)(row, column)}
                                                                     : std::nan("");
}

} // namespace

ComparePictures::ComparePictures(QWidget* parent)
    : QWidget(parent)
    , m_pages(new QStackedWidget(this))
    , m_firstTitle(new QLabel(this))
    , m_secondTitle(new QLabel(this))
    , m_differenceTitle(new QLabel(this))
    , m_first(new HeatmapPanel(this))
    , m_second(new HeatmapPanel(this))
    , m_between(new HeatmapPanel(this))
{
    auto* beside = new QWidget(m_pages);
    auto* row = new QHBoxLayout(beside);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(16);
    row->addWidget(titled(m_firstTitle, m_first, tr("Circuit of the selected head")), 1);
    row->addWidget(titled(m_secondTitle, m_second, tr("Circuit of the reference")), 1);
    m_pages->addWidget(beside);
    m_pages->addWidget(titled(m_differenceTitle, m_between, tr("Selected head minus reference")));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    m_scale = m_first->view()->colorScale();
    m_scale.fit = ColorFit::Robust;
    m_between->view()->proposeScale(m_scale);
    for (HeatmapPanel* panel : panels())
        connectPanel(panel);
    shareScale(m_first->view(), m_second->view());
    shareScale(m_second->view(), m_first->view());
}

QWidget* ComparePictures::titled(QLabel* title, HeatmapPanel* panel, const QString& name)
{
    auto* box = new QWidget(m_pages);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    makeHeading(title);
    column->addWidget(title);
    column->addWidget(panel, 1);
    panel->view()->setCellShape(HeatmapView::CellShape::Square);
    panel->view()->setAccessibleName(name);
    return box;
}

void ComparePictures::connectPanel(HeatmapPanel* panel)
{
    HeatmapView* view = panel->view();
    connect(view, &HeatmapView::stateChanged, this, [this](const HeatmapState& state) {
        for (HeatmapPanel* other : panels())
            other->view()->setState(state); // the same state is no change
    });
    connect(view, &HeatmapView::hoverLeft, this, &ComparePictures::hoverLeft);
    connect(view, &HeatmapView::cellHovered, this,
            [this](int row, int column, float) { emit cellHovered(row, column); });
    connect(view, &HeatmapView::cellClicked, this, &ComparePictures::cellClicked);
}

void ComparePictures::shareScale(HeatmapView* view, HeatmapView* other)
{
    connect(view, &HeatmapView::scaleChoiceChanged, other, &HeatmapView::setScaleChoice);
    connect(view, &HeatmapView::colorScaleChanged, this, [this, view, other](const ColorScale& scale) {
        other->showScale(scale);
        if (scale.fit == ColorFit::Fixed)
            return;
        // The limits follow both matrices, not either.
        m_scale = scale;
        ScaleChoice choice = view->scaleChoice();
        choice.fit = false;
        view->setScaleChoice(choice);
        fitBoth();
    });
}

void ComparePictures::fitBoth()
{
    if (!m_a || !m_b)
        return;
    Eigen::MatrixXf both(m_a->rows(), m_a->cols() + m_b->cols());
    both << *m_a, *m_b;
    ColorScale scale = m_scale;
    scale.map = m_first->view()->colorScale().map; // limits depend on whether it is a signed one
    scale = fitted(scale, both);
    scale.fit = ColorFit::Fixed;
    for (HeatmapPanel* panel : {m_first, m_second})
        panel->view()->proposeScale(scale);
}

void ComparePictures::setMatrices(const HeatmapView::Matrix& first, const HeatmapView::Matrix& second,
                                  const Names& names)
{
    m_a = first;
    m_b = second;
    m_names = names;
    fitBoth();
    m_between->view()->setMatrix(std::make_shared<const Eigen::MatrixXf>(*m_a - *m_b));
    m_second->view()->setMatrix(m_b);
    m_first->view()->setMatrix(m_isFlashing ? m_b : m_a);
    titlePictures();
}

void ComparePictures::clear()
{
    m_a.reset();
    m_b.reset();
    m_isFlashing = false;
}

void ComparePictures::setAxes(const HeatmapAxis& rows, const HeatmapAxis& columns)
{
    for (HeatmapPanel* panel : panels()) {
        panel->view()->setRowAxis(rows);
        panel->view()->setColumnAxis(columns);
    }
}

void ComparePictures::setPending(bool pending)
{
    for (HeatmapPanel* panel : panels())
        panel->view()->setPending(pending);
}

void ComparePictures::setDifferenceShown(bool on)
{
    m_pages->setCurrentIndex(on ? 1 : 0);
}

void ComparePictures::setFlashing(bool on)
{
    if (on == m_isFlashing || !m_a)
        return;
    m_isFlashing = on;
    m_first->view()->setMatrix(on ? m_b : m_a);
    titlePictures();
}

void ComparePictures::titlePictures()
{
    const QString first = QStringLiteral("%1 %2").arg(m_names.first, m_names.circuit);
    const QString second = QStringLiteral("%1 %2").arg(m_names.second, m_names.circuit);
    m_firstTitle->setText(m_isFlashing ? tr("%1 (reference, while Shift is held)").arg(second) : first);
    m_secondTitle->setText(tr("%1 (reference)").arg(second));
    m_differenceTitle->setText(tr("%1 − %2 %3").arg(m_names.first, m_names.second, m_names.circuit));
}

double ComparePictures::first(int row, int column) const
{
    return entry(m_a, row, column);
}

double ComparePictures::second(int row, int column) const
{
    return entry(m_b, row, column);
}

std::vector<std::pair<HeatmapView*, QString>> ComparePictures::shown() const
{
    if (m_pages->currentIndex() == 1)
        return {{m_between->view(), m_differenceTitle->text()}};
    return {{m_first->view(), m_firstTitle->text()}, {m_second->view(), m_secondTitle->text()}};
}

QJsonObject ComparePictures::viewState() const
{
    QJsonObject state = m_first->viewState();
    state[QStringLiteral("fit")] = ui::text(headwise::text(m_scale));
    state[QStringLiteral("difference")] = m_between->viewState();
    return state;
}

void ComparePictures::setViewState(const QJsonObject& state)
{
    if (const auto scale = parseColorScale(state[QStringLiteral("fit")].toString().toStdString()))
        m_scale = *scale;
    m_between->setViewState(state[QStringLiteral("difference")].toObject());
    m_first->setViewState(state);
}

} // namespace headwise::ui
