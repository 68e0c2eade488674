#include "ui/pages/compare/compare_page.h"

#include "ui/base/plain_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/about_model.h"
#include "ui/document/compared_model.h"
#include "ui/pages/compare/compare_pictures.h"
#include "ui/pages/compare/compared_tokens.h"
#include "ui/pages/compare/head_pair_charts.h"
#include "ui/pages/compare/token_choice.h"
#include "ui/pages/parts/empty_place.h"
#include "ui/pages/parts/spectrum_panel.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/wrapped_label.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QShortcut>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <memory>
#include <utility>

namespace headwise::ui {

namespace {

constexpr int comparePageSampleSize = 40;
constexpr int comparePageNarrow = 720;      // px, below which the charts go under the token tables
constexpr int comparePageLeastHeight = 200; // px of the tables; a lower page scrolls
constexpr int comparedPicturesHeight = 320; // px; lower ones have no room for their titles and notes

using Way = ComparePictures::Way;

} // namespace

ComparePage::ComparePage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_newer(ComparedModel::of(workspace))
    , m_circuit(new QComboBox(this))
    , m_against(new QComboBox(this))
    , m_text(new QLineEdit(this))
    , m_way(new QComboBox(this))
    , m_numbers(new WrappedLabel(this))
    , m_empty(new EmptyPlace(this))
    , m_body(new QWidget(this))
    , m_pictures(new ComparePictures(this))
    , m_bottom(new QSplitter(m_body))
    , m_tokenTables(new ComparedTokens(workspace, this))
    , m_charts(new HeadPairCharts(this))
{
    createControls();
    createLayout();
    connectSignals();
}

void ComparePage::createControls()
{
    m_circuit->addItem(tr("OV: W_V W_O"), static_cast<int>(CircuitKind::Ov));
    m_circuit->addItem(tr("QK: W_Q W_Kᵀ"), static_cast<int>(CircuitKind::Qk));
    m_circuit->addItem(tr("full OV: E W_V W_O W_U"), static_cast<int>(CircuitKind::FullOv));
    m_circuit->addItem(tr("full QK: E W_Q W_Kᵀ Eᵀ"), static_cast<int>(CircuitKind::FullQk));
    m_circuit->setAccessibleName(tr("Circuit to compare"));
    m_text->setPlaceholderText(tr("Text for rows and columns; empty: a sample"));
    m_text->setFont(tokenFont());
    m_text->setToolTip(tr("Text whose tokens form the rows and columns; without text, a sample of words"));
    m_text->setAccessibleName(tr("Tokens to compare"));
    QSizePolicy keepsPlace = m_text->sizePolicy();
    keepsPlace.setRetainSizeWhenHidden(true);
    m_text->setSizePolicy(keepsPlace);
    m_way->addItem(tr("Side by side"), static_cast<int>(Way::Beside));
    m_way->addItem(tr("Split"), static_cast<int>(Way::Split));
    m_way->addItem(tr("Difference"), static_cast<int>(Way::Difference));
    m_way->addItem(tr("Ratio"), static_cast<int>(Way::Ratio));
    m_way->setAccessibleName(tr("How to compare"));
    m_way->setToolTip(tr(
        "Side by side; one picture with a divider you can drag; the difference (D); or the ratio to the reference"));
    m_against->setAccessibleName(tr("Head to compare with"));
    m_against->setToolTip(tr("Another head of this model, or the same head of the newer one"));
}

void ComparePage::createLayout()
{
    m_numbers->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_circuit);
    controls->addWidget(m_against);
    controls->addWidget(m_text, 1);
    for (Job* job : {m_newer->job(), &m_job})
        controls->addWidget(new JobBar(job, this));
    controls->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, this));
    controls->addWidget(m_way);
    m_bottom->setChildrenCollapsible(false);
    m_bottom->addWidget(m_tokenTables);
    m_bottom->addWidget(m_charts);
    m_bottom->setSizes({720, 280});
    m_tokenTables->setMinimumHeight(comparePageLeastHeight);
    m_pictures->setMinimumHeight(comparedPicturesHeight);
    auto* halves = new QSplitter(Qt::Vertical, m_body);
    halves->setChildrenCollapsible(false);
    halves->addWidget(m_pictures);
    halves->addWidget(m_bottom);
    halves->setSizes({440, 320});
    auto* body = new QVBoxLayout(m_body);
    body->setContentsMargins(0, 0, 0, 0);
    body->setSpacing(8);
    body->addWidget(m_numbers);
    body->addWidget(halves, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_empty, 1);
    layout->addWidget(m_body, 1);
    m_body->hide();
}

