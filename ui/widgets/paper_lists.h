#pragma once

#include "ui/figures/figure_recording.h"

class QAbstractItemModel;

namespace headwise::ui {

/// Words over the two parts of a table whose rows are a name and a list of tokens, each with its value.
struct ListTitles {
    QString rows, entries;
};

/// Paints such a table below its title; each row has as many entries as can be read.
/// \param area the page from the title's lower end to the bottom
/// \returns what it leaves out, a few words each
QStringList paintLists(QPainter& painter, const QAbstractItemModel& model, const ListTitles& titles,
                       const QRectF& area, const FigureStyle& style);

} // namespace headwise::ui
