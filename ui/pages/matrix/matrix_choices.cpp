#include "ui/pages/matrix/matrix_choices.h"

#include "core/tokenizer/token_search.h"
#include "ui/base/theme.h"
#include "ui/document/workspace.h"
#include "ui/pages/parts/offset_box.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>

namespace headwise::ui {

namespace {
constexpr int matrixSampleSize = 40;
constexpr int directPathChoice = -1;         // index among the circuits
constexpr Eigen::Index largestFormed = 1024; // tokens; larger circuits use tiles
} // namespace

MatrixChoices::MatrixChoices(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_circuit(new QComboBox(this))
    , m_which(new QComboBox(this))
    , m_form(new QComboBox(this))
    , m_order(new QComboBox(this))
    , m_biases(new QCheckBox(tr("biases"), this))
    , m_scale(new QCheckBox(tr("scale"), this))
    , m_offset(new OffsetBox(workspace, this))
    , m_text(new QLineEdit(this))
{
    fillChoices();
    createLayout();
    connectChoices();
}

void MatrixChoices::fillChoices()
{
    m_circuit->addItem(tr("OV: W_V W_O"), static_cast<int>(CircuitKind::Ov));
    m_circuit->addItem(tr("QK: W_Q W_Kᵀ"), static_cast<int>(CircuitKind::Qk));
    m_circuit->addItem(tr("full OV: E W_V W_O W_U"), static_cast<int>(CircuitKind::FullOv));
    m_circuit->addItem(tr("full QK: E W_Q W_Kᵀ Eᵀ"), static_cast<int>(CircuitKind::FullQk));
    m_circuit->addItem(tr("direct path: E W_U"), directPathChoice);
    m_circuit->setItemData(m_circuit->count() - 1,
                           tr("Bigrams of the model without layers; includes b_U if biases are on"),
                           Qt::ToolTipRole);
    m_circuit->setAccessibleName(tr("Circuit shown"));
    m_which->addItem(tr("tokens of a text"));
    m_which->addItem(tr("all tokens"));
    m_which->setAccessibleName(tr("Tokens shown"));
    m_text->setPlaceholderText(tr("Text; empty: a sample"));
    m_text->setToolTip(tr("Text whose tokens form the rows and columns; without text, a sample of words"));
    m_text->setAccessibleName(tr("Tokens of the rows and columns"));
    m_text->setFont(tokenFont());
    m_text->setTextMargins(4, 0, 4, 0);
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
        "By index: in text order, or by id for all tokens (by frequency in most vocabularies). By norm: largest rows and columns first. By singular vector: along the u and v selected on Vectors (initially the first), so that similar rows and columns are neighbours. By count: by frequency in your own text; give its counts to an analysis such as Token prior. By cluster: rows and columns with similar directions together."));
    m_biases->setToolTip(tr("x W + b in place of x W on both sides: the form with d_model + 1 rows"));
    m_scale->setToolTip(tr("Scores times the attention's scale, 1/√d_head unless the family says otherwise"));
}

void MatrixChoices::createLayout()
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
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addLayout(choices);
}

void MatrixChoices::connectChoices()
{
    for (QComboBox* choice : {m_circuit, m_which, m_form, m_order})
        connect(choice, &QComboBox::currentIndexChanged, this, [this] {
            setTermsOfSoftmax();
            emit changed();
        });
    for (QCheckBox* term : {m_biases, m_scale})
        connect(term, &QCheckBox::toggled, this, [this, term] {
            m_turnedOn.erase(term); // now chosen by the user
            emit changed();
        });
    connect(m_text, &QLineEdit::editingFinished, this, [this] {
        chooseTokens();
        emit changed();
    });
    connect(m_workspace->model(), &OpenModel::replaced, m_text, &QLineEdit::clear);
    connect(m_workspace->model(), &OpenModel::circuitsChanged, this, [this] {
        chooseTokens();
        emit changed();
    });
    connect(m_workspace->selection(), &Selection::headChanged, this, &MatrixChoices::changed);
    connect(m_workspace->selection(), &Selection::rotaryOffsetChanged, this, [this] {
        if (isOfScores())
            emit changed();
    });
    connect(m_workspace->model(), &OpenModel::tokensChanged, this, &MatrixChoices::changed);
    const auto changeIf = [this](CircuitPicture::Order order) {
        if (m_order->currentData().toInt() == static_cast<int>(order))
            emit changed();
    };
    connect(m_workspace->selection(), &Selection::directionChanged, this,
            [changeIf] { changeIf(CircuitPicture::Order::ByVector); });
    connect(m_workspace->runs(), &Runs::inputsChanged, this,
            [changeIf] { changeIf(CircuitPicture::Order::ByCount); });
    chooseTokens();
}

bool MatrixChoices::isDirect() const
{
    return m_circuit->currentData().toInt() == directPathChoice;
}

CircuitKind MatrixChoices::kind() const
{
    return isDirect() ? CircuitKind::FullOv : static_cast<CircuitKind>(m_circuit->currentData().toInt());
}

