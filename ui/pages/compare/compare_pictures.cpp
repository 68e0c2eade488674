#include "ui/pages/compare/compare_pictures.h"

#include "core/analysis/comparison/ratio.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/split_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr int frame = 16;             // ms
constexpr float ratioPercentile = 90; // of |ratio − 1|, because ratios of unrelated heads are unbounded

double comparePicturesEntry(const HeatmapView::Matrix& matrix, int row, int column)
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
    , m_splitTitle(new QLabel(this))
    , m_differenceTitle(new QLabel(this))
    , m_ratioTitle(new QLabel(this))
    , m_first(new HeatmapPanel(this))
    , m_second(new HeatmapPanel(this))
    , m_split(new HeatmapPanel(this))
    , m_between(new HeatmapPanel(this))
    , m_ratio(new HeatmapPanel(this))
    , m_divider(new SplitBar(m_split->view()))
{
    auto* beside = new QWidget(m_pages);
    auto* row = new QHBoxLayout(beside);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(16);
    row->addWidget(titled(m_firstTitle, m_first, tr("Circuit of the selected head")), 1);
    row->addWidget(titled(m_secondTitle, m_second, tr("Circuit of the reference")), 1);
    m_pages->addWidget(beside);
    m_pages->addWidget(
        titled(m_splitTitle, m_split, tr("Reference left of the divider, selected head right")));
    m_pages->addWidget(titled(m_differenceTitle, m_between, tr("Selected head minus reference")));
    m_pages->addWidget(titled(m_ratioTitle, m_ratio, tr("Selected head over reference")));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);
    m_scale = m_first->view()->colors()->scale();
    m_scale.fit = ColorFit::Robust;
    m_between->view()->colors()->proposeScale(m_scale);
    m_ratio->view()->content()->setNanIsAbsent(true);
    m_first->view()->alignWith(m_second->view());
    for (HeatmapPanel* panel : panels())
        connectPanel(panel);
    for (HeatmapPanel* panel : alike())
        shareScale(panel->view());
    m_divider->setAccessibleName(tr("Divider between reference and selected head"));
    m_dragged.setSingleShot(true);
    m_dragged.setInterval(frame);
    connect(&m_dragged, &QTimer::timeout, this, &ComparePictures::fillSplit);
    connect(m_divider, &QAbstractSlider::valueChanged, this, [this](int column) {
        m_dividedAt = static_cast<double>(column) / m_divider->maximum();
        if (!m_dragged.isActive())
            m_dragged.start();
    });
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
    connect(view->zoom(), &HeatmapZoom::stateChanged, this, [this](const HeatmapState& state) {
        m_state = state;
        for (HeatmapPanel* other : panels())
            if (!other->view()->isEmpty())              // an empty view has no zoom limits
                other->view()->zoom()->setState(state); // setting the same state changes nothing
    });
    connect(view, &HeatmapView::hoverLeft, this, &ComparePictures::hoverLeft);
    connect(view, &HeatmapView::cellHovered, this,
            [this](int row, int column, float) { emit cellHovered(row, column); });
    connect(view, &HeatmapView::cellClicked, this, &ComparePictures::cellClicked);
}

