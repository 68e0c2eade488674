#include "ui/pages/composition/composition_page.h"

#include "ui/base/color_choice.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/pages/composition/pair_panel.h"
#include "ui/pages/composition/pairs_panel.h"
#include "ui/pages/parts/compute_button.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pictures/picture_card.h"
#include "ui/widgets/job_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

/// Returns an entry of an array [layer, head, layer, head]; NaN outside.
double pairAt(const ResultArray& array, HeadId earlier, HeadId later)
{
    if (array.shape.size() != 4)
        return std::nan("");
    const auto flat = [&](HeadId head) {
        return static_cast<std::size_t>(head.layer) * array.shape[1] + static_cast<std::size_t>(head.head);
    };
    return wholeArray(array).at(flat(earlier) * array.shape[2] * array.shape[3] + flat(later));
}

QString layerLabel(int layer)
{
    return QStringLiteral("L%1").arg(layer);
}

} // namespace

CompositionPage::CompositionPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_kind(new QComboBox(this))
    , m_subtract(new QCheckBox(tr("minus the baseline 1/√d_model"), this))
    , m_percentile(new QSlider(Qt::Horizontal, this))
    , m_percentileText(new QLabel(this))
    , m_chance(new QPushButton(tr("Against chance"), this))
    , m_explanation(new QLabel(this))
    , m_tabs(new QTabWidget(this))
    , m_panel(new HeatmapPanel(this))
    , m_pair(new PairPanel(workspace, this))
    , m_wiring(new QWidget(this))
    , m_pairs(new PairsPanel(workspace, this))
{
    createLayout();
    connectSignals();
    connectMap();
}

QWidget* CompositionPage::createMap()
{
    auto* map = new QWidget(m_tabs);
    m_subtract->setChecked(true);
    m_subtract->setToolTip(tr("Subtract the score of two heads of random weights of these shapes (B)"));
    m_subtract->setShortcut(Qt::Key_B);
    m_percentile->setRange(0, 99);
    m_percentile->setMaximumWidth(160);
    m_percentile->setAccessibleName(tr("Percentile of pairs left out"));
    m_percentile->setToolTip(tr("Leaves out pairs below this percentile of all scores"));
    makeSecondary(m_percentileText);
    m_chance->setToolTip(tr(
        "z-scores of every pair against circuits whose singular vectors are random: Composition against chance"));
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    for (QWidget* control :
         std::initializer_list<QWidget*>{m_subtract, m_percentile, m_percentileText, m_chance})
        controls->addWidget(control);
    controls->addStretch();
    auto* layout = new QVBoxLayout(map);
    layout->setContentsMargins(0, 8, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(controls);
    auto* halves = new QSplitter(Qt::Vertical, map);
    halves->setChildrenCollapsible(false);
    halves->addWidget(m_panel);
    halves->addWidget(m_pair);
    halves->setStretchFactor(0, 1);
    // The map has all of the space until there is a pair to show.
    const auto share = [this, halves](bool isCharted) {
        const int wanted = isCharted ? m_pair->minimumHeight() : m_pair->maximumHeight();
        halves->setSizes({std::max(halves->height() - wanted, 1), wanted});
    };
    connect(m_pair, &PairPanel::chartedChanged, halves, share);
    halves->setSizes({1000, 20});
    layout->addWidget(halves, 1);
    m_panel->view()->content()->setNanIsAbsent(true);
    m_panel->view()->setCellShape(HeatmapView::CellShape::Square); // a layer is as wide as it is tall
    m_panel->view()->setAccessibleName(tr("Composition of all pairs"));
    return map;
}

void CompositionPage::createLayout()
{
    m_kind->addItem(tr("K-composition: keys read it"), QStringLiteral("k"));
    m_kind->addItem(tr("Q-composition: queries read it"), QStringLiteral("q"));
    m_kind->addItem(tr("V-composition: values read it"), QStringLiteral("v"));
    m_kind->setAccessibleName(tr("Kind of composition"));
    makeSecondary(m_explanation);
    m_tabs->setDocumentMode(true);
    m_tabs->addTab(createMap(), tr("Map"));
    auto* scroll = new QScrollArea(m_tabs);
    scroll->setWidget(m_wiring);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* wiring = new QVBoxLayout(m_wiring);
    wiring->setContentsMargins(0, 8, 8, 0);
    wiring->addStretch();
    m_tabs->addTab(scroll, tr("Wiring"));
    m_tabs->addTab(m_pairs, tr("Pairs"));
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_kind);
    controls->addWidget(m_explanation, 1);
    controls->addWidget(new ComputeButton(workspace(), "composition", this));
    controls->addWidget(new JobBar(workspace()->runs()->job(), this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_tabs, 1);
}

void CompositionPage::connectSignals()
{
    connect(m_kind, &QComboBox::currentIndexChanged, this, &CompositionPage::refresh);
    connect(m_subtract, &QCheckBox::toggled, this, &CompositionPage::refresh);
    connect(m_percentile, &QSlider::valueChanged, this, &CompositionPage::refresh);
    connect(m_tabs, &QTabWidget::currentChanged, this, &CompositionPage::refresh);
    connect(m_chance, &QPushButton::clicked, this,
            [this] { workspace()->runs()->runAnalysis("composition_nulls"); });
    connect(workspace()->model(), &OpenModel::opened, this, &CompositionPage::refresh);
    connect(workspace()->model(), &OpenModel::circuitsChanged, this, &CompositionPage::refresh);
    connect(workspace()->model(), &OpenModel::resultsChanged, this, [this] {
        if (m_card)
            m_card->markStale();
        refresh();
    });
    connect(workspace()->model(), &OpenModel::circuitsChanged, this, &CompositionPage::markHead);
    connect(workspace()->selection(), &Selection::referenceChanged, this, &CompositionPage::markHead);
    connect(workspace()->selection(), &Selection::headChanged, this, &CompositionPage::markHead);
    connect(m_pair, &PairPanel::readOutChanged, this, &Page::readOutChanged);
}

void CompositionPage::connectMap()
{
    HeatmapView* view = m_panel->view();
    connect(view, &HeatmapView::cellClicked, this, [this](int row, int column) {
        workspace()->selection()->setReference(writer(row));
        workspace()->selection()->setHead(reader(column));
    });
    connect(view, &HeatmapView::cellActivated, this, [this](int row, int column) {
        workspace()->selection()->setReference(writer(row));
        workspace()->selection()->setHead(reader(column));
        emit pageRequested(QStringLiteral("compare"));
    });
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this,
            [this](int row, int column, float) { emit readOutChanged(readOut(row, column)); });
}

