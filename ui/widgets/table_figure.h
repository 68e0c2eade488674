#pragma once

#include "core/model/head_id.h"
#include "ui/figures/figure_recording.h"
#include "ui/widgets/paper_lists.h"

#include <QTableView>

#include <optional>
#include <utility>
#include <vector>

class QSortFilterProxyModel;

namespace headwise::ui {

struct PaperTable;
class WrappedHeader;

/// A sortable table that can be exported as a figure and as numbers. Ctrl+C copies the selected rows, the export has all.
class TableFigure : public QTableView, public FigureSource, public RowsInTurns {
    Q_OBJECT

public:
    explicit TableFigure(QWidget* parent = nullptr);

    void setSource(QAbstractItemModel* model, int sortRole);
    WrappedHeader* header() const { return m_header; }
    int sourceRow(const QModelIndex& index) const; ///< Row in the model below the sorting proxy.

    void
    setLit(std::optional<HeadId> head); ///< Thin rings around rows about a head that is hovered elsewhere.

    /// On paper each row of lists has as many entries as can be read. None: the columns as they are.
    void setLists(const std::optional<ListTitles>& titles) { m_lists = titles; }

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    QStringList omissions(const QSizeF& size, const FigureStyle& style) const override;
    double leastHeight(double width, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;
    int dataRowCount() const override;
    QStringList dataRow(int row) const override;
    int dataRevision() const override { return m_revision; }

signals:
    void rowChosen(int sourceRow);
    /// The head of the row under the mouse, of a pair the later; none: the mouse has left.
    void headHovered(std::optional<headwise::HeadId> head);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    QList<HeadId> headsOf(int row) const;
    void hover(const QModelIndex& cell);

    PaperTable paperTable(double width, const FigureStyle& style, QPaintDevice* device) const;
    double leastBlock(const PaperTable& table, const QPaintDevice* device, const FigureStyle& style) const;
    /// Returns how many blocks of a table have room, and the height of each.
    std::pair<std::size_t, double> blocksIn(double room, const PaperTable& table, QPaintDevice* device,
                                            const FigureStyle& style) const;
    /// Paints the rows of some columns, as many as fit. \returns their number
    int paintBlock(QPainter& painter, const PaperTable& table, const std::vector<int>& columns,
                   const QRectF& area, const FigureStyle& style) const;
    /// \returns the omissions
    QStringList paintTable(QPainter& painter, const QSizeF& size, const FigureStyle& style) const;
    /// \returns the omissions
    QStringList paintTitledLists(QPainter& painter, const QSizeF& size, const FigureStyle& style) const;

    QSortFilterProxyModel* m_sorted;
    WrappedHeader* m_header;
    int m_sortRole = 0;
    int m_revision = 0;
    std::optional<ListTitles> m_lists;
    std::optional<HeadId> m_lit, m_hovered;
};

} // namespace headwise::ui
