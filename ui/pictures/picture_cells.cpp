#include "ui/base/text.h"
#include "ui/charts/small_multiples.h"
#include "ui/document/head_metrics.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/heatmaps/heatmap_subjects.h"
#include "ui/pictures/chart_contents.h"
#include "ui/pictures/picture_body.h"
#include "ui/pictures/picture_multiples.h"
#include "ui/pictures/picture_scale.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QJsonArray>
#include <QLabel>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>

// Pictures made of cells: a matrix, pairs of heads.

namespace headwise::ui {

namespace {

using Cells = std::shared_ptr<const Eigen::MatrixXf>;

/// "query 7" where the axis only counts, else the name of the entry.
QString placeOn(const HeatmapAxis& axis, int index)
{
    return axis.label ? axisLabel(axis, index) : QStringLiteral("%1 %2").arg(axis.title).arg(index);
}

/// One array as cells: cut to two dimensions, or with a row for every head, and for pairs a column for each too.
class CellsBody : public PictureBody {
public:
    CellsBody(bool ofHeads, QWidget* parent)
        : PictureBody(parent)
        , m_ofHeads(ofHeads)
        , m_panel(new HeatmapPanel(this))
        , m_multiples(new SmallMultiples(this))
        , m_heads(new QComboBox(this))
        , m_orders(new QComboBox(this))
        , m_choices(new QHBoxLayout)
    {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(8);
        m_choices->setSpacing(8);
        layout->addWidget(m_heads, 0, Qt::AlignLeft);
        layout->addWidget(m_orders, 0, Qt::AlignLeft);
        layout->addLayout(m_choices);
        layout->addWidget(m_panel);
        layout->addWidget(m_multiples);
        createMultiples();
        createOrders();
        HeatmapView* view = m_panel->view();
        view->setCellShape(HeatmapView::CellShape::Square);
        view->content()->setNanIsAbsent(true);
        connect(view, &HeatmapView::hoverLeft, this, [this] {
            emit headHovered({});
            emit readOutChanged({});
        });
        connect(view, &HeatmapView::cellHovered, this, [this, view](int row, int column, float value) {
            if (m_ofHeads && view->underMouse()) // not with a key; of a pair, the head that a click selects
                emit headHovered(m_ofPairs ? headAt(column + m_firstColumn) : headOf(row));
            emit readOutChanged(QStringLiteral("%1 · %2   %3")
                                    .arg(placeOn(m_rows, row), placeOn(m_columns, column),
                                         std::isfinite(value) ? number(value) : tr("no data here")));
            if (m_ofPairs)
                emit pairHovered(headAt(row), headAt(column + m_firstColumn));
        });
        setCellSubjects(view, [this](int row, int column) { return subjectOf(row, column); });
        connect(view, &HeatmapView::cellClicked, this, &CellsBody::choose);
        connect(view, &HeatmapView::cellActivated, this, [this](int row, int column) {
            choose(row, column);
            if (m_ofPairs)
                emit pairActivated(headAt(row), headAt(column + m_firstColumn));
        });
    }

    bool showsAllHeads() const override { return m_ofHeads; }

    QString caption() const override { return m_caption; }

    void showPicture(const PictureData& shown) override
    {
        const bool several = hasMultiples(shown) && m_heads->currentIndex() > 0;
        m_heads->setVisible(hasMultiples(shown) && !m_fillsPlace);
        m_multiples->setVisible(several);
        m_panel->setVisible(!several);
        m_caption.clear();
        if (several)
            return showMultiples(shown);
        m_data = shown;
        m_tokens = nullptr;
        HeatmapView* view = m_panel->view();
        view->onScreen().setMessage(tr("These results lack this array."));
        if (shown.arrays.empty())
            return view->setMatrix(nullptr);
        const ResultArray& array = *shown.arrays.front();
        view->setAccessibleName(metricTitle(array));
        m_ofPairs = m_ofHeads && isOfPairs(array);
        m_orders->setVisible(m_ofPairs && !leaves().empty());
        if (m_ofHeads)
            return m_ofPairs ? showPairs(array) : showRows(array);
        const auto part = cutAtHeads(array, context());
        if (!part) {
            view->onScreen().setMessage(
                headAxes(array, context().card) == HeadAxes::TwoHeads
                    ? tr("Shift+click another head in the grid to mark it as the reference.")
                    : tr("This head was left out of the computation."));
            return view->setMatrix(nullptr);
        }
        showPart(chosen(*part));
    }