std::string CompositionPage::kind() const
{
    return m_kind->currentData().toString().toStdString();
}

QString CompositionPage::kindTitle() const
{
    return m_kind->currentText().section(u':', 0, 0);
}

HeadId CompositionPage::writer(int row) const
{
    const int heads = workspace()->model()->isOpen() ? workspace()->model()->card().nHeads : 1;
    return {row / heads, row % heads};
}

HeadId CompositionPage::reader(int column) const
{
    const HeadId head = writer(column);
    return {head.layer + 1, head.head};
}

const ResultArray* CompositionPage::scores() const
{
    const ResultArray* found = workspace()->model()->isOpen()
        ? workspace()->model()->results()->find("composition/" + kind())
        : nullptr;
    return found && found->shape.size() == 4 && found->shape[0] > 1 ? found : nullptr;
}

QString CompositionPage::readOut(int row, int column) const
{
    const ResultArray* all = scores();
    if (!all)
        return {};
    const HeadId from = writer(row), to = reader(column);
    const double score = pairAt(*all, from, to);
    if (!std::isfinite(score))
        return tr("%1 → %2   not earlier").arg(text(from), text(to));
    QString words = tr("%1 → %2   %3   null %4")
                        .arg(text(from), text(to), number(score), number(all->nullMean.value_or(0)));
    const ResultArray* z =
        workspace()->model()->results()->find("analyses/composition_nulls/" + kind() + "_z");
    return z ? words + tr("   z %1").arg(signedNumber(pairAt(*z, from, to))) : words;
}

void CompositionPage::recompute()
{
    m_percentileText->setText(m_percentile->value() == 0
                                  ? tr("all pairs")
                                  : tr("the strongest %1 %").arg(100 - m_percentile->value()));
    if (m_tabs->currentWidget() == m_pairs)
        m_pairs->showKind(kind(), kindTitle());
    HeatmapView* view = m_panel->view();
    const ResultArray* all = scores();
    m_chance->setEnabled(all && workspace()->model()->hasModel());
    if (!all) {
        view->setMatrix(nullptr);
        view->setMessage(
            workspace()->model()->isOpen() && workspace()->model()->card().nLayers < 2
                ? tr("Composition needs two layers; this model has one.")
                : workspace()->model()->isOpen() && !workspace()->model()->hasModel()
                ? tr(
                    "This session holds no composition; it needs the model's files. Use File → Locate model…")
                : tr("Composition is not computed yet."));
        showPair();
        return m_explanation->clear();
    }
    m_chance->setVisible(
        !workspace()->model()->results()->find("analyses/composition_nulls/" + kind() + "_z"));
    m_explanation->setText(text(all->definition));
    showMap(*all);
    if (m_tabs->currentIndex() == 1)
        showWiring();
}

