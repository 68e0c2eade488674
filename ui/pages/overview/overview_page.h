#pragma once

#include "ui/pages/parts/page.h"

#include <QElapsedTimer>

class QGridLayout;

namespace headwise::ui {

/// The selected head at a glance: what it attends to, what it writes, what it does most, its spectra and eigenvalues,
/// the heads it works with, and the effect of distance.
class OverviewPage : public Page {
    Q_OBJECT

public:
    explicit OverviewPage(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

signals:
    void pageRequested(
        const QString&
            name); ///< A panel was double-clicked, or its heading clicked: its page, "tokens", "spectrum", …
    void analysisRequested(const QString& id); ///< The same of one that is the page of an analysis.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Place {
        int row, column, columns;
        int rows = 1;
    };
    void makeLink(QWidget* part, const QString& pageName);
    void addPanel(QGridLayout* grid, const Place& place, Page* panel, const QString& title,
                  const QString& pageName);

    QList<Page*> m_panels;
    QElapsedTimer m_clicked; // since a heading was
};

} // namespace headwise::ui