bool MatrixChoices::isOfScores() const
{
    return kind() == CircuitKind::Qk || kind() == CircuitKind::FullQk;
}

bool MatrixChoices::isTokenCircuit() const
{
    return kind() == CircuitKind::FullQk || kind() == CircuitKind::FullOv;
}

bool MatrixChoices::isOfAllTokens() const
{
    return isTokenCircuit() && !isDirect() && m_which->currentIndex() == 1;
}

bool MatrixChoices::isTiled() const
{
    const auto tokens = m_workspace->model()->tokens();
    return isOfAllTokens() && tokens && std::max(tokens->E.count(), tokens->W_U.count()) > largestFormed;
}

bool MatrixChoices::isSoftmaxOfScores() const
{
    return kind() == CircuitKind::FullQk && !isTiled()
        && m_form->currentData().toInt() == static_cast<int>(RowForm::Softmax);
}

void MatrixChoices::setTermsOfSoftmax()
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

QString MatrixChoices::formText() const
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

CircuitTerms MatrixChoices::terms() const
{
    return {m_biases->isChecked(), m_scale->isChecked() && m_scale->isEnabled(),
            isOfScores() ? m_workspace->selection()->rotaryOffset() : 0};
}

QString MatrixChoices::termsText() const
{
    const CircuitTerms chosen = terms();
    if (isDirect())
        return chosen.biases ? tr("with b_U") : tr("no bias");
    return QStringLiteral("%1, %2%3")
        .arg(chosen.scale ? tr("scaled") : tr("no scale"), chosen.biases ? tr("with biases") : tr("no bias"),
             offsetText(chosen.offset));
}

void MatrixChoices::chooseTokens()
{
    m_tokens.clear();
    if (!m_workspace->model()->isOpen())
        return;
    const auto tokenizer = m_workspace->model()->tokenizer();
    if (tokenizer && !m_text->text().isEmpty()) {
        const auto ids = tokenizer->encode(m_text->text().toStdString(), Tokenizer::SpecialTokens::None);
        if (ids)
            for (const int id : *ids)
                if (std::find(m_tokens.begin(), m_tokens.end(), id) == m_tokens.end())
                    m_tokens.push_back(id);
    }
    if (m_tokens.empty() && tokenizer)
        m_tokens = sampleOfWords(*tokenizer, matrixSampleSize);
    std::erase_if(m_tokens, [this](int id) { return id >= m_workspace->model()->card().dVocab; });
    if (m_tokens.empty()) {
        m_tokens.resize(
            static_cast<std::size_t>(std::min(matrixSampleSize, m_workspace->model()->card().dVocab)));
        std::iota(m_tokens.begin(), m_tokens.end(), 0);
    }
    std::erase_if(m_tokens, [this](int id) { return id >= m_workspace->model()->card().dVocab; });
}

std::vector<int> MatrixChoices::rowTokens() const
{
    if (!isOfAllTokens())
        return m_tokens;
    std::vector<int> all(static_cast<std::size_t>(m_workspace->model()->tokens()->E.count()));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

std::vector<int> MatrixChoices::columnTokens() const
{
    if (!isOfAllTokens() || kind() == CircuitKind::FullQk)
        return rowTokens();
    std::vector<int> all(static_cast<std::size_t>(m_workspace->model()->tokens()->W_U.count()));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

CircuitPicture MatrixChoices::picture() const
{
    CircuitPicture picture{.circuits = m_workspace->model()->circuits(),
                           .tokens = m_workspace->model()->tokens(),
                           .tokenizer = m_workspace->model()->tokenizer(),
                           .of = {kind(), m_workspace->selection()->head(), terms()},
                           .isDirect = isDirect(),
                           .isTiled = isTiled(),
                           .counts = m_workspace->runs()->inputs().tokenCounts,
                           .order = static_cast<CircuitPicture::Order>(m_order->currentData().toInt()),
                           .vector = m_workspace->selection()->direction().index,
                           .form = static_cast<RowForm>(m_form->currentData().toInt()),
                           .rows = {},
                           .columns = {}};
    if (isTokenCircuit()) {
        picture.rows = rowTokens();
        picture.columns = columnTokens();
    }
    return picture;
}

QString MatrixChoices::circuit() const
{
    return m_circuit->currentText();
}

void MatrixChoices::updateEnabled()
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
        ->setEnabled(isTokenCircuit() && m_workspace->runs()->inputs().tokenCounts);
}

ViewFields MatrixChoices::viewFields()
{
    return ViewFields()
        .add("text", m_text)
        .add("circuit", m_circuit)
        .add("which", m_which)
        .add("rows", m_form)
        .add("order", m_order)
        .add("biases", m_biases)
        .add("scale", m_scale)
        .then([this] {
            m_turnedOn.clear(); // restored as saved, whoever turned it on
            chooseTokens();
        });
}

} // namespace headwise::ui
