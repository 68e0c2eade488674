#pragma once

#include "ui/document/workspace.h"
#include "ui/figures/figure_export.h"

#include <QJsonObject>
#include <QWidget>

namespace headwise::ui {

/// One question about the selected head, with its own job, model and view.
///
/// It gets the workspace and nothing else, and never meets another page: it says what the user wants (setHead) and is
/// told what is the case (headChanged).
class Page : public QWidget {
    Q_OBJECT

public:
    explicit Page(Workspace* workspace, QWidget* parent = nullptr)
        : QWidget(parent)
        , m_workspace(workspace)
    {
    }

    /// State of this page's view, as a session saves it.
    virtual QJsonObject viewState() const { return {}; }
    virtual void setViewState(const QJsonObject& /*state*/) { }

    /// The pictures of this page that can be exported now, titled; the most important first.
    virtual QList<FigureSource*> figures() { return {}; }

signals:
    void readOutChanged(const QString& text); ///< Text for the place under the mouse; empty for none.

protected:
    /// Shows what is the case now; at once if the page is on screen, else when it next is.
    void refresh()
    {
        m_isStale = !isVisible();
        if (!m_isStale)
            recompute();
    }
    virtual void recompute() { }

    void showEvent(QShowEvent* event) override
    {
        QWidget::showEvent(event);
        if (m_isStale)
            refresh();
    }

    Workspace* workspace() const { return m_workspace; }

    /// Gives a figure its title ("L1H5 full OV · demo, processed") and where it came from.
    void describe(FigureSource* figure, const QString& what) const
    {
        figure->setFigureTitle(what);
        figure->setProvenance(m_workspace->provenance());
    }

private:
    Workspace* m_workspace;
    bool m_isStale = true;
};

} // namespace headwise::ui
