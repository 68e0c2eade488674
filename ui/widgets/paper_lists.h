#pragma once

#include "ui/figures/figure_recording.h"

class QAbstractItemModel;
class QPaintDevice;

namespace headwise::ui {

/// Words over the parts of a table whose rows are a name, numbers about it, and lists of tokens, each with its value. The first
/// entries of all lists stand before the second ones.
struct ListTitles {
    QString rows;
    QStringList entries;   ///< Over each list.
    int facts = 0;         ///< Columns between the name and the lists.
    bool hasValues = true; ///< False: the lists are tokens alone.
};

/// Paints such a table below its title, without cutting a token: rows take as many lines as their entries need. Every list has
/// all its entries if all rows have room so, else at least five. Lists that have no room beside the names stand below
/// them, and lists that have none side by side below each other, as many as have room.
/// \param area the page from the title's lower end to the bottom
/// \returns what it leaves out, a few words each
QStringList paintLists(QPainter& painter, const QAbstractItemModel& model, const ListTitles& titles,
                       const QRectF& area, const FigureStyle& style);

/// Returns the height in which such a table of that width can be read: its words, three rows, and the note on those that follow.
double leastListHeight(const QAbstractItemModel& model, const ListTitles& titles, double width,
                       const FigureStyle& style, const QPaintDevice* device);

} // namespace headwise::ui
