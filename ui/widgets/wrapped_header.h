#pragma once

#include <QHeaderView>

namespace headwise::ui {

/// The horizontal header of a table whose titles take up to three lines where their column is narrow, and stand as their cells do:
/// numbers' at the right.
class WrappedHeader : public QHeaderView {
    Q_OBJECT

public:
    static constexpr int mostLines = 3;

    explicit WrappedHeader(QWidget* parent = nullptr);

    /// The least width, in pixels, of a column whose title takes no more than `lines` lines.
    int widthOnLines(int logicalIndex, int lines) const;

protected:
    void initStyleOptionForIndex(QStyleOptionHeader* option, int logicalIndex) const override;
    /// The least that shows all of the title.
    QSize sectionSizeFromContents(int logicalIndex) const override;

private:
    void layOutLater();
    QFontMetrics titleMetrics() const;
    QStringList words(int logicalIndex) const;   ///< Of the title.
    QStringList linesOf(int logicalIndex) const; ///< What is to be read.
    int padding() const;                         ///< px, left and right of the title
    bool isSorted(int logicalIndex) const;
};

} // namespace headwise::ui
