#include "ui/pages/spectrum/vectors_page.h"

#include "core/analysis/inputs/direction_source.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/spectrum_panel.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/pages/parts/vector_tables.h"
#include "ui/pages/spectrum/direction_search_panel.h"
#include "ui/pictures/chart_titles.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_figure.h"

#include <QCheckBox>
#include <QComboBox>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

namespace headwise::ui {

namespace {

constexpr int chunkSize = 8;   // directions that are computed and shown together
constexpr int listLength = 10; // tokens at each end

QString degrees(double sine)
{
    return number(std::asin(std::clamp(sine, 0.0, 1.0)) * 180 / std::numbers::pi);
}

} // namespace

VectorsPage::VectorsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_circuit(new QComboBox(this))
    , m_scores(new QCheckBox(tr("scores"), this))
    , m_each(new QCheckBox(tr("each direction alone"), this))
    , m_state(new QLabel(this))
    , m_look(new QToolButton(this))
    , m_spectrum(new LineChart(this))
    , m_search(new DirectionSearchPanel(workspace, this))
    , m_tables(new VectorTables(workspace, this))
{
    createLook();
    createLayout();
    connectSignals();
}

void VectorsPage::createLook()
{
    m_look->setText(tr("Inspect this direction"));
    m_look->setToolTip(
        tr("Opens the direction card of the selected vector: how every head reads and maps it"));
    m_look->setAccessibleName(m_look->text());
    m_look->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(m_look);
    for (const bool isOut : {false, true})
        menu->addAction(isOut ? tr("Second side: written, or keys") : tr("First side: read, or queries"),
                        this, [this, isOut] {
                            if (const QString name = shownDirection(isOut); !name.isEmpty())
                                emit directionWanted(name);
                        });
    m_look->setMenu(menu);
    m_look->setEnabled(false);
}

QString VectorsPage::shownDirection(bool isOut) const
{
    const auto found = m_lists.find(current() / chunkSize);
    if (!m_directions || found == m_lists.end() || current() >= m_directions->svd.rank)
        return {};
    const auto& vectors = m_directions->svd.vectors(isOut ? VectorSide::Second : VectorSide::First);
    const auto place = static_cast<std::size_t>(current() - found->second->first);
    const double sign = found->second->signs[place] * workspace()->selection()->direction().sign;
    return text(singularName({kind(), m_directions->head, isOut, current()},
                             sign * vectors.col(current()).transpose()));
}

void VectorsPage::createLayout()
{
    m_circuit->addItem(tr("OV: W_V W_O"), static_cast<int>(CircuitKind::Ov));
    m_circuit->addItem(tr("QK: W_Q W_Kᵀ"), static_cast<int>(CircuitKind::Qk));
    m_circuit->setAccessibleName(tr("Circuit of the singular vectors"));
    m_scores->setToolTip(tr("E u_k and v_kᵀ W_U (E v_k) beside each token"));
    m_each->setToolTip(tr(
        "Shows each direction's own tokens, greyed out, where only the span of several directions is meaningful"));
    makeSecondary(m_state);
    m_state->setWordWrap(true);
    m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_spectrum->setLook({.xTitle = tr("direction k"), .yTitle = tr("σ"), .wholeX = true});
    m_spectrum->setAccessibleName(tr("Singular values"));
    m_spectrum->setMinimumHeight(130);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_circuit);
    controls->addWidget(m_scores);
    controls->addWidget(m_each);
    controls->addStretch();
    controls->addWidget(m_look);
    controls->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, this));
    controls->addWidget(new JobBar(&m_listJob, this));
    auto* upper = new QSplitter(this);
    upper->setChildrenCollapsible(false);
    upper->addWidget(m_spectrum);
    upper->addWidget(m_search);
    upper->setSizes({440, 360});
    auto* halves = new QSplitter(Qt::Vertical, this);
    halves->setChildrenCollapsible(false);
    halves->addWidget(upper);
    halves->addWidget(m_tables);
    halves->setSizes({240, 480});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_state);
    layout->addWidget(halves, 1);
}

void VectorsPage::connectSignals()
{
    connect(m_circuit, &QComboBox::activated, this, [this] {
        SingularChoice chosen = workspace()->selection()->direction();
        chosen.circuit = kind();
        workspace()->selection()->setDirection(chosen);
    });
    connect(m_scores, &QCheckBox::toggled, this, [this](bool on) {
        m_tables->setScoresShown(on);
        showLists();
    });
    connect(m_each, &QCheckBox::toggled, this, [this](bool on) {
        m_tables->setEachShown(on);
        showLists();
    });
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace()->model(), signal, this, [this] {
            m_directions.reset();
            refresh();
        });
    connect(workspace()->selection(), &Selection::headChanged, this, &VectorsPage::refresh);
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, [this] {
        m_lists.clear();
        refresh();
    });
    connect(workspace()->selection(), &Selection::directionChanged, this, &VectorsPage::refresh);
    connect(m_spectrum, &LineChart::pointClicked, this, [this](const QString& series, int index) {
        if (series == text(circuitTitle(kind()))) // not the ring around the selected one
            workspace()->selection()->setDirection({kind(), index, 1});
    });
    connect(m_spectrum, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_spectrum, &LineChart::pointHovered, this, [this](const QString&, int, QPointF point) {
        emit readOutChanged(directionTitle(static_cast<int>(point.x()) - 1));
    });
    connect(m_tables, &VectorTables::directionClicked, this, [this](int direction) {
        workspace()->selection()->setDirection({kind(), direction, 1});
    });
    connect(m_search, &Page::readOutChanged, this, &Page::readOutChanged);
    for (const std::size_t side : {0U, 1U})
        m_tables->table(side)->installEventFilter(this);
}

