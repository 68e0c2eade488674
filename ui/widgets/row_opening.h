#pragma once

#include <QAbstractItemView>

#include <functional>

namespace headwise::ui {

/// Calls `open` with the row that is double-clicked, or that Enter is pressed on.
///
/// Not by QAbstractItemView::activated, which some desktops send at a single click, that only selects here.
void whenOpened(QAbstractItemView* view, const std::function<void(const QModelIndex&)>& open);

} // namespace headwise::ui
