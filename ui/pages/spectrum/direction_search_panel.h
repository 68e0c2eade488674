#pragma once

#include "core/circuits/singular_search.h"
#include "ui/pages/parts/page.h"

class QLabel;
class QStandardItem;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;
class TokenEdit;

/// Finds every singular direction of any head that has a token among its strongest; a click selects it.
class DirectionSearchPanel : public Page {
    Q_OBJECT

public:
    explicit DirectionSearchPanel(Workspace* workspace, QWidget* parent = nullptr);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    void connectSignals();
    void recompute() override; ///< Begins a restored search once the embeddings are there.
    void clear();
    void seek(const QString& token);
    void search(int token);
    void show(const std::vector<DirectionHit>& hits, int token);
    static QList<QStandardItem*>
    rowOf(const DirectionHit& hit); ///< Greyed out if the direction is meaningless by itself.

    TokenEdit* m_search;
    QLabel* m_state;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    std::vector<DirectionHit> m_hits; // hits of the rows
    QString m_sought;                 // "#17"; empty: no search
    bool m_isWaiting = false;         // the search is restored and has not begun
    Job m_job;
};

} // namespace headwise::ui