CircuitKind VectorsPage::kind() const
{
    return static_cast<CircuitKind>(m_circuit->currentData().toInt());
}

int VectorsPage::current() const
{
    const int count = m_directions ? m_directions->count() : 1;
    return std::clamp(workspace()->selection()->direction().index, 0, std::max(0, count - 1));
}

void VectorsPage::clear(const QString& message)
{
    m_job.cancel();
    m_listJob.cancel();
    m_directions.reset();
    m_lists.clear();
    m_spectrum->setSeries({});
    m_spectrum->setBrackets({});
    m_spectrum->setMessage(message);
    m_state->clear();
    m_state->setToolTip({});
    m_tables->clear();
    m_look->setEnabled(false);
}

QString VectorsPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel()
        ? tr("Singular vectors need the model's files; use File → Locate model…")
        : QString();
}

void VectorsPage::recompute()
{
    if (!workspace()->model()->isOpen())
        return clear({});
    const auto circuits = workspace()->model()->circuits();
    if (!circuits)
        return clear(whyNot(*workspace()));
    const QSignalBlocker quiet(m_circuit);
    m_circuit->setCurrentIndex(
        m_circuit->findData(static_cast<int>(workspace()->selection()->direction().circuit)));
    const HeadId head = workspace()->selection()->head();
    if (m_directions && m_directions->head == head && m_directions->kind == kind())
        return showDirections();
    m_look->setEnabled(false); // disabled until this head's are ready
    m_job.start(tr("Singular vectors of %1").arg(text(head)),
                aboutModel(workspace()->model()->circuits(),
                           [circuits, head, kind = kind()](const Task&) {
                               return circuitDirections(*circuits, kind, head);
                           }),
                [this](const Result<DirectionsPtr>& found) {
                    if (!found)
                        return clear(text(found.error()));
                    m_directions = *found;
                    m_lists.clear();
                    showDirections();
                });
}

void VectorsPage::showDirections()
{
    showSpectrum();
    m_state->setText(directionTitle(current()));
    m_state->setToolTip(cosineNote());
    const int chunk = current() / chunkSize;
    m_look->setEnabled(!shownDirection(false).isEmpty());
    if (m_lists.contains(chunk))
        showLists();
    else
        computeLists();
}

QString VectorsPage::directionTitle(int index) const
{
    if (!m_directions || index < 0 || index >= m_directions->svd.S.size())
        return {};
    const DirectionStability& stability = m_directions->stability;
    QString words = tr("%1 %2   direction %3   σ %4 ± %5")
                        .arg(text(m_directions->head), text(circuitTitle(m_directions->kind)))
                        .arg(index + 1)
                        .arg(number(m_directions->svd.S(index)), number(stability.perturbation));
    if (index >= m_directions->svd.rank)
        return words + tr("   in the null space");
    const auto k = static_cast<std::size_t>(index);
    if (m_directions->kind == CircuitKind::Qk)
        words += tr("   cos(u, v) %1")
                     .arg(number(m_directions->svd.U.col(index).dot(m_directions->svd.V.col(index))));
    words += tr("   gap %1").arg(percent(stability.gap[k]));
    const CircuitDirections::Block block = m_directions->blockOf(index);
    if (!block.isAlone())
        words += tr("   degenerate: only the span of %1 to %2 is meaningful")
                     .arg(block.first + 1)
                     .arg(block.last + 1);
    words += tr("   rounding error up to %1°").arg(degrees(stability.error[k]));
    return block.isAlone() ? words : words + tr(", of the span %1°").arg(degrees(stability.blockError[k]));
}

QString VectorsPage::cosineNote() const
{
    if (!m_directions || m_directions->kind != CircuitKind::Qk)
        return {};
    const double chance = 1 / std::sqrt(static_cast<double>(workspace()->model()->card().dModel));
    return tr("cos(u, v): similarity of this direction's queries and keys. Near 1 it attends to similar vectors, near −1 to opposite ones. Random baseline: 0 ± %1 (1/√d).")
        .arg(number(chance));
}

