#pragma once

#include "ui/models/token_table_model.h"

#include <QWidget>

#include <vector>

class QBoxLayout;
class QTableView;

namespace headwise::ui {

/// Two tables of tokens: the largest and the smallest entries of a row or column of a full circuit. They stand side by
/// side, or below each other where they do not fit, and hide the columns that leave the tokens too little space.
class TokenEndsTables : public QWidget {
    Q_OBJECT

public:
    /// Columns to show besides token and value.
    struct Columns {
        bool ids = false;
        bool ranks = false;
        bool biased = false;
        bool scores = false; ///< z-scores; else shares.
    };

    explicit TokenEndsTables(QWidget* parent = nullptr);

    /// \param largest magnitude of the strongest colour, common to both ends
    void setRows(TokenTableModel::Rows top, TokenTableModel::Rows bottom, double largest);
    void clear();
    const TokenTableModel& top() const { return *m_top; }
    const TokenTableModel& bottom() const { return *m_bottom; }
    void setColumns(const Columns& columns);
    void setCompact(bool on); ///< Shows only tokens and values, and only the largest ones if narrow.
    bool isCompact() const { return m_isCompact; }
    void setFilter(const QString& text); ///< Shows only tokens that contain `text`.
    /// Width in px of one table that cuts off no token of usual length.
    int leastWidth() const;

signals:
    void tokenActivated(int token); ///< A row was double-clicked.
    void rowHovered(const headwise::ui::TokenRow& row);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    QTableView* makeTable(TokenTableModel* model);
    QWidget* captioned(const QString& caption, QTableView* table);
    void arrange();
    std::vector<int> wantedColumns() const; ///< Besides token and value, the most important first.
    int widthOf(int column) const;          ///< px, in both tables
    int widthBeside() const;                ///< px, of a table's frame and scroll bar

    bool m_isCompact = false;
    Columns m_columns;
    TokenTableModel* m_top;
    TokenTableModel* m_bottom;
    QTableView* m_topTable;
    QTableView* m_bottomTable;
    QBoxLayout* m_layout;
    QWidget* m_bottomEnd = nullptr; // with its caption
};

} // namespace headwise::ui
