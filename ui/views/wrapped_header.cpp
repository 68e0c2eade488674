#include "ui/views/wrapped_header.h"

#include <QAbstractItemModel>
#include <QFontMetrics>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr int mostLines = 3;
const Qt::Alignment wrapped = Qt::Alignment::fromInt(Qt::AlignCenter | Qt::TextWordWrap);

} // namespace

WrappedHeader::WrappedHeader(QWidget* parent)
    : QHeaderView(Qt::Horizontal, parent)
{
    setSectionsClickable(true);
    setDefaultAlignment(wrapped);
    setTextElideMode(Qt::ElideNone); // An elided title is one line.
    connect(this, &QHeaderView::sectionResized, this, &WrappedHeader::layOutLater, Qt::QueuedConnection);
}

void WrappedHeader::layOutLater()
{
    if (sizeHint().height() != height())
        emit geometriesChanged(); // The table gives it another height.
}

QSize WrappedHeader::sectionSizeFromContents(int logicalIndex) const
{
    const QSize oneLine = QHeaderView::sectionSizeFromContents(logicalIndex);
    QFont bold = font();
    bold.setBold(true); // as those of selected columns are
    const QFontMetrics metrics(bold);
    const QString title = model()->headerData(logicalIndex, Qt::Horizontal).toString();
    const int around = std::max(0, oneLine.width() - fontMetrics().horizontalAdvance(title));
    int widest = 0;
    for (const QString& word : title.split(u' '))
        widest = std::max(widest, metrics.horizontalAdvance(word));
    const int room = std::max(widest, sectionSize(logicalIndex) - around);
    const int high =
        metrics.boundingRect(QRect(0, 0, room, 10'000), static_cast<int>(wrapped), title).height();
    const int lines = std::clamp(high / metrics.lineSpacing(), 1, mostLines);
    return {widest + around, oneLine.height() + (lines - 1) * metrics.lineSpacing()};
}

} // namespace headwise::ui
