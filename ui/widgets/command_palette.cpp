#include "ui/widgets/command_palette.h"

#include "ui/base/theme.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QRegularExpression>
#include <QStandardItemModel>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>
#include <vector>

namespace headwise::ui {

namespace {

constexpr int pathRole = Qt::UserRole + 1;
constexpr int keyRole = Qt::UserRole + 2;
constexpr int commandPaletteMargin = 8;

/// Returns 0 for no match; larger is better.
int matchOf(const PaletteCommand& command, const QString& typed)
{
    const QString all = command.path + command.title;
    const QStringList words = typed.split(u' ', Qt::SkipEmptyParts);
    const bool matches = std::all_of(words.begin(), words.end(), [&](const QString& word) {
        return all.contains(word, Qt::CaseInsensitive);
    });
    if (!matches)
        return 0;
    if (command.title.startsWith(typed, Qt::CaseInsensitive))
        return 4;
    const QRegularExpression atWord(QStringLiteral("\\b") + QRegularExpression::escape(typed),
                                    QRegularExpression::CaseInsensitiveOption
                                        | QRegularExpression::UseUnicodePropertiesOption);
    if (command.title.contains(atWord))
        return 3;
    return command.title.contains(typed, Qt::CaseInsensitive) ? 2 : 1;
}

/// Draws the menu path muted before the title, and the shortcut at the right.
class CommandDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        return {QStyledItemDelegate::sizeHint(option, index).width(),
                option.fontMetrics.height() + commandPaletteMargin};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const ThemeColors& colors = themeColors(option.palette);
        const bool selected = option.state.testFlag(QStyle::State_Selected);
        painter->save();
        if (selected)
            painter->fillRect(option.rect, colors.accent);
        QRect room = option.rect.adjusted(commandPaletteMargin, 0, -commandPaletteMargin, 0);
        const QFontMetrics metrics(option.font);
        const QString key = index.data(keyRole).toString();
        painter->setPen(selected ? colors.onAccent : colors.muted);
        painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter, key);
        if (!key.isEmpty())
            room.setRight(room.right() - metrics.horizontalAdvance(key) - 2 * commandPaletteMargin);
        const QString path = index.data(pathRole).toString();
        painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                          metrics.elidedText(path, Qt::ElideRight, room.width()));
        room.setLeft(room.left() + metrics.horizontalAdvance(path));
        painter->setPen(selected ? colors.onAccent : colors.text);
        painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                          metrics.elidedText(index.data().toString(), Qt::ElideRight, room.width()));
        painter->restore();
    }
};

} // namespace

QList<PaletteCommand> matchingCommands(const QList<PaletteCommand>& commands, const QString& typed)
{
    const QString words = typed.simplified();
    std::vector<std::pair<int, const PaletteCommand*>> found;
    for (const PaletteCommand& command : commands)
        if (const int match = matchOf(command, words); match > 0)
            found.emplace_back(match, &command);
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    QList<PaletteCommand> sorted;
    for (const auto& [match, command] : found)
        sorted << *command;
    return sorted;
}

CommandPalette::CommandPalette(const QList<PaletteCommand>& commands, QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint)
    , m_commands(commands)
    , m_line(new QLineEdit(this))
    , m_list(new QListView(this))
    , m_model(new QStandardItemModel(this))
{
    setAccessibleName(tr("Commands"));
    setAttribute(Qt::WA_StyledBackground);
    m_line->setPlaceholderText(tr("A command, a head such as 10.7, or a token"));
    m_line->setAccessibleName(tr("Find a command"));
    m_line->installEventFilter(this);
    m_list->setModel(m_model);
    m_list->setItemDelegate(new CommandDelegate(m_list));
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setUniformItemSizes(true);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setAccessibleName(tr("Commands that match"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(commandPaletteMargin, commandPaletteMargin, commandPaletteMargin,
                               commandPaletteMargin);
    layout->setSpacing(commandPaletteMargin);
    layout->addWidget(m_line);
    layout->addWidget(m_list);
    resize(560, 380);
    connect(m_line, &QLineEdit::textChanged, this, &CommandPalette::showMatches);
    connect(m_line, &QLineEdit::returnPressed, this, [this] { run(m_list->currentIndex().row()); });
    connect(m_list, &QListView::clicked, this, [this](const QModelIndex& index) { run(index.row()); });
    showMatches();
}

void CommandPalette::setFallback(std::function<QList<PaletteCommand>(const QString&)> fallback)
{
    m_fallback = std::move(fallback);
}

void CommandPalette::showEvent(QShowEvent* event)
{
    QDialog::showEvent(event);
    if (const QWidget* under = parentWidget())
        move(under->mapToGlobal(QPoint((under->width() - width()) / 2, 64)));
    m_line->setFocus();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_line && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown) {
            QCoreApplication::sendEvent(m_list, event);
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

void CommandPalette::showMatches()
{
    m_shown = matchingCommands(m_commands, m_line->text());
    if (const QString typed = m_line->text().trimmed(); m_fallback && !typed.isEmpty())
        m_shown << m_fallback(m_line->text());
    m_model->clear();
    for (const PaletteCommand& command : m_shown) {
        auto* item = new QStandardItem(command.title);
        item->setData(command.path, pathRole);
        item->setData(command.key, keyRole);
        item->setData(command.path + command.title, Qt::AccessibleTextRole);
        m_model->appendRow(item);
    }
    m_list->setCurrentIndex(m_model->index(0, 0));
}

void CommandPalette::run(int row)
{
    if (row < 0 || row >= m_shown.size())
        return;
    const std::function<void()> command = m_shown[row].run;
    accept();
    command();
}

} // namespace headwise::ui
