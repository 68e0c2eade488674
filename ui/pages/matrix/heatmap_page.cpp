#include "ui/pages/matrix/heatmap_page.h"

#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/offset_box.h"
#include "ui/widgets/job_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headwise::ui {

namespace {
constexpr int heatmapPageSampleSize = 40;
constexpr int heatmapPageDirectPath = -1;    // index among the circuits
constexpr Eigen::Index largestFormed = 1024; // tokens; larger circuits use tiles
} // namespace

HeatmapPage::HeatmapPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_circuit(new QComboBox(this))
    , m_which(new QComboBox(this))
    , m_form(new QComboBox(this))
    , m_order(new QComboBox(this))
    , m_aggregate(new QComboBox(this))
    , m_norms(new QCheckBox(tr("norms"), this))
    , m_biases(new QCheckBox(tr("biases"), this))
    , m_scale(new QCheckBox(tr("scale"), this))
    , m_offset(new OffsetBox(workspace, this))
    , m_text(new QLineEdit(this))
    , m_state(new QLabel(this))
    , m_panel(new HeatmapPanel(this))
{
    fillChoices();
    createLayout();
    connectChoices();
    connectView();
}

void HeatmapPage::fillChoices()
{
    m_circuit->addItem(tr("OV: W_V W_O"), static_cast<int>(CircuitKind::Ov));
    m_circuit->addItem(tr("QK: W_Q W_Kᵀ"), static_cast<int>(CircuitKind::Qk));
    m_circuit->addItem(tr("full OV: E W_V W_O W_U"), static_cast<int>(CircuitKind::FullOv));
    m_circuit->addItem(tr("full QK: E W_Q W_Kᵀ Eᵀ"), static_cast<int>(CircuitKind::FullQk));
    m_circuit->addItem(tr("direct path: E W_U"), heatmapPageDirectPath);
    m_circuit->setItemData(m_circuit->count() - 1,
                           tr("Bigrams of the model without layers; includes b_U if biases are on"),
                           Qt::ToolTipRole);
    m_circuit->setAccessibleName(tr("Circuit shown"));
    m_which->addItem(tr("tokens of a text"));
    m_which->addItem(tr("all tokens"));
    m_which->setAccessibleName(tr("Tokens shown"));
    m_aggregate->addItem(tr("strongest"));
    m_aggregate->addItem(tr("mean"));
    m_aggregate->setAccessibleName(tr("Pixel value"));
    m_aggregate->setToolTip(
        tr("Value of a pixel that covers several cells: the largest magnitude or the mean"));
    m_norms->setToolTip(tr("Shows row and column norms as bars at the edges"));
    m_text->setPlaceholderText(tr("Text whose tokens form the rows and columns; empty: a sample of words"));
    m_text->setAccessibleName(tr("Tokens of the rows and columns"));
    m_text->setFont(tokenFont());
    m_text->setTextMargins(4, 0, 4, 0);
    makeSecondary(m_state);
    m_state->setWordWrap(true); // otherwise it would widen the window beside a job
    m_form->addItem(tr("rows as they are"), static_cast<int>(RowForm::Raw));
    m_form->addItem(tr("rows minus their mean"), static_cast<int>(RowForm::Centred));
    m_form->addItem(tr("z-scores of rows"), static_cast<int>(RowForm::ZScores));
    m_form->addItem(tr("softmax of rows"), static_cast<int>(RowForm::Softmax));
    m_form->setToolTip(tr(
        "Scores of different queries share no zero, so compare them row by row over the columns shown. Softmax of full QK turns on scale and biases."));
    using Order = CircuitPicture::Order;
    m_order->addItem(tr("by index"), static_cast<int>(Order::ByIndex));
    m_order->addItem(tr("by norm"), static_cast<int>(Order::ByNorm));
    m_order->addItem(tr("by letters"), static_cast<int>(Order::ByName));
    m_order->addItem(tr("by singular vector"), static_cast<int>(Order::ByVector));
    m_order->addItem(tr("by count"), static_cast<int>(Order::ByCount));
    m_order->addItem(tr("by cluster"), static_cast<int>(Order::ByCluster));
    m_order->setAccessibleName(tr("Order of rows and columns"));
    m_order->setToolTip(tr(
        "By index: in text order; all tokens by id, which is by frequency in most vocabularies. By norm: largest rows and columns first. By singular vector: along the u and v selected on Vectors (initially the first), so that rows and columns that do the same are neighbours. By count: by frequency in your own text; give its counts to an analysis such as Token prior. By cluster: rows and columns with similar directions together."));
    m_biases->setToolTip(tr("x W + b in place of x W on both sides: the form with d_model + 1 rows"));
    m_scale->setToolTip(tr("Scores times the attention's scale, 1/√d_head unless the family says otherwise"));
}

