#include "ui/pages/compare_page.h"

#include "core/analysis/block.h"
#include "ui/pages/compare_pictures.h"
#include "ui/pages/compare_tables.h"
#include "ui/pages/spectrum_panel.h"
#include "ui/pages/token_choice.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/views/job_bar.h"
#include "ui/views/spectrum_chart.h"
#include "ui/views/table_figure.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

namespace headwise::ui {

namespace {

constexpr int sampleSize = 40;
constexpr int tableSize = 20;

CircuitKind residualOf(CircuitKind kind)
{
    return kind == CircuitKind::Qk || kind == CircuitKind::FullQk ? CircuitKind::Qk : CircuitKind::Ov;
}

CircuitKind fullOf(CircuitKind kind)
{
    return residualOf(kind) == CircuitKind::Qk ? CircuitKind::FullQk : CircuitKind::FullOv;
}

} // namespace

struct ComparePage::Answer {
    std::shared_ptr<const Eigen::MatrixXf> first, second;
    HeadPair pair;
};

ComparePage::ComparePage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_circuit(new QComboBox(this))
    , m_text(new QLineEdit(this))
    , m_difference(new QToolButton(this))
    , m_numbers(new QLabel(this))
    , m_message(new QLabel(this))
    , m_body(new QWidget(this))
    , m_pictures(new ComparePictures(this))
    , m_tableTitle(new QLabel(this))
    , m_tables(new CompareTables(workspace, this))
    , m_spectra(new LineChart(this))
{
    createLayout();
    connectSignals();
}

void ComparePage::createLayout()
{
    m_circuit->addItem(tr("OV: W_V W_O"), static_cast<int>(CircuitKind::Ov));
    m_circuit->addItem(tr("QK: W_Q W_Kᵀ"), static_cast<int>(CircuitKind::Qk));
    m_circuit->addItem(tr("full OV: E W_V W_O W_U"), static_cast<int>(CircuitKind::FullOv));
    m_circuit->addItem(tr("full QK: E W_Q W_Kᵀ Eᵀ"), static_cast<int>(CircuitKind::FullQk));
    m_circuit->setAccessibleName(tr("Circuit to compare"));
    m_text->setPlaceholderText(tr("Text whose tokens are the rows and columns; empty: a sample of words"));
    m_text->setFont(tokenFont());
    m_text->setAccessibleName(tr("Tokens to compare"));
    QSizePolicy keepsPlace = m_text->sizePolicy();
    keepsPlace.setRetainSizeWhenHidden(true);
    m_text->setSizePolicy(keepsPlace);
    m_difference->setText(tr("Difference"));
    m_difference->setCheckable(true);
    m_difference->setShortcut(Qt::Key_D);
    m_difference->setToolTip(tr("The selected head minus the reference in one picture (D)"));
    m_numbers->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_numbers->setWordWrap(true);
    m_message->setAlignment(Qt::AlignCenter);
    m_message->setWordWrap(true);
    makeSecondary(m_message);
    makeSecondary(m_tableTitle);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_circuit);
    controls->addWidget(m_text, 1);
    controls->addWidget(new JobBar(&m_job, this));
    controls->addWidget(m_difference);
    auto* tables = new QWidget(m_body);
    auto* tableColumn = new QVBoxLayout(tables);
    tableColumn->setContentsMargins(0, 0, 0, 0);
    tableColumn->setSpacing(4);
    tableColumn->addWidget(m_tableTitle);
    tableColumn->addWidget(m_tables, 1);
    auto* bottom = new QSplitter(m_body);
    bottom->setChildrenCollapsible(false);
    bottom->addWidget(tables);
    bottom->addWidget(m_spectra);
    bottom->setSizes({760, 240});
    auto* halves = new QSplitter(Qt::Vertical, m_body);
    halves->setChildrenCollapsible(false);
    halves->addWidget(m_pictures);
    halves->addWidget(bottom);
    halves->setSizes({500, 260});
    auto* body = new QVBoxLayout(m_body);
    body->setContentsMargins(0, 0, 0, 0);
    body->setSpacing(8);
    body->addWidget(m_numbers);
    body->addWidget(halves, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_message, 1);
    layout->addWidget(m_body, 1);
    m_spectra->setLook({.xTitle = tr("index"), .yTitle = tr("singular value σ")});
    m_spectra->setAccessibleName(tr("Singular values of both heads"));
    m_body->hide();
}

