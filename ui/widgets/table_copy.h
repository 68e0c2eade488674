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

/// A cell as it is taken away: numbers with every digit they have, everything else as shown.
/// \param numberRole the role under which the model gives the number itself
QString takenCell(const QModelIndex& index, int numberRole);

/// Ctrl+C in `table` copies the selected rows, columns between tabs; those that are hidden are left out.
void copyRowsByKey(QTableView* table, int numberRole);

/// Where `position` in a table, or in one within `view`, is a token: its own text (as shown if that is no text) and its id,
/// to be copied by `menu`.
void addTokenCopies(QMenu* menu, QWidget* view, const QPoint& position, const Tokenizer* tokenizer);

} // namespace headwise::ui
