#pragma once

#include <QString>

class QModelIndex;
class QTableView;

namespace headwise::ui {

/// A cell as it is taken away: numbers with every digit they have, everything else as shown.
/// \param numberRole the role under which the model gives the number itself
QString takenCell(const QModelIndex& index, int numberRole);

/// Ctrl+C in `table` copies the selected rows, columns between tabs; those that are hidden are left out.
void copyRowsByKey(QTableView* table, int numberRole);

} // namespace headwise::ui
