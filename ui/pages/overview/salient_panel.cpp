#include "ui/pages/overview/salient_panel.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/base/window_words.h"
#include "ui/document/about_model.h"
#include "ui/document/array_part.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/widgets/row_opening.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QHeaderView>
#include <QLabel>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr const char* analysisId = "salient_tokens";
constexpr std::size_t mostKnown = 24; // heads, half a megabyte each

/// Returns a head's part of one of the analysis' arrays; none if it is absent.
std::optional<ArrayPart> partOf(const ResultSet& results, const char* name, HeadId head)
{
    const ResultArray* array = results.find(std::string("analyses/") + analysisId + '/' + name);
    if (!array || array->shape.size() < 2 || static_cast<std::size_t>(head.layer) >= array->shape[0]
        || static_cast<std::size_t>(head.head) >= array->shape[1])
        return {};
    return entryOf(entryOf(wholeArray(*array), static_cast<std::size_t>(head.layer)),
                   static_cast<std::size_t>(head.head));
}

/// Makes "␣France  ␣French  …", with the logits on hover.
QStandardItem* outputsCell(const Workspace& workspace, const ArrayPart& ids,
                           const std::optional<ArrayPart>& values)
{
    QStringList shown;
    QStringList explained;
    for (std::size_t i = 0; i < ids.size() && ids.at(i) >= 0; ++i) {
        shown << workspace.model()->tokenText(static_cast<int>(ids.at(i)));
        explained << (values ? QStringLiteral("%1  %2").arg(shown.back(), signedNumber(values->at(i)))
                             : shown.back());
    }
    QStandardItem* made = wordCell(shown.join(QStringLiteral("  ")));
    made->setFont(tokenFont());
    made->setToolTip(explained.join(u'\n'));
    return made;
}

} // namespace

SalientPanel::SalientPanel(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_caption(new QLabel(this))
    , m_message(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_model(new QStandardItemModel(this))
    , m_table(new TableFigure(this))
{
    makeSecondary(m_caption);
    m_caption->setWordWrap(true);
    makeSecondary(m_message);
    m_message->setWordWrap(true);
    m_message->setAlignment(Qt::AlignCenter);
    m_caption->setToolTip(tr(
        "‖E[t] W_V W_O‖ / ‖E[t]‖: the head's output per unit of the token's embedding; random baseline ‖W_V W_O‖ / √d"));
    m_table->setSource(m_model, TokenTableModel::SortRole);
    m_table->setAccessibleName(tr("Salient tokens of the head"));
    m_table->setToolTip(tr("The head's salient tokens, and the outputs each one promotes most"));
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->horizontalHeader()->hide();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_caption);
    layout->addWidget(m_message);
    layout->addWidget(m_fill, 0, Qt::AlignHCenter | Qt::AlignTop);
    layout->addWidget(m_table, 1);
    m_pause.setSingleShot(true);
    m_pause.setInterval(pauseBeforeExtras);
    connect(&m_pause, &QTimer::timeout, this, &SalientPanel::ask);
    for (const auto signal : {&OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::tokensChanged})
        connect(workspace->model(), signal, this,
                [this] { m_known.clear(); }); // which keep an embedding alive
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged,
                              &OpenModel::tokensChanged, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, this, &SalientPanel::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &SalientPanel::refresh);
    whenOpened(m_table, [this](const QModelIndex& index) {
        if (const int token = tokenOf(*m_model, m_table->sourceRow(index), 0); token >= 0)
            this->workspace()->selection()->setToken(token);
    });
}

void SalientPanel::clear(const QString& message)
{
    m_pause.stop();
    m_job.cancel();
    m_asked.reset();
    m_model->clear();
    m_caption->hide();
    m_table->hide();
    m_message->setText(message);
    m_message->show();
    m_fill->offer(FillButton::lackOf(*workspace()));
}

