#pragma once

#include "ui/pages/parts/page.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QSlider;
class QTabWidget;

namespace headwise::ui {

class PairPanel;
class PairsPanel;
class PictureCard;
class PicturePanel;

/// How much each later head reads of what each earlier head writes, as a map and as a wiring diagram.
class CompositionPage : public Page {
    Q_OBJECT

public:
    explicit CompositionPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

protected:
    void resizeEvent(QResizeEvent* event) override; ///< Gives the map of a narrow page more of its width.

signals:
    void pageRequested(const QString& name); ///< A pair was double-clicked: requests "compare".
    void viewMade(QWidget* view);            ///< A new picture that can be exported.

private:
    void createLayout();
    QWidget* createMap();
    void connectSignals();
    void connectMap();
    void recompute() override;
    void showMap(const ResultArray& scores);
    void showWiring();
    void markHead();
    void showPair(); ///< Shows the pair beside the map.
    QString readOut(HeadId from, HeadId to) const;
    const ResultArray* scores() const;
    std::string kind() const;  ///< "k", "q", "v"
    QString kindTitle() const; ///< "K-composition"

    QComboBox* m_kind;
    QCheckBox* m_subtract;
    QSlider* m_percentile;
    QLabel* m_percentileText;
    QPushButton* m_chance;
    QLabel* m_explanation;
    QTabWidget* m_tabs;
    PicturePanel* m_map;
    PairPanel* m_pair;
    QWidget* m_wiring;
    PairsPanel* m_pairs;
    PictureCard* m_card = nullptr; // in the wiring tab
    QJsonObject m_wantedWiring;    // restored, until there is a card
};

} // namespace headwise::ui
