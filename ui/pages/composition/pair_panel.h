#pragma once

#include "core/analysis/composition/pair_parts.h"
#include "ui/pages/parts/page.h"

class QLabel;

namespace headwise::ui {

class LineChart;

/// How one later head reads what an earlier one writes: the principal angles between the two subspaces, and the rank-1
/// parts of the composition score. It takes the same space with and without a pair.
class PairPanel : public Page {
    Q_OBJECT

public:
    explicit PairPanel(Workspace* workspace, QWidget* parent = nullptr);

    /// Shows the reference with the selected head, if the reference is the earlier one. \param letter "K", "Q" or "V",
    /// for display
    void showPair(ReadBy by, const QString& letter);
    QList<FigureSource*> figures() override;

private:
    void showParts(const PairParts& pair);
    void say(const QString& message);
    bool isMeasuredByEmbedding() const; ///< True if the map, and with it its pairs, use the embedding metric.

    QLabel* m_title;
    LineChart* m_angles;
    LineChart* m_parts;
    QString m_pair; ///< "L0H2 → L1H5, K-composition"
    Job m_job;
};

} // namespace headwise::ui
