#pragma once

#include <QString>

class QStandardItem;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;
class Workspace;

// Cells of the small tables of pages: read-only, drawn as TokenDelegate draws them, sorted by what they are.

QStandardItem* wordCell(const QString& words);
QStandardItem* numberCell(double value);       ///< Three digits, with all of them on hover and in exports.
QStandardItem* percentCell(double fraction);   ///< "21.3 %"; sorted and copied as the fraction.
QStandardItem* signedNumberCell(double value); ///< The same with its sign.
QStandardItem* countCell(int value);
/// A chip; IdRole holds the token. \param isSource drawn bold
QStandardItem* tokenCell(const Workspace& workspace, int token, bool isSource = false);

/// The token's own text between quotes, as a program would write it: "\" the\"", "\"\\xE2\""; empty without a tokenizer.
QString quotedToken(const Workspace& workspace, int token);

int tokenOf(const QStandardItemModel& model, int row, int column); ///< −1 where the cell is no token.

/// As wide as what is in them, a last one of words taking the rest; titles on the fewest lines that bring all columns into view.
void fitColumns(TableFigure* table);

} // namespace headwise::ui