void ComparePage::connectSignals()
{
    connect(m_circuit, &QComboBox::currentIndexChanged, this, &ComparePage::refresh);
    connect(m_text, &QLineEdit::editingFinished, this, &ComparePage::refresh);
    connect(m_way, &QComboBox::currentIndexChanged, this,
            [this] { m_pictures->setWay(static_cast<Way>(m_way->currentData().toInt())); });
    connect(new QShortcut(Qt::Key_D, this), &QShortcut::activated, this, [this] {
        const Way way = m_pictures->way() == Way::Difference ? Way::Beside : Way::Difference;
        m_way->setCurrentIndex(m_way->findData(static_cast<int>(way)));
    });
    connect(m_against, &QComboBox::currentIndexChanged, this,
            [this] { m_newer->setReference(m_against->currentIndex() == 1); });
    connect(m_newer, &ComparedModel::changed, this, &ComparePage::refresh);
    connect(m_charts, &HeadPairCharts::readOutChanged, this, &Page::readOutChanged);
    connect(m_pictures, &ComparePictures::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_pictures, &ComparePictures::cellHovered, this,
            [this](int row, int column) { emit readOutChanged(readOut(row, column)); });
    connect(m_pictures, &ComparePictures::cellClicked, this, [this](int row, int) {
        if (isTokenCircuit() && row < std::ssize(m_tokens))
            workspace()->selection()->setToken(m_tokens[static_cast<std::size_t>(row)]);
    });
    connect(workspace()->model(), &OpenModel::replaced, m_text, &QLineEdit::clear);
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace()->model(), signal, this, &ComparePage::refresh);
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, &ComparePage::refresh);
    connect(workspace()->selection(), &Selection::referenceChanged, this, &ComparePage::refresh);
    connect(workspace()->selection(), &Selection::headChanged, this, &ComparePage::refresh);
    connect(workspace()->selection(), &Selection::tokenChanged, this, [this] {
        if (!isVisible())
            return refresh();
        if (const Asked what = asked(); what.sides)
            compareTokens(*what.sides);
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
    return index < std::ssize(m_tokens)
        ? workspace()->model()->tokenText(m_tokens[static_cast<std::size_t>(index)])
        : QString();
}

QString ComparePage::readOut(int row, int column) const
{
    const double a = m_pictures->first(row, column);
    const double b = m_pictures->second(row, column);
    return tr("%1 → %2   %3 %4   %5 %6   difference %7   ratio %8")
        .arg(entryName(row), entryName(column), m_shown, signedNumber(a), m_shownReference, signedNumber(b),
             signedNumber(a - b), signedNumber(a / b));
}

void ComparePage::clear(const QString& message)
{
    m_job.cancel();
    m_pictures->clear();
    m_tokenTables->clear();
    m_body->hide();
    const OpenModel& model = *workspace()->model();
    const bool lacksReference = model.hasModel() && !isOfNewer() && !workspace()->selection()->reference()
        && model.card().nLayers * model.card().nHeads > 1;
    m_empty->explain(message, {lacksReference ? FillButton::Lack::Reference : FillButton::Lack::Nothing});
    m_empty->show();
}

bool ComparePage::isOfNewer() const
{
    return m_newer->isReference() && !m_newer->name().isEmpty();
}

QString ComparePage::modelNames() const
{
    const QString open = text(workspace()->model()->card().name);
    return isOfNewer() ? tr("%1 and %2").arg(open, m_newer->name()) : open;
}

void ComparePage::showAgainst()
{
    const QSignalBlocker blocker(m_against);
    m_against->clear();
    m_against->addItems({tr("with the reference head"), tr("with %1").arg(m_newer->name())});
    m_against->setCurrentIndex(isOfNewer() ? 1 : 0);
    m_against->setVisible(!m_newer->name().isEmpty());
}

QString ComparePage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel()
        ? tr("Comparing heads needs the model's files; use File → Locate model…")
        : QString();
}