void ComparePage::connectSignals()
{
    connect(m_circuit, &QComboBox::currentIndexChanged, this, &ComparePage::refresh);
    connect(m_text, &QLineEdit::editingFinished, this, &ComparePage::refresh);
    connect(m_difference, &QToolButton::toggled, m_pictures, &ComparePictures::setDifferenceShown);
    connect(m_pictures, &ComparePictures::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_pictures, &ComparePictures::cellHovered, this,
            [this](int row, int column) { emit readOutChanged(readOut(row, column)); });
    connect(m_pictures, &ComparePictures::cellClicked, this, [this](int row, int) {
        if (isTokenCircuit() && row < std::ssize(m_tokens))
            workspace()->setToken(m_tokens[static_cast<std::size_t>(row)]);
    });
    for (const auto signal : {&Workspace::opened, &Workspace::closed, &Workspace::circuitsChanged,
                              &Workspace::tokensChanged, &Workspace::referenceChanged})
        connect(workspace(), signal, this, &ComparePage::refresh);
    connect(workspace(), &Workspace::headChanged, this, &ComparePage::refresh);
    connect(workspace(), &Workspace::tokenChanged, this, [this] {
        if (isVisible())
            compareTables();
        else
            refresh();
    });
    connect(m_spectra, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(
        m_spectra, &LineChart::pointHovered, this, [this](const QString& series, int index, QPointF point) {
            emit readOutChanged(tr("%1   σ%2 = %3").arg(series).arg(index + 1).arg(exactNumber(point.y())));
        });
}

CircuitKind ComparePage::kind() const
{
    return static_cast<CircuitKind>(m_circuit->currentData().toInt());
}

QString ComparePage::entryName(int index) const
{
    if (!isTokenCircuit())
        return QString::number(index);
    return index < std::ssize(m_tokens) ? workspace()->tokenText(m_tokens[static_cast<std::size_t>(index)])
                                        : QString();
}

QString ComparePage::readOut(int row, int column) const
{
    const double a = m_pictures->first(row, column);
    const double b = m_pictures->second(row, column);
    return tr("%1 → %2   %3 %4   %5 %6   difference %7")
        .arg(entryName(row), entryName(column), text(m_shown), signedNumber(a), text(m_shownReference),
             signedNumber(b), signedNumber(a - b));
}

void ComparePage::clear(const QString& message)
{
    m_job.cancel();
    m_tableJob.cancel();
    m_pictures->clear();
    m_tables->clear();
    m_body->hide();
    m_message->setText(message);
    m_message->show();
}

void ComparePage::recompute()
{
    m_text->setVisible(isTokenCircuit());
    if (!workspace()->isOpen())
        return clear({});
    const auto circuits = workspace()->circuits();
    if (!circuits)
        return clear(tr("Comparing heads needs the model's files; use File → Locate model…"));
    const auto reference = workspace()->reference();
    if (!reference)
        return clear(tr("Right-click a head in the grid, or click it with Shift, to compare %1 with it.")
                         .arg(text(workspace()->head())));
    if (isTokenCircuit() && !workspace()->tokens())
        return clear(tr("Reading the embeddings…"));
    m_tokens = isTokenCircuit() ? tokensToShow(*workspace(), m_text->text(), sampleSize) : std::vector<int>();
    m_pictures->setPending(true);
    m_job.start(
        tr("Comparing %1 with %2").arg(text(workspace()->head()), text(*reference)),
        [circuits, tokens = workspace()->tokens(), kind = kind(), head = workspace()->head(),
         other = *reference, ids = m_tokens](const Task& task) -> Result<Answer> {
            Answer answer;
            for (const auto& [of, matrix] :
                 {std::pair(head, &answer.first), std::pair(other, &answer.second)}) {
                const auto block = isFull(kind) ? circuitBlock(*circuits, tokens.get(), {kind, of}, ids, ids)
                                                : wholeCircuit(*circuits, {kind, of});
                if (!block)
                    return block.error();
                *matrix = std::make_shared<const Eigen::MatrixXf>(*block);
                if (task.cancelled())
                    return stopped();
            }
            auto pair = compareHeads(*circuits, residualOf(kind), head, other, task);
            if (!pair)
                return pair.error();
            answer.pair = std::move(pair).value();
            return answer;
        },
        [this, head = workspace()->head(), other = *reference](const Result<Answer>& answer) {
            if (!answer)
                return clear(text(answer.error()));
            m_shown = head;
            m_shownReference = other;
            showAnswer(*answer);
        });
    compareTables();
}

void ComparePage::showAnswer(const Answer& answer)
{
    const bool isQk = residualOf(kind()) == CircuitKind::Qk;
    const QString of = isTokenCircuit() ? tr("token") : tr("residual direction");
    const HeatmapAxis rows{isQk ? tr("%1, query").arg(of) : tr("%1, read").arg(of),
                           [this](int index) { return entryName(index); }};
    const HeatmapAxis columns{isQk ? tr("%1, key").arg(of) : tr("%1, written").arg(of),
                              [this](int index) { return entryName(index); }};
    m_pictures->setAxes(rows, columns);
    m_pictures->setMatrices(answer.first, answer.second,
                            {text(m_shown), text(m_shownReference), circuitTitle(kind())});
    showNumbers(answer.pair);
    m_message->hide();
    m_body->show();
}

void ComparePage::showNumbers(const HeadPair& pair)
{
    const bool isQk = residualOf(kind()) == CircuitKind::Qk;
    const double deviation = 1.0 / workspace()->card().dModel;
    QStringList numbers;
    numbers << tr("cosine of %1 <b>%2</b> (null 0 ± %3)")
                   .arg(circuitTitle(residualOf(kind())), signedNumber(pair.cosine), number(deviation));
    numbers << tr("projection kernel of %1 <b>%2</b>, of %3 <b>%4</b> (null %5)")
                   .arg(isQk ? tr("queries") : tr("what they read"), number(pair.leftKernel),
                        isQk ? tr("keys") : tr("what they write"), number(pair.rightKernel),
                        number(pair.kernelOfChance));
    numbers << tr("distance of the spectra <b>%1</b>").arg(number(pair.spectrumDistance));
    m_numbers->setText(numbers.join(QStringLiteral(" &nbsp;·&nbsp; ")));
    m_numbers->setToolTip(tr("⟨A, B⟩/(‖A‖ ‖B‖); ‖U_Aᵀ U_B‖² of the spaces that the weights span; "
                             "‖σ_A/‖σ_A‖ − σ_B/‖σ_B‖‖"));
    std::vector<ChartSeries> series;
    for (const auto& [head, sigma, style] :
         {std::tuple(m_shown, &pair.first, SeriesStyle::Line),
          std::tuple(m_shownReference, &pair.second, SeriesStyle::Dashed)}) {
        series.push_back({text(head), {}, style});
        for (std::size_t i = 0; i < sigma->size(); ++i)
            series.back().points << QPointF(static_cast<double>(i + 1), (*sigma)[i]);
    }
    m_spectra->setSeries(series);
}

void ComparePage::compareTables()
{
    const auto tokens = workspace()->tokens();
    const auto reference = workspace()->reference();
    if (!tokens || !reference || !workspace()->circuits())
        return m_tables->clear();
    const QString token = workspace()->tokenText(workspace()->token());
    m_tableTitle->setText(
        fullOf(kind()) == CircuitKind::FullOv
            ? tr("writes: source %1 → the %2 strongest output tokens").arg(token).arg(tableSize)
            : tr("reads: query %1 → the %2 strongest key tokens").arg(token).arg(tableSize));
    m_tableJob.start(
        tr("Tables of %1").arg(token),
        [circuits = workspace()->circuits(), tokens, kind = fullOf(kind()), head = workspace()->head(),
         other = *reference, token = workspace()->token(),
         unused = workspace()->unusedTokens()](const Task&) -> Result<TableDifference> {
            const auto a = tokenLine(*circuits, *tokens, {kind, head}, TableSide::Row, token);
            if (!a)
                return a.error();
            const auto b = tokenLine(*circuits, *tokens, {kind, other}, TableSide::Row, token);
            if (!b)
                return b.error();
            return tableDifference(*a, *b, tableSize, unused);
        },
        [this, first = text(workspace()->head()),
         second = text(*reference)](const Result<TableDifference>& difference) {
            if (difference)
                return m_tables->show(*difference, first, second);
            m_tables->clear();
            m_tableTitle->setText(text(difference.error()));
        });
}

bool ComparePage::eventFilter(QObject* watched, QEvent* event)
{
    const bool isKey = event->type() == QEvent::KeyPress || event->type() == QEvent::KeyRelease;
    if (isKey && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Shift
        && !qobject_cast<QLineEdit*>(QApplication::focusWidget()))
        m_pictures->setFlashing(event->type() == QEvent::KeyPress);
    else if (event->type() == QEvent::WindowDeactivate)
        m_pictures->setFlashing(false); // The release of the key goes to another window.
    return Page::eventFilter(watched, event);
}

void ComparePage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    qApp->installEventFilter(this); // The key is for the page, whichever part of the window has the focus.
}

