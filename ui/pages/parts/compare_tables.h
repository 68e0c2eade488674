#pragma once

#include "core/analysis/comparison/head_pair.h"
#include "ui/pages/parts/page.h"

#include <array>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;

/// The strongest tokens of one row of a full circuit in two heads: only in the first, in both with their ranks, only in
/// the second.
class CompareTables : public QWidget {
    Q_OBJECT

public:
    explicit CompareTables(Workspace* workspace, QWidget* parent = nullptr);

    void show(const TableDifference& difference, const QString& first, const QString& second);
    void clear();

    TableFigure* table(int index) const { return m_tables[static_cast<std::size_t>(index)]; }
    QString caption(int index) const;
    bool isEmpty() const;

private:
    Workspace* m_workspace;
    std::array<QStandardItemModel*, 3> m_models;
    std::array<TableFigure*, 3> m_tables;
    std::array<QLabel*, 3> m_captions;
};

} // namespace headwise::ui
