#pragma once

#include <QAbstractItemView>

#include <functional>

namespace headwise::ui {

/// Calls `open` with the row that is double-clicked, or on which Enter is pressed.
///
/// QAbstractItemView::activated will not do: some desktops send it for a single click, which only selects here.
void whenOpened(QAbstractItemView* view, const std::function<void(const QModelIndex&)>& open);

} // namespace headwise::ui
