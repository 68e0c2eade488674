#include "ui/pages/model/folding_page.h"

#include "core/model/processing.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/base/window_words.h"
#include "ui/document/about_model.h"
#include "ui/pages/parts/compare_tables.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_figure.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QJsonArray>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>

#include <cmath>

namespace headwise::ui {

namespace {

constexpr int foldingPageTableLength = 20;

/// Computes Σ a_t b_t / (‖a‖ ‖b‖) over the tokens in use.
double cosineOf(const RowVector<double>& a, const RowVector<double>& b, const std::vector<bool>& unused)
{
    double ab = 0, aa = 0, bb = 0;
    for (Eigen::Index t = 0; t < a.size(); ++t) {
        const auto id = static_cast<std::size_t>(t);
        if (id < unused.size() && unused[id])
            continue;
        ab += a(t) * b(t);
        aa += a(t) * a(t);
        bb += b(t) * b(t);
    }
    return ab / std::sqrt(aa * bb);
}

} // namespace

/// The same model processed with the ticked steps.
struct FoldingPage::Other {
    ProcessingWish wish;
    std::shared_ptr<const ModelWeights> of;
    std::shared_ptr<const Circuits> circuits;
};

struct FoldingPage::Answer {
    std::shared_ptr<const Other> other;
    TableDifference difference;
    double cosine = 0;
};

FoldingPage::FoldingPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_steps{new QCheckBox(tr("Fold norms"), this), new QCheckBox(tr("Centre writing weights"), this),
              new QCheckBox(tr("Centre unembedding"), this), new QCheckBox(tr("Fold value biases"), this)}
    , m_use(new QPushButton(tr("Use as ticked"), this))
    , m_circuit(new QComboBox(this))
    , m_note(new QLabel(this))
    , m_tables(new CompareTables(workspace, this))
{
    m_circuit->addItem(tr("full OV: outputs"), static_cast<int>(CircuitKind::FullOv));
    m_circuit->addItem(tr("full QK: keys"), static_cast<int>(CircuitKind::FullQk));
    m_circuit->setAccessibleName(tr("Circuit of the row"));
    m_note->setWordWrap(true);
    makeSecondary(m_note);
    const std::array names{tr("Only with the weights in use"), tr("With both weights"),
                           tr("Only with the ticked steps")};
    for (std::size_t i = 0; i < names.size(); ++i)
        m_tables->table(static_cast<int>(i))->setAccessibleName(names[i]);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(createSteps());
    layout->addWidget(m_tables, 1);
    layout->addLayout(textAndJob(m_note, &m_job));
    connect(m_circuit, &QComboBox::currentIndexChanged, this, &FoldingPage::refresh);
    connect(m_use, &QPushButton::clicked, this,
            [this] { this->workspace()->model()->setProcessingWish(wish()); });
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace->model(), signal, this, &FoldingPage::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &FoldingPage::refresh);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, &FoldingPage::refresh);
    connect(workspace->selection(), &Selection::tokenChanged, this, &FoldingPage::refresh);
}

QWidget* FoldingPage::createSteps()
{
    auto* row = new QWidget(this);
    auto* layout = new QGridLayout(row); // two steps per row: a small window has no space for four
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setHorizontalSpacing(6);
    layout->setVerticalSpacing(4);
    layout->addWidget(m_circuit, 0, 0);
    layout->addWidget(new QLabel(tr("A: in use, B: with"), row), 1, 0);
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        layout->addWidget(m_steps[i], static_cast<int>(i) / 2, 1 + static_cast<int>(i) % 2);
        connect(m_steps[i], &QCheckBox::clicked, this, [this] {
            m_wasTicked = true;
            refresh();
        });
    }
    layout->setColumnStretch(3, 1);
    layout->addWidget(m_use, 0, 4);
    return row;
}

ProcessingWish FoldingPage::wish() const
{
    const auto step = [this](std::size_t i) {
        return m_steps[i]->isChecked() ? StepWish::Default : StepWish::Off;
    };
    ProcessingWish wish;
    wish.foldLayerNorm = step(0);
    wish.centerWritingWeights = step(1);
    wish.centerUnembed = step(2);
    wish.foldValueBiases = step(3);
    wish.headChanges = workspace()->model()->processingWish().headChanges;
    return wish;
}

void FoldingPage::tick(const std::array<bool, 4>& on)
{
    for (std::size_t i = 0; i < on.size(); ++i) {
        const QSignalBlocker quiet(m_steps[i]);
        m_steps[i]->setChecked(on[i]);
    }
}

