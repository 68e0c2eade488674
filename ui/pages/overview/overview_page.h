#pragma once

#include "ui/pages/parts/page.h"

#include <QElapsedTimer>

class QGridLayout;

namespace headwise::ui {

/// The selected head at a glance: attention, output, strongest effects, spectra and eigenvalues, the heads it composes
/// with, and the effect of distance.
class OverviewPage : public Page {
    Q_OBJECT

public:
    explicit OverviewPage(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;

signals:
    void pageRequested(
        const QString&
            /// A panel was double-clicked or its heading clicked: requests its page, "tokens", "spectrum", …
            name);
    void analysisRequested(const QString& id); ///< The same for a panel whose page is an analysis.

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
    QElapsedTimer m_clicked; // since the last click on a heading
};

} // namespace headwise::ui
