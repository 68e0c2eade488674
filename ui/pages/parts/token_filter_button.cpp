#include "ui/pages/parts/token_filter_button.h"

#include "core/analysis/inputs/token_counts.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSpinBox>
#include <QWidgetAction>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr double mostNorm = 1e6;
constexpr double mostCount = 1e15;
enum Script { Any, Ascii, Words };

QWidget* range(QWidget* low, QWidget* high)
{
    auto* box = new QWidget;
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    row->addWidget(low, 1);
    row->addWidget(new QLabel(QStringLiteral("–"), box));
    row->addWidget(high, 1);
    return box;
}

} // namespace

TokenFilterButton::TokenFilterButton(Workspace* workspace, Role role, QWidget* parent)
    : QToolButton(parent)
    , m_workspace(workspace)
    , m_role(role)
    , m_firstId(new QSpinBox)
    , m_lastId(new QSpinBox)
    , m_lowestNorm(new QDoubleSpinBox)
    , m_highestNorm(new QDoubleSpinBox)
    , m_lowestCount(new QDoubleSpinBox)
    , m_script(new QComboBox)
    , m_space(new QComboBox)
    , m_noSpecials(new QCheckBox(tr("no special tokens")))
    , m_trained(new QCheckBox(tr("no untrained tokens")))
{
    setPopupMode(QToolButton::InstantPopup);
    setToolTip(tr("Limits the tokens in tables, ranks and searches, on every page"));
    setAccessibleName(tr("Token filter"));
    auto* menu = new QMenu(this);
    auto* holder = new QWidgetAction(menu);
    holder->setDefaultWidget(makeForm());
    menu->addAction(holder);
    setMenu(menu);
    limitToModel();
    followCounts();
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        connect(workspace->model(), signal, this, &TokenFilterButton::limitToModel);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed})
        connect(workspace->model(), signal, this, &TokenFilterButton::followCounts);
    connect(workspace->runs(), &Runs::inputsChanged, this, &TokenFilterButton::followCounts);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, &TokenFilterButton::showFilter);
}

QWidget* TokenFilterButton::makeForm()
{
    auto* form = new QWidget;
    m_firstId->setAccessibleName(tr("First id"));
    m_lastId->setAccessibleName(tr("Last id"));
    m_lowestNorm->setAccessibleName(tr("Lowest embedding norm"));
    m_highestNorm->setAccessibleName(tr("Highest embedding norm"));
    m_script->addItems({tr("any text"), tr("printable ASCII"), tr("words: letters only")});
    m_script->setAccessibleName(tr("Script"));
    m_space->addItems({tr("with or without"), tr("with"), tr("without")});
    m_space->setAccessibleName(tr("Leading space"));
    m_trained->setToolTip(tr(
        "Untrained tokens, whose embeddings are close to the mean row of W_E, crowd both ends of every table"));
    for (QDoubleSpinBox* norm : {m_lowestNorm, m_highestNorm}) {
        norm->setRange(0, mostNorm);
        norm->setDecimals(3);
        norm->setSpecialValueText(tr("any"));
        norm->setToolTip(tr("Norm of the token's row of W_E, for the weights in use"));
        connect(norm, &QDoubleSpinBox::editingFinished, this, &TokenFilterButton::apply);
    }
    m_lowestCount->setAccessibleName(tr("Lowest count"));
    m_lowestCount->setRange(0, mostCount);
    m_lowestCount->setDecimals(0);
    m_lowestCount->setSpecialValueText(tr("any"));
    connect(m_lowestCount, &QDoubleSpinBox::editingFinished, this, &TokenFilterButton::apply);
    for (QSpinBox* id : {m_firstId, m_lastId})
        connect(id, &QSpinBox::editingFinished, this, &TokenFilterButton::apply);
    for (QComboBox* choice : {m_script, m_space})
        connect(choice, &QComboBox::activated, this, &TokenFilterButton::apply);
    for (QCheckBox* box : {m_noSpecials, m_trained})
        connect(box, &QCheckBox::clicked, this, &TokenFilterButton::apply);
    auto* none = new QPushButton(tr("Use all tokens"), form);
    connect(none, &QPushButton::clicked, this, [this] { setFilter({}); });
    auto* layout = new QFormLayout(form);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addRow(tr("Ids"), range(m_firstId, m_lastId));
    layout->addRow(tr("Embedding norm"), range(m_lowestNorm, m_highestNorm));
    layout->addRow(tr("Occurs at least"), m_lowestCount);
    layout->addRow(tr("Text"), m_script);
    layout->addRow(tr("Leading space"), m_space);
    layout->addRow(m_noSpecials);
    layout->addRow(m_trained);
    layout->addRow(none);
    return form;
}

