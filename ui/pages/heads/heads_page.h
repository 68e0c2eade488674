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

/// The map that never leaves the screen: what is open, in a line, every head, coloured by a score, and the heads ranked by it.
class HeadsPage : public Page {
    Q_OBJECT

public:
    explicit HeadsPage(Workspace* workspace, QWidget* parent = nullptr);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

    QSize sizeHint() const override { return {300, 640}; }
    QSize minimumSizeHint() const override { return {260, 320}; }

    /// Asks which heads know the pairs of words in `file`, and colours the heads by the answer.
    void askRelations(const QString& file);

signals:
    void
    pageRequested(const QString& name); ///< A head was opened: "overview" of the grid, "tokens" of the list.
    void relationsAsked();
    void problemFound(const QString& message); ///< With a file that was dropped here.

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fitGrid(); ///< As high as its layers need.
    void createLayout();
    void connectSignals();
    void refreshMetrics();
    void chooseMetric(); ///< The one of the box.
    void findMetric();   ///< The one whose name was typed, or a part of it.
    void followQuestion();
    void showMetric();
    void markHead();
    const ResultArray* metric() const;
    QString readOutOf(HeadId head) const; ///< Its score, with the null and z where there are some.

    QLabel* m_card;
    QComboBox* m_metric;
    QLabel* m_definition;
    HeatmapPanel* m_panel;
    HeadTableModel* m_model;
    TableFigure* m_table;
    QSortFilterProxyModel* m_sorted = nullptr; // of the table
    std::vector<Relation> m_relations;         // that the metric has followed
    std::optional<HeadId> m_firstHead;         // of a model just opened, until another is chosen
    QString m_newer;                           // the model that the metric has followed
    QString m_wanted =
        QStringLiteral("scores/copying"); ///< The metric the user chose, also while it is not computed.
};

} // namespace headwise::ui