void HeatmapPage::createLayout()
{
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_circuit);
    controls->addWidget(m_which);
    controls->addWidget(m_text, 1);
    auto* choices = new QHBoxLayout;
    choices->setSpacing(8);
    for (QWidget* control : std::initializer_list<QWidget*>{m_form, m_order, m_biases, m_scale})
        choices->addWidget(control);
    choices->addWidget(m_offset);
    choices->addStretch();
    QHBoxLayout* bottom = textAndJob(m_state, &m_job);
    bottom->addWidget(new JobBar(m_panel->view()->content()->tileLoader()->scan(), this));
    bottom->addWidget(m_aggregate);
    bottom->addWidget(m_norms);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addLayout(choices);
    layout->addWidget(m_panel, 1);
    layout->addLayout(bottom);
    m_panel->view()->setAccessibleName(tr("Matrix of the circuit"));
    m_panel->view()->setCellShape(HeatmapView::CellShape::Square);
    ColorScale scale;
    scale.fit = ColorFit::Robust; // A few outlying directions would leave the rest colourless.
    m_panel->view()->colors()->setScale(scale);
}

void HeatmapPage::connectChoices()
{
    HeatmapView* view = m_panel->view();
    connect(m_aggregate, &QComboBox::currentIndexChanged, view,
            [view](int index) { view->content()->setAggregate(static_cast<Aggregate>(index)); });
    connect(view->content(), &HeatmapContent::aggregateChanged, m_aggregate,
            [this](Aggregate aggregate) { m_aggregate->setCurrentIndex(static_cast<int>(aggregate)); });
    connect(m_norms, &QCheckBox::toggled, view->content(), &HeatmapContent::setNormBars);
    connect(view->content(), &HeatmapContent::normBarsChanged, m_norms, &QCheckBox::setChecked);
    for (QComboBox* choice : {m_circuit, m_which, m_form, m_order})
        connect(choice, &QComboBox::currentIndexChanged, this, [this] {
            setTermsOfSoftmax();
            refresh();
        });
    for (QCheckBox* term : {m_biases, m_scale})
        connect(term, &QCheckBox::toggled, this, [this, term] {
            m_turnedOn.erase(term); // now chosen by the user
            refresh();
        });
    connect(m_text, &QLineEdit::editingFinished, this, [this] {
        chooseTokens();
        refresh();
    });
    connect(workspace()->model(), &OpenModel::replaced, m_text, &QLineEdit::clear);
    connect(workspace()->model(), &OpenModel::circuitsChanged, this, [this] {
        chooseTokens();
        refresh();
    });
    connect(workspace()->selection(), &Selection::headChanged, this, &HeatmapPage::refresh);
    connect(workspace()->selection(), &Selection::rotaryOffsetChanged, this, [this] {
        if (isOfScores())
            refresh();
    });
    connect(workspace()->model(), &OpenModel::tokensChanged, this, &HeatmapPage::refresh);
    const auto refreshIf = [this](CircuitPicture::Order order) {
        if (m_order->currentData().toInt() == static_cast<int>(order))
            refresh();
    };
    connect(workspace()->selection(), &Selection::directionChanged, this,
            [refreshIf] { refreshIf(CircuitPicture::Order::ByVector); });
    connect(workspace()->runs(), &Runs::inputsChanged, this,
            [refreshIf] { refreshIf(CircuitPicture::Order::ByCount); });
    chooseTokens();
}

