#pragma once

#include <QHeaderView>

namespace headwise::ui {

/// A horizontal table header whose titles wrap on up to three lines if their column is narrow. Titles are aligned like
/// their cells: right for numbers.
class WrappedHeader : public QHeaderView {
    Q_OBJECT

public:
    static constexpr int mostLines = 3;

    explicit WrappedHeader(QWidget* parent = nullptr);

    /// The smallest width, in pixels, at which the title needs no more than `lines` lines.
    int widthOnLines(int logicalIndex, int lines) const;

protected:
    void initStyleOptionForIndex(QStyleOptionHeader* option, int logicalIndex) const override;
    /// The smallest size that shows the whole title.
    QSize sectionSizeFromContents(int logicalIndex) const override;

private:
    void layOutLater();
    QFontMetrics titleMetrics() const;
    QStringList words(int logicalIndex) const;   ///< The title's words.
    QStringList linesOf(int logicalIndex) const; ///< The title as displayed.
    int padding() const;                         ///< px, left and right of the title
    bool isSorted(int logicalIndex) const;
    int signWidth() const; ///< px, of the sort indicator
};

} // namespace headwise::ui