void VectorsPage::showSpectrum()
{
    const Eigen::VectorXd& S = m_directions->svd.S;
    ChartSeries all{text(circuitTitle(m_directions->kind)), {}, SeriesStyle::Line};
    for (Eigen::Index i = 0; i < S.size(); ++i)
        all.points << QPointF(static_cast<double>(i + 1), S(i));
    all.errors.assign(static_cast<std::size_t>(S.size()),
                      static_cast<float>(m_directions->stability.perturbation));
    ChartSeries chosen{tr("selected"), {QPointF(current() + 1, S(current()))}, SeriesStyle::Points};
    chosen.isSelection = true;
    m_spectrum->setSeries({all, chosen});
    m_spectrum->setBrackets(degenerateBrackets({S.data(), static_cast<std::size_t>(S.size())},
                                               workspace()->model()->card().dModel));
}

void VectorsPage::computeLists()
{
    const auto tokens = workspace()->model()->tokens();
    if (!tokens)
        return m_tables->clear(tr("Reading the embeddings…"));
    const int chunk = current() / chunkSize;
    m_listJob.start(
        tr("Tokens of directions %1 to %2").arg(chunk * chunkSize + 1).arg((chunk + 1) * chunkSize),
        aboutModel(workspace()->model()->circuits(),
                   [directions = m_directions, tokens, chunk,
                    unused = workspace()->filteredTokens()->unused()](const Task& task) {
                       return directionLists(*directions, *tokens, {chunk * chunkSize, chunkSize, listLength},
                                             unused, task);
                   }),
        [this, chunk](const Result<ListsPtr>& lists) {
            if (!lists)
                return m_state->setText(text(lists.error()));
            m_lists[chunk] = *lists;
            showLists();
        });
}

void VectorsPage::showLists()
{
    const auto found = m_lists.find(current() / chunkSize);
    m_look->setEnabled(!shownDirection(false).isEmpty());
    if (m_directions && found != m_lists.end())
        m_tables->show(*m_directions, found->second, current());
}

bool VectorsPage::moveByKey(int key)
{
    SingularChoice chosen{kind(), current(), workspace()->selection()->direction().sign};
    if (!m_directions)
        return false;
    if (key == Qt::Key_Space) {
        chosen.sign = -chosen.sign;
    } else if (key == Qt::Key_Left || key == Qt::Key_Right) {
        chosen.index += key == Qt::Key_Left ? -1 : 1;
        chosen.sign = 1;
        if (chosen.index >= m_directions->svd.S.size())
            return true;
    } else {
        return false;
    }
    workspace()->selection()->setDirection(chosen);
    return true;
}

void VectorsPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    m_tables->table(0)->setFocus(); // so that the arrow keys move between directions at once
}

bool VectorsPage::eventFilter(QObject* watched, QEvent* event)
{
    // Otherwise the tables would use these keys to move between cells.
    const bool isKey = event->type() == QEvent::KeyPress;
    return (isKey && moveByKey(static_cast<QKeyEvent*>(event)->key())) || Page::eventFilter(watched, event);
}

void VectorsPage::keyPressEvent(QKeyEvent* event)
{
    if (!moveByKey(event->key()))
        Page::keyPressEvent(event);
}

ViewFields VectorsPage::viewFields()
{
    const auto chosen = std::make_shared<SingularChoice>(workspace()->selection()->direction());
    return m_search->viewFields()
        .add("scores", m_scores)
        .add("each", m_each)
        .add(
            "circuit", [chosen] { return text(circuitName(chosen->circuit)); },
            [chosen](const QJsonValue& circuit) {
                const bool isQk = circuit.toString() == text(circuitName(CircuitKind::Qk));
                chosen->circuit = isQk ? CircuitKind::Qk : CircuitKind::Ov;
            })
        .add(
            "direction", [chosen] { return chosen->index; },
            [chosen](const QJsonValue& direction) { chosen->index = direction.toInt(); })
        .add(
            "sign", [chosen] { return chosen->sign; },
            [chosen](const QJsonValue& sign) { chosen->sign = sign.toInt(1) < 0 ? -1 : 1; })
        .then([this, chosen] { workspace()->selection()->setDirection(*chosen); });
}

QList<FigureSource*> VectorsPage::figures()
{
    if (!m_directions)
        return {};
    const QString of = tr("%1 %2, %3")
                           .arg(text(m_directions->head), text(circuitTitle(m_directions->kind)),
                                text(workspace()->model()->card().name));
    QList<FigureSource*> all;
    const auto add = [&](FigureSource* figure, const QString& what) {
        describe(figure, what);
        all << figure;
    };
    for (const std::size_t side : {0U, 1U})
        if (!m_tables->isEmpty())
            add(m_tables->table(side),
                tr("Singular vectors, %1, %2")
                    .arg(text(directionSideOf(m_directions->kind, side).title), of));
    add(m_spectrum, tr("Singular values, %1").arg(of));
    return all + m_search->figures();
}

} // namespace headwise::ui