void ComparePage::hideEvent(QHideEvent* event)
{
    Page::hideEvent(event);
    qApp->removeEventFilter(this);
    m_pictures->setFlashing(false);
}

QJsonObject ComparePage::viewState() const
{
    return {{QStringLiteral("circuit"), m_circuit->currentIndex()},
            {QStringLiteral("text"), m_text->text()},
            {QStringLiteral("difference"), m_difference->isChecked()},
            {QStringLiteral("heatmap"), m_pictures->viewState()}};
}

void ComparePage::setViewState(const QJsonObject& state)
{
    m_text->setText(state[QStringLiteral("text")].toString());
    m_circuit->setCurrentIndex(state[QStringLiteral("circuit")].toInt());
    m_difference->setChecked(state[QStringLiteral("difference")].toBool());
    m_pictures->setViewState(state[QStringLiteral("heatmap")].toObject());
    refresh();
}

QList<FigureSource*> ComparePage::figures()
{
    if (m_pictures->isEmpty())
        return {};
    QList<FigureSource*> all;
    const auto add = [&](FigureSource* figure, const QString& what) {
        describe(figure, tr("%1, %2").arg(what, text(workspace()->card().name)));
        all << figure;
    };
    for (const auto& [view, what] : m_pictures->shown())
        add(view, what);
    add(m_spectra, tr("Singular values of %1 and %2").arg(text(m_shown), text(m_shownReference)));
    for (int i = 0; i < 3 && !m_tables->isEmpty(); ++i)
        add(m_tables->table(i), QStringLiteral("%1, %2").arg(m_tableTitle->text(), m_tables->caption(i)));
    return all;
}

} // namespace headwise::ui
