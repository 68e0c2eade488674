#pragma once

#include "ui/document/workspace.h"
#include "ui/figures/figure_export.h"
#include "ui/widgets/view_fields.h"

#include <QWidget>

namespace headwise::ui {

/// A page answers one question about the selected head, with its own job, model and view.
///
/// It gets only the workspace and knows no other page. It reports what the user wants (setHead) and is told the state
/// (headChanged).
class Page : public QWidget {
    Q_OBJECT

public:
    explicit Page(Workspace* workspace, QWidget* parent = nullptr);

    /// State of this page's view for a session.
    QJsonObject viewState() { return viewFields().state(); }
    void setViewState(const QJsonObject& state) { viewFields().restore(state); }
    virtual ViewFields viewFields() { return {}; }

    /// The pictures of this page that can be exported now, with titles; the most important first.
    virtual QList<FigureSource*> figures() { return {}; }

    /// Whether something it showed last has changed since, here or in a visible part of it.
    bool isOutdated() const;

signals:
    void readOutChanged(const QString& text); ///< Text for the position under the mouse; empty for none.

protected:
    /// Shows the current state: at once if the page is visible, else when it is next shown.
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

    /// Gives a figure its title ("L1H5 full OV · demo, processed"), its provenance and its name on the command line.
    void describe(FigureSource* figure, const QString& what) const;

private:
    void
    showTip(const QString& words); ///< At the pointer, while it is over a head in a picture of all heads.

    Workspace* m_workspace;
    bool m_isStale = true;
    bool m_hasTip = false;
};

} // namespace headwise::ui
