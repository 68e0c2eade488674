#include "ui/pages/heatmap_page.h"

#include "core/io/token_search.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/heatmap_panel.h"
#include "ui/views/job_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>

namespace headwise::ui {

namespace {
constexpr int sampleSize = 40;
}

HeatmapPage::HeatmapPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_circuit(new QComboBox(this))
    , m_text(new QLineEdit(this))
    , m_state(new QLabel(this))
    , m_panel(new HeatmapPanel(this))
{
    createLayout();
    connectSignals();
}

void HeatmapPage::createLayout()
{
    m_circuit->addItem(tr("OV: W_V W_O"), static_cast<int>(CircuitKind::Ov));
    m_circuit->addItem(tr("QK: W_Q W_Kᵀ"), static_cast<int>(CircuitKind::Qk));
    m_circuit->addItem(tr("full OV: E W_V W_O W_U"), static_cast<int>(CircuitKind::FullOv));
    m_circuit->addItem(tr("full QK: E W_Q W_Kᵀ Eᵀ"), static_cast<int>(CircuitKind::FullQk));
    m_text->setPlaceholderText(tr("Text whose tokens are the rows and columns; empty: a sample of words"));
    m_text->setFont(tokenFont());
    m_text->setTextMargins(4, 0, 4, 0);
    makeSecondary(m_state);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_circuit);
    controls->addWidget(m_text, 1);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_state, 1);
    bottom->addWidget(new JobBar(&m_job, this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_panel, 1);
    layout->addLayout(bottom);
    m_panel->view()->setCellShape(HeatmapView::CellShape::Square);
    ColorScale scale;
    scale.fit = ColorFit::Robust; // A few outlying directions would leave the rest without colour.
    m_panel->view()->setColorScale(scale);
}

