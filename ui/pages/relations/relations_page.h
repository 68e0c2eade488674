#pragma once

#include "core/analysis/inputs/relation.h"
#include "ui/pages/parts/page.h"

class QLabel;
class QListWidget;
class QListWidgetItem;
class QPushButton;
class QStackedWidget;
class QTabWidget;

namespace headwise::ui {

class HeadGrid;
class RelationPairsTable;

/// Heads that map a word to its partner: a list of pairs, the share that each head promotes or suppresses most, and the
/// outcome of each pair in one head.
class RelationsPage : public Page {
    Q_OBJECT

public:
    explicit RelationsPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);
    static constexpr bool needsTokenizer = true;

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    void createLayout();
    QWidget* createLists();
    HeadGrid* createGrid(const QString& name);
    void connectSignals();
    void connectGrid(HeadGrid* grid, const char* verb);
    void fillList();
    void addRelation(const Relation& relation, bool isSaved);
    void choose(QListWidgetItem* item); ///< Runs the analysis with the item's relation.
    void updateSave();
    void openFile();
    void ask(std::vector<Relation> relations);
    void saveChosen();
    void followInputs(); ///< Follows a file dropped elsewhere.
    void recompute() override;
    void showGrids();
    void showPairs(HeadId head);
    void say(const QString& message);
    std::size_t relationOf(HeadId head) const; ///< The relation whose pairs are shown.
    HeadId bestHead() const;
    QString rankOf(HeadId head) const; ///< " (the best head)" and the like; empty: another head.
    const std::vector<Relation>& shownRelations() const; ///< Relations of the current results.

    struct Entry {
        Relation relation;
        bool isSaved = true;
    };

    QListWidget* m_list;
    QPushButton* m_save;
    QLabel* m_state;
    QStackedWidget* m_answer; // shows m_question until there are results
    QLabel* m_question;
    QTabWidget* m_tabs;
    HeadGrid* m_hits;
    HeadGrid* m_suppression;
    RelationPairsTable* m_pairs;
    std::vector<Relation> m_builtIn;
    std::vector<Entry> m_entries; // entries of the list after its first row
    std::shared_ptr<const ResultSet> m_shown;
    std::vector<Relation> m_shownRelations;
    bool m_beginsWithSelected = false; // starts with the selected head's pairs, not the best head's
};

} // namespace headwise::ui