void TokenFilterButton::limitToModel()
{
    const int last = m_workspace->model()->isOpen() ? m_workspace->model()->card().dVocab - 1 : 0;
    for (QSpinBox* id : {m_firstId, m_lastId})
        id->setRange(0, last);
    showFilter();
    for (QWidget* ofText : std::initializer_list<QWidget*>{m_script, m_space, m_noSpecials})
        ofText->setEnabled(m_workspace->model()->tokenizer() != nullptr);
}

void TokenFilterButton::followCounts()
{
    const auto counts = m_workspace->runs()->inputs().tokenCounts;
    m_lowestCount->setEnabled(counts != nullptr);
    m_lowestCount->setToolTip(
        counts
            ? tr("Count in the text of %1").arg(ui::text(counts->source()))
            : tr(
                "Token counts are unknown. Choose a file of counts on the Analyses page, under Token prior"));
}

TokenFilter TokenFilterButton::filter() const
{
    TokenFilter filter;
    filter.asciiOnly = m_script->currentIndex() == Ascii;
    filter.wordsOnly = m_script->currentIndex() == Words;
    filter.trainedOnly = m_trained->isChecked();
    filter.noSpecials = m_noSpecials->isChecked();
    filter.leadingSpace = static_cast<TokenFilter::LeadingSpace>(m_space->currentIndex());
    filter.firstId = m_firstId->value();
    if (m_lastId->value() < m_lastId->maximum())
        filter.lastId = m_lastId->value();
    filter.lowestNorm = m_lowestNorm->value();
    if (m_highestNorm->value() > 0)
        filter.highestNorm = m_highestNorm->value();
    filter.lowestCount = m_lowestCount->value();
    return filter;
}

void TokenFilterButton::setFilter(const TokenFilter& filter)
{
    m_workspace->filteredTokens()->setFilter(filter);
    showFilter();
}

void TokenFilterButton::apply()
{
    setFilter(filter());
}

void TokenFilterButton::showFilter()
{
    const TokenFilter& filter = m_workspace->filteredTokens()->wantedFilter();
    m_script->setCurrentIndex(filter.wordsOnly ? Words : filter.asciiOnly ? Ascii : Any);
    m_trained->setChecked(filter.trainedOnly);
    m_noSpecials->setChecked(filter.noSpecials);
    m_space->setCurrentIndex(static_cast<int>(filter.leadingSpace));
    m_firstId->setValue(filter.firstId);
    m_lastId->setValue(std::min(filter.lastId, m_lastId->maximum()));
    m_lowestNorm->setValue(filter.lowestNorm);
    m_lowestCount->setValue(filter.lowestCount);
    m_highestNorm->setValue(filter.highestNorm <= mostNorm ? filter.highestNorm : 0);
    const bool isOn = m_workspace->filteredTokens()->filter().isOn();
    setEnabled(m_workspace->model()->hasModel()); // a session's tables are as they were written
    setVisible(m_role == Role::Choice || isOn);
    const auto leftOut = m_workspace->filteredTokens()->count();
    setText(!isOn              ? tr("all tokens")
                : leftOut == 1 ? tr("1 token left out")
                               : tr("%1 tokens left out").arg(ui::count(leftOut)));
}

} // namespace headwise::ui
