#include "ui/pages/composition/composition_page.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/pages/composition/pair_panel.h"
#include "ui/pages/composition/pairs_panel.h"
#include "ui/pages/parts/compute_button.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/picture_panel.h"
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
#include <utility>

namespace headwise::ui {

namespace {

// px. The pair's charts are readable from the least width on; up to the most, all that the map need not have is theirs.
constexpr int leastPairWidth = 170, mostPairWidth = 240, mapWidth = 420;

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

/// The scores less a baseline; NaN for those below the percentile of all.
ResultArray shownScores(const ResultArray& scores, double baseline, int percentile)
{
    ResultArray shown = copyOf(wholeArray(scores));
    std::vector<double> values(wholeArray(scores).size()), finite;
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = wholeArray(scores).at(i) - baseline;
        if (std::isfinite(values[i]))
            finite.push_back(values[i]);
    }
    if (finite.empty())
        return shown;
    const auto [low, high] = std::ranges::minmax_element(finite);
    shown.range = {std::min(0.0, *low), *high}; // colours fit all pairs, hidden ones too
    if (const double reach = std::max(-*low, *high); baseline > 0)
        shown.range = {-reach, reach}; // about the baseline
    const auto at = static_cast<std::ptrdiff_t>(finite.size() * static_cast<std::size_t>(percentile) / 100);
    std::ranges::nth_element(finite, finite.begin() + at);
    const double least = finite[static_cast<std::size_t>(at)];
    for (double& value : values)
        value = value >= least ? value : notComputed;
    if (baseline > 0) {
        shown.title += " minus the baseline 1/√d_model";
        shown.nullMean.reset(); // of the scores themselves
    }
    shown.values = std::move(values);
    return shown;
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
    , m_map(new PicturePanel(workspace, Picture::Kind::HeadPairs, tr("Composition of all pairs"), this))
    , m_pair(new PairPanel(workspace, this))
    , m_wiring(new QWidget(this))
    , m_pairs(new PairsPanel(workspace, this))
{
    createLayout();
    connectSignals();
    connectMap();
}

void CompositionPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    m_pair->setMinimumWidth(std::clamp(width() - mapWidth, leastPairWidth, mostPairWidth));
}

QWidget* CompositionPage::createMap()
{
    auto* map = new QWidget(m_tabs);
    m_subtract->setChecked(true);
    m_subtract->setToolTip(tr("Subtract the score of random heads of the same shape (B)"));
    m_subtract->setShortcut(Qt::Key_B);
    m_percentile->setRange(0, 99);
    m_percentile->setMaximumWidth(160);
    m_percentile->setAccessibleName(tr("Percentile cutoff"));
    m_percentile->setToolTip(tr("Hides pairs below this percentile of all scores"));
    makeSecondary(m_percentileText);
    m_chance->setToolTip(
        tr("z-score of every pair against random singular vectors; opens Composition against chance"));
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
    // The pair has its place from the start, so that the map keeps its size when one is chosen.
    auto* sides = new QSplitter(map);
    sides->setHandleWidth(16);
    sides->addWidget(m_map);
    sides->addWidget(m_pair);
    sides->setCollapsible(0, false);
    sides->setStretchFactor(0, 2); // the cells are square, so that a wide page has room for both
    sides->setStretchFactor(1, 1);
    sides->setSizes({1000, mostPairWidth});
    layout->addWidget(sides, 1);
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
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace()->model(), signal, this, &CompositionPage::refresh);
    connect(workspace()->model(), &OpenModel::replaced, this,
            [this] { delete std::exchange(m_card, nullptr); });
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
    connect(m_map, &Page::readOutChanged, this, [this](const QString& words) {
        if (words.isEmpty())
            emit readOutChanged(words);
    });
    connect(m_map->body(), &PictureBody::pairHovered, this,
            [this](HeadId earlier, HeadId later) { emit readOutChanged(readOut(earlier, later)); });
    connect(m_map->body(), &PictureBody::pairActivated, this,
            [this] { emit pageRequested(QStringLiteral("compare")); });
}

std::string CompositionPage::kind() const
{
    return m_kind->currentData().toString().toStdString();
}

QString CompositionPage::kindTitle() const
{
    return m_kind->currentText().section(u':', 0, 0);
}

const ResultArray* CompositionPage::scores() const
{
    const ResultArray* found = workspace()->model()->isOpen()
        ? workspace()->model()->results()->find("composition/" + kind())
        : nullptr;
    return found && found->shape.size() == 4 && found->shape[0] > 1 ? found : nullptr;
}

QString CompositionPage::readOut(HeadId from, HeadId to) const
{
    const ResultArray* all = scores();
    if (!all)
        return {};
    const double score = pairAt(*all, from, to);
    if (!std::isfinite(score))
        return tr("%1 → %2   not in an earlier layer").arg(text(from), text(to));
    QString words = QStringLiteral("%1 → %2   %3").arg(text(from), text(to), number(score));
    if (all->nullMean)
        words += tr(", baseline %1, above it %2").arg(number(*all->nullMean), number(score - *all->nullMean));
    const ResultArray* z =
        workspace()->model()->results()->find("analyses/composition_nulls/" + kind() + "_z");
    return z ? words + tr("   z %1").arg(signedNumber(pairAt(*z, from, to))) : words;
}