void SalientPanel::recompute()
{
    if (!workspace()->model()->isOpen())
        return clear({});
    const HeadId head = workspace()->selection()->head();
    if (showTokens(*workspace()->model()->results(), head)) {
        m_pause.stop();
        m_asked.reset();
        return m_job.cancel();
    }
    const auto circuits = workspace()->model()->circuits();
    if (!circuits)
        return clear(
            tr("This session has no salient tokens for %1; locate its model to see them.").arg(text(head)));
    const auto tokens = workspace()->model()->tokens();
    if (!tokens)
        return clear(tr("Reading the embeddings…"));
    AnalysisOptions options = workspace()->runs()->analysisOptions();
    options.heads = {head};
    const Question question{tokens, options};
    if (m_asked == question)
        return; // Results of another analysis arrived.
    clear(tr("Salient tokens of %1…").arg(text(head)));
    m_asked = question;
    const auto known = std::ranges::find(m_known, question, &Answer::question);
    if (known != m_known.end())
        return showAnswer(*known->found, head);
    m_pause.start();
}

void SalientPanel::ask()
{
    const auto circuits = workspace()->model()->circuits();
    if (!m_asked || !circuits)
        return;
    const HeadId head = m_asked->options.heads.front();
    m_job.start(tr("Salient tokens of %1").arg(text(head)),
                aboutModel(workspace()->model()->circuits(),
                           [context = AnalysisContext{*circuits, m_asked->tokens, m_asked->options}](
                               const Task& task) { return findAnalysis(analysisId)->run(context, task); }),
                [this, head, question = *m_asked](const Result<ResultSet>& found) {
                    if (!found)
                        return clear(text(found.error()));
                    m_known.push_front({question, std::make_shared<const ResultSet>(*found)});
                    if (m_known.size() > mostKnown)
                        m_known.pop_back();
                    showAnswer(*found, head);
                });
}

void SalientPanel::showAnswer(const ResultSet& found, HeadId head)
{
    if (!showTokens(found, head))
        clear(found.warnings.empty() ? tr("%1 writes nothing for any token.").arg(text(head))
                                     : windowWords(text(found.warnings.front())));
}

bool SalientPanel::showTokens(const ResultSet& results, HeadId head)
{
    const auto ids = partOf(results, "ids", head);
    const auto norms = partOf(results, "norms", head);
    const auto outputs = partOf(results, "output_ids", head);
    if (!ids || !norms || !outputs || !(ids->at(0) >= 0))
        return false;
    const auto values = partOf(results, "output_values", head);
    m_model->clear();
    m_model->setHorizontalHeaderLabels({tr("Token"), tr("Norm"), tr("Raises most")});
    for (std::size_t i = 0; i < ids->size() && ids->at(i) >= 0; ++i)
        m_model->appendRow({tokenCell(*workspace(), static_cast<int>(ids->at(i))), numberCell(norms->at(i)),
                            outputsCell(*workspace(), entryOf(*outputs, i),
                                        values ? std::optional(entryOf(*values, i)) : std::nullopt)});
    const auto null = partOf(results, "null_norm", head);
    m_caption->setText(null ? tr("norm (random baseline %1), most promoted tokens").arg(number(null->at(0)))
                            : tr("norm, most promoted tokens"));
    m_message->hide();
    m_fill->offer(FillButton::Lack::Nothing);
    m_caption->show();
    m_table->show();
    QHeaderView* header = m_table->horizontalHeader();
    header->setMinimumSectionSize(24);
    header->setSectionResizeMode(QHeaderView::ResizeToContents);
    header->setSectionResizeMode(0, QHeaderView::Interactive);
    header->setSectionResizeMode(2, QHeaderView::Stretch); // takes the remaining width
    fitTokens();
    return true;
}

void SalientPanel::fitTokens()
{
    constexpr double most = 0.38; // of the width, so that one long token leaves space for the outputs
    if (m_model->columnCount() == 0)
        return;
    const QAbstractItemView* cells = m_table; // sizeHint is public in the base class
    const int room = static_cast<int>(most * m_table->viewport()->width());
    m_table->setColumnWidth(0, std::min(cells->sizeHintForColumn(0), std::max(room, 40)));
}

void SalientPanel::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    layout()->activate(); // gives the table its new width
    fitTokens();
}

QList<FigureSource*> SalientPanel::figures()
{
    if (m_model->rowCount() == 0)
        return {};
    describe(m_table,
             tr("%1 salient tokens, %2")
                 .arg(text(workspace()->selection()->head()), text(workspace()->model()->card().name)));
    return {m_table};
}

} // namespace headwise::ui
