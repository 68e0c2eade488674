#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QListWidget;
class QListWidgetItem;
class QPlainTextEdit;
class QToolButton;

namespace headwise::ui {

/// The selected head's note and star, and the list of starred heads.
class NotesPage : public Page {
    Q_OBJECT

public:
    explicit NotesPage(Workspace* workspace, QWidget* parent = nullptr);

    QSize sizeHint() const override { return {220, 640}; }

private:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void connectSignals();
    void refresh();
    void refreshBookmarks();
    void open(const QListWidgetItem* bookmark);

    QLabel* m_head;
    QToolButton* m_star;
    QPlainTextEdit* m_note;
    QListWidget* m_bookmarks;
    QLabel* m_noBookmarks;
};

} // namespace headwise::ui