void HeatmapPage::connectView()
{
    HeatmapView* view = m_panel->view();
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        emit readOutChanged(tr("%1 → %2   %3   row %4 col %5")
                                .arg(entryName(m_rows, row), entryName(m_columns, column),
                                     signedNumber(static_cast<double>(value)))
                                .arg(row)
                                .arg(column));
    });
    connect(view, &HeatmapView::cellClicked, this, [this](int row, int) {
        if (isTokenCircuit())
            workspace()->selection()->setToken(m_rows[static_cast<std::size_t>(row)]);
    });
}

bool HeatmapPage::isDirect() const
{
    return m_circuit->currentData().toInt() == heatmapPageDirectPath;
}

CircuitKind HeatmapPage::kind() const
{
    return isDirect() ? CircuitKind::FullOv : static_cast<CircuitKind>(m_circuit->currentData().toInt());
}

bool HeatmapPage::isOfScores() const
{
    return kind() == CircuitKind::Qk || kind() == CircuitKind::FullQk;
}

bool HeatmapPage::isTokenCircuit() const
{
    return kind() == CircuitKind::FullQk || kind() == CircuitKind::FullOv;
}

bool HeatmapPage::isOfAllTokens() const
{
    return isTokenCircuit() && !isDirect() && m_which->currentIndex() == 1;
}

bool HeatmapPage::isTiled() const
{
    const auto tokens = workspace()->model()->tokens();
    return isOfAllTokens() && tokens && std::max(tokens->E.rows(), tokens->W_U.cols()) > largestFormed;
}

QString HeatmapPage::entryName(const std::vector<int>& shown, int index) const
{
    if (index >= static_cast<int>(shown.size()))
        return {};
    const int entry = shown[static_cast<std::size_t>(index)];
    if (isTokenCircuit())
        return workspace()->model()->tokenText(entry);
    return entry == workspace()->model()->card().dModel ? tr("bias") : QString::number(entry);
}

bool HeatmapPage::isSoftmaxOfScores() const
{
    return kind() == CircuitKind::FullQk && !isTiled()
        && m_form->currentData().toInt() == static_cast<int>(RowForm::Softmax);
}

void HeatmapPage::setTermsOfSoftmax()
{
    if (isSoftmaxOfScores() == m_isSoftmax)
        return;
    m_isSoftmax = !m_isSoftmax;
    for (QCheckBox* term : {m_biases, m_scale}) {
        const QSignalBlocker quiet(term);
        if (m_isSoftmax && !term->isChecked())
            m_turnedOn.insert(term);
        if (m_turnedOn.contains(term))
            term->setChecked(m_isSoftmax);
    }
    if (!m_isSoftmax)
        m_turnedOn.clear();
}

QString HeatmapPage::formText() const
{
    if (!isTokenCircuit() || isTiled() || m_form->currentIndex() == 0)
        return {};
    const QString form = QStringLiteral(" · ") + m_form->currentText();
    if (!isSoftmaxOfScores())
        return form;
    const CircuitTerms chosen = terms();
    if (chosen.scale && chosen.biases)
        return form + tr(" (attention scores: includes scale and biases)");
    return form
        + (chosen.scale ? tr(" (not the model's attention: b_Q is left out)")
                        : tr(" (not the model's attention: scores are not scaled)"));
}

CircuitTerms HeatmapPage::terms() const
{
    return {m_biases->isChecked(), m_scale->isChecked() && m_scale->isEnabled(),
            isOfScores() ? workspace()->selection()->rotaryOffset() : 0};
}

QString HeatmapPage::termsText() const
{
    const CircuitTerms chosen = terms();
    if (isDirect())
        return chosen.biases ? tr("with b_U") : tr("no bias");
    return QStringLiteral("%1, %2%3")
        .arg(chosen.scale ? tr("scaled") : tr("no scale"), chosen.biases ? tr("with biases") : tr("no bias"),
             offsetText(chosen.offset));
}

