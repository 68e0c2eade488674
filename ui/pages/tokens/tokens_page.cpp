#include "ui/pages/tokens/tokens_page.h"

#include "ui/base/theme.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/offset_box.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/pages/parts/tokens_panel.h"
#include "ui/pages/tokens/largest_entries_panel.h"
#include "ui/pages/tokens/token_effect_panel.h"
#include "ui/widgets/narrow_choice.h"
#include "ui/widgets/token_edit.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <chrono>

namespace headwise::ui {

namespace {
constexpr int largestOfAll = -1;         // index among the sides
constexpr int tokensPageDirectPath = -1; // index among the circuits
constexpr int narrowChoiceCharacters = 9;
constexpr int tokensPageEffectWidth = 210; // px, of the heads' map
constexpr int tokensPageHandle = 16;       // px, between the map and the tables
constexpr int tokensPageMargin = 12;       // px
constexpr int tokensPageSlack = 16;        // px, for numbers that are not there yet
} // namespace

TokensPage::TokensPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_circuit(new NarrowChoice(narrowChoiceCharacters, this))
    , m_side(new NarrowChoice(narrowChoiceCharacters, this))
    , m_biases(new QCheckBox(tr("biases"), this))
    , m_scale(new QCheckBox(tr("scale"), this))
    , m_offset(new OffsetBox(workspace, this))
    , m_edit(new TokenEdit(this))
    , m_filter(new QLineEdit(this))
    , m_problem(new QLabel(this))
    , m_ids(new QCheckBox(tr("ids"), this))
    , m_tokens(new TokenFilterButton(workspace, TokenFilterButton::Role::Choice, this))
    , m_panel(new TokensPanel(workspace, CircuitKind::FullOv, this))
    , m_largest(new LargestEntriesPanel(workspace, this))
    , m_effect(new TokenEffectPanel(workspace, this))
    , m_columns(new QSplitter(this))
{
    setPictureName(m_panel, tr("Tokens of the row or column"));
    m_circuit->addItem(tr("full OV: what it writes"), static_cast<int>(CircuitKind::FullOv));
    m_circuit->addItem(tr("full QK: where it looks"), static_cast<int>(CircuitKind::FullQk));
    m_circuit->addItem(tr("direct path: what comes next"), tokensPageDirectPath);
    m_circuit->setItemData(m_circuit->count() - 1,
                           tr("E W_U: bigrams of the model without layers, with and without b_U"),
                           Qt::ToolTipRole);
    m_side->addItem(tr("row of the token"), static_cast<int>(TableSide::Row));
    m_side->addItem(tr("column of the token"), static_cast<int>(TableSide::Column));
    m_side->addItem(tr("largest of all tokens"), largestOfAll);
    for (QComboBox* choice : {m_circuit, m_side})
        choice->setSizeAdjustPolicy(QComboBox::AdjustToContents); // whole where there is space
    m_circuit->setAccessibleName(tr("Circuit of the tables"));
    m_side->setAccessibleName(tr("Contents of the tables"));
    m_biases->setToolTip(tr("x W + b in place of x W on both sides of the circuit"));
    m_scale->setToolTip(tr("Scores times the attention's scale, 1/√d_head unless the family says otherwise"));
    for (QWidget* ofScores : std::initializer_list<QWidget*>{m_scale, m_offset})
        ofScores->setEnabled(false); // full OV has neither scale nor offset
    m_ids->setToolTip(tr("Shows token ids; in most vocabularies low ids are frequent"));
    makeSecondary(m_problem);
    m_problem->setWordWrap(true);
    m_panel->setLength(100);
    m_panel->setObjectName(QStringLiteral("token-tables")); // for the tour
    m_edit->setAccessibleName(tr("Token of the tables"));
    createFilter();
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_circuit);
    controls->addWidget(m_side);
    controls->addWidget(m_edit, 1);
    auto* choices = new QHBoxLayout;
    choices->setSpacing(8);
    choices->addWidget(m_tokens);
    for (QCheckBox* box : {m_biases, m_scale, m_ids})
        choices->addWidget(box);
    choices->addWidget(m_offset);
    choices->addWidget(m_filter, 1000);
    choices->addStretch(1); // what the filter leaves
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(tokensPageMargin, tokensPageMargin, tokensPageMargin, tokensPageMargin);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addLayout(choices);
    layout->addWidget(m_problem);
    createColumns();
    layout->addWidget(m_columns, 1);
    keepPlace(m_problem);
    m_problem->hide();
    connectSignals();
    m_edit->follow(workspace);
}

void TokensPage::createColumns()
{
    m_columns->setChildrenCollapsible(false);
    m_columns->setHandleWidth(tokensPageHandle);
    m_columns->addWidget(m_effect);
    auto* tables = new QWidget(m_columns); // one of them at a time
    auto* place = new QVBoxLayout(tables);
    place->setContentsMargins(0, 0, 0, 0);
    place->addWidget(m_panel);
    place->addWidget(m_largest);
    m_largest->hide();
    m_columns->addWidget(tables);
    m_columns->setSizes({tokensPageEffectWidth, 600});
    m_columns->setStretchFactor(1, 1);
}

void TokensPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    const int wide = tokensPageEffectWidth + tokensPageHandle + m_panel->leastWidth() + 2 * tokensPageMargin
        + tokensPageSlack;
    const auto wanted = width() < wide ? Qt::Vertical : Qt::Horizontal;
    if (wanted == m_columns->orientation())
        return;
    m_columns->setOrientation(wanted);
    m_columns->setSizes(wanted == Qt::Vertical ? QList<int>{tokensPageEffectWidth, 300}
                                               : QList<int>{tokensPageEffectWidth, 600});
}

void TokensPage::createFilter()
{
    m_filter->setPlaceholderText(tr("Filter the tables"));
    m_filter->setMaximumWidth(360);
    m_filter->setAccessibleName(tr("Filter the tables"));
    m_filter->setToolTip(tr("Shows the rank in the whole row of tokens that contain this text"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setFont(tokenFont());
    m_filter->setTextMargins(4, 0, 4, 0);
    m_filterPause.setSingleShot(true);
    m_filterPause.setInterval(std::chrono::milliseconds(150));
    connect(m_filter, &QLineEdit::textChanged, &m_filterPause, qOverload<>(&QTimer::start));
    connect(&m_filterPause, &QTimer::timeout, this, [this] { m_panel->setFilter(m_filter->text()); });
}

void TokensPage::connectSignals()
{
    connect(m_effect, &Page::readOutChanged, this, &Page::readOutChanged);
    connect(m_ids, &QCheckBox::toggled, m_panel, &TokensPanel::setIdsShown);
    connect(m_largest, &LargestEntriesPanel::tokenActivated, workspace()->selection(), &Selection::setToken);
    connect(m_largest, &Page::readOutChanged, this, &Page::readOutChanged);
    connect(m_circuit, &QComboBox::currentIndexChanged, this, &TokensPage::applyChoice);
    connect(m_side, &QComboBox::currentIndexChanged, this, &TokensPage::applyChoice);
    connect(m_biases, &QCheckBox::toggled, this, &TokensPage::applyChoice);
    connect(m_scale, &QCheckBox::toggled, this, &TokensPage::applyChoice);
    for (const auto signal : {&OpenModel::opened, &OpenModel::circuitsChanged})
        connect(workspace()->model(), signal, this, &TokensPage::applyChoice);
    connect(workspace()->selection(), &Selection::rotaryOffsetChanged, this, &TokensPage::applyChoice);
    connect(m_edit, &TokenEdit::tokenChosen, this, [this](int token) {
        m_problem->hide();
        this->workspace()->selection()->setToken(token);
    });
    connect(m_edit, &TokenEdit::notFound, this, [this](const QString& message) {
        m_problem->setText(message);
        m_problem->show();
    });
    connect(m_panel, &TokensPanel::tokenActivated, workspace()->selection(), &Selection::setToken);
    connect(m_panel, &Page::readOutChanged, this, &Page::readOutChanged);
}

void TokensPage::applyChoice()
{
    const bool isDirect = m_circuit->currentData().toInt() == tokensPageDirectPath;
    const auto kind =
        isDirect ? CircuitKind::FullOv : static_cast<CircuitKind>(m_circuit->currentData().toInt());
    auto* sides = qobject_cast<QStandardItemModel*>(m_side->model());
    sides->item(m_side->findData(largestOfAll))->setEnabled(!isDirect);
    if (isDirect && m_side->currentData().toInt() == largestOfAll)
        return m_side->setCurrentIndex(0); // this is called again
    const bool isOfAll = m_side->currentData().toInt() == largestOfAll;
    m_scale->setEnabled(kind == CircuitKind::FullQk && !isOfAll);
    m_offset->setEnabled(kind == CircuitKind::FullQk);
    m_biases->setEnabled(!isOfAll);
    m_filter->setEnabled(!isOfAll);
    m_ids->setEnabled(!isOfAll);
    m_panel->setVisible(!isOfAll);
    m_largest->setVisible(isOfAll);
    m_largest->setCircuit(kind, workspace()->selection()->rotaryOffset());
    if (isOfAll)
        return;
    m_panel->setTerms(
        {m_biases->isChecked(), m_scale->isChecked(), workspace()->selection()->rotaryOffset()});
    if (isDirect)
        m_panel->setDirectPath();
    else
        m_panel->setKind(kind);
    m_panel->setSide(static_cast<TableSide>(m_side->currentData().toInt()));
}

ViewFields TokensPage::viewFields()
{
    return ViewFields()
        .add("circuit", m_circuit)
        .add("side", m_side)
        .add("biases", m_biases)
        .add("scale", m_scale)
        .add("ids", m_ids);
}

QList<FigureSource*> TokensPage::figures()
{
    const bool isOfAll = m_side->currentData().toInt() == largestOfAll;
    return (isOfAll ? m_largest->figures() : m_panel->figures()) + m_effect->figures();
}

} // namespace headwise::ui