ComparePage::Asked ComparePage::asked() const
{
    if (!workspace()->model()->isOpen())
        return {};
    const auto circuits = workspace()->model()->circuits();
    if (!circuits)
        return {{}, whyNot(*workspace())};
    if (isTokenCircuit() && !workspace()->model()->tokens())
        return {{}, tr("Reading the embeddings…")};
    if (isOfNewer())
        return askedOfNewer();
    const HeadId head = workspace()->selection()->head();
    const auto reference = workspace()->selection()->reference();
    if (!reference)
        return {
            {},
            tr("To compare %1 with another head, Shift+click that head in the grid, or right-click it and choose Set as reference. By keyboard, press Shift+Enter on it or use Model → Use as reference head.")
                .arg(text(head))};
    const QString model = text(workspace()->model()->card().name);
    const auto tokens = workspace()->model()->tokens();
    return {CompareSides{{text(head), model, head, circuits, tokens},
                         {text(*reference), model, *reference, circuits, tokens}},
            {}};
}

ComparePage::Asked ComparePage::askedOfNewer() const
{
    using Parts = ComparedModel::Parts;
    const auto newer = m_newer->ready();
    const bool lacksTokens = newer && newer->hasSameVocabulary && !newer->tokens;
    if (!newer || lacksTokens)
        m_newer->prepare(newer ? Parts::TokensToo : Parts::Circuits);
    if (!newer || (lacksTokens && isTokenCircuit()))
        return {{},
                m_newer->problem().isEmpty() ? tr("Reading %1…").arg(m_newer->name()) : m_newer->problem()};
    const HeadId head = workspace()->selection()->head();
    CompareSides sides{
        {text(head), text(workspace()->model()->card().name), head, workspace()->model()->circuits(),
         workspace()->model()->tokens()},
        {tr("%1 newer").arg(text(head)), m_newer->name(), head, newer->circuits, newer->tokens},
        newer->hasSameVocabulary};
    if (const QString reason = sides.whyNot(kind()); !reason.isEmpty())
        return {{}, reason};
    return {std::move(sides), {}};
}

void ComparePage::recompute()
{
    const bool hasReference =
        workspace()->model()->isOpen() && (isOfNewer() || workspace()->selection()->reference());
    for (QWidget* control : {m_circuit, m_way}) // which have something to control
        control->setVisible(hasReference);
    m_text->setVisible(hasReference && isTokenCircuit());
    showAgainst();
    const Asked what = asked();
    if (!what.sides)
        return clear(what.message);
    const CompareSides& sides = *what.sides;
    m_tokens = isTokenCircuit() ? tokensToShow(*workspace(), m_text->text(), comparePageSampleSize)
                                : std::vector<int>();
    m_pictures->setPending(true);
    m_job.start(tr("Comparing %1 with %2").arg(sides.first.name, sides.second.name),
                aboutModel(workspace()->model()->circuits(),
                           [sides, kind = kind(), ids = m_tokens](const Task& task) {
                               return compared(sides, kind, ids, task);
                           }),
                [this, sides](const Result<CompareAnswer>& answer) {
                    if (!answer)
                        return clear(text(answer.error()));
                    showAnswer(*answer, sides);
                });
    compareTokens(sides);
}

void ComparePage::showAnswer(const CompareAnswer& answer, const CompareSides& sides)
{
    const bool isQk = residualOf(kind()) == CircuitKind::Qk;
    const QString of = isTokenCircuit() ? tr("token") : tr("residual direction");
    const HeatmapAxis rows{isQk ? tr("%1, query").arg(of) : tr("%1, read").arg(of),
                           [this](int index) { return entryName(index); }};
    const HeatmapAxis columns{isQk ? tr("%1, key").arg(of) : tr("%1, written").arg(of),
                              [this](int index) { return entryName(index); }};
    m_shown = sides.first.name;
    m_shownReference = sides.second.name;
    m_pictures->setAxes(rows, columns);
    m_pictures->setMatrices(answer.first, answer.second,
                            {m_shown, m_shownReference, text(circuitTitle(kind())),
                             isOfNewer() ? sides.second.model : tr("reference"),
                             isTokenCircuit() ? tr("logits") : QString()});
    if (answer.pair) {
        showNumbers(*answer.pair);
        m_charts->setPair(*answer.pair, {m_shown, m_shownReference, isQk});
    } else {
        setPlain(
            m_numbers,
            tr("The models' residual streams have different sizes, so the two heads have no cosine and no angles."));
        m_charts->clear();
    }
    m_empty->hide();
    m_body->show();
}