void HeatmapPage::chooseTokens()
{
    m_tokens.clear();
    if (!workspace()->model()->isOpen())
        return;
    const auto tokenizer = workspace()->model()->tokenizer();
    if (tokenizer && !m_text->text().isEmpty()) {
        const auto ids = tokenizer->encode(m_text->text().toStdString(), Tokenizer::SpecialTokens::None);
        if (ids)
            for (const int id : *ids)
                if (std::find(m_tokens.begin(), m_tokens.end(), id) == m_tokens.end())
                    m_tokens.push_back(id);
    }
    if (m_tokens.empty() && tokenizer)
        m_tokens = sampleOfWords(*tokenizer, heatmapPageSampleSize);
    std::erase_if(m_tokens, [this](int id) { return id >= workspace()->model()->card().dVocab; });
    if (m_tokens.empty()) {
        m_tokens.resize(
            static_cast<std::size_t>(std::min(heatmapPageSampleSize, workspace()->model()->card().dVocab)));
        std::iota(m_tokens.begin(), m_tokens.end(), 0);
    }
    std::erase_if(m_tokens, [this](int id) { return id >= workspace()->model()->card().dVocab; });
}

std::vector<int> HeatmapPage::rowTokens() const
{
    if (!isOfAllTokens())
        return m_tokens;
    std::vector<int> all(static_cast<std::size_t>(workspace()->model()->tokens()->E.rows()));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

std::vector<int> HeatmapPage::columnTokens() const
{
    if (!isOfAllTokens() || kind() == CircuitKind::FullQk)
        return rowTokens();
    std::vector<int> all(static_cast<std::size_t>(workspace()->model()->tokens()->W_U.cols()));
    std::iota(all.begin(), all.end(), 0);
    return all;
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
    m_which->setVisible(isTokenCircuit() && !isDirect());
    m_text->setEnabled(isTokenCircuit() && !isOfAllTokens());
    m_form->setVisible(isTokenCircuit());
    m_form->setEnabled(!isTiled());
    m_scale->setEnabled(isOfScores());
    m_offset->setEnabled(isOfScores());
    auto* orders = qobject_cast<QStandardItemModel*>(m_order->model());
    orders->item(m_order->findData(static_cast<int>(CircuitPicture::Order::ByName)))
        ->setEnabled(isTokenCircuit());
    orders->item(m_order->findData(static_cast<int>(CircuitPicture::Order::ByCount)))
        ->setEnabled(isTokenCircuit() && workspace()->runs()->inputs().tokenCounts);
    HeatmapView* view = m_panel->view();
    const auto circuits = workspace()->model()->circuits();
    if (!circuits) {
        m_job.cancel();
        view->setMatrix(nullptr);
        m_state->clear();
        return view->onScreen().setMessage(whyNot(*workspace()));
    }
    if (isTokenCircuit() && !workspace()->model()->tokens()) {
        view->setMatrix(nullptr);
        return view->onScreen().setMessage(tr("Reading the embeddings…"));
    }
    view->onScreen().setPending(true);
    m_job.start(heading(),
                aboutModel(workspace()->model()->circuits(),
                           [picture = picture()](const Task& task) { return shownCircuit(picture, task); }),
                [this](const Result<ShownCircuit>& shown) {
                    m_panel->view()->onScreen().setPending(false);
                    shown ? showCircuit(*shown) : showError(shown.error());
                });
}

CircuitPicture HeatmapPage::picture() const
{
    CircuitPicture picture{.circuits = workspace()->model()->circuits(),
                           .tokens = workspace()->model()->tokens(),
                           .tokenizer = workspace()->model()->tokenizer(),
                           .of = {kind(), workspace()->selection()->head(), terms()},
                           .isDirect = isDirect(),
                           .isTiled = isTiled(),
                           .counts = workspace()->runs()->inputs().tokenCounts,
                           .order = static_cast<CircuitPicture::Order>(m_order->currentData().toInt()),
                           .vector = workspace()->selection()->direction().index,
                           .form = static_cast<RowForm>(m_form->currentData().toInt()),
                           .rows = {},
                           .columns = {}};
    if (isTokenCircuit()) {
        picture.rows = rowTokens();
        picture.columns = columnTokens();
    }
    return picture;
}

QString HeatmapPage::heading() const
{
    const QString circuit = m_circuit->currentText().section(u':', 0, 0);
    return isDirect() ? circuit : tr("%1 of %2").arg(circuit, text(workspace()->selection()->head()));
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
    m_panel->view()->content()->setValueTitle(valueTitle(picture()));
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
        .arg(isDirect() ? tr("direct path") : text(workspace()->selection()->head()))
        .arg(m_rows.size())
        .arg(m_columns.size())
        .arg(termsText(), formText(), numbers, processingText(workspace()->model()->processing()));
}

void HeatmapPage::describeAxes()
{
    HeatmapView* view = m_panel->view();
    const bool isQk = kind() == CircuitKind::Qk || kind() == CircuitKind::FullQk;
    const QString rows = isTokenCircuit()
        ? (isQk ? tr("query token") : tr("source token"))
        : (isQk ? tr("residual direction, query") : tr("residual direction, read"));
    const QString columns = isTokenCircuit()
        ? (isQk ? tr("key token") : tr("output token"))
        : (isQk ? tr("residual direction, key") : tr("residual direction, written"));
    view->content()->setRowAxis({rows, [this](int index) { return entryName(m_rows, index); }});
    view->content()->setColumnAxis({columns, [this](int index) { return entryName(m_columns, index); }});
}

QJsonObject HeatmapPage::viewState() const
{
    return {{QStringLiteral("circuit"), m_circuit->currentIndex()},
            {QStringLiteral("text"), m_text->text()},
            {QStringLiteral("which"), m_which->currentIndex()},
            {QStringLiteral("rows"), m_form->currentIndex()},
            {QStringLiteral("order"), m_order->currentIndex()},
            {QStringLiteral("biases"), m_biases->isChecked()},
            {QStringLiteral("scale"), m_scale->isChecked()},
            {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void HeatmapPage::setViewState(const QJsonObject& state)
{
    m_text->setText(state[QStringLiteral("text")].toString());
    m_circuit->setCurrentIndex(state[QStringLiteral("circuit")].toInt());
    m_which->setCurrentIndex(state[QStringLiteral("which")].toInt());
    m_form->setCurrentIndex(state[QStringLiteral("rows")].toInt());
    m_order->setCurrentIndex(state[QStringLiteral("order")].toInt());
    m_biases->setChecked(state[QStringLiteral("biases")].toBool());
    m_scale->setChecked(state[QStringLiteral("scale")].toBool());
    m_turnedOn.clear(); // restored as saved, whoever turned it on
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    chooseTokens();
    refresh();
}

QList<FigureSource*> HeatmapPage::figures()
{
    if (m_panel->view()->isEmpty())
        return {};
    const QString circuit = isDirect()
        ? m_circuit->currentText()
        : tr("%1 %2").arg(text(workspace()->selection()->head()), m_circuit->currentText());
    describe(m_panel->view(),
             tr("%1, %2, %3").arg(circuit, termsText(), text(workspace()->model()->card().name)));
    setSubject(m_panel->view(), isDirect() ? std::nullopt : std::optional(workspace()->selection()->head()));
    return {m_panel->view()};
}

std::optional<std::pair<int, int>> HeatmapPage::currentTokens() const
{
    const HeatmapState& at = m_panel->view()->state();
    const bool isCell = at.row >= 0 && at.row < static_cast<int>(m_rows.size()) && at.column >= 0
        && at.column < static_cast<int>(m_columns.size());
    if (!isTokenCircuit() || isDirect() || !isCell)
        return {};
    return std::pair(m_rows[static_cast<std::size_t>(at.row)],
                     m_columns[static_cast<std::size_t>(at.column)]);
}

} // namespace headwise::ui
