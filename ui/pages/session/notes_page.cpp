#include "ui/pages/session/notes_page.h"

#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/note_history.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {
constexpr int layerRole = Qt::UserRole;
constexpr int headRole = Qt::UserRole + 1;
} // namespace

NotesPage::NotesPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_head(new QLabel(this))
    , m_star(new QToolButton(this))
    , m_note(new QPlainTextEdit(this))
    , m_bookmarks(new QListWidget(this))
    , m_noBookmarks(new QLabel(tr("Ctrl+D bookmarks a head"), m_bookmarks->viewport()))
{
    makeHeading(m_head);
    m_star->setCheckable(true);
    m_star->setToolTip(tr("Bookmark this head (Ctrl+D)"));
    m_star->setAccessibleName(tr("Bookmark this head"));
    m_bookmarks->setAccessibleName(tr("Bookmarks"));
    m_note->setObjectName(QStringLiteral("note"));
    m_note->setTabChangesFocus(true);
    m_note->setAccessibleName(tr("Note on this head"));
    m_note->setPlaceholderText(tr("Notes on this head. Saved with the session."));
    m_note->installEventFilter(this);
    makeSecondary(m_noBookmarks);
    m_noBookmarks->setAlignment(Qt::AlignCenter);
    m_noBookmarks->setWordWrap(true);
    auto* inList = new QVBoxLayout(m_bookmarks->viewport());
    inList->addWidget(m_noBookmarks);
    auto* heading = new QLabel(tr("Bookmarks"), this);
    makeHeading(heading);
    auto* top = new QHBoxLayout;
    top->addWidget(m_head);
    top->addStretch();
    top->addWidget(m_star);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(top);
    layout->addWidget(m_note, 2);
    layout->addWidget(heading);
    layout->addWidget(m_bookmarks, 3);
    connectSignals();
    refresh();
}

void NotesPage::connectSignals()
{
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed})
        connect(workspace()->model(), signal, this, &NotesPage::refresh);
    connect(workspace()->selection(), &Selection::headChanged, this, &NotesPage::refresh);
    connect(workspace()->notebook(), &Notebook::notesChanged, this, &NotesPage::refresh);
    NoteHistory* history = workspace()->notebook()->history();
    connect(m_note, &QPlainTextEdit::textChanged, this,
            [this, history] { history->setNote(workspace()->selection()->head(), m_note->toPlainText()); });
    connect(m_star, &QToolButton::toggled, this,
            [this, history](bool on) { history->setBookmarked(workspace()->selection()->head(), on); });
    for (const auto signal : {&QListWidget::itemClicked, &QListWidget::itemActivated})
        connect(m_bookmarks, signal, this, &NotesPage::open);
}

bool NotesPage::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_note || event->type() != QEvent::ShortcutOverride)
        return Page::eventFilter(watched, event);
    // Undoes typing first, while the field remembers it, and then what the window undoes: whole notes and bookmarks.
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool isWindows = (key->matches(QKeySequence::Undo) && !m_note->document()->isUndoAvailable())
        || (key->matches(QKeySequence::Redo) && !m_note->document()->isRedoAvailable());
    if (!isWindows)
        return Page::eventFilter(watched, event);
    event->ignore();
    return true;
}

void NotesPage::open(const QListWidgetItem* bookmark)
{
    workspace()->selection()->askForHead(
        {bookmark->data(layerRole).toInt(), bookmark->data(headRole).toInt()});
}

void NotesPage::refresh()
{
    const bool open = workspace()->model()->isOpen();
    m_note->setEnabled(open && !workspace()->session()->isReadOnly());
    m_star->setEnabled(open && !workspace()->session()->isReadOnly());
    m_head->setText(open ? text(workspace()->selection()->head()) : tr("Notes"));
    const QString note = open ? workspace()->notebook()->note(workspace()->selection()->head()) : QString();
    if (note != m_note->toPlainText()) {
        const QSignalBlocker quiet(m_note);
        m_note->setPlainText(note);
    }
    const QSignalBlocker quiet(m_star);
    const bool isBookmarked = open && workspace()->notebook()->isBookmarked(workspace()->selection()->head());
    m_star->setChecked(isBookmarked);
    m_star->setIcon(icon(isBookmarked ? "bookmark-filled" : "bookmark"));
    refreshBookmarks();
}

void NotesPage::refreshBookmarks()
{
    const int row = m_bookmarks->currentRow(); // keeps the keyboard position
    m_bookmarks->clear();
    m_noBookmarks->setVisible(!workspace()->model()->isOpen()
                              || workspace()->notebook()->bookmarks().isEmpty());
    if (!workspace()->model()->isOpen())
        return;
    for (const HeadId head : workspace()->notebook()->bookmarks()) {
        const QString firstLine = workspace()->notebook()->note(head).section(u'\n', 0, 0);
        auto* item = new QListWidgetItem(QStringLiteral("★ %1  %2").arg(text(head), firstLine), m_bookmarks);
        item->setData(layerRole, head.layer);
        item->setData(headRole, head.head);
    }
    m_bookmarks->setCurrentRow(std::min(row, m_bookmarks->count() - 1));
}

} // namespace headwise::ui
