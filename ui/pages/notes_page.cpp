#include "ui/pages/notes_page.h"

#include "ui/icons.h"
#include "ui/text.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QToolButton>
#include <QVBoxLayout>

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
{
    makeHeading(m_head);
    m_star->setIcon(icon("bookmark"));
    m_star->setCheckable(true);
    m_star->setToolTip(tr("Bookmark this head (Ctrl+D)"));
    m_star->setAccessibleName(tr("Bookmark this head"));
    m_bookmarks->setAccessibleName(tr("Bookmarks"));
    m_note->setObjectName(QStringLiteral("note"));
    m_note->setTabChangesFocus(true);
    m_note->setAccessibleName(tr("Note on this head"));
    m_note->setPlaceholderText(tr("What is known of this head. Saved with the session."));
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

    connect(workspace, &Workspace::opened, this, &NotesPage::refresh);
    connect(workspace, &Workspace::headChanged, this, &NotesPage::refresh);
    connect(workspace, &Workspace::notesChanged, this, &NotesPage::refresh);
    connect(m_note, &QPlainTextEdit::textChanged, this,
            [this] { this->workspace()->setNote(this->workspace()->head(), m_note->toPlainText()); });
    connect(m_star, &QToolButton::toggled, this,
            [this](bool on) { this->workspace()->setBookmarked(this->workspace()->head(), on); });
    connect(m_bookmarks, &QListWidget::itemClicked, this, [this](const QListWidgetItem* item) {
        this->workspace()->setHead({item->data(layerRole).toInt(), item->data(headRole).toInt()});
    });
    refresh();
}

void NotesPage::refresh()
{
    const bool open = workspace()->isOpen();
    m_note->setEnabled(open && !workspace()->isReadOnly());
    m_star->setEnabled(open && !workspace()->isReadOnly());
    m_head->setText(open ? text(workspace()->head()) : tr("Notes"));
    const QString note = open ? workspace()->note(workspace()->head()) : QString();
    if (note != m_note->toPlainText()) {
        const QSignalBlocker quiet(m_note);
        m_note->setPlainText(note);
    }
    const QSignalBlocker quiet(m_star);
    m_star->setChecked(open && workspace()->isBookmarked(workspace()->head()));
    refreshBookmarks();
}

void NotesPage::refreshBookmarks()
{
    m_bookmarks->clear();
    if (!workspace()->isOpen())
        return;
    for (const HeadId head : workspace()->bookmarks()) {
        const QString firstLine = workspace()->note(head).section(u'\n', 0, 0);
        auto* item = new QListWidgetItem(QStringLiteral("★ %1  %2").arg(text(head), firstLine), m_bookmarks);
        item->setData(layerRole, head.layer);
        item->setData(headRole, head.head);
    }
}

} // namespace headwise::ui
