#include "ui/pages/analysis_form.h"

#include "core/analysis/direction_source.h"
#include "core/analysis/relation_file.h"
#include "core/analysis/run_estimate.h"
#include "core/io/token_search.h"
#include "core/model/head_list.h"
#include "ui/pages/analysis_list.h"
#include "ui/pages/prompt_page.h"
#include "ui/pages/text_inputs.h"
#include "ui/text.h"
#include "ui/theme.h"

#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>

namespace headwise::ui {

AnalysisForm::AnalysisForm(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_rows(new QFormLayout)
    , m_prompt(new QPlainTextEdit(this))
    , m_token(new QLabel(this))
    , m_keyToken(new QLineEdit(this))
    , m_pair(new QWidget(this))
    , m_reference(new QLineEdit(m_pair))
    , m_selected(new QLabel(m_pair))
    , m_direction(new QWidget(this))
    , m_to(new QLineEdit(m_direction))
    , m_from(new QLineEdit(m_direction))
    , m_space(new QComboBox(m_direction))
    , m_directionFile(new QPushButton(tr("File…"), m_direction))
    , m_previousToken(new QLineEdit(this))
    , m_relations(new QWidget(this))
    , m_relationsName(new QLabel(m_relations))
    , m_metric(new QComboBox(this))
    , m_heads(new QWidget(this))
    , m_whichHeads(new QComboBox(m_heads))
    , m_listedHeads(new QLineEdit(m_heads))
    , m_seed(new QSpinBox(this))
    , m_problem(new QLabel(this))
{
    setAcceptDrops(true);
    createFields();
    createRows();
    createKeyToken();
    createMarks();
    createMetric();
    createHeads();
    connect(m_prompt, &QPlainTextEdit::textChanged, this, &AnalysisForm::apply);
    for (QLineEdit* edit : {m_keyToken, m_to, m_from, m_previousToken})
        connect(edit, &QLineEdit::editingFinished, this, &AnalysisForm::apply);
    connect(m_texts, &TextInputs::loaded, this, &AnalysisForm::apply);
    connect(m_texts, &TextInputs::said, this, [this](const QString& sentence) {
        m_problem->setText(sentence);
        m_problem->show();
    });
    for (QComboBox* choice : {m_space, m_metric})
        connect(choice, &QComboBox::activated, this, &AnalysisForm::apply);
    connect(m_seed, &QSpinBox::valueChanged, this, &AnalysisForm::apply);
    connect(m_reference, &QLineEdit::editingFinished, this, [this] {
        const auto head = parseHeadId(m_reference->text().toStdString());
        if (head)
            m_workspace->setReference(*head);
        showSelection();
    });
    connect(workspace, &Workspace::tokenChanged, this, &AnalysisForm::showSelection);
    connect(workspace, &Workspace::headChanged, this, &AnalysisForm::showSelection);
    connect(workspace, &Workspace::referenceChanged, this, &AnalysisForm::showSelection);
    connect(workspace, &Workspace::inputsChanged, this, &AnalysisForm::showRelations);
    connect(workspace, &Workspace::inputsChanged, this, &AnalysisForm::showHeads);
    connect(workspace, &Workspace::circuitsChanged, this, &AnalysisForm::suggest);
    connect(workspace, &Workspace::opened, this, &AnalysisForm::suggest);
    suggest();
    showRelations();
}

void AnalysisForm::createFields()
{
    const auto beside = [](QWidget* box, std::initializer_list<QWidget*> fields) {
        auto* row = new QHBoxLayout(box);
        row->setContentsMargins(0, 0, 0, 0);
        row->setSpacing(8);
        for (QWidget* field : fields)
            row->addWidget(field);
        row->addStretch();
    };
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setHorizontalSpacing(16);
    m_rows->setVerticalSpacing(8);
    m_prompt->setFont(tokenFont());
    m_prompt->setTabChangesFocus(true);
    m_prompt->setFixedHeight(2 * QFontMetrics(tokenFont()).lineSpacing() + 14);
    m_prompt->setAccessibleName(tr("Prompt"));
    m_token->setFont(tokenFont());
    m_token->setToolTip(tr("The selected token; find another with Ctrl+F"));
    m_reference->setFixedWidth(72);
    m_reference->setAlignment(Qt::AlignCenter);
    m_reference->setPlaceholderText(QStringLiteral("0.1"));
    m_reference->setAccessibleName(tr("Reference head"));
    m_reference->setToolTip(tr("Layer.head; a Shift+click in a grid of heads marks it too"));
    beside(m_pair, {m_reference, m_selected});
    for (QLineEdit* edit : {m_to, m_from}) {
        edit->setFont(tokenFont());
        edit->setFixedWidth(140);
    }
    m_to->setAccessibleName(tr("Token the direction goes to"));
    m_from->setAccessibleName(tr("Token the direction comes from"));
    m_from->setPlaceholderText(tr("nothing"));
    m_space->addItems({tr("of W_E"), tr("of W_U")});
    m_space->setAccessibleName(tr("Whose vectors"));
    m_to->setToolTip(
        tr("A token; or neuron:5.123:out, what that neuron writes (in: reads); or "
           "singular:1.5:ov:out:1, a singular vector of a head (ov or qk, in or out, from 1); or "
           "FILE.npy"));
    m_directionFile->setAccessibleName(tr("Direction from a file"));
    m_directionFile->setToolTip(tr("A NumPy vector of as many numbers as the residual stream is wide"));
    connect(m_directionFile, &QPushButton::clicked, this, &AnalysisForm::chooseDirection);
    beside(m_direction, {m_to, new QLabel(tr("minus"), m_direction), m_from, m_space, m_directionFile});
    auto* choose = new QPushButton(tr("Choose a file…"), m_relations);
    auto* reset = new QPushButton(tr("Built-in"), m_relations);
    connect(choose, &QPushButton::clicked, this, &AnalysisForm::chooseRelations);
    connect(reset, &QPushButton::clicked, this, [this] { loadRelations({}); });
    m_relationsName->setText(tr("the built-in ones"));
    beside(m_relations, {m_relationsName, choose, reset});
    m_seed->setRange(0, std::numeric_limits<int>::max());
    m_seed->setAccessibleName(tr("Seed"));
    m_seed->setToolTip(tr("Of random baselines and samples"));
    m_seed->setFixedWidth(110);
    makeSecondary(m_problem);
    m_problem->setWordWrap(true);
}

void AnalysisForm::createRows()
{
    m_rows->addRow(tr("Heads"), m_heads);
    m_rows->addRow(tr("Prompt"), m_prompt);
    m_rows->addRow(tr("Token"), m_token);
    m_rows->addRow(tr("Key token"), m_keyToken);
    m_rows->addRow(tr("Reference, head"), m_pair);
    m_rows->addRow(tr("Direction"), m_direction);
    m_rows->addRow(tr("Previous-token heads"), m_previousToken);
    m_rows->addRow(tr("Relations"), m_relations);
    m_texts = new TextInputs(m_workspace, m_rows, this);
    m_rows->addRow(tr("Lengths"), m_metric);
    m_rows->addRow(tr("Seed"), m_seed);
    m_problem->hide();
    // Not one of the rows: Qt 6.4 writes past its rows where one that wraps was there before and others went.
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(m_rows);
    layout->addWidget(m_problem);
}

void AnalysisForm::createKeyToken()
{
    m_keyToken->setFont(tokenFont());
    m_keyToken->setFixedWidth(140);
    m_keyToken->setPlaceholderText(tr("none"));
    m_keyToken->setAccessibleName(tr("Key token"));
    m_keyToken->setToolTip(
        tr("A token, or #id: the score of the selected token's query with its key, by offset"));
}

void AnalysisForm::createMarks()
{
    m_previousToken->setPlaceholderText(tr("none marked; as 0.1, 4.11"));
    m_previousToken->setMaximumWidth(240);
    m_previousToken->setAccessibleName(tr("Heads known to attend to the previous token"));
    m_previousToken->setToolTip(
        tr("Heads that you know to attend to the previous token: the ranking takes them as "
           "certain, whatever their score from weights"));
}

void AnalysisForm::createMetric()
{
    m_metric->addItem(tr("As the weights are"), static_cast<int>(ResidualMetric::Identity));
    m_metric->addItem(tr("Embedding covariance"), static_cast<int>(ResidualMetric::Embedding));
    m_metric->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_metric->setAccessibleName(tr("Lengths in the residual stream"));
    m_metric->setToolTip(tr("How norms in the residual stream are measured"));
    m_metric->setWhatsThis(
        tr("Norms take every direction of the residual stream for as important as any other. By the "
           "covariance of the embedding in use they count in units of how much tokens vary along it: the "
           "weights are taken in the basis in which the embedding varies alike in all directions, which "
           "changes norms, angles and composition scores, and no circuit with tokens on both sides."));
}

void AnalysisForm::createHeads()
{
    m_whichHeads->addItem(tr("all"), static_cast<int>(HeadChoice::Which::All));
    m_whichHeads->addItem(tr("the selected one"), static_cast<int>(HeadChoice::Which::Selected));
    m_whichHeads->addItem(tr("these:"), static_cast<int>(HeadChoice::Which::Listed));
    m_whichHeads->setAccessibleName(tr("Which heads"));
    m_listedHeads->setAccessibleName(tr("Heads asked about"));
    m_listedHeads->setPlaceholderText(QStringLiteral("5.1, 9.6"));
    m_listedHeads->setToolTip(tr("Layer.head, separated by commas; 5.* is every head of layer 5"));
    m_listedHeads->setMaximumWidth(240);
    auto* row = new QHBoxLayout(m_heads);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    row->addWidget(m_whichHeads);
    row->addWidget(m_listedHeads, 1);
    row->addStretch();
    connect(m_whichHeads, &QComboBox::activated, this, [this] {
        const auto which = static_cast<HeadChoice::Which>(m_whichHeads->currentData().toInt());
        if (which == HeadChoice::Which::Listed && m_listedHeads->text().isEmpty())
            m_listedHeads->setText(text(dottedHead(m_workspace->head())));
        m_listedHeads->setVisible(which == HeadChoice::Which::Listed);
        apply();
    });
    connect(m_listedHeads, &QLineEdit::editingFinished, this, &AnalysisForm::apply);
}

void AnalysisForm::showHeads()
{
    const auto circuits = m_workspace->circuits();
    const bool isAsked = m_analysis && circuits
        && takesNamedHeads(*m_analysis, circuits->config(), m_workspace->analysisOptions());
    m_heads->setVisible(isAsked);
    m_rows->labelForField(m_heads)->setVisible(isAsked);
    if (!isAsked)
        return;
    const HeadChoice choice = m_workspace->headChoice(*m_analysis);
    m_whichHeads->setCurrentIndex(m_whichHeads->findData(static_cast<int>(choice.which)));
    m_listedHeads->setVisible(choice.which == HeadChoice::Which::Listed);
    const int selected = m_whichHeads->findData(static_cast<int>(HeadChoice::Which::Selected));
    m_whichHeads->setItemText(selected, tr("the selected one, %1").arg(text(m_workspace->head())));
    const auto typed = parseHeads(m_listedHeads->text().toStdString(), circuits->config().nLayers,
                                  circuits->config().nHeads);
    if (choice.which == HeadChoice::Which::Listed && typed && *typed != choice.listed)
        m_listedHeads->setText(text(headNames(choice.listed)));
}

bool AnalysisForm::applyHeads(QString& problem)
{
    if (m_heads->isHidden() || !m_analysis)
        return true;
    HeadChoice choice{.which = static_cast<HeadChoice::Which>(m_whichHeads->currentData().toInt())};
    if (choice.which == HeadChoice::Which::Listed) {
        const ModelCard& card = m_workspace->card();
        auto heads = parseHeads(m_listedHeads->text().toStdString(), card.nLayers, card.nHeads);
        if (!heads) {
            problem += text(heads.error());
            return false;
        }
        choice.listed = std::move(heads).value();
    }
    m_workspace->setHeadChoice(*m_analysis, choice);
    return true;
}

void AnalysisForm::setNeeds(const Analysis& analysis)
{
    m_analysis = &analysis;
    m_needs = askedInputs(analysis);
    m_listedHeads->clear();
    showHeads();
    const auto show = [this](QWidget* field, bool on) {
        field->setVisible(on);
        m_rows->labelForField(field)->setVisible(on);
    };
    show(m_prompt, m_needs.prompt);
    show(m_token, m_needs.token);
    show(m_keyToken, analysis.id == std::string_view("rotary"));
    show(m_pair, m_needs.pair);
    show(m_direction, m_needs.direction);
    show(m_previousToken, analysis.id == std::string_view("induction"));
    show(m_metric, analysis.followsMetric);
    show(m_relations, m_needs.tokenizer && text(analysis.id).contains(QLatin1String("relation")));
    m_texts->setNeeds(analysis);
    apply();
}

void AnalysisForm::suggest()
{
    const auto tokenizer = m_workspace->tokenizer();
    m_prompt->setPlaceholderText(tokenizer
                                     ? tr("A prompt; the model's own rule for special tokens is followed")
                                     : tr("Token ids, as 17 4 99"));
    if (!m_workspace->isOpen())
        return;
    if (m_prompt->toPlainText() == m_suggestedPrompt) {
        m_suggestedPrompt = tokenizer ? repeatedWords(*tokenizer) : QStringLiteral("1 2 3 4 1 2 3 4");
        m_prompt->setPlainText(m_suggestedPrompt);
    }
    if (m_to->text() == m_suggestedDirection) {
        m_suggestedDirection = tokenizer ? text(tokenizer->decode(std::vector<int>{m_workspace->token()}))
                                         : QStringLiteral("#%1").arg(m_workspace->token());
        m_to->setText(m_suggestedDirection);
    }
    showSelection();
    apply();
}

void AnalysisForm::showSelection()
{
    if (!m_workspace->isOpen())
        return;
    m_token->setText(QStringLiteral("%1  #%2")
                         .arg(m_workspace->tokenText(m_workspace->token()))
                         .arg(m_workspace->token()));
    const auto reference = m_workspace->reference();
    m_reference->setText(reference ? text(dottedHead(*reference)) : QString());
    m_selected->setText(tr("and %1").arg(text(m_workspace->head())));
    showHeads();
}

std::vector<int> AnalysisForm::readPrompt(QString& problem) const
{
    const auto tokenizer = m_workspace->tokenizer();
    const QString words = m_prompt->toPlainText();
    std::vector<int> ids;
    if (tokenizer) {
        const auto encoded = tokenizer->encode(words.toStdString());
        if (encoded)
            ids = *encoded;
        else if (!words.isEmpty())
            problem = text(encoded.error());
        return ids;
    }
    static const QRegularExpression between(QStringLiteral("[\\s,#]+"));
    for (const QString& word : words.split(between, Qt::SkipEmptyParts)) {
        bool isNumber = false;
        const int id = word.toInt(&isNumber);
        if (!isNumber || id < 0 || id >= m_workspace->card().dVocab) {
            problem = tr("'%1' is not a token id below %2.").arg(word).arg(m_workspace->card().dVocab);
            return {};
        }
        ids.push_back(id);
    }
    return ids;
}

int AnalysisForm::tokenOf(const QString& words) const
{
    if (words.startsWith(u'#')) {
        bool isNumber = false;
        const int id = words.mid(1).toInt(&isNumber);
        return isNumber ? id : -1;
    }
    const auto tokenizer = m_workspace->tokenizer();
    const auto ids = tokenizer ? tokenizer->encode(words.toStdString(), Tokenizer::SpecialTokens::None)
                               : Result<std::vector<int>>(std::vector<int>());
    return ids && ids->size() == 1 ? ids->front() : -1;
}

std::optional<int> AnalysisForm::readKeyToken(QString& problem) const
{
    if (m_keyToken->text().isEmpty())
        return std::nullopt;
    const int id = tokenOf(m_keyToken->text());
    if (id >= 0 && id < m_workspace->card().dVocab)
        return id;
    problem += tr("'%1' is not one token of this model.").arg(m_keyToken->text());
    return std::nullopt;
}

void AnalysisForm::setDirection(const QString& name)
{
    m_to->setText(name);
    apply();
}

void AnalysisForm::chooseDirection()
{
    auto* dialog = new QFileDialog(this, tr("Direction"), {}, tr("NumPy vectors (*.npy);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &AnalysisForm::setDirection);
    dialog->open();
}

std::vector<double> AnalysisForm::readNamedDirection(QString& problem)
{
    const std::string name = m_to->text().toStdString();
    const auto circuits = m_workspace->circuits();
    if (m_named.name == name && m_named.circuits == circuits) {
        problem = m_named.problem;
        return m_named.numbers;
    }
    m_directionJob.start(
        tr("Reading %1").arg(m_to->text()),
        [name, circuits](const Task&) { return headwise::readDirection(name, *circuits, nullptr); },
        [this, name, circuits](const Result<std::vector<double>>& found) {
            m_named = {name, circuits, found ? *found : std::vector<double>(),
                       found ? QString() : text(found.error())};
            apply();
            emit directionRead();
        });
    return {};
}

std::vector<double> AnalysisForm::readDirection(QString& problem)
{
    const auto circuits = m_workspace->circuits();
    const bool isNamed = namesNoToken(m_to->text().toStdString());
    m_from->setEnabled(!isNamed);
    m_space->setEnabled(!isNamed);
    if (!circuits || m_to->text().isEmpty())
        return {};
    if (isNamed)
        return readNamedDirection(problem);
    m_directionJob.cancel();
    RowVector<double> direction = RowVector<double>::Zero(circuits->config().dModel);
    for (const QLineEdit* edit : {m_to, m_from}) {
        if (edit->text().isEmpty())
            continue;
        const int id = tokenOf(edit->text());
        const bool ofW_U = m_space->currentIndex() == 1;
        if (id < 0 || id >= (ofW_U ? circuits->config().dVocabOut : circuits->config().dVocab)) {
            problem = tr("'%1' is not one token of this model.").arg(edit->text());
            return {};
        }
        const double sign = edit == m_to ? 1 : -1;
        if (ofW_U)
            direction += sign * circuits->weights().W_U<double>(id, 1).col(0).transpose();
        else
            direction += sign * circuits->weights().W_E<double>(id, 1).row(0);
    }
    return {direction.begin(), direction.end()};
}

std::vector<HeadId> AnalysisForm::readHeads(QString& problem) const
{
    static const QRegularExpression between(QStringLiteral("[\\s,]+"));
    const ModelCard& card = m_workspace->card();
    std::vector<HeadId> heads;
    for (const QString& word : m_previousToken->text().split(between, Qt::SkipEmptyParts)) {
        const auto head = parseHeadId(word.toStdString());
        if (!head || head->layer >= card.nLayers || head->head >= card.nHeads) {
            problem += tr("'%1' is no head of this model; write layer.head, as 0.1.").arg(word);
            return {};
        }
        heads.push_back(*head);
    }
    return heads;
}

bool AnalysisForm::apply()
{
    if (!m_workspace->isOpen())
        return false;
    QString problem;
    AnalysisInputs inputs;
    inputs.prompt = readPrompt(problem);
    if (!m_needs.prompt)
        problem.clear();
    QString ofDirection;
    if (m_needs.direction)
        inputs.direction = readDirection(ofDirection);
    problem += ofDirection;
    if (!m_keyToken->isHidden())
        inputs.keyToken = readKeyToken(problem);
    if (!m_previousToken->isHidden())
        inputs.previousTokenHeads = readHeads(problem);
    const AnalysisInputs before = m_workspace->inputs();
    inputs.relations = before.relations;
    inputs.names = before.names;
    inputs.tokenCounts = before.tokenCounts;
    inputs.bigramCounts = before.bigramCounts;
    inputs.metric = static_cast<ResidualMetric>(m_metric->currentData().toInt());
    inputs.seed = static_cast<std::uint64_t>(m_seed->value());
    const bool knowsHeads = applyHeads(problem);
    m_problem->setText(problem);
    m_problem->setVisible(!problem.isEmpty());
    m_workspace->setInputs(inputs);
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

void AnalysisForm::chooseRelations()
{
    const QString file = QFileDialog::getOpenFileName(this, tr("Pairs of words"), {},
                                                      tr("Relations (*.csv *.json);;All files (*)"));
    if (!file.isEmpty())
        loadRelations(file);
}

void AnalysisForm::loadRelations(const QString& file)
{
    AnalysisInputs inputs = m_workspace->inputs();
    inputs.relations.clear();
    m_relationsFile.clear();
    if (!file.isEmpty()) {
        const auto relations = readRelations(file.toStdString());
        if (!relations) {
            m_workspace->setInputs(inputs);
            apply();
            showRelations();
            m_problem->setText(text(relations.error()));
            return m_problem->show();
        }
        inputs.relations = *relations;
        m_relationsFile = QFileInfo(file).fileName();
    }
    m_workspace->setInputs(inputs);
    apply();
    showRelations();
}

void AnalysisForm::showRelations()
{
    const std::vector<Relation> relations = m_workspace->inputs().relations;
    m_relationsName->setText(relations.empty() ? tr("the built-in ones")
                                 : !m_relationsFile.isEmpty()
                                 ? tr("%1 of %2").arg(relations.size()).arg(m_relationsFile)
                                 : relations.size() == 1 ? text(relations.front().name)
                                                         : tr("%1 lists").arg(relations.size()));
}

void AnalysisForm::dragEnterEvent(QDragEnterEvent* event)
{
    if (!m_relations->isHidden() && event->mimeData()->hasUrls()
        && event->mimeData()->urls().first().isLocalFile())
        event->acceptProposedAction();
}

void AnalysisForm::dropEvent(QDropEvent* event)
{
    event->acceptProposedAction();
    loadRelations(event->mimeData()->urls().first().toLocalFile());
}

} // namespace headwise::ui
