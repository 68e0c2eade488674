#include "ui/pages/tokens/largest_entries_panel.h"

#include "core/circuits/head_at_offset.h"
#include "core/circuits/largest_entries.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/offset_box.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/row_opening.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <cmath>

namespace headwise::ui {

namespace {
constexpr std::size_t howMany = 100;
}

struct LargestEntriesPanel::Found {
    CircuitOfHead of;
    std::vector<MatrixEntry> entries;
    std::vector<double> gaussian; // by rank: expected values of as many Gaussian entries
};

LargestEntriesPanel::LargestEntriesPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_heading(new QLabel(this))
    , m_state(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_model(new QStandardItemModel(this))
    , m_table(new TableFigure(this))
{
    makeHeading(m_heading);
    m_heading->setWordWrap(true); // does not set a minimum width
    makeSecondary(m_state);
    m_state->setWordWrap(true);
    m_table->setSource(m_model, TokenTableModel::SortRole);
    m_table->setAccessibleName(tr("Largest entries, all tokens"));
    auto* state = new QHBoxLayout;
    state->addWidget(m_state, 1);
    state->addWidget(m_fill);
    state->addWidget(new JobBar(&m_job, this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_heading);
    layout->addWidget(m_table, 1);
    layout->addLayout(state);
    for (const auto signal : {&OpenModel::tokensChanged, &OpenModel::circuitsChanged, &OpenModel::closed})
        connect(workspace->model(), signal, this, &LargestEntriesPanel::refresh);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, &LargestEntriesPanel::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &LargestEntriesPanel::refresh);
    whenOpened(m_table, [this](const QModelIndex& index) {
        const int token = tokenOf(*m_model, m_table->sourceRow(index), index.column() == 2 ? 2 : 1);
        if (token >= 0)
            emit tokenActivated(token);
    });
}

void LargestEntriesPanel::setCircuit(CircuitKind kind, int offset)
{
    if (kind == m_kind && offset == m_offset)
        return;
    m_kind = kind;
    m_offset = offset;
    refresh();
}

void LargestEntriesPanel::clear(const QString& message)
{
    m_job.cancel();
    m_model->clear();
    m_heading->clear();
    m_state->setText(message);
}

void LargestEntriesPanel::recompute()
{
    m_fill->offer(FillButton::lackOf(*workspace()));
    if (!workspace()->model()->isOpen())
        return clear({});
    const auto circuits = workspace()->model()->circuits();
    if (!circuits)
        return clear(tr("The largest entries need the model's files; use File → Locate model…"));
    const auto tokens = workspace()->model()->tokens();
    if (!tokens)
        return clear(tr("Reading the embeddings…"));
    m_job.start(
        tr("Largest entries of %1").arg(text(workspace()->selection()->head())),
        aboutModel(workspace()->model()->circuits(),
                   [circuits, tokens,
                    of = CircuitOfHead{m_kind, workspace()->selection()->head(), {.offset = m_offset}},
                    unused = workspace()->filteredTokens()->unused()](const Task& task) -> Result<Found> {
                       // An id past the end is left out there, and none is meant.
                       const auto marks = [&unused](Eigen::Index count) {
                           std::vector<bool> sized = unused;
                           sized.resize(static_cast<std::size_t>(count), false);
                           return sized;
                       };
                       const auto circuit = circuitAtOffset(*circuits, of, tokens.get());
                       if (!circuit)
                           return circuit.error();
                       const EntrySearch search{howMany, marks(circuit->rows()), marks(circuit->cols())};
                       auto entries = largestEntries(*circuit, search, task);
                       if (!entries)
                           return entries.error();
                       return Found{of, std::move(entries).value(), largestGaussianEntries(*circuit, search)};
                   }),
        [this](const Result<Found>& found) { found ? showEntries(*found) : clear(text(found.error())); });
}

void LargestEntriesPanel::showEntries(const Found& found)
{
    const bool isQk = found.of.kind == CircuitKind::FullQk;
    m_model->clear();
    m_model->setHorizontalHeaderLabels({tr("#"), isQk ? tr("Query") : tr("Source"),
                                        isQk ? tr("Key") : tr("Output"), isQk ? tr("Score") : tr("Logit"),
                                        tr("Gaussian null")});
    double largest = 0;
    for (const MatrixEntry& entry : found.entries)
        largest = std::fmax(largest, std::abs(entry.value));
    for (std::size_t i = 0; i < found.entries.size(); ++i) {
        const MatrixEntry& entry = found.entries[i];
        QStandardItem* value = signedNumberCell(entry.value);
        if (largest > 0)
            value->setData(entry.value / largest, TokenTableModel::HeatRole);
        m_model->appendRow({countCell(static_cast<int>(i) + 1), tokenCell(*workspace(), entry.row),
                            tokenCell(*workspace(), entry.col, entry.col == entry.row), value,
                            signedNumberCell(found.gaussian[i])});
    }
    fitColumns(m_table);
    m_heading->setText(
        isQk ? tr("largest scores of %1: query token, key token").arg(text(found.of.head))
             : tr("largest effects of %1: source token, output token").arg(text(found.of.head)));
    m_state->setText(
        tr("Exact, over all pairs of tokens, no scale, no bias%1. The null is the value that as many Gaussian entries with the same mean and deviation reach.")
            .arg(isQk ? offsetText(found.of.terms.offset) : QString()));
}

QList<FigureSource*> LargestEntriesPanel::figures()
{
    if (m_model->rowCount() == 0)
        return {};
    describe(m_table, tr("%1, %2").arg(m_heading->text(), text(workspace()->model()->card().name)));
    return {m_table};
}

} // namespace headwise::ui
