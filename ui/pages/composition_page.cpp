#include "ui/pages/composition_page.h"

#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/heatmap_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

CompositionPage::CompositionPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_kind(new QComboBox(this))
    , m_subtract(new QCheckBox(tr("minus the baseline 1/√d_model"), this))
    , m_explanation(new QLabel(this))
    , m_panel(new HeatmapPanel(this))
{
    m_kind->addItem(tr("K-composition: keys read it"), QStringLiteral("k"));
    m_kind->addItem(tr("Q-composition: queries read it"), QStringLiteral("q"));
    m_kind->addItem(tr("V-composition: values read it"), QStringLiteral("v"));
    m_subtract->setChecked(true);
    m_subtract->setToolTip(tr("What two heads of random weights of these shapes would score"));
    makeSecondary(m_explanation);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_kind);
    controls->addWidget(m_subtract);
    controls->addStretch();
    controls->addWidget(m_explanation);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_panel, 1);
    HeatmapView* view = m_panel->view();
    view->setNanIsAbsent(true);
    connect(m_kind, &QComboBox::currentIndexChanged, this, &CompositionPage::refresh);
    connect(m_subtract, &QCheckBox::toggled, this, &CompositionPage::refresh);
    connect(workspace, &Workspace::resultsChanged, this, &CompositionPage::refresh);
    connect(workspace, &Workspace::headChanged, this, &CompositionPage::markHead);
    connect(view, &HeatmapView::cellClicked, this,
            [this](int, int column) { this->workspace()->setHead(reader(column)); });
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        emit readOutChanged(
            std::isfinite(value)
                ? tr("%1 → %2   %3").arg(text(writer(row)), text(reader(column)), signedNumber(value))
                : tr("%1 → %2   not earlier").arg(text(writer(row)), text(reader(column))));
    });
    refresh();
}

HeadId CompositionPage::writer(int row) const
{
    const int heads = workspace()->isOpen() ? workspace()->card().nHeads : 1;
    return {row / heads, row % heads};
}

HeadId CompositionPage::reader(int column) const
{
    const HeadId head = writer(column);
    return {head.layer + 1, head.head};
}

void CompositionPage::refresh()
{
    HeatmapView* view = m_panel->view();
    const std::string path = "composition/" + m_kind->currentData().toString().toStdString();
    const ResultArray* scores = workspace()->isOpen() ? workspace()->results()->find(path) : nullptr;
    if (!scores || scores->shape.size() != 4 || scores->shape[0] < 2) {
        view->setMatrix(nullptr);
        view->setMessage(workspace()->isOpen() && workspace()->card().nLayers < 2
                             ? tr("Composition needs two layers; this model has one.")
                             : tr("Composition is not computed yet."));
        return;
    }
    const auto size = static_cast<Eigen::Index>(scores->shape[0] * scores->shape[1]);
    const Eigen::Index ofLayer = static_cast<Eigen::Index>(scores->shape[1]);
    const Eigen::Index shown = size - ofLayer; // The last layer writes to none, the first reads from none.
    const auto baseline =
        static_cast<float>(m_subtract->isChecked() ? 1 / std::sqrt(workspace()->card().dModel) : 0);
    auto matrix = std::make_shared<Eigen::MatrixXf>(shown, shown);
    std::visit(
        [&](const auto& values) {
            if constexpr (std::is_floating_point_v<typename std::decay_t<decltype(values)>::value_type>)
                for (Eigen::Index row = 0; row < shown; ++row)
                    for (Eigen::Index column = 0; column < shown; ++column)
                        (*matrix)(row, column) =
                            static_cast<float>(
                                values[static_cast<std::size_t>(row * size + column + ofLayer)])
                            - baseline;
        },
        scores->values);
    HeatmapAxis rows{tr("earlier head, writes"), [this](int index) { return text(writer(index)); }};
    HeatmapAxis columns{tr("later head, reads"), [this](int index) { return text(reader(index)); }};
    view->setRowAxis(rows);
    view->setColumnAxis(columns);
    view->setColorScale(fitted(m_subtract->isChecked() ? ColorMap::Signed : ColorMap::Viridis, *matrix));
    view->setMatrix(matrix);
    m_explanation->setText(text(scores->definition));
    markHead();
}

void CompositionPage::markHead()
{
    if (!workspace()->isOpen() || !m_panel->view()->matrix())
        return;
    const HeadId head = workspace()->head();
    const int column = (head.layer - 1) * workspace()->card().nHeads + head.head;
    m_panel->view()->setCurrentCell(column < 0 ? -1 : std::max(0, m_panel->view()->state().row),
                                    std::max(-1, column));
}

QJsonObject CompositionPage::viewState() const
{
    return {{QStringLiteral("kind"), m_kind->currentData().toString()},
            {QStringLiteral("subtract"), m_subtract->isChecked()},
            {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void CompositionPage::setViewState(const QJsonObject& state)
{
    m_kind->setCurrentIndex(std::max(0, m_kind->findData(state[QStringLiteral("kind")].toString())));
    m_subtract->setChecked(state[QStringLiteral("subtract")].toBool(true));
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
}

QList<FigureSource*> CompositionPage::figures()
{
    if (!m_panel->view()->matrix())
        return {};
    describe(m_panel->view(), tr("%1, %2").arg(m_kind->currentText(), text(workspace()->card().name)));
    return {m_panel->view()};
}

} // namespace headwise::ui
