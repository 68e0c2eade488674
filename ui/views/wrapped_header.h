#pragma once

#include <QHeaderView>

namespace headwise::ui {

/// The horizontal header of a table whose titles take up to three lines where their column is narrow.
class WrappedHeader : public QHeaderView {
    Q_OBJECT

public:
    explicit WrappedHeader(QWidget* parent = nullptr);

protected:
    QSize sectionSizeFromContents(int logicalIndex) const override; ///< As wide as its longest word.

private:
    void layOutLater();
};

} // namespace headwise::ui
