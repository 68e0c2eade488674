#pragma once

#include "core/session/session.h"
#include "ui/figures/figure_export.h"

#include <QWidget>

#include <memory>
#include <vector>

class QScrollArea;
class QStandardItemModel;
class QVBoxLayout;

namespace headwise::ui {

class Page;
class Workspace;

/// Pictures that a session without its model's files shows as they were when it was saved. Hidden while there are none.
class SavedScreen : public QWidget {
    Q_OBJECT

public:
    explicit SavedScreen(const Workspace* workspace, QWidget* parent = nullptr);

    /// Tells whether the open session has pictures of the page, and no model to make them again.
    bool has(const QString& page) const;
    /// Shows the session's pictures of the page, without those of another head and those that the page shows by itself.
    void showFor(const QString& name, Page* page);

    QList<FigureSource*> figures() const { return m_figures; }

signals:
    void viewMade(QWidget* view); ///< A view that can be exported.

private:
    void showPictures();
    QWidget* createView(const ScreenPicture& picture, QWidget* parent);

    const Workspace* m_workspace;
    QScrollArea* m_scroll;
    std::shared_ptr<const Session> m_session; // whose pictures are shown
    std::vector<std::size_t> m_shown;         // their indices
    QList<FigureSource*> m_figures;
};

} // namespace headwise::ui