    void markHead() override
    {
        if (!m_ofHeads || !m_panel->view()->matrix())
            return;
        const QSignalBlocker quiet(m_panel->view());
        const Eigen::MatrixXf& cells = *m_panel->view()->matrix();
        if (!m_ofPairs)
            return m_panel->view()->zoom()->setCurrentCell(
                indexOf(context().head), std::max(0, m_panel->view()->zoom()->state().column));
        const int row = placeOf(context().reference.value_or(context().head));
        const int column = placeOf(context().head) - m_firstColumn;
        const bool isThere = row >= 0 && row < cells.rows() && column >= 0;
        m_panel->view()->zoom()->setCurrentCell(isThere ? row : -1, isThere ? column : -1);
    }

    /// The row of a head, and of pairs its column too.
    void lightHead(std::optional<HeadId> head) override
    {
        m_multiples->setLit(head);
        HeatmapView* view = m_panel->view();
        QList<QRect> lit;
        if (head && m_ofHeads && view->matrix()) {
            const int rows = static_cast<int>(view->matrix()->rows());
            const int columns = static_cast<int>(view->matrix()->cols());
            const int row = m_ofPairs ? placeOf(*head) : indexOf(*head);
            const int column = m_ofPairs ? row - m_firstColumn : -1;
            if (row >= 0 && row < rows)
                lit << QRect(0, row, columns, 1);
            if (row >= 0 && column >= 0 && column < columns)
                lit << QRect(column, 0, 1, rows);
        }
        view->onScreen().setLitCells(lit);
    }

    void setPending(bool pending) override { m_panel->view()->onScreen().setPending(pending); }

    void showMessage(const QString& message) override
    {
        setPending(false);
        m_panel->view()->onScreen().setMessage(message);
        m_panel->view()->setMatrix(nullptr);
    }

    void fillPlace() override
    {
        m_fillsPlace = true;
        static_cast<QVBoxLayout*>(layout())->setStretchFactor(m_panel, 1);
    }

    ViewFields viewFields() override { return m_panel->viewFields(); }

    ViewFields choices() override
    {
        ViewFields fields;
        fields.addChoice("heads", m_heads).addChoice("order", m_orders);
        return fields.add(
            "entries", [this] { return chosenEntries(); },
            [this](const QJsonValue& entries) {
                for (std::size_t box = 0; box < m_boxes.size();
                     ++box) // One box may change how many there are in the next.
                    m_boxes[box]->setCurrentIndex(entries[static_cast<qsizetype>(box)].toInt());
            });
    }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        if (m_multiples->isVisibleTo(this))
            return {{m_multiples, tr("head by head")}};
        if (!m_panel->view()->matrix())
            return {};
        return {{m_panel->view(), QString()}};
    }

private:
    void createMultiples()
    {
        m_heads->addItems({tr("This head"), tr("Every head of its layer"), tr("Every head")});
        m_heads->setObjectName(QStringLiteral("howHeadsAreDrawn"));
        introduceMultiples(this, m_heads, m_multiples, [this] { showPicture(PictureData(m_data)); });
    }

    void createOrders()
    {
        m_orders->addItems({tr("By layer"), tr("Similar heads together")});
        m_orders->setAccessibleName(tr("Order of the heads"));
        m_orders->setToolTip(tr("Similarity by the numbers in this picture (average linkage)"));
        m_orders->setObjectName(QStringLiteral("orderOfHeads"));
        m_orders->hide();
        connect(m_orders, &QComboBox::currentIndexChanged, this,
                [this] { showPicture(PictureData(m_data)); });
    }

