#pragma once

#include "ui/pages/parts/page.h"

class QLabel;

namespace headwise::ui {

class PairTableModel;
class TableFigure;

/// Every pair of an earlier and a later head with its composition score, the strongest first, and its rank among random
/// pairs once computed. A row selects both heads.
class PairsPanel : public Page {
    Q_OBJECT

public:
    explicit PairsPanel(Workspace* workspace, QWidget* parent = nullptr);

    void showKind(const std::string& kind, const QString& title); ///< "k", "q", "v"
    QList<FigureSource*> figures() override;

private:
    std::vector<const ResultArray*> arraysOf(const ResultSet& results) const;

    std::string m_kind;
    QString m_title;
    std::shared_ptr<const ResultSet> m_shown;
    PairTableModel* m_model;
    TableFigure* m_table;
    QLabel* m_caption;
};

} // namespace headwise::ui
