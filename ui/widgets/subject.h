#pragma once

#include "core/model/head_id.h"

#include <QList>
#include <QString>

#include <functional>
#include <optional>

class QPoint;
class QWidget;

namespace headwise::ui {

/// The heads or the token at one place of a picture or table, with the number shown there.
struct Subject {
    QList<HeadId> heads = {}; ///< One head, or a pair with the earlier one first, or several.
    std::optional<int> token = {};
    QString value = {}; ///< With all digits, as it is copied; empty: none.

    bool isEmpty() const { return heads.isEmpty() && !token && value.isEmpty(); }
};

/// Tells what is at each place of `view`, in its own coordinates. `at` is called only while `view` exists.
void setSubjects(QWidget* view, std::function<Subject(const QPoint&)> at);

/// Returns what `view`, or a table or picture within it, shows at `position`.
/// \param position as customContextMenuRequested() gives it: of a table, in coordinates of its viewport
Subject subjectAt(QWidget* view, const QPoint& position);

} // namespace headwise::ui