    /// The heads of a picture of pairs in the order of its own clusters, which stands beside its array; empty where it has none.
    std::vector<int> leaves() const
    {
        const ResultArray* order = m_data.results && !m_data.arrays.empty()
            ? m_data.results->find(m_data.arrays.front()->path + "_leaves")
            : nullptr;
        const auto* heads = order ? std::get_if<std::vector<std::int32_t>>(&order->values) : nullptr;
        return heads ? std::vector<int>(heads->begin(), heads->end()) : std::vector<int>();
    }

    /// Whether it has a number for every head with every head; shown whole, those of another model count too.
    bool isOfPairs(const ResultArray& array) const
    {
        return array.shape.size() == 4
            && (!context().isCut || headAxes(array, context().card) == HeadAxes::TwoHeads);
    }

    /// Whether every head has a matrix of its own.
    bool hasMultiples(const PictureData& shown) const
    {
        return !m_ofHeads && !shown.arrays.empty() && shown.arrays.front()->shape.size() == 4
            && headAxes(*shown.arrays.front(), context().card) == HeadAxes::OneHead;
    }

    /// Shows the heads that were computed, on one scale.
    void showMultiples(const PictureData& shown)
    {
        constexpr int ofLayer = 1, fewAbreast = 4, largestTile = 240, leastTile = 60;
        const ResultArray& array = *shown.arrays.front();
        const HeadId now = context().head;
        const bool one = m_heads->currentIndex() == ofLayer;
        const ArrayPart all = wholeArray(array);
        std::vector<HeadCells> heads;
        ValueStatistics values;
        for (int index = 0; index < static_cast<int>(array.shape[0] * array.shape[1]); ++index) {
            const HeadId head = headOf(index);
            if (one && head.layer != now.layer)
                continue;
            const ArrayPart layer = entryOf(all, static_cast<std::size_t>(head.layer));
            Eigen::MatrixXf cells = matrixOf(entryOf(layer, static_cast<std::size_t>(head.head)));
            if (cells.array().isNaN().all())
                continue; // left out of the computation
            values.add(statisticsOf(cells));
            heads.push_back({head, std::move(cells)});
        }
        m_data = shown;
        m_caption = heads.empty() ? tr("No head of this layer was computed.") : QString();
        const int inLayer = std::max(1, context().card.nHeads);
        const int count = static_cast<int>(heads.size());
        const int columns = std::max(1, count <= inLayer ? std::min(count, fewAbreast) : inLayer);
        const int rows = std::max(1, (count + columns - 1) / columns);
        const int tile = std::clamp(900 / rows, leastTile, largestTile);
        m_multiples->setFixedHeight(rows * tile + 2 * QFontMetrics(m_multiples->font()).height());
        m_multiples->setAccessibleName(tr("%1, head by head").arg(text(m_data.picture.title)));
        m_multiples->setCells(scaleOf(m_data.picture, array, values),
                              {text(array.axes[2].name()), text(array.axes[3].name())}, std::move(heads),
                              columns);
        m_multiples->setValueTitle(valueTitle(array));
        m_multiples->setCurrent(now);
    }

    int indexOf(HeadId head) const { return head.layer * context().card.nHeads + head.head; }
    HeadId headOf(int index) const
    {
        const int heads = std::max(1, context().card.nHeads);
        return {index / heads, index % heads};
    }

    /// The head at a place in a picture of pairs, and the place of a head: −1 for heads without one.
    HeadId headAt(int place) const
    {
        return headOf(m_order.empty() ? place : m_order.at(static_cast<std::size_t>(place)));
    }
    int placeOf(HeadId head) const
    {
        if (m_order.empty())
            return indexOf(head);
        const auto found = std::ranges::find(m_order, indexOf(head));
        return found == m_order.end() ? -1 : static_cast<int>(found - m_order.begin());
    }

