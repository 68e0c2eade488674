#pragma once

#include "ui/pages/parts/page.h"

#include <map>

class QCheckBox;
class QComboBox;
class QLabel;
class QToolButton;

namespace headwise::ui {

class DirectionSearchPanel;
class LineChart;
class VectorTables;
struct CircuitDirections;
struct DirectionLists;

/// The singular vectors of a residual circuit of the selected head as columns of tokens, below its spectrum with
/// degenerate blocks bracketed; and a token's rank among all of them.
///
/// ← and → move between directions, Space reverses the sign of the selected one.
class VectorsPage : public Page {
    Q_OBJECT

public:
    explicit VectorsPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

signals:
    /// The user wants to see this direction: a name that readDirection() reads.
    void directionWanted(const QString& name);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    using DirectionsPtr = std::shared_ptr<const CircuitDirections>;
    using ListsPtr = std::shared_ptr<const DirectionLists>;
    void createLayout();
    void connectSignals();
    void createLook();
    /// The name of the selected vector as shown; empty if it is meaningless. \param isOut  the second side
    QString shownDirection(bool isOut) const;
    void recompute() override;
    void clear(const QString& message);
    void showDirections();
    void showSpectrum();
    void computeLists();
    void showLists();
    bool moveByKey(int key);
    QString directionTitle(int index) const;
    QString cosineNote() const; // For QK only.
    int current() const;        ///< The selected direction, limited to those this head has.
    CircuitKind kind() const;

    QComboBox* m_circuit;
    QCheckBox* m_scores;
    QCheckBox* m_each;
    QLabel* m_state;
    QToolButton* m_look;
    LineChart* m_spectrum;
    DirectionSearchPanel* m_search;
    VectorTables* m_tables;
    DirectionsPtr m_directions;
    std::map<int, ListsPtr> m_lists; // by chunk number
    Job m_job, m_listJob;
};

} // namespace headwise::ui