void HeatmapPage::connectSignals()
{
    HeatmapView* view = m_panel->view();
    connect(m_circuit, &QComboBox::currentIndexChanged, this, &HeatmapPage::refresh);
    connect(m_text, &QLineEdit::editingFinished, this, [this] {
        chooseTokens();
        refresh();
    });
    connect(workspace(), &Workspace::circuitsChanged, this, [this] {
        chooseTokens();
        refresh();
    });
    connect(workspace(), &Workspace::headChanged, this, &HeatmapPage::refresh);
    connect(workspace(), &Workspace::tokensChanged, this, &HeatmapPage::refresh);
    connect(view, &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(view, &HeatmapView::cellHovered, this, [this](int row, int column, float value) {
        emit readOutChanged(
            tr("%1 → %2   %3   row %4 col %5")
                .arg(entryName(row), entryName(column), signedNumber(static_cast<double>(value)))
                .arg(row)
                .arg(column));
    });
    connect(view, &HeatmapView::cellClicked, this, [this](int row, int) {
        if (isTokenCircuit())
            workspace()->setToken(m_tokens[static_cast<std::size_t>(row)]);
    });
}

CircuitKind HeatmapPage::kind() const
{
    return static_cast<CircuitKind>(m_circuit->currentData().toInt());
}

bool HeatmapPage::isTokenCircuit() const
{
    return kind() == CircuitKind::FullQk || kind() == CircuitKind::FullOv;
}

QString HeatmapPage::entryName(int index) const
{
    if (isTokenCircuit() && index < static_cast<int>(m_tokens.size()))
        return workspace()->tokenText(m_tokens[static_cast<std::size_t>(index)]);
    return QString::number(index);
}

void HeatmapPage::chooseTokens()
{
    m_tokens.clear();
    if (!workspace()->isOpen())
        return;
    const auto tokenizer = workspace()->tokenizer();
    if (tokenizer && !m_text->text().isEmpty()) {
        const auto ids = tokenizer->encode(m_text->text().toStdString(), Tokenizer::SpecialTokens::None);
        if (ids)
            for (const int id : *ids)
                if (std::find(m_tokens.begin(), m_tokens.end(), id) == m_tokens.end())
                    m_tokens.push_back(id);
    }
    if (m_tokens.empty() && tokenizer)
        m_tokens = sampleOfWords(*tokenizer, sampleSize);
    std::erase_if(m_tokens, [this](int id) { return id >= workspace()->card().dVocab; });
    if (m_tokens.empty()) {
        m_tokens.resize(static_cast<std::size_t>(std::min(sampleSize, workspace()->card().dVocab)));
        std::iota(m_tokens.begin(), m_tokens.end(), 0);
    }
    std::erase_if(m_tokens, [this](int id) { return id >= workspace()->card().dVocab; });
}

void HeatmapPage::recompute()
{
    m_text->setEnabled(isTokenCircuit());
    HeatmapView* view = m_panel->view();
    const auto circuits = workspace()->circuits();
    if (!circuits) {
        m_job.cancel();
        view->setMatrix(nullptr);
        m_state->clear();
        return view->setMessage(tr("The matrix needs the model's files; use File → Locate model…"));
    }
    if (isTokenCircuit() && !workspace()->tokens()) {
        view->setMatrix(nullptr);
        return view->setMessage(tr("Reading the embeddings…"));
    }
    view->setPending(true);
    m_job.start(
        tr("%1 of %2").arg(m_circuit->currentText().section(u':', 0, 0), text(workspace()->head())),
        [circuits, tokens = workspace()->tokens(), kind = kind(), head = workspace()->head(), ids = m_tokens,
         ofTokens = isTokenCircuit()](const Task&) {
            return ofTokens ? circuitBlock(*circuits, tokens.get(), kind, head, ids, ids)
                            : wholeCircuit(*circuits, kind, head);
        },
        [this](const Result<Matrix<float>>& block) {
            m_panel->view()->setPending(false);
            if (block)
                return showBlock(*block);
            m_panel->view()->setMatrix(nullptr);
            m_panel->view()->setMessage(text(block.error()));
        });
}

void HeatmapPage::showBlock(const Matrix<float>& block)
{
    HeatmapView* view = m_panel->view();
    const bool isQk = kind() == CircuitKind::Qk || kind() == CircuitKind::FullQk;
    const QString rows = isTokenCircuit()
        ? (isQk ? tr("query token") : tr("source token"))
        : (isQk ? tr("residual direction, query") : tr("residual direction, read"));
    const QString columns = isTokenCircuit()
        ? (isQk ? tr("key token") : tr("output token"))
        : (isQk ? tr("residual direction, key") : tr("residual direction, written"));
    std::function<QString(int)> names;
    if (isTokenCircuit())
        names = [this](int index) { return entryName(index); };
    view->setRowAxis({rows, names});
    view->setColumnAxis({columns, names});
    view->setMatrix(std::make_shared<Eigen::MatrixXf>(block));
    m_state->setText(tr("%1 · %2 × %3 · no scale, no bias · %4")
                         .arg(text(workspace()->head()))
                         .arg(block.rows())
                         .arg(block.cols())
                         .arg(workspace()->processingText()));
}

QJsonObject HeatmapPage::viewState() const
{
    return {{QStringLiteral("circuit"), m_circuit->currentIndex()},
            {QStringLiteral("text"), m_text->text()},
            {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void HeatmapPage::setViewState(const QJsonObject& state)
{
    m_text->setText(state[QStringLiteral("text")].toString());
    m_circuit->setCurrentIndex(state[QStringLiteral("circuit")].toInt());
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    chooseTokens();
    refresh();
}

QList<FigureSource*> HeatmapPage::figures()
{
    if (!m_panel->view()->matrix())
        return {};
    describe(m_panel->view(),
             tr("%1 %2, %3")
                 .arg(text(workspace()->head()), m_circuit->currentText(), text(workspace()->card().name)));
    return {m_panel->view()};
}

} // namespace headwise::ui
