#include "app/window/page_sidebar.h"

#include "ui/base/theme.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QStyledItemDelegate>

#include <algorithm>
#include <utility>

namespace headwise::app {

namespace {

constexpr int pageRole = Qt::UserRole;                     // index of the page; headings have none
constexpr int mostAboveHeading = 8, leastAboveHeading = 5; // px
constexpr int besideText = 18; // px: the accent, the padding and the margins of the text

const QString headingEnd = QStringLiteral(" ›"); // It can be clicked.

bool isHeading(const QModelIndex& index)
{
    return !index.data(pageRole).isValid();
}

QFont headingFontOf(QFont font)
{
    font.setPointSize(std::max(font.pointSize() - 1, 1));
    font.setWeight(QFont::DemiBold);
    return font;
}

/// Draws headings smaller and muted, and gives all rows the height that fits.
class SidebarRows : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    int padding = 6; ///< Space beside the text of a row, in px.
    int aboveHeading = mostAboveHeading;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        return {QStyledItemDelegate::sizeHint(option, index).width(),
                option.fontMetrics.height() + padding + (isHeading(index) ? aboveHeading : 0)};
    }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override
    {
        QStyledItemDelegate::initStyleOption(option, index);
        if (!isHeading(index))
            return;
        const auto* view = qobject_cast<const QAbstractItemView*>(option->widget);
        if (!view || !view->verticalScrollBar()->isVisible()) // which stands in its place
            option->text += headingEnd;
        option->font = headingFontOf(option->font);
        option->fontMetrics = QFontMetrics(option->font);
        option->displayAlignment = Qt::AlignLeft | Qt::AlignBottom;
        option->palette.setColor(QPalette::Text, ui::themeColors(option->palette).muted);
    }
};

} // namespace

PageSidebar::PageSidebar(QWidget* parent)
    : QTreeWidget(parent)
{
    setObjectName(QStringLiteral("sidebar")); // for the style sheet
    setAccessibleName(tr("Pages"));
    setHeaderHidden(true);
    setMouseTracking(true); // for the cursor over headings
    setRootIsDecorated(false);
    setIndentation(0);
    setItemsExpandable(false);
    setExpandsOnDoubleClick(false);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    header()->setStretchLastSection(true);
    setItemDelegate(new SidebarRows(this));
    connect(this, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
        if (item && item->data(0, pageRole).isValid())
            emit chosen(item->data(0, pageRole).toInt());
    });
}

void PageSidebar::add(const QString& title, const QString& heading)
{
    const QSignalBlocker quiet(this);
    QTreeWidgetItem* group = heading.isEmpty() ? invisibleRootItem() : nullptr;
    for (int i = 0; !group && i < topLevelItemCount(); ++i)
        if (isHeading(indexFromItem(topLevelItem(i))) && topLevelItem(i)->text(0) == heading)
            group = topLevelItem(i);
    if (!group) {
        group = new QTreeWidgetItem(this, {heading});
        group->setFlags(Qt::ItemIsEnabled);
        group->setToolTip(0, tr("All analyses of this question, as panels"));
        group->setExpanded(true);
    }
    auto* item = new QTreeWidgetItem(group, {title});
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    item->setData(0, pageRole, static_cast<int>(m_pages.size()));
    m_pages.push_back(item);
    fitWidth();
    fitRows();
}

void PageSidebar::setCurrent(int page)
{
    const QSignalBlocker quiet(this);
    QTreeWidgetItem* before = std::exchange(m_current, m_pages.at(static_cast<std::size_t>(page)));
    enable(page);
    setCurrentItem(m_current);
    scrollToItem(m_current);
    if (before && before != m_current)
        enable(before->data(0, pageRole).toInt());
}

void PageSidebar::setReason(int page, const QString& whyNot)
{
    const QSignalBlocker quiet(this);
    m_pages.at(static_cast<std::size_t>(page))->setToolTip(0, whyNot);
    enable(page);
}

QString PageSidebar::reason(int page) const
{
    return m_pages.at(static_cast<std::size_t>(page))->toolTip(0);
}

void PageSidebar::enable(int page)
{
    QTreeWidgetItem* item = m_pages.at(static_cast<std::size_t>(page));
    // The page that is shown is marked although it has nothing to show.
    const bool isOpenable = item == m_current || item->toolTip(0).isEmpty();
    if (isOpenable != item->flags().testFlag(Qt::ItemIsEnabled))
        item->setFlags(isOpenable ? Qt::ItemIsEnabled | Qt::ItemIsSelectable
                                  : Qt::ItemFlags(Qt::NoItemFlags));
}

