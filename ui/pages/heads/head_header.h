#pragma once

#include "ui/pages/parts/page.h"

#include <QTimer>

class QLabel;

namespace headwise::ui {

/// The line above the pages: the selected head, its scores with their distance from the null, and badges for parts of the
/// model that its circuits do not include.
class HeadHeader : public Page {
    Q_OBJECT

public:
    explicit HeadHeader(Workspace* workspace, QWidget* parent = nullptr);

protected:
    void changeEvent(QEvent* event) override;

private:
    void refresh();
    bool eventFilter(QObject* watched, QEvent* event) override;
    void fitScores(); ///< Shows as many entries as fit on two lines; the others are in the tooltip.
    QString lineOf(const std::vector<bool>& shown) const; ///< \param shown the entries to include
    bool isFurtherNearest(qsizetype entry) const;
    void findNearest();
    void showBadges(); ///< Shows badges with a tooltip for parts that this head's circuits do not include.

    QStringList m_entries;         ///< The scores, as rich text.
    QString m_definitions;         ///< Definitions of the scores, as rich text.
    QStringList m_nearest;         ///< The most similar heads, one entry each.
    qsizetype m_firstNearest = -1; ///< Index of the first of them in the entries; −1: not shown.
    std::optional<HeadId> m_nearestOf;
    QTimer m_nearestPause; // lets the head's other pictures use the cores first
    Job m_nearestJob;
    QLabel* m_head;
    QLabel* m_scores;
    QLabel* m_state;
    QLabel* m_badges;
};

} // namespace headwise::ui
