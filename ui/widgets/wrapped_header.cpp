#include "ui/widgets/wrapped_header.h"

#include "ui/widgets/number_columns.h"

#include <QAbstractItemModel>
#include <QFontMetrics>
#include <QStyleOptionHeader>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr QChar wordJoiner(0x2060); // has no width

/// Fills each line with as many of `words` as fit into `width`.
QStringList broken(const QStringList& words, int width, const QFontMetrics& metrics)
{
    QStringList lines{words.first()};
    for (const QString& word : words.mid(1)) {
        const QString longer = lines.last() + u' ' + word;
        if (metrics.horizontalAdvance(longer) > width)
            lines << word;
        else
            lines.last() = longer;
    }
    return lines;
}

} // namespace

WrappedHeader::WrappedHeader(QWidget* parent)
    : QHeaderView(Qt::Horizontal, parent)
{
    setSectionsClickable(true);
    setDefaultAlignment(Qt::Alignment::fromInt(Qt::AlignCenter | Qt::TextWordWrap));
    setTextElideMode(Qt::ElideNone); // An elided title is one line.
    connect(this, &QHeaderView::sectionResized, this, &WrappedHeader::layOutLater, Qt::QueuedConnection);
    connect(this, &QHeaderView::sortIndicatorChanged, this, [this] {
        if (count() > 0)
            headerDataChanged(Qt::Horizontal, 0, count() - 1); // the sort indicator is beside another title
        layOutLater();
    });
}

void WrappedHeader::layOutLater()
{
    if (sizeHint().height() != height())
        emit geometriesChanged(); // Makes the table change the header's height.
}

QFontMetrics WrappedHeader::titleMetrics() const
{
    QFont used = font();
    used.setBold(used.bold() || highlightSections()); // as titles of selected columns are
    return QFontMetrics(used);
}

QStringList WrappedHeader::words(int logicalIndex) const
{
    return model()->headerData(logicalIndex, Qt::Horizontal).toString().split(u' ');
}

bool WrappedHeader::isSorted(int logicalIndex) const
{
    return isSortIndicatorShown() && sortIndicatorSection() == logicalIndex;
}

int WrappedHeader::padding() const
{
    QStyleOptionHeader option;
    initStyleOption(&option);
    option.rect = rect();
    constexpr int overhang = 2; // of letters past their advance
    return option.rect.width() - style()->subElementRect(QStyle::SE_HeaderLabel, &option, this).width()
        + overhang;
}

// The style draws the sort indicator at the right, over the text.
int WrappedHeader::signWidth() const
{
    return style()->pixelMetric(QStyle::PM_HeaderMarkSize, nullptr, this);
}

QStringList WrappedHeader::linesOf(int logicalIndex) const
{
    const int sign = isSorted(logicalIndex) ? signWidth() : 0;
    return broken(words(logicalIndex), sectionSize(logicalIndex) - padding() - sign, titleMetrics());
}

int WrappedHeader::widthOnLines(int logicalIndex, int lines) const
{
    const QFontMetrics metrics = titleMetrics();
    const QStringList all = words(logicalIndex);
    int least = 0;
    for (const QString& word : all)
        least = std::max(least, metrics.horizontalAdvance(word));
    int most = metrics.horizontalAdvance(all.join(u' '));
    while (least < most) {
        const int middle = (least + most) / 2;
        if (broken(all, middle, metrics).size() > lines)
            least = middle + 1;
        else
            most = middle;
    }
    return least + padding();
}

void WrappedHeader::initStyleOptionForIndex(QStyleOptionHeader* option, int logicalIndex) const
{
    QHeaderView::initStyleOptionForIndex(option, logicalIndex);
    const bool isOfNumbers = isNumberCell(model()->index(0, logicalIndex));
    const auto across = isOfNumbers ? Qt::AlignRight : Qt::AlignLeft;
    option->textAlignment = Qt::Alignment::fromInt(across | Qt::AlignVCenter | Qt::TextWordWrap);
    if (!isSorted(logicalIndex))
        return;
    QString room; // for the sign; spaces alone would not count at the end of a line
    const int space = std::max(1, titleMetrics().horizontalAdvance(QChar::Nbsp));
    if (isOfNumbers)
        room = QString((signWidth() + space - 1) / space, QChar::Nbsp) + wordJoiner;
    option->text = linesOf(logicalIndex).join(room + u'\n') + room;
    option->textAlignment = across | Qt::AlignVCenter;
}

QSize WrappedHeader::sectionSizeFromContents(int logicalIndex) const
{
    const auto lines = std::min(mostLines, static_cast<int>(linesOf(logicalIndex).size()));
    const int oneLine = QHeaderView::sectionSizeFromContents(logicalIndex).height();
    return {widthOnLines(logicalIndex, mostLines), oneLine + (lines - 1) * titleMetrics().lineSpacing()};
}

} // namespace headwise::ui