void FoldingPage::clear(const QString& message)
{
    m_job.cancel();
    m_other.reset();
    m_tables->clear();
    m_note->setText(message);
}

QString FoldingPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel()
        ? tr("Other processing needs the model's files; use File → Locate model…")
        : QString();
}

void FoldingPage::recompute()
{
    const auto circuits = workspace()->model()->circuits();
    m_use->setEnabled(circuits != nullptr);
    if (!workspace()->model()->isOpen())
        return clear({});
    if (!circuits)
        return clear(whyNot(*workspace()));
    const auto tokens = workspace()->model()->tokens();
    if (!tokens)
        return clear(tr("Reading the embeddings…"));
    if (!m_wasTicked) {
        const bool all = !isProcessed(workspace()->model()->processing());
        tick({all, all, all, all});
    }
    m_use->setEnabled(wish() != workspace()->model()->processingWish());
    const CircuitOfHead of{static_cast<CircuitKind>(m_circuit->currentData().toInt()),
                           workspace()->selection()->head()};
    m_job.start(tr("The row of %1 with other processing")
                    .arg(workspace()->model()->tokenText(workspace()->selection()->token())),
                aboutModel(workspace()->model()->circuits(),
                           [circuits, tokens, of, wanted = Other{wish(), workspace()->model()->weights(), {}},
                            known = m_other, token = workspace()->selection()->token(),
                            unused = workspace()->filteredTokens()->unused()](
                               const Task& task) mutable -> Result<Answer> {
                               if (!known || known->wish != wanted.wish || known->of != wanted.of) {
                                   auto plan = planProcessing(*wanted.of, wanted.wish);
                                   if (!plan)
                                       return plan.error();
                                   auto weights = process(wanted.of, std::move(plan).value(), task);
                                   if (!weights)
                                       return weights.error();
                                   wanted.circuits = std::make_shared<const Circuits>(*weights);
                                   known = std::make_shared<const Other>(std::move(wanted));
                               }
                               const auto a = tokenLine(*circuits, *tokens, of, TableSide::Row, token);
                               if (!a)
                                   return a.error();
                               const auto b =
                                   tokenRowOnce(*known->circuits, tokens->embedding, of, token, task);
                               if (!b)
                                   return b.error();
                               return Answer{known, tableDifference(*a, *b, foldingPageTableLength, unused),
                                             cosineOf(*a, *b, unused)};
                           }),
                [this](const Result<Answer>& answer) {
                    if (!answer)
                        return clear(text(answer.error()));
                    showAnswer(*answer);
                });
}

void FoldingPage::showAnswer(const Answer& answer)
{
    m_other = answer.other;
    m_tables->show(answer.difference, tr("A"), tr("B"));
    QStringList words{
        tr("A: %1.").arg(processingText(workspace()->model()->processing())),
        tr("Cosine of the two rows of %1: %2.")
            .arg(workspace()->model()->tokenText(workspace()->selection()->token()), number(answer.cosine))};
    for (const std::string& warning : answer.other->circuits->weights().plan().warnings)
        words << windowWords(text(warning));
    m_note->setText(words.join(u' '));
}

ViewFields FoldingPage::viewFields()
{
    const auto writeSteps = [this]() -> QJsonValue {
        if (!m_wasTicked)
            return QJsonValue::Null;
        QJsonArray ticked;
        for (const QCheckBox* step : m_steps)
            ticked << step->isChecked();
        return ticked;
    };
    const auto readSteps = [this](const QJsonValue& steps) {
        const QJsonArray ticked = steps.toArray();
        m_wasTicked = ticked.size() == static_cast<qsizetype>(m_steps.size());
        if (m_wasTicked)
            tick({ticked[0].toBool(), ticked[1].toBool(), ticked[2].toBool(), ticked[3].toBool()});
    };
    return ViewFields().add("circuit", m_circuit).add("steps", writeSteps, readSteps).then([this] {
        refresh();
    });
}

QList<FigureSource*> FoldingPage::figures()
{
    QList<FigureSource*> all;
    if (m_tables->isEmpty())
        return all;
    for (int i = 0; i < 3; ++i) {
        describe(m_tables->table(i),
                 tr("%1 %2 of %3, %4, %5")
                     .arg(text(workspace()->selection()->head()), m_circuit->currentText(),
                          workspace()->model()->tokenText(workspace()->selection()->token()),
                          m_tables->caption(i), text(workspace()->model()->card().name)));
        all << m_tables->table(i);
    }
    return all;
}

} // namespace headwise::ui
