#pragma once

#include "ui/pages/compare/compare_sides.h"
#include "ui/pages/parts/page.h"

class QLabel;

namespace headwise::ui {

class CompareTables;

/// The tokens that enter, leave and stay among the strongest of a row of two heads, under a line that names the row.
class ComparedTokens : public Page {
    Q_OBJECT

public:
    explicit ComparedTokens(Workspace* workspace, QWidget* parent = nullptr);

    /// Compares the rows of the selected token. \param kind FullQk or FullOv
    /// \param waiting what the sides still lack, in words
    void compare(const CompareSides& sides, CircuitKind kind, const QString& waiting);
    void clear();

    QList<FigureSource*> figures() override; ///< Their title is the row and the table, without the models.

private:
    QLabel* m_title;
    CompareTables* m_tables;
    Job m_job;
};

} // namespace headwise::ui
