#pragma once

#include <QString>

class QModelIndex;
class QTableView;

namespace headwise::ui {

/// Returns a cell as it is copied: numbers with all digits, everything else as shown.
/// \param numberRole the role under which the model returns the number itself
QString takenCell(const QModelIndex& index, int numberRole);

/// Makes Ctrl+C in `table` copy the selected rows, with tabs between columns and without hidden columns.
void copyRowsByKey(QTableView* table, int numberRole);

} // namespace headwise::ui
