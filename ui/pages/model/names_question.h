#pragma once

#include <QList>
#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace headwise::ui {

/// A diagram of one answer.
struct AnswerPicture {
    enum class Kind { Matrix, Sheets, NormBefore, NormOnOutput, NormAfter };
    Kind kind = Kind::Matrix;
    QString rows,
        columns; ///< Axes of the matrix or of each sheet. For a norm, `rows` is the part that it serves.
    QStringList bands = {};       ///< Parts or heads side by side; empty: undivided.
    bool bandsAreColumns = false; ///< Else they divide the rows.
};

/// One answer to a question about a row of NamesTable, in the table's terms.
struct NamesAnswer {
    QString words;
    QString roles, axes;
    AnswerPicture picture;
    std::optional<bool> normsTheSum = {}; ///< For a norm behind its part: after the addition, or before it.
};

/// A choice that names and shapes leave open.
struct NamesQuestion {
    QString words; ///< Empty if nothing is open.
    QList<NamesAnswer> answers = {};
};

/// Returns the question about tensors of this shape: the order of fused parts, the meaning of the axes, or the place of a norm.
NamesQuestion questionOf(const QString& roles, const QString& axes, const std::vector<std::int64_t>& shape);

} // namespace headwise::ui
