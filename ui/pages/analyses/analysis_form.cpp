#include "ui/pages/analyses/analysis_form.h"

#include "core/analysis/inputs/token_cycle.h"
#include "core/analysis/prompt/score_positions.h"
#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/analyses/analysis_list.h"
#include "ui/pages/analyses/direction_input.h"
#include "ui/pages/analyses/heads_input.h"
#include "ui/pages/analyses/text_inputs.h"
#include "ui/pages/parts/first_prompt.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QSpinBox>
#include <QVBoxLayout>

#include <limits>

namespace headwise::ui {

AnalysisForm::AnalysisForm(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_rows(new QFormLayout)
    , m_prompt(new QPlainTextEdit(this))
    , m_token(new QLabel(this))
    , m_keyToken(new QLineEdit(this))
    , m_cycle(new QLineEdit(this))
    , m_positions(new QWidget(this))
    , m_query(new QSpinBox(m_positions))
    , m_key(new QSpinBox(m_positions))
    , m_positionTokens(new QLabel(m_positions))
    , m_pair(new QWidget(this))
    , m_reference(new QLineEdit(m_pair))
    , m_selected(new QLabel(m_pair))
    , m_direction(new DirectionInput(workspace, this))
    , m_previousToken(new QLineEdit(this))
    , m_metric(new QComboBox(this))
    , m_heads(new HeadsInput(workspace, this))
    , m_seed(new QSpinBox(this))
    , m_problem(new QLabel(this))
{
    createFields();
    createRows();
    createWords();
    createPositions();
    createMetric();
    connect(m_prompt, &QPlainTextEdit::textChanged, this, &AnalysisForm::apply);
    for (QLineEdit* edit : {m_keyToken, m_cycle, m_previousToken})
        connect(edit, &QLineEdit::editingFinished, this, &AnalysisForm::apply);
    connect(m_texts, &TextInputs::loaded, this, &AnalysisForm::apply);
    connect(m_texts, &TextInputs::said, this, [this](const QString& sentence) {
        m_problem->setText(sentence);
        m_problem->show();
    });
    connect(m_direction, &DirectionInput::changed, this, &AnalysisForm::apply);
    connect(m_direction, &DirectionInput::nameRead, this, &AnalysisForm::directionRead);
    connect(m_heads, &HeadsInput::changed, this, &AnalysisForm::apply);
    connect(m_metric, &QComboBox::activated, this, &AnalysisForm::apply);
    for (QSpinBox* number : {m_query, m_key, m_seed})
        connect(number, &QSpinBox::valueChanged, this, &AnalysisForm::apply);
    connect(m_reference, &QLineEdit::editingFinished, this, [this] {
        const auto head = parseHeadId(m_reference->text().toStdString());
        if (head)
            m_workspace->selection()->setReference(*head);
        showSelection();
    });
    connect(workspace->selection(), &Selection::tokenChanged, this, &AnalysisForm::showSelection);
    connect(workspace->selection(), &Selection::headChanged, this, &AnalysisForm::showSelection);
    connect(workspace->selection(), &Selection::referenceChanged, this, &AnalysisForm::showSelection);
    connect(workspace->runs(), &Runs::inputsChanged, this, &AnalysisForm::showHeads);
    connect(workspace->model(), &OpenModel::replaced, this, &AnalysisForm::forget);
    connect(workspace->model(), &OpenModel::circuitsChanged, this, &AnalysisForm::suggest);
    connect(workspace->model(), &OpenModel::opened, this, &AnalysisForm::suggest);
    suggest();
}

void AnalysisForm::createFields()
{
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setHorizontalSpacing(16);
    m_rows->setVerticalSpacing(8);
    m_prompt->setFont(tokenFont());
    m_prompt->setTabChangesFocus(true);
    m_prompt->setFixedHeight(2 * QFontMetrics(tokenFont()).lineSpacing() + 14);
    m_prompt->setAccessibleName(tr("Prompt"));
    m_token->setFont(tokenFont());
    m_token->setToolTip(tr("The selected token. Ctrl+F finds another."));
    m_reference->setFixedWidth(72);
    m_reference->setAlignment(Qt::AlignCenter);
    m_reference->setPlaceholderText(QStringLiteral("0.1"));
    m_reference->setAccessibleName(tr("Reference head"));
    m_reference->setToolTip(tr("Layer.head; Shift+click in a grid of heads marks it too"));
    auto* pair = new QHBoxLayout(m_pair);
    pair->setContentsMargins(0, 0, 0, 0);
    pair->setSpacing(8);
    pair->addWidget(m_reference);
    pair->addWidget(m_selected);
    pair->addStretch();
    m_seed->setRange(0, std::numeric_limits<int>::max());
    m_seed->setAccessibleName(tr("Seed"));
    m_seed->setToolTip(tr("Seed for random baselines and samples"));
    m_seed->setFixedWidth(110);
    makeSecondary(m_problem);
    m_problem->setWordWrap(true);
}

void AnalysisForm::createRows()
{
    m_rows->addRow(tr("Heads"), m_heads);
    m_rows->addRow(tr("Prompt"), m_prompt);
    m_rows->addRow(tr("Query, key"), m_positions);
    m_rows->addRow(tr("Token"), m_token);
    m_rows->addRow(tr("Key token"), m_keyToken);
    m_rows->addRow(tr("Cycle of ids"), m_cycle);
    m_rows->addRow(tr("Reference, head"), m_pair);
    m_rows->addRow(tr("Direction"), m_direction);
    m_rows->addRow(tr("Previous-token heads"), m_previousToken);
    m_texts = new TextInputs(m_workspace, m_rows, this);
    m_rows->addRow(tr("Metric"), m_metric);
    m_rows->addRow(tr("Seed"), m_seed);
    m_problem->hide();
    // Not one of the rows: Qt 6.4 writes past its rows if a wrapped one was there before and others were removed.
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(m_rows);
    layout->addWidget(m_problem);
}

void AnalysisForm::createWords()
{
    m_keyToken->setFont(tokenFont());
    m_keyToken->setFixedWidth(140);
    m_keyToken->setPlaceholderText(tr("none"));
    m_keyToken->setAccessibleName(tr("Key token"));
    m_keyToken->setToolTip(
        tr("A token, or #id: the score of the selected token's query with its key, by offset"));
    m_cycle->setMaximumWidth(240);
    m_cycle->setPlaceholderText(tr("all ids; e.g. 0-112"));
    m_cycle->setAccessibleName(tr("Cycle of ids"));
    m_cycle->setToolTip(tr("Token ids in cycle order: a range, or a list of ids and ranges"));
    m_previousToken->setPlaceholderText(tr("none; e.g. 0.1, 4.11"));
    m_previousToken->setMaximumWidth(240);
    m_previousToken->setAccessibleName(tr("Heads known to attend to the previous token"));
    m_previousToken->setToolTip(tr(
        "Known previous-token heads. The ranking treats them as certain, whatever their score from weights"));
}

void AnalysisForm::createPositions()
{
    auto* row = new QHBoxLayout(m_positions);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    for (QSpinBox* position : {m_query, m_key}) {
        position->setRange(-1, std::numeric_limits<int>::max());
        position->setValue(-1);
        position->setFixedWidth(110);
        row->addWidget(position);
    }
    m_query->setSpecialValueText(tr("the last"));
    m_query->setAccessibleName(tr("Position of the query"));
    m_query->setToolTip(tr("Query position in the prompt, from 0. Default: the last token"));
    m_key->setSpecialValueText(tr("the strongest"));
    m_key->setAccessibleName(tr("Position of the key"));
    m_key->setToolTip(tr("Key position. Default: the key each head attends to most"));
    makeSecondary(m_positionTokens);
    m_positionTokens->setFont(tokenFont());
    row->addWidget(m_positionTokens);
    row->addStretch();
}

void AnalysisForm::createMetric()
{
    m_metric->addItem(tr("Identity"), static_cast<int>(ResidualMetric::Identity));
    m_metric->addItem(tr("Embedding covariance"), static_cast<int>(ResidualMetric::Embedding));
    m_metric->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_metric->setAccessibleName(tr("Metric of the residual stream"));
    m_metric->setToolTip(tr("How norms in the residual stream are measured"));
    m_metric->setWhatsThis(tr(
        "A norm treats all residual directions as equally important. The embedding covariance weights each direction by how much token embeddings vary along it. "
        "This changes norms, angles and composition scores, but not full circuits."));
}

void AnalysisForm::showHeads()
{
    const bool isAsked = m_heads->isAsked();
    m_heads->setVisible(isAsked);
    m_rows->labelForField(m_heads)->setVisible(isAsked);
    if (isAsked)
        m_heads->showChoice();
}

void AnalysisForm::setNeeds(const Analysis& analysis)
{
    m_analysis = &analysis;
    m_heads->setAnalysis(analysis);
    showHeads();
    const auto show = [this](QWidget* field, bool on) {
        field->setVisible(on);
        m_rows->labelForField(field)->setVisible(on);
    };
    show(m_prompt, analysis.usesPrompt());
    show(m_positions, analysis.uses.positions);
    show(m_token, analysis.usesToken());
    show(m_keyToken, analysis.uses.keyToken);
    show(m_cycle, analysis.uses.cycle);
    show(m_pair, analysis.needs.pair);
    show(m_direction, analysis.needs.direction);
    show(m_previousToken, analysis.uses.previousTokenHeads);
    show(m_metric, analysis.followsMetric);
    m_texts->setNeeds(analysis);
    layout()->activate(); // otherwise hidden fields count until it is shown, and the window grows
    apply();
}

void AnalysisForm::forget()
{
    const QSignalBlocker quietPrompt(m_prompt), quietQuery(m_query), quietKey(m_key);
    m_suggestedPrompt.clear();
    m_prompt->clear();
    m_query->setValue(-1);
    m_key->setValue(-1);
    m_positionTokens->clear();
    for (QLineEdit* edit : {m_keyToken, m_cycle, m_previousToken})
        edit->clear();
    m_direction->forget();
    m_heads->forget();
    m_problem->hide();
}

void AnalysisForm::suggest()
{
    m_prompt->setPlaceholderText(promptHint(*m_workspace->model()));
    if (!m_workspace->model()->isOpen())
        return;
    if (m_prompt->toPlainText() == m_suggestedPrompt) {
        m_suggestedPrompt = firstPrompt(*m_workspace->model());
        m_prompt->setPlainText(m_suggestedPrompt);
    }
    m_direction->suggest();
    showSelection();
    apply();
}

void AnalysisForm::showSelection()
{
    if (!m_workspace->model()->isOpen())
        return;
    m_token->setText(QStringLiteral("%1  #%2")
                         .arg(m_workspace->model()->tokenText(m_workspace->selection()->token()))
                         .arg(m_workspace->selection()->token()));
    const auto reference = m_workspace->selection()->reference();
    m_reference->setText(reference ? text(dottedHead(*reference)) : QString());
    m_selected->setText(tr("and %1").arg(text(m_workspace->selection()->head())));
    showHeads();
}

std::vector<int> AnalysisForm::readPrompt(QString& problem) const
{
    const auto tokenizer = m_workspace->model()->tokenizer();
    const QString words = m_prompt->toPlainText();
    const auto ids = promptTokens(words.toStdString(), tokenizer.get(), m_workspace->model()->card().dVocab);
    if (!ids && !words.isEmpty())
        problem = text(ids.error());
    return ids ? *ids : std::vector<int>();
}

std::optional<int> AnalysisForm::readKeyToken(QString& problem) const
{
    if (m_keyToken->text().isEmpty())
        return std::nullopt;
    const int id = tokenOf(*m_workspace, m_keyToken->text());
    if (id >= 0 && id < m_workspace->model()->card().dVocab)
        return id;
    problem += tr("'%1' is not one token of this model.").arg(m_keyToken->text());
    return std::nullopt;
}

void AnalysisForm::readPositions(AnalysisInputs& inputs, QString& problem) const
{
    if (m_query->value() >= 0)
        inputs.queryPosition = m_query->value();
    if (m_key->value() >= 0)
        inputs.keyPosition = m_key->value();
    m_positionTokens->clear();
    if (inputs.prompt.empty())
        return;
    if (const auto checked = checkScorePositions(inputs); !checked) {
        problem += text(checked.error());
        inputs.queryPosition.reset();
        inputs.keyPosition.reset();
        return;
    }
    const auto token = [&](int position) {
        return m_workspace->model()->tokenText(inputs.prompt[static_cast<std::size_t>(position)]);
    };
    const QString query = token(scoreQuery(inputs));
    m_positionTokens->setText(
        inputs.keyPosition ? QStringLiteral("%1 → %2").arg(query, token(*inputs.keyPosition)) : query);
}

void AnalysisForm::setPositions(int query, int key)
{
    m_query->setValue(query);
    m_key->setValue(key);
}

void AnalysisForm::setDirection(const QString& name)
{
    m_direction->setName(name);
}

std::vector<HeadId> AnalysisForm::readHeads(QString& problem) const
{
    static const QRegularExpression between(QStringLiteral("[\\s,]+"));
    const ModelCard& card = m_workspace->model()->card();
    std::vector<HeadId> heads;
    for (const QString& word : m_previousToken->text().split(between, Qt::SkipEmptyParts)) {
        const auto head = parseHeadId(word.toStdString());
        if (!head || head->layer >= card.nLayers || head->head >= card.nHeads) {
            problem += tr("'%1' is not a head of this model; write layer.head, as in 0.1.").arg(word);
            return {};
        }
        heads.push_back(*head);
    }
    return heads;
}

bool AnalysisForm::apply()
{
    if (!m_workspace->model()->isOpen())
        return false;
    QString problem;
    AnalysisInputs inputs;
    inputs.prompt = readPrompt(problem);
    if (!m_analysis->usesPrompt())
        problem.clear();
    QString ofDirection;
    if (m_analysis->needs.direction) {
        inputs.direction = m_direction->read(ofDirection);
        inputs.directionName = m_direction->name().toStdString();
    }
    problem += ofDirection;
    if (!m_positions->isHidden())
        readPositions(inputs, problem);
    if (!m_keyToken->isHidden())
        inputs.keyToken = readKeyToken(problem);
    if (!m_cycle->isHidden() && !m_cycle->text().isEmpty()) {
        const auto ids = parseTokenCycle(m_cycle->text().toStdString());
        if (ids)
            inputs.cycle = *ids;
        else
            problem += text(ids.error());
    }
    if (!m_previousToken->isHidden())
        inputs.previousTokenHeads = readHeads(problem);
    const AnalysisInputs before = m_workspace->runs()->inputs();
    inputs.relations = before.relations;
    inputs.names = before.names;
    inputs.tokenCounts = before.tokenCounts;
    inputs.bigramCounts = before.bigramCounts;
    inputs.metric = static_cast<ResidualMetric>(m_metric->currentData().toInt());
    inputs.seed = static_cast<std::uint64_t>(m_seed->value());
    const bool knowsHeads = m_heads->apply(problem);
    m_problem->setText(problem);
    m_problem->setVisible(!problem.isEmpty());
    m_workspace->runs()->setInputs(inputs);
    return knowsHeads;
}

QString AnalysisForm::prompt() const
{
    return m_prompt->toPlainText();
}

void AnalysisForm::setPrompt(const QString& prompt)
{
    m_prompt->setPlainText(prompt);
}

int AnalysisForm::seed() const
{
    return m_seed->value();
}

void AnalysisForm::setSeed(int seed)
{
    m_seed->setValue(seed);
}

} // namespace headwise::ui