void ComparePage::showNumbers(const HeadPair& pair)
{
    const bool isQk = residualOf(kind()) == CircuitKind::Qk;
    const double deviation = 1.0 / workspace()->model()->card().dModel;
    QStringList numbers;
    numbers << tr("cosine of %1 <b>%2</b> (null 0 ± %3)")
                   .arg(text(circuitTitle(residualOf(kind()))), signedNumber(pair.cosine), number(deviation));
    numbers << tr("projection kernel of %1 <b>%2</b>, of %3 <b>%4</b> (null %5)")
                   .arg(isQk ? tr("queries") : tr("what they read"), number(pair.leftKernel),
                        isQk ? tr("keys") : tr("what they write"), number(pair.rightKernel),
                        number(pair.kernelOfChance));
    if (!pair.left.angles.empty() && !pair.right.angles.empty())
        numbers << tr("smallest angles <b>%1°</b> and <b>%2°</b> (null %3°)")
                       .arg(number(pair.left.angles.front()), number(pair.right.angles.front()),
                            number(pair.left.ofChance.front()));
    numbers << tr("distance of the spectra <b>%1</b>").arg(number(pair.spectrumDistance));
    setMarkup(m_numbers, numbers.join(QStringLiteral(" &nbsp;·&nbsp; ")));
    m_numbers->setToolTip(tr(
        "⟨A, B⟩/(‖A‖ ‖B‖); ‖U_Aᵀ U_B‖² of the spaces that the weights span, and the smallest of the angles between them; ‖σ_A/‖σ_A‖ − σ_B/‖σ_B‖‖"));
}

void ComparePage::compareTokens(const CompareSides& sides)
{
    m_tokenTables->compare(sides, fullOf(kind()),
                           m_newer->problem().isEmpty() ? tr("Reading the embeddings…") : m_newer->problem());
}

bool ComparePage::eventFilter(QObject* watched, QEvent* event)
{
    const bool isKey = event->type() == QEvent::KeyPress || event->type() == QEvent::KeyRelease;
    if (isKey && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Shift
        && !qobject_cast<QLineEdit*>(QApplication::focusWidget()))
        m_pictures->setFlashing(event->type() == QEvent::KeyPress);
    else if (event->type() == QEvent::WindowDeactivate)
        m_pictures->setFlashing(false); // Another window would get the key's release.
    return Page::eventFilter(watched, event);
}

void ComparePage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    m_bottom->setOrientation(width() < comparePageNarrow ? Qt::Vertical : Qt::Horizontal);
}

void ComparePage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    qApp->installEventFilter(this); // The page handles the key wherever the focus is.
}

void ComparePage::hideEvent(QHideEvent* event)
{
    Page::hideEvent(event);
    qApp->removeEventFilter(this);
    m_pictures->setFlashing(false);
}

ViewFields ComparePage::viewFields()
{
    const auto usual = std::make_shared<int>(0);
    return ViewFields()
        .add("text", m_text)
        .add("circuit", m_circuit)
        .add("difference", nullptr, // from older sessions
             [usual](const QJsonValue& wasDifference) { *usual = wasDifference.toBool() ? 2 : 0; })
        .add(
            "way", [this] { return m_way->currentIndex(); },
            [this, usual](const QJsonValue& way) {
                m_way->setCurrentIndex(std::clamp(way.toInt(*usual), 0, m_way->count() - 1));
            })
        .add(
            "newer", [this] { return m_newer->isReference(); },
            [this](const QJsonValue& newer) { m_newer->setReference(newer.toBool()); })
        .addPart("heatmap", m_pictures)
        .then([this] { refresh(); });
}

QList<FigureSource*> ComparePage::figures()
{
    if (m_pictures->isEmpty())
        return {};
    QList<FigureSource*> all;
    const auto add = [&](FigureSource* figure, const QString& what) {
        describe(figure, tr("%1, %2").arg(what, modelNames()));
        if (isOfNewer()) {
            Provenance provenance = figure->provenance();
            provenance.emplace_back(QStringLiteral("compared with"), m_newer->name());
            figure->setProvenance(provenance);
        }
        all << figure;
    };
    for (const auto& [view, what] : m_pictures->shown())
        add(view, what);
    if (!m_charts->spectra()->series().empty()) {
        add(m_charts->spectra(), tr("Singular values of %1 and %2").arg(m_shown, m_shownReference));
        add(m_charts->angles(), tr("Principal angles of %1 and %2").arg(m_shown, m_shownReference));
    }
    for (FigureSource* table : m_tokenTables->figures())
        add(table, table->figureTitle());
    return all;
}

} // namespace headwise::ui
