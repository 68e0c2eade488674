#pragma once

#include <QString>

class QStandardItem;
class QStandardItemModel;

namespace headwise::ui {

class TableFigure;
class Workspace;

// Cells of the pages' small tables: read-only, drawn by TokenDelegate, sorted by value.

QStandardItem* wordCell(const QString& words);
QStandardItem* numberCell(double value);       ///< Three digits; all digits on hover and in exports.
QStandardItem* percentCell(double fraction);   ///< "21.3 %"; sorted and copied as a fraction.
QStandardItem* signedNumberCell(double value); ///< As numberCell, with a sign.
QStandardItem* countCell(int value);
/// Returns a token cell; IdRole holds the id. \param isSource drawn bold
QStandardItem* tokenCell(const Workspace& workspace, int token, bool isSource = false);

/// Returns the token's raw text in quotes, as in source code: "\" the\"", "\"\\xE2\""; empty without a tokenizer.
QString quotedToken(const Workspace& workspace, int token);

int tokenOf(const QStandardItemModel& model, int row, int column); ///< −1 if the cell is not a token.

/// Fits the columns to their contents; a last column of text takes the remaining width. Titles are wrapped on as few
/// lines as bring all columns into view.
void fitColumns(TableFigure* table);

} // namespace headwise::ui