    Subject subjectOf(int row, int column) const
    {
        if (m_ofPairs)
            return {.heads = {headAt(row), headAt(column + m_firstColumn)}};
        if (m_ofHeads)
            return {.heads = {headOf(row)}};
        return {};
    }

    static QString titleOf(const ArrayAxis& axis)
    {
        return axis == Axis::EarlierHead ? tr("earlier head, writes")
            : axis == Axis::LaterHead    ? tr("later head, reads")
                                         : text(axis.name());
    }

    void showPairs(const ResultArray& array)
    {
        ArrayPart square = wholeArray(array);
        square.shape = {array.shape[0] * array.shape[1], array.shape[2] * array.shape[3]};
        Eigen::MatrixXf cells = matrixOf(square);
        // Where only later heads read, the last layer writes to none and the first reads from none.
        const auto inLayer = static_cast<Eigen::Index>(array.shape[1]);
        const bool isForward = leaves().empty() && array.shape[0] > 1
            && cells.leftCols(inLayer).array().isNaN().all()
            && cells.bottomRows(inLayer).array().isNaN().all();
        m_firstColumn = isForward ? static_cast<int>(inLayer) : 0;
        if (isForward)
            cells = Eigen::MatrixXf(cells.topRightCorner(cells.rows() - inLayer, cells.cols() - inLayer));
        m_order.clear();
        if (m_orders->isVisibleTo(this) && m_orders->currentIndex() > 0) {
            m_order = leaves();
            std::erase_if(m_order, [&](int head) { return head < 0 || head >= cells.rows(); });
            cells = Eigen::MatrixXf(cells(m_order, m_order));
        }
        const int together = m_order.empty() ? static_cast<int>(inLayer) : 0;
        const auto layer = [this](int group, int first) {
            return QStringLiteral("L%1").arg(headAt(group * context().card.nHeads + first).layer);
        };
        m_rows = {.title = titleOf(array.axes[1]),
                  .label = [this](int row) { return text(headAt(row)); },
                  .groupSize = together,
                  .groupLabel = [layer](int group) { return layer(group, 0); }};
        m_columns = {.title = titleOf(array.axes[3]),
                     .label = [this](int column) { return text(headAt(column + m_firstColumn)); },
                     .groupSize = together,
                     .groupLabel = [this, layer](int group) { return layer(group, m_firstColumn); }};
        showCells(array, std::make_shared<Eigen::MatrixXf>(std::move(cells)));
        markHead();
    }

    void showRows(const ResultArray& array)
    {
        if (headAxes(array, context().card) != HeadAxes::OneHead || array.shape.size() != 3)
            return m_panel->view()->setMatrix(nullptr);
        ArrayPart rows = wholeArray(array);
        m_columns = {text(rows.axis(2).name()), namesAlong(rows, 2, context())};
        rows.shape = {array.shape[0] * array.shape[1], array.shape[2]};
        m_rows = {text(array.axes[1].name()), [this](int row) { return text(headOf(row)); }};
        showCells(array, std::make_shared<Eigen::MatrixXf>(matrixOf(rows)));
        markHead();
    }

    /// Reduces a part to two dimensions at the entries chosen in the boxes over the picture.
    ArrayPart chosen(ArrayPart part)
    {
        std::size_t box = 0;
        for (; part.shape.size() > 2; ++box) {
            if (box == m_boxes.size())
                addBox();
            QComboBox* choice = m_boxes[box];
            const int count = static_cast<int>(part.shape.front());
            const auto names = namesAlong(part, 0, context());
            const int before = choice->currentIndex();
            const QSignalBlocker quiet(choice);
            choice->clear();
            for (int i = 0; i < count; ++i)
                choice->addItem(QStringLiteral("%1 %2").arg(text(part.axis(0).name()),
                                                            names ? names(i) : QString::number(i)));
            choice->setCurrentIndex(std::clamp(before, 0, std::max(0, count - 1)));
            choice->setAccessibleName(text(part.axis(0).name()));
            choice->show();
            part = entryOf(part, static_cast<std::size_t>(choice->currentIndex()));
        }
        for (; box < m_boxes.size(); ++box)
            m_boxes[box]->hide();
        return part;
    }

