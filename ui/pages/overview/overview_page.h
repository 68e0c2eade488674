#pragma once

#include "ui/pages/parts/page.h"

#include <QElapsedTimer>

#include <utility>
#include <vector>

class QGridLayout;

namespace headwise::ui {

/// The selected head at a glance: attention, output, strongest effects, spectra and eigenvalues, the heads it composes
/// with, and the effect of distance.
class OverviewPage : public Page {
    Q_OBJECT

public:
    explicit OverviewPage(Workspace* workspace, QWidget* parent = nullptr);

    QList<FigureSource*> figures() override;
    QSize minimumSizeHint() const override; ///< As wide as one card.

signals:
    void pageRequested(
        const QString&
            /// A panel was double-clicked or its heading clicked: requests its page, "tokens", "spectrum", …
            name);
    void analysisRequested(const QString& id); ///< The same for a panel whose page is an analysis.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Place {
        int row, column, columns;
        int rows = 1;
    };
    void makeLink(QWidget* part, const QString& pageName);
    void addPanel(const Place& place, Page* panel, const QString& title, const QString& pageName);
    int fittingColumns() const; ///< For the present width.
    void arrange(int columns);  ///< Puts the cards into three, two or one columns.

    QGridLayout* m_grid;
    std::vector<std::pair<QWidget*, Place>> m_cards; // with their places among three columns
    int m_columnCount = 0;
    QList<Page*> m_panels;
    QElapsedTimer m_clicked; // since the last click on a heading
};

} // namespace headwise::ui
