#include "ui/base/text.h"
#include "ui/models/array_table_model.h"
#include "ui/models/pair_table_model.h"
#include "ui/pictures/chart_contents.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QHeaderView>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QVBoxLayout>

#include <algorithm>

// Pictures made of rows.

namespace headwise::ui {

namespace {

class TableBody : public PictureBody {
public:
    TableBody(QWidget* parent)
        : PictureBody(parent)
        , m_model(new ArrayTableModel(this))
        , m_pairs(new PairTableModel(this))
        , m_table(new TableFigure(this))
    {
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->addWidget(m_table);
        m_table->setSource(m_model, ArrayTableModel::SortRole);
        connect(m_table, &TableFigure::rowChosen, this, [this](int row) {
            if (m_ofPairs) {
                const auto [from, to] = m_pairs->pairAt(row);
                emit referenceChosen(from);
                return emit headChosen(to);
            }
            const std::vector<HeadId> heads = m_model->headsAt(row);
            if (heads.size() > 1)
                emit referenceChosen(heads.front());
            if (!heads.empty())
                emit headChosen(heads.back());
            if (const auto token = m_model->tokenAt(row))
                emit tokenChosen(*token);
        });
    }

    QString caption() const override { return m_caption; }
    bool showsAllHeads() const override { return m_ofAllHeads; }

    void showPicture(const PictureData& shown) override
    {
        m_caption.clear();
        const int chosen = chosenRow(), rowsBefore = m_table->model()->rowCount();
        m_table->setAccessibleName(text(shown.picture.title));
        const auto isOfPairs = [this](const ResultArray* array) {
            return array->shape.size() == 4 && headAxes(*array, context().card) == HeadAxes::TwoHeads;
        };
        const bool ofPairs = !shown.arrays.empty() && std::ranges::all_of(shown.arrays, isOfPairs);
        if (ofPairs != m_ofPairs) {
            m_ofPairs = ofPairs;
            m_table->setSource(m_ofPairs ? static_cast<QAbstractItemModel*>(m_pairs) : m_model,
                               ArrayTableModel::SortRole);
        }
        if (m_ofPairs)
            showPairs(shown);
        else
            showParts(shown);
        m_table->horizontalHeader()->setDefaultSectionSize(120);
        if (m_table->model()->columnCount() <= 12)
            fitColumns(m_table);
        const int rows = m_table->model()->rowCount();
        constexpr int scrollBar = 24; // px, with the frame
        const int height = rows * 24 + m_table->horizontalHeader()->sizeHint().height() + scrollBar;
        m_table->setFixedHeight(std::clamp(height, 90, 320));
        if (m_ofAllHeads && rows == rowsBefore) // the same rows, drawn for other results
            chooseAgain(chosen);
        markToken();
        if (rows > 12 && m_caption.isEmpty())
            m_caption = tr("%1 rows.").arg(count(rows));
        else if (rows > 12 && !m_ofPairs)
            m_caption += u' ' + tr("%1 rows.").arg(count(rows));
    }

    std::vector<std::pair<QWidget*, QString>> figures() override
    {
        if (m_table->model()->rowCount() == 0)
            return {};
        return {{m_table, QString()}};
    }