void CompositionPage::showMap(const ResultArray& all)
{
    const auto size = static_cast<Eigen::Index>(all.shape[0] * all.shape[1]);
    const auto ofLayer = static_cast<Eigen::Index>(all.shape[1]);
    const Eigen::Index shown = size - ofLayer; // The last layer writes to none, the first reads from none.
    const double baseline = m_subtract->isChecked() ? 1 / std::sqrt(workspace()->model()->card().dModel) : 0;
    const ArrayPart values = wholeArray(all);
    auto matrix = std::make_shared<Eigen::MatrixXf>(shown, shown);
    for (Eigen::Index row = 0; row < shown; ++row)
        for (Eigen::Index column = 0; column < shown; ++column)
            (*matrix)(row, column) = static_cast<float>(
                values.at(static_cast<std::size_t>(row * size + column + ofLayer)) - baseline);
    const ColorScale scale = fitted(firstScale(m_subtract->isChecked()), *matrix);
    leaveOutWeak(*matrix);
    HeatmapView* view = m_panel->view();
    const int inLayer = static_cast<int>(ofLayer);
    view->setRowAxis({.title = tr("earlier head, writes"),
                      .label = [this](int index) { return text(writer(index)); },
                      .groupSize = inLayer,
                      .groupLabel = layerLabel});
    view->setColumnAxis({.title = tr("later head, reads"),
                         .label = [this](int index) { return text(reader(index)); },
                         .groupSize = inLayer,
                         .groupLabel = [](int group) { return layerLabel(group + 1); }});
    ColorScale fixed = scale; // fitted to all pairs, hidden ones too
    fixed.fit = ColorFit::Fixed;
    view->colors()->proposeScale(fixed);
    view->setMatrix(matrix);
    markHead();
}

void CompositionPage::leaveOutWeak(Eigen::MatrixXf& cells) const
{
    if (m_percentile->value() == 0)
        return;
    std::vector<float> finite;
    std::copy_if(cells.data(), cells.data() + cells.size(), std::back_inserter(finite),
                 [](float value) { return std::isfinite(value); });
    if (finite.empty())
        return;
    const auto at =
        static_cast<std::ptrdiff_t>(finite.size() * static_cast<std::size_t>(m_percentile->value()) / 100);
    std::nth_element(finite.begin(), finite.begin() + at, finite.end());
    const float least = finite[static_cast<std::size_t>(at)];
    cells = cells.unaryExpr([least](float value) { return value >= least ? value : NAN; });
}

void CompositionPage::showWiring()
{
    const Picture wanted{.kind = Picture::Kind::Diagram,
                         .title = kindTitle().toStdString() + ", strongest pairs",
                         .arrays = {"composition/" + kind()},
                         .note = "Heads by layer, the first above; a click selects a head."};
    if (!m_card || m_card->picture() != wanted) {
        delete m_card;
        m_card = new PictureCard(workspace(), wanted, m_wiring);
        connect(m_card, &PictureCard::readOutChanged, this, &Page::readOutChanged);
        connect(m_card, &PictureCard::viewMade, this, &CompositionPage::viewMade);
        static_cast<QVBoxLayout*>(m_wiring->layout())->insertWidget(0, m_card);
    }
    m_card->ensureCurrent();
}

void CompositionPage::showPair()
{
    if (!isVisible())
        return refresh();
    const std::string now = kind();
    m_pair->showPair(now == "k"       ? ReadBy::Keys
                         : now == "q" ? ReadBy::Queries
                                      : ReadBy::Values,
                     text(now).toUpper());
}

void CompositionPage::markHead()
{
    showPair();
    if (m_card) {
        m_card->changeHead();
        m_card->ensureCurrent();
    }
    if (!workspace()->model()->isOpen() || !m_panel->view()->matrix())
        return;
    const HeadId head = workspace()->selection()->head();
    const int column = (head.layer - 1) * workspace()->model()->card().nHeads + head.head;
    const auto reference = workspace()->selection()->reference();
    const int row = reference ? reference->layer * workspace()->model()->card().nHeads + reference->head
                              : std::max(0, m_panel->view()->state().row);
    const bool isThere = column >= 0 && row < m_panel->view()->matrix()->rows();
    const QSignalBlocker quiet(m_panel->view());
    m_panel->view()->zoom()->setCurrentCell(isThere ? row : -1, isThere ? column : -1);
}

QJsonObject CompositionPage::viewState() const
{
    return {{QStringLiteral("kind"), m_kind->currentData().toString()},
            {QStringLiteral("subtract"), m_subtract->isChecked()},
            {QStringLiteral("percentile"), m_percentile->value()},
            {QStringLiteral("tab"), m_tabs->currentIndex()},
            {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void CompositionPage::setViewState(const QJsonObject& state)
{
    m_kind->setCurrentIndex(std::max(0, m_kind->findData(state[QStringLiteral("kind")].toString())));
    m_subtract->setChecked(state[QStringLiteral("subtract")].toBool(true));
    m_percentile->setValue(state[QStringLiteral("percentile")].toInt());
    m_tabs->setCurrentIndex(state[QStringLiteral("tab")].toInt());
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
}

QList<FigureSource*> CompositionPage::figures()
{
    if (!m_panel->view()->matrix())
        return {};
    QList<FigureSource*> all;
    if (m_card && m_tabs->currentIndex() == 1)
        for (const auto& [view, what] : m_card->figures()) {
            all << dynamic_cast<FigureSource*>(view);
            describe(all.last(), QStringLiteral("%1, %2").arg(what, text(workspace()->model()->card().name)));
            setSubject(all.last(), std::nullopt);
        }
    if (m_tabs->currentWidget() == m_pairs)
        all << m_pairs->figures();
    describe(m_panel->view(),
             tr("%1, %2").arg(m_kind->currentText(), text(workspace()->model()->card().name)));
    setSubject(m_panel->view(), std::nullopt);
    all << m_panel->view();
    return all + m_pair->figures();
}

} // namespace headwise::ui
