#include "ui/pages/heads/all_heads_page.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/models/array_table_model.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pictures/metric_choice.h"
#include "ui/pictures/picture_card.h"
#include "ui/widgets/table_figure.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QScrollArea>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {
constexpr int allHeadsPageColumnWidth = 120; // px, for long names of many scores
}

AllHeadsPage::AllHeadsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_message(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_model(new ArrayTableModel(this))
    , m_table(new TableFigure(this))
    , m_parts(new QSplitter(Qt::Vertical, this))
{
    makeSecondary(m_message);
    m_message->setWordWrap(true);
    m_table->setSource(m_model, ArrayTableModel::SortRole);
    m_table->setAccessibleName(tr("Every score of every head"));
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->horizontalHeader()->setDefaultSectionSize(allHeadsPageColumnWidth);
    m_parts->setChildrenCollapsible(false);
    m_parts->addWidget(m_table);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(m_message);
    layout->addWidget(m_fill, 0, Qt::AlignLeft);
    layout->addWidget(m_parts, 1);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, this, &AllHeadsPage::refresh);
    connect(workspace->selection(), &Selection::headChanged, this, &AllHeadsPage::markHead);
    connect(workspace->selection(), &Selection::referenceChanged, this, &AllHeadsPage::markHead);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) {
                if (index.isValid())
                    this->workspace()->selection()->setHead(
                        m_model->headsAt(m_table->sourceRow(index)).front());
            });
}

void AllHeadsPage::recompute()
{
    std::vector<const ResultArray*> scores;
    const auto results = workspace()->model()->results();
    if (workspace()->model()->isOpen())
        scores = headMetrics(*results, workspace()->model()->card());
    m_fill->offer(scores.empty() ? FillButton::lackOf(*workspace()) : FillButton::Lack::Nothing);
    m_table->setVisible(!scores.empty());
    m_message->setText(scores.empty() ? tr("No score has been computed yet.")
                                      : tr("%1 scores of %2 heads. Run other analyses to add their scores.")
                                            .arg(scores.size())
                                            .arg(workspace()->model()->card().nLayers
                                                 * workspace()->model()->card().nHeads));
    if (m_plane)
        m_planeScroll->setVisible(!scores.empty());
    if (scores.empty())
        return m_model->clear();
    std::vector<ArrayPart> parts;
    parts.reserve(scores.size());
    for (const ResultArray* score : scores)
        parts.push_back(wholeArray(*score));
    {
        const QSignalBlocker quiet(m_table->selectionModel()); // other rows are no choice of a head
        m_model->setParts(results, parts, pictureContext(*workspace()));
    }
    showPlane(scores);
    markHead();
}

void AllHeadsPage::showPlane(const std::vector<const ResultArray*>& scores)
{
    if (!m_plane && scores.size() > 1) {
        const auto isThere = [&scores](const QString& path) {
            return std::ranges::any_of(scores,
                                       [&path](const auto* score) { return text(score->path) == path; });
        };
        Picture picture{.kind = Picture::Kind::HeadPlane,
                        .title = tr("Two scores of every head").toStdString(),
                        .arrays = {scores[0]->path, scores[1]->path}};
        for (const std::size_t axis : {0U, 1U})
            if (isThere(m_wanted[axis]))
                picture.arrays[axis] = m_wanted[axis].toStdString();
        if (isThere(m_wanted[2]))
            picture.arrays.push_back(m_wanted[2].toStdString());
        m_planeScroll = new QScrollArea(this);
        m_plane = new PictureCard(workspace(), picture, m_planeScroll);
        m_plane->fillPlace();
        m_planeScroll->setWidget(m_plane);
        m_planeScroll->setWidgetResizable(true);
        m_planeScroll->setFrameShape(QFrame::NoFrame);
        m_parts->addWidget(m_planeScroll);
        m_parts->setSizes({240, 460});
        connect(m_plane, &PictureCard::readOutChanged, this, &Page::readOutChanged);
        connect(m_plane, &PictureCard::viewMade, this, &AllHeadsPage::viewMade);
    }
    if (!m_plane)
        return;
    m_plane->markStale();
    m_plane->ensureCurrent();
}

QString AllHeadsPage::shownScore(std::size_t part) const
{
    if (!m_plane)
        return m_wanted[part];
    const auto* choice = m_plane->findChild<MetricChoice*>();
    const auto boxes = choice->findChildren<QComboBox*>(Qt::FindDirectChildrenOnly); // x, y, colour
    const QString chosen = boxes[static_cast<qsizetype>(part)]->currentData().toString();
    const std::vector<std::string>& own = m_plane->picture().arrays;
    return !chosen.isEmpty() || part >= own.size() ? chosen : text(own[part]);
}

ViewFields AllHeadsPage::viewFields()
{
    constexpr std::array keys{"x", "y", "color"};
    ViewFields fields;
    for (std::size_t part = 0; part < keys.size(); ++part)
        fields.add(
            keys[part], [this, part] { return shownScore(part); },
            [this, part](const QJsonValue& path) { m_wanted[part] = path.toString(); });
    return fields.then([this] {
        delete std::exchange(m_planeScroll, nullptr);
        m_plane = nullptr;
        refresh();
    });
}

void AllHeadsPage::markHead()
{
    if (!isVisible() || m_model->rowCount() == 0)
        return;
    if (m_plane) {
        m_plane->changeHead();
        m_plane->ensureCurrent();
    }
    const HeadId head = workspace()->selection()->head();
    const int row = head.layer * workspace()->model()->card().nHeads + head.head;
    const auto* sorted = qobject_cast<const QSortFilterProxyModel*>(m_table->model());
    const QModelIndex index = sorted->mapFromSource(m_model->index(row, 0));
    const QSignalBlocker quiet(m_table->selectionModel());
    m_table->selectionModel()->setCurrentIndex(
        index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    m_table->scrollTo(index);
    m_table->viewport()->update();
}

QList<FigureSource*> AllHeadsPage::figures()
{
    if (!workspace()->model()->isOpen() || m_model->rowCount() == 0)
        return {};
    const QString model = text(workspace()->model()->card().name);
    describe(m_table, tr("Every score of every head, %1").arg(model));
    setSubject(m_table, std::nullopt);
    QList<FigureSource*> all{m_table};
    if (!m_plane)
        return all;
    for (const auto& [view, what] : m_plane->figures()) {
        auto* source = dynamic_cast<FigureSource*>(view);
        setPictureName(view, tr("Two scores of every head"));
        describe(source, QStringLiteral("%1, %2").arg(what, model));
        setSubject(source, std::nullopt);
        all << source;
    }
    return all;
}

} // namespace headwise::ui
