#pragma once

#include "ui/pages/parts/page.h"

#include <optional>

class QComboBox;
class QLabel;
class QSortFilterProxyModel;

namespace headwise::ui {

class HeadTableModel;
class HeatmapPanel;
class TableFigure;

/// The panel that is always visible: the open model on one line, a grid of all heads coloured by a score, and a ranked
/// list.
class HeadsPage : public Page {
    Q_OBJECT

public:
    explicit HeadsPage(Workspace* workspace, QWidget* parent = nullptr);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

    QSize sizeHint() const override { return {300, 640}; }
    QSize minimumSizeHint() const override { return {260, 320}; }

    /// Runs the relations of word pairs in `file`, and colours the heads by the result.
    void askRelations(const QString& file);

signals:
    void
    /// A head was opened: requests "overview" from the grid, "tokens" from the list.
    pageRequested(const QString& name);
    void relationsAsked();
    void problemFound(const QString& message); ///< A problem with a file dropped here.

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    int leastListWidth() const; ///< px; the titles are whole beside a scroll bar.
    void fitGrid();             ///< Fits the height to the number of layers.
    void createLayout();
    void connectSignals();
    void refreshMetrics();
    void chooseMetric(); ///< Uses the box's current entry.
    void findMetric();   ///< Uses the metric whose name, or part of it, was typed.
    void followQuestion();
    void showMetric();
    void markHead();
    const ResultArray* shownMetric() const;
    QString readOutOf(HeadId head) const;
    QString titleOf(const ResultArray& metric)
        const; ///< With the list of a relation score. ///< Its score, with null and z if known.

    QLabel* m_card;
    QComboBox* m_metric;
    QLabel* m_definition;
    HeatmapPanel* m_panel;
    HeadTableModel* m_model;
    TableFigure* m_table;
    QSortFilterProxyModel* m_sorted = nullptr; // proxy of the table
    std::vector<Relation> m_relations;         // the relations last switched to
    std::optional<HeadId> m_firstHead;         // of a newly opened model, until the user selects another
    QString m_newer;                           // the newer model last switched to
    QString m_wanted =
        QStringLiteral("scores/copying"); ///< The metric that the user chose, even if it is not computed.
};

} // namespace headwise::ui