std::vector<int> PageSidebar::shown() const
{
    std::vector<int> pages;
    const auto append = [&pages](const QTreeWidgetItem* item) {
        if (const QVariant page = item->data(0, pageRole); page.isValid())
            pages.push_back(page.toInt());
    };
    for (int i = 0; i < topLevelItemCount(); ++i) {
        append(topLevelItem(i));
        for (int k = 0; k < topLevelItem(i)->childCount(); ++k)
            append(topLevelItem(i)->child(k));
    }
    return pages;
}

int PageSidebar::neighbour(int page, int step) const
{
    const std::vector<int> pages = shown();
    auto at = std::ranges::find(pages, page) - pages.begin();
    do
        at += step;
    while (at >= 0 && at < std::ssize(pages) && !reason(pages[static_cast<std::size_t>(at)]).isEmpty());
    return at >= 0 && at < std::ssize(pages) ? pages[static_cast<std::size_t>(at)] : -1;
}

void PageSidebar::keyPressEvent(QKeyEvent* event)
{
    const bool isPlain = (event->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
    const int step = !isPlain || !m_current                           ? 0
        : event->key() == Qt::Key_Down || event->key() == Qt::Key_End ? 1
        : event->key() == Qt::Key_Up || event->key() == Qt::Key_Home  ? -1
                                                                      : 0;
    if (step == 0)
        return event->ignore(); // the window's
    const bool isFar = event->key() == Qt::Key_End || event->key() == Qt::Key_Home;
    int to = -1;
    for (int next = m_current->data(0, pageRole).toInt(); (next = neighbour(next, step)) >= 0;) {
        to = next;
        if (!isFar)
            break;
    }
    if (to >= 0)
        emit chosen(to);
}

void PageSidebar::mousePressEvent(QMouseEvent* event)
{
    // Neither a heading nor a greyed page takes the mark from the page that is shown.
    const QTreeWidgetItem* item = itemAt(event->position().toPoint());
    if (item && (item->flags() & Qt::ItemIsSelectable))
        QTreeWidget::mousePressEvent(event);
    else if (item && isHeading(indexFromItem(item)) && event->button() == Qt::LeftButton)
        emit headingChosen(item->text(0));
}

void PageSidebar::mouseMoveEvent(QMouseEvent* event)
{
    const QTreeWidgetItem* item = itemAt(event->position().toPoint());
    const bool isLink = item && isHeading(indexFromItem(item));
    viewport()->setCursor(isLink ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void PageSidebar::resizeEvent(QResizeEvent* event)
{
    QTreeWidget::resizeEvent(event);
    fitRows();
}

void PageSidebar::changeEvent(QEvent* event)
{
    QTreeWidget::changeEvent(event);
    if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange)
        return;
    fitWidth();
    fitRows();
}

void PageSidebar::fitWidth()
{
    const QFontMetrics body(font()), heading(headingFontOf(font()));
    const int bar = verticalScrollBar()->sizeHint().width();
    int widest = 0;
    for (const QTreeWidgetItem* item : m_pages) {
        widest = std::max(widest, body.horizontalAdvance(item->text(0)) + bar);
        if (item->parent())
            widest = std::max({widest, heading.horizontalAdvance(item->parent()->text(0)) + bar,
                               heading.horizontalAdvance(item->parent()->text(0) + headingEnd)});
    }
    setFixedWidth(widest + besideText);
}

void PageSidebar::fitRows()
{
    int rows = 0, headings = 0;
    for (int i = 0; i < topLevelItemCount(); ++i) {
        rows += 1 + topLevelItem(i)->childCount();
        headings += isHeading(indexFromItem(topLevelItem(i))) ? 1 : 0;
    }
    if (rows == 0)
        return;
    auto* delegate = static_cast<SidebarRows*>(itemDelegate());
    const int height = viewport()->height();
    const int room = (height - headings * mostAboveHeading) / rows;
    const int padding = std::clamp(room - fontMetrics().height(), 1, 6);
    const int left = height - rows * (fontMetrics().height() + padding);
    const int above = std::clamp(left / std::max(1, headings), leastAboveHeading, mostAboveHeading);
    const bool hasNewPadding = std::exchange(delegate->padding, padding) != padding;
    const bool hasNewDistance = std::exchange(delegate->aboveHeading, above) != above;
    if (hasNewPadding || hasNewDistance)
        scheduleDelayedItemsLayout();
}

} // namespace headwise::app