void ComparePictures::shareScale(HeatmapView* view)
{
    connect(view->colors(), &HeatmapColors::choiceChanged, this, [this](const ScaleChoice& choice) {
        for (HeatmapPanel* other : alike())
            other->view()->colors()->setChoice(choice);
    });
    connect(view->colors(), &HeatmapColors::scaleChanged, this, [this, view](const ColorScale& scale) {
        for (HeatmapPanel* other : alike())
            other->view()->colors()->showScale(scale);
        if (scale.fit == ColorFit::Fixed)
            return;
        // The limits follow both matrices together.
        m_scale = scale;
        ScaleChoice choice = view->colors()->choice();
        choice.fit = false;
        view->colors()->setChoice(choice);
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
    scale.map = m_first->view()->colors()->scale().map; // limits depend on whether the map is signed
    scale = fitted(scale, both);
    scale.fit = ColorFit::Fixed;
    for (HeatmapPanel* panel : alike())
        panel->view()->colors()->proposeScale(scale);
}

void ComparePictures::setMatrices(const HeatmapView::Matrix& first, const HeatmapView::Matrix& second,
                                  const Names& names)
{
    m_a = first;
    m_b = second;
    m_names = names;
    fitBoth();
    fill();
}

void ComparePictures::fill()
{
    if (!m_a)
        return;
    switch (way()) {
    case Way::Beside:
        put(m_second, m_b);
        put(m_first, m_isFlashing ? m_b : m_a);
        break;
    case Way::Split: fillSplit(); break;
    case Way::Difference: put(m_between, std::make_shared<const Eigen::MatrixXf>(*m_a - *m_b)); break;
    case Way::Ratio: fillRatio(); break;
    }
    titlePictures();
}

void ComparePictures::put(HeatmapPanel* panel, const HeatmapView::Matrix& matrix)
{
    const HeatmapState state = m_state;
    panel->view()->setMatrix(matrix);
    panel->view()->zoom()->setState(state);
}

void ComparePictures::fillSplit()
{
    if (!m_a)
        return;
    placeDivider();
    auto both = std::make_shared<Eigen::MatrixXf>(m_isFlashing ? *m_b : *m_a);
    both->leftCols(m_divider->value()) = m_b->leftCols(m_divider->value());
    put(m_split, both);
    m_divider->place();
}

void ComparePictures::placeDivider()
{
    const auto columns = static_cast<int>(m_a->cols());
    const QSignalBlocker blocker(m_divider); // Its position is unchanged.
    m_divider->setRange(0, columns);
    m_divider->setPageStep(std::max(1, columns / 10));
    m_divider->setValue(static_cast<int>(std::lround(m_dividedAt * columns)));
}

void ComparePictures::fillRatio()
{
    const auto ratio = std::make_shared<const Eigen::MatrixXf>(ratioOf(*m_a, *m_b));
    // Ratio 1 is in the middle, where the map has no colour.
    ColorScale scale = m_ratio->view()->colors()->scale();
    scale.map = ColorMap::Signed;
    scale.fit = ColorFit::Percentiles;
    scale.percentile = ratioPercentile;
    scale = fitted(scale, (ratio->array() - 1).matrix());
    scale.low += 1;
    scale.high += 1;
    scale.fit = ColorFit::Fixed;
    put(m_ratio, ratio);
    m_ratio->view()->colors()->proposeScale(scale);
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
        panel->view()->content()->setRowAxis(rows);
        panel->view()->content()->setColumnAxis(columns);
    }
}

void ComparePictures::setPending(bool pending)
{
    for (HeatmapPanel* panel : panels())
        panel->view()->onScreen().setPending(pending);
}

ComparePictures::Way ComparePictures::way() const
{
    return static_cast<Way>(m_pages->currentIndex());
}

void ComparePictures::setWay(Way way)
{
    m_pages->setCurrentIndex(static_cast<int>(way));
    fill();
}

void ComparePictures::setFlashing(bool on)
{
    if (on == m_isFlashing || !m_a)
        return;
    m_isFlashing = on;
    fill();
}

void ComparePictures::titlePictures()
{
    const QString first = QStringLiteral("%1 %2").arg(m_names.first, m_names.circuit);
    const QString second = QStringLiteral("%1 %2").arg(m_names.second, m_names.circuit);
    const QString flash = tr("%1 (%2, while Shift is held)").arg(second, m_names.role);
    const QString entry = tr("entry of %1").arg(m_names.circuit);
    const QString unit = m_names.unit.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(m_names.unit);
    for (HeatmapPanel* panel : {m_first, m_second, m_split})
        panel->view()->content()->setValueTitle(entry + unit);
    m_between->view()->content()->setValueTitle(tr("difference of %1").arg(entry) + unit);
    m_ratio->view()->content()->setValueTitle(tr("ratio of %1").arg(entry));
    m_firstTitle->setText(m_isFlashing ? flash : first);
    m_secondTitle->setText(tr("%1 (%2)").arg(second, m_names.role));
    m_splitTitle->setText(
        m_isFlashing ? flash
                     : tr("%1 (%2) left of the divider, %3 right of it").arg(second, m_names.role, first));
    m_differenceTitle->setText(tr("%1 − %2 %3").arg(m_names.first, m_names.second, m_names.circuit));
    m_ratioTitle->setText(tr("%1 / %2 %3, without %4 cells of %2 near 0")
                              .arg(m_names.first, m_names.second, m_names.circuit,
                                   count(m_ratio->view()->content()->notFiniteCount())));
    m_ratioTitle->setToolTip(tr("Cells whose divisor is at most %1 of its root mean square are left out")
                                 .arg(percent(smallestDivisor)));
}

double ComparePictures::first(int row, int column) const
{
    return comparePicturesEntry(m_a, row, column);
}

double ComparePictures::second(int row, int column) const
{
    return comparePicturesEntry(m_b, row, column);
}

std::vector<std::pair<HeatmapView*, QString>> ComparePictures::shown() const
{
    switch (way()) {
    case Way::Split: return {{m_split->view(), m_splitTitle->text()}};
    case Way::Difference: return {{m_between->view(), m_differenceTitle->text()}};
    case Way::Ratio: return {{m_ratio->view(), m_ratioTitle->text()}};
    case Way::Beside: break;
    }
    return {{m_first->view(), m_firstTitle->text()}, {m_second->view(), m_secondTitle->text()}};
}

ViewFields ComparePictures::viewFields()
{
    return ViewFields()
        .add(
            "fit", [this] { return ui::text(headwise::text(m_scale)); },
            [this](const QJsonValue& fit) {
                if (const auto scale = parseColorScale(fit.toString().toStdString()))
                    m_scale = *scale;
            })
        .add(
            "divider", [this] { return m_dividedAt; },
            [this](const QJsonValue& divider) { m_dividedAt = std::clamp(divider.toDouble(0.5), 0.0, 1.0); })
        .addPart("ratio", m_ratio)
        .addPart("difference", m_between)
        .append(m_first->viewFields());
}

} // namespace headwise::ui
