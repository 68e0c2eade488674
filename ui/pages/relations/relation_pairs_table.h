#pragma once

#include "core/analysis/tokens/relation_pairs.h"
#include "ui/pages/parts/page.h"

#include <optional>

class QLabel;
class QStandardItemModel;

namespace headwise::ui {

class FillButton;
class TableFigure;

/// The pairs of one relation in one head: the rank and logit of each target, under a line that counts the hits.
class RelationPairsTable : public Page {
    Q_OBJECT

public:
    /// A head of computed results, and the relation whose pairs to show.
    struct Asked {
        HeadId head{-1, -1};
        std::vector<Relation> relations; ///< Relations of the results; empty: the built-in ones.
        std::size_t relation = 0;        ///< Index among them.
        std::optional<double> hits;      ///< Pairs that the head hits, by the results.
        QString rank;                    ///< " (the best head)" and the like; empty: another head.
    };

    explicit RelationPairsTable(Workspace* workspace, QWidget* parent = nullptr);

    void show(const Asked& asked); ///< Computes the pairs.
    void clear();
    bool isEmpty() const; ///< True if no pairs are shown.
    bool isComputing() const { return m_job.isRunning(); }
    HeadId head() const { return m_head; } ///< The head whose pairs are shown.
    TableFigure* table() const { return m_table; }

private:
    /// The pairs of one head, and their relation as tokens.
    struct Found {
        AskedRelation relation;
        std::vector<RelationPair> pairs; ///< The first ones.
    };
    void fill(const Found& found, const Asked& asked);
    static QString hitsIn(const Found& found, std::optional<double> hits); ///< "9 of 14 pairs hit at k = 10"
    void fail(const QString& message);

    QLabel* m_title;
    FillButton* m_fill;
    QStandardItemModel* m_model;
    TableFigure* m_table;
    HeadId m_head{-1, -1};
    Job m_job;
};

} // namespace headwise::ui