    /// Selects the selected token's row and brings it into view, in a table with a row per token.
    void markToken() override
    {
        const int token = context().token;
        if (m_ofPairs || m_model->rowCount() != context().card.dVocab || m_model->tokenAt(token) != token)
            return;
        const auto* sorted = static_cast<const QSortFilterProxyModel*>(m_table->model());
        const QModelIndex row = sorted->mapFromSource(m_model->index(token, 0));
        if (!row.isValid() || m_table->selectionModel()->isRowSelected(row.row()))
            return;
        m_table->selectionModel()->select(row,
                                          QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
        m_table->scrollTo(row.siblingAtColumn(std::max(0, m_table->columnAt(0)))); // no step to the side
    }

private:
    /// Row of the model that is selected; −1: none.
    int chosenRow() const
    {
        const QModelIndexList rows = m_table->selectionModel()->selectedRows();
        return rows.isEmpty() ? -1 : m_table->sourceRow(rows.front());
    }

    void chooseAgain(int row)
    {
        if (row < 0)
            return;
        const auto* sorted = static_cast<const QSortFilterProxyModel*>(m_table->model());
        const QModelIndex index = sorted->mapFromSource(sorted->sourceModel()->index(row, 0));
        const QSignalBlocker quiet(m_table->selectionModel()); // it is no choice of a head
        m_table->selectionModel()->setCurrentIndex(
            index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
        m_table->scrollTo(index);
        m_table->viewport()->update();
    }

    /// Returns the words over a name, numbers about it, and lists of tokens, each perhaps before its value; nothing: the columns
    /// are something else.
    std::optional<ListTitles> listTitles(const std::vector<ArrayPart>& parts, const Picture& picture) const
    {
        const auto isList = [](const ArrayPart& part) { return part.shape.size() == 2; };
        const auto first = std::ranges::find_if(parts, isList);
        const auto facts = first - parts.begin();
        const std::vector<ArrayPart> lists(first, parts.end());
        if (lists.empty() || !std::ranges::all_of(parts.begin(), first, [](const ArrayPart& part) {
                return part.shape.size() == 1;
            }))
            return std::nullopt;
        const bool hasValues = lists.size() > 1;
        if (hasValues && lists.size() % 2 != 0)
            return std::nullopt;
        ListTitles titles{text(parts[0].axis(0).name()), {}, static_cast<int>(facts), hasValues};
        for (std::size_t i = 0; i < lists.size(); ++i) {
            const bool isOfIds = isTokenIds(*lists[i].array);
            if (lists[i].shape != lists[0].shape || isOfIds != (i % 2 == 0))
                return std::nullopt;
            if (!hasValues || !isOfIds)
                titles.entries << axisTitle(*lists[i].array);
        }
        if (context().isPaper && parts.size() == 2 && !picture.note.empty())
            titles.entries = {text(picture.note)};
        const auto columns = facts + static_cast<std::ptrdiff_t>(lists.size() * lists[0].shape[1]);
        return m_model->columnCount() - 1 == columns ? std::optional(titles) : std::nullopt;
    }

    void showPairs(const PictureData& shown)
    {
        m_table->setLists({});
        m_ofAllHeads = true;
        m_pairs->setArrays(shown.results, shown.arrays);
        if (m_pairs->pairCount() > static_cast<std::size_t>(m_pairs->rowCount()))
            m_caption =
                tr("The %1 largest of %2 pairs.")
                    .arg(count(m_pairs->rowCount()), count(static_cast<qint64>(m_pairs->pairCount())));
    }

    void showParts(const PictureData& shown)
    {
        std::vector<ArrayPart> parts;
        parts.reserve(shown.arrays.size());
        const auto isAtHead = [this](const ResultArray* array) {
            return headAxes(*array, context().card) != HeadAxes::None;
        };
        const auto isOfHeads = [this](const ResultArray* array) {
            return array->shape.size() == 2 && headAxes(*array, context().card) == HeadAxes::OneHead;
        };
        const bool everyHead = std::ranges::all_of(shown.arrays, isOfHeads);
        m_ofAllHeads = everyHead || std::ranges::none_of(shown.arrays, isAtHead);
        const auto cut = cutSideBySide(shown.arrays, context());
        for (std::size_t i = 0; i < shown.arrays.size(); ++i) {
            if (everyHead)
                parts.push_back(wholeArray(*shown.arrays[i]));
            else if (cut[i])
                parts.push_back(*cut[i]);
            else
                m_caption = whyNone(*shown.arrays[i]);
            if (headAxes(*shown.arrays[i], context().card) == HeadAxes::Layer && cut[i])
                m_caption = tr("Layer %1, as the selected head's.").arg(context().head.layer);
        }
        m_model->setParts(shown.results, parts, context());
        const auto lists = parts.empty() ? std::nullopt : listTitles(parts, shown.picture);
        m_table->setLists(lists);
        if (lists && context().isPaper && parts.size() == 2)
            m_table->sortByColumn(firstValue, Qt::DescendingOrder);
    }

    QString whyNone(const ResultArray& array) const
    {
        switch (headAxes(array, context().card)) {
        case HeadAxes::TwoHeads:
            return tr("Shift+click another head in the grid to mark it as the reference.");
        case HeadAxes::Layer: return tr("This layer was left out of the computation.");
        default: return tr("This head was left out of the computation.");
        }
    }

    ArrayTableModel* m_model;
    PairTableModel* m_pairs;
    TableFigure* m_table;
    QString m_caption;
    static constexpr int firstValue = 2; // in lists: behind the name and the first token
    bool m_ofPairs = false;
    bool m_ofAllHeads = false; // another head changes nothing: scrolling and selected rows stay
};

} // namespace

PictureBody* newTableBody(QWidget* parent)
{
    return new TableBody(parent);
}

} // namespace headwise::ui