QString CompositionPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    if (!model.isOpen())
        return {};
    if (model.card().nLayers < 2)
        return tr("Composition needs two layers; this model has one.");
    const bool isThere =
        model.hasModel() || std::ranges::any_of(model.results()->arrays, [](const ResultArray& array) {
            return array.path.starts_with("composition/");
        });
    return isThere
        ? QString()
        : tr("This session holds no composition; it needs the model's files. Use File → Locate model…");
}

void CompositionPage::recompute()
{
    m_percentileText->setText(m_percentile->value() == 0
                                  ? tr("all pairs")
                                  : tr("the strongest %1 %").arg(100 - m_percentile->value()));
    if (m_tabs->currentWidget() == m_pairs)
        m_pairs->showKind(kind(), kindTitle());
    const ResultArray* all = scores();
    m_chance->setEnabled(all && workspace()->model()->hasModel());
    if (!all) {
        const QString never = whyNot(*workspace());
        m_map->showMessage(never.isEmpty() ? tr("Composition is not computed yet.") : never);
        delete std::exchange(m_card, nullptr); // the wiring of other weights
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
    const double baseline = m_subtract->isChecked() ? 1 / std::sqrt(workspace()->model()->card().dModel) : 0;
    const Picture picture{.kind = Picture::Kind::HeadPairs,
                          .title = kindTitle().toStdString(),
                          .arrays = {all.path},
                          .signedColors = m_subtract->isChecked()};
    m_map->showPicture(picture, {.arrays = {shownScores(all, baseline, m_percentile->value())}});
    showPair();
}

void CompositionPage::showWiring()
{
    const Picture wanted{.kind = Picture::Kind::Diagram,
                         .title = kindTitle().toStdString() + ", strongest pairs",
                         .arrays = {"composition/" + kind()},
                         .note = "Heads by layer, layer 0 at the top. Click a head to select it."};
    if (!m_card || m_card->picture() != wanted) {
        delete m_card;
        m_card = new PictureCard(workspace(), wanted, m_wiring);
        connect(m_card, &PictureCard::readOutChanged, this, &Page::readOutChanged);
        connect(m_card, &PictureCard::viewMade, this, &CompositionPage::viewMade);
        static_cast<QVBoxLayout*>(m_wiring->layout())->insertWidget(0, m_card);
    }
    m_card->ensureCurrent();
    if (!m_wantedWiring.isEmpty())
        m_card->choose(std::exchange(m_wantedWiring, {}));
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
    if (workspace()->model()->isOpen() && scores())
        m_map->markHead();
}

ViewFields CompositionPage::viewFields()
{
    return ViewFields()
        .addData("kind", m_kind)
        .add("subtract", m_subtract, true)
        .add(
            "percentile", [this] { return m_percentile->value(); },
            [this](const QJsonValue& percentile) { m_percentile->setValue(percentile.toInt()); })
        .add("tab", m_tabs)
        .add(
            "wiring",
            [this] { return m_card && m_wantedWiring.isEmpty() ? m_card->choices() : m_wantedWiring; },
            [this](const QJsonValue& wiring) {
                m_wantedWiring = wiring.toObject();
                refresh();
            })
        .addPart("heatmap", m_map);
}

QList<FigureSource*> CompositionPage::figures()
{
    if (!workspace()->model()->isOpen() || !scores())
        return {};
    QList<FigureSource*> all;
    if (m_card && m_tabs->currentIndex() == 1)
        for (const auto& [view, what] : m_card->figures()) {
            all << dynamic_cast<FigureSource*>(view);
            setPictureName(view, tr("Wiring"));
            describe(all.last(), QStringLiteral("%1, %2").arg(what, text(workspace()->model()->card().name)));
            setSubject(all.last(), std::nullopt);
        }
    if (m_tabs->currentWidget() == m_pairs)
        all << m_pairs->figures();
    const QList<FigureSource*> maps = m_map->figures();
    if (m_subtract->isChecked()) {
        const double baseline = 1 / std::sqrt(static_cast<double>(workspace()->model()->card().dModel));
        const QString words =
            tr("ratios of norms minus the baseline 1/√d_model = %1, so that pairs below it are negative")
                .arg(number(baseline));
        for (FigureSource* map : maps) {
            Provenance lines = map->provenance();
            lines.append({QStringLiteral("baseline"), words});
            map->setProvenance(lines);
            map->setFigureTitle(
                tr("%1 minus the baseline, %2").arg(kindTitle(), text(workspace()->model()->card().name)));
        }
    }
    return all + maps + m_pair->figures();
}

} // namespace headwise::ui