    /// The entry of each box, for a session; no value if all are the first.
    QJsonValue chosenEntries() const
    {
        QJsonArray entries;
        bool isOther = false;
        for (const QComboBox* box : m_boxes)
            if (!box->isHidden()) {
                entries << box->currentIndex();
                isOther = isOther || box->currentIndex() > 0;
            }
        return isOther ? QJsonValue(entries) : QJsonValue(QJsonValue::Undefined);
    }

    void addBox()
    {
        auto* choice = new QComboBox(this);
        connect(choice, &QComboBox::currentIndexChanged, this, [this] { showPicture(m_data); });
        m_choices->insertWidget(static_cast<int>(m_boxes.size()), choice);
        if (m_boxes.empty())
            m_choices->addStretch();
        m_boxes.push_back(choice);
    }

    void showPart(const ArrayPart& part)
    {
        const std::size_t last = part.shape.size() - 1;
        m_rows = part.shape.size() > 1
            ? HeatmapAxis{text(part.axis(0).name()), namesAlong(part, 0, context())}
            : HeatmapAxis{};
        m_columns = part.shape.empty()
            ? HeatmapAxis{}
            : HeatmapAxis{text(part.axis(last).name()), namesAlong(part, last, context())};
        if (part.shape.size() > 1)
            m_tokens = tokensAlong(part, 0, context());
        showCells(*part.array, std::make_shared<Eigen::MatrixXf>(matrixOf(part)));
    }

    void showCells(const ResultArray& array, const Cells& cells)
    {
        HeatmapView* view = m_panel->view();
        view->content()->setRowAxis(m_rows);
        view->content()->setColumnAxis(m_columns);
        view->content()->setValueTitle(valueTitle(array));
        // Long thin matrices would be a line of square cells.
        const Eigen::Index shorter = std::max<Eigen::Index>(1, std::min(cells->rows(), cells->cols()));
        const bool thin = std::max(cells->rows(), cells->cols()) > 4 * shorter;
        view->setCellShape(thin ? HeatmapView::CellShape::Stretched : HeatmapView::CellShape::Square);
        view->colors()->proposeScale(scaleOf(m_data.picture, array, *cells));
        view->setMatrix(cells);
        if (!m_fillsPlace)
            m_panel->setFixedHeight(std::clamp(static_cast<int>(cells->rows()) * 26 + 110, 220, 480));
    }

    void choose(int row, int column)
    {
        if (m_ofHeads && !m_ofPairs) {
            emit headChosen(headOf(row));
        } else if (m_ofHeads) {
            emit referenceChosen(headAt(row));
            emit headChosen(headAt(column + m_firstColumn));
        } else if (m_tokens) {
            emit tokenChosen(m_tokens(row));
        }
    }

    bool m_ofHeads;
    bool m_fillsPlace = false; // of a page, instead of the height of a card
    bool m_ofPairs = false;    // else a column for each number of a head
    int m_firstColumn = 0;     // of pairs: the heads before it read from none
    std::vector<int> m_order;  // of pairs: the head of each row and column; empty: all, layer after layer
    HeatmapPanel* m_panel;
    SmallMultiples* m_multiples; // where every head has a matrix
    QComboBox* m_heads;
    QComboBox* m_orders; // of pairs that know which heads are alike
    QString m_caption;
    QHBoxLayout* m_choices;
    std::vector<QComboBox*> m_boxes;
    HeatmapAxis m_rows, m_columns;
    std::function<int(int)> m_tokens;
    PictureData m_data;
};

} // namespace

PictureBody* newCellsBody(Picture::Kind kind, QWidget* parent)
{
    return new CellsBody(kind == Picture::Kind::HeadPairs, parent);
}

} // namespace headwise::ui
