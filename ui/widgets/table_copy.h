#pragma once

#include <QString>

class QMenu;
class QModelIndex;
class QPoint;
class QTableView;
class QWidget;

namespace headwise {
class Tokenizer;
}

namespace headwise::ui {

/// Returns a cell as it is copied: numbers with all digits, everything else as shown.
/// \param numberRole the role under which the model returns the number itself
QString takenCell(const QModelIndex& index, int numberRole);

/// Makes Ctrl+C in `table` copy the selected rows, with tabs between columns and without hidden columns.
void copyRowsByKey(QTableView* table, int numberRole);

/// Adds actions to `menu` that copy the token at `position` of a table, or of one within `view`: its raw text (as shown
/// if that is not text) and its id.
void addTokenCopies(QMenu* menu, QWidget* view, const QPoint& position, const Tokenizer* tokenizer);

} // namespace headwise::ui
