#include "ui/pages/position/offset_table.h"

#include "core/analysis/position/rotary_tables.h"
#include "core/circuits/token_table.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/about_model.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/offset_box.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/widgets/row_opening.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <chrono>

namespace headwise::ui {

namespace {

constexpr int offsetTableLength = 20;

} // namespace

OffsetTable::OffsetTable(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_heading(new QLabel(this))
    , m_model(new QStandardItemModel(this))
    , m_table(new TableFigure(this))
{
    m_heading->setWordWrap(true);
    m_table->setSource(m_model, TokenTableModel::SortRole);
    m_table->setAccessibleName(tr("Keys at the offset"));
    m_pause.setSingleShot(true);
    m_pause.setInterval(std::chrono::milliseconds(30));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_heading);
    auto* offsets = new QHBoxLayout;
    offsets->setSpacing(8);
    offsets->addWidget(new OffsetSlider(workspace, this), 1);
    auto* box = new OffsetBox(workspace, this);
    box->setAccessibleName(tr("Offset of the key as a number"));
    offsets->addWidget(box);
    layout->addLayout(offsets);
    layout->addWidget(new TokenFilterButton(workspace, TokenFilterButton::Role::Notice, this), 0,
                      Qt::AlignLeft);
    layout->addWidget(m_table, 1);
    connect(workspace->selection(), &Selection::rotaryOffsetChanged, &m_pause, qOverload<>(&QTimer::start));
    connect(&m_pause, &QTimer::timeout, this, &OffsetTable::refresh);
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace->model(), signal, this, &OffsetTable::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &OffsetTable::refresh);
    connect(workspace->filteredTokens(), &FilteredTokens::changed, this, &OffsetTable::refresh);
    connect(workspace->selection(), &Selection::tokenChanged, this, &OffsetTable::refresh);
    whenOpened(m_table, [this](const QModelIndex& index) {
        const int column = index.column() > 2 ? 3 : 1; // either end
        this->workspace()->selection()->setToken(tokenOf(*m_model, m_table->sourceRow(index), column));
    });
}

QString OffsetTable::heading() const
{
    return tr("Keys that the query %1 attends to at the offset Δ = %2")
        .arg(workspace()->model()->tokenText(workspace()->selection()->token()))
        .arg(workspace()->selection()->rotaryOffset());
}

void OffsetTable::clear(const QString& message)
{
    m_job.cancel();
    m_model->clear();
    m_heading->setText(message);
}

void OffsetTable::recompute()
{
    const auto circuits = workspace()->model()->circuits();
    const auto tokens = workspace()->model()->tokens();
    if (!hasRotaryPositions(*workspace()))
        return clear({});
    if (!tokens)
        return clear(tr("Reading the embeddings…"));
    m_job.start(
        heading(),
        aboutModel(workspace()->model()->circuits(),
                   [circuits, tokens, head = workspace()->selection()->head(),
                    token = workspace()->selection()->token(), at = workspace()->selection()->rotaryOffset(),
                    unused = workspace()->filteredTokens()->unused()](const Task&) -> Result<TokenEnds> {
                       const auto line = rotaryTokenLine(*circuits, *tokens, head, token, at);
                       if (!line)
                           return line.error();
                       return ends(*line, offsetTableLength, unused);
                   }),
        [this, words = heading()](const Result<TokenEnds>& found) {
            if (!found)
                return clear(text(found.error()));
            m_heading->setText(words); // Δ may have moved on
            m_model->clear();
            m_model->setHorizontalHeaderLabels(
                {tr("#"), tr("Largest"), tr("Score"), tr("Smallest"), tr("Score")});
            for (std::size_t i = 0; i < found->top.size(); ++i)
                m_model->appendRow({countCell(static_cast<int>(i) + 1),
                                    tokenCell(*workspace(), found->top[i].id,
                                              found->top[i].id == workspace()->selection()->token()),
                                    signedNumberCell(found->top[i].value),
                                    tokenCell(*workspace(), found->bottom[i].id,
                                              found->bottom[i].id == workspace()->selection()->token()),
                                    signedNumberCell(found->bottom[i].value)});
            fitColumns(m_table);
        });
}

QList<FigureSource*> OffsetTable::figures()
{
    if (m_model->rowCount() == 0)
        return {};
    describe(
        m_table,
        QStringLiteral("%1 %2, %3")
            .arg(text(workspace()->selection()->head()), heading(), text(workspace()->model()->card().name)));
    return {m_table};
}

} // namespace headwise::ui
