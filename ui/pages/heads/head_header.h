#pragma once

#include "ui/pages/parts/page.h"

#include <QTimer>

class QLabel;

namespace headwise::ui {

/// The line over the pages: the selected head and its scores, each with its distance from chance, and badges of what its
/// circuits leave out.
class HeadHeader : public Page {
    Q_OBJECT

public:
    explicit HeadHeader(Workspace* workspace, QWidget* parent = nullptr);

private:
    void refresh();
    bool eventFilter(QObject* watched, QEvent* event) override;
    void
    fitScores(); ///< In two lines, as many of the entries as there is room for; the others are said on hover.
    QString lineOf(const std::vector<bool>& shown) const; ///< \param shown which of the entries
    bool isFurtherNearest(qsizetype entry) const;
    void findNearest();
    void showBadges(); ///< Parts that this head's circuits leave out; the sentences as a tooltip.

    QStringList m_entries;         ///< The scores, as rich text.
    QString m_definitions;         ///< Definitions of the scores, as rich text.
    QStringList m_nearest;         ///< The same of the heads most alike, one each.
    qsizetype m_firstNearest = -1; ///< Where these stand among the entries; −1: they do not.
    std::optional<HeadId> m_nearestOf;
    QTimer m_nearestPause; // what else is shown of the head takes the cores first
    Job m_nearestJob;
    QLabel* m_head;
    QLabel* m_scores;
    QLabel* m_state;
    QLabel* m_badges;
};

} // namespace headwise::ui
