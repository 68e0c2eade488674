#pragma once

#include "core/analysis/position/position_terms.h"
#include "ui/pages/parts/page.h"

class QBoxLayout;
class QLabel;
class QPushButton;

namespace headwise::ui {

class FigureRow;
class PicturePanel;
class PrefixTable;
class QueryChooser;
class RotaryTerms;
class TermMap;

/// Components of a layer-0 head's scores (Kamoda et al. 2025): the position terms over all keys, for a query position and
/// a token set by sliders; one term over a list of tokens; and the prefixes that the token attends to.
/// With rotary positions, any head's score by offset and by frequency.
class ScoresPage : public Page {
    Q_OBJECT

public:
    explicit ScoresPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);
    static std::vector<ConfigField> neededFields(); ///< The fields of the config that it depends on.

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    struct Norms;
    void createLayout();
    QWidget* createCharts();
    void connectSignals();
    void recompute() override;
    enum class Extent { Sample, All }; ///< Tokens whose norms are read.
    void readNorms(Extent extent);
    void readTerms();
    void takeTerms(std::shared_ptr<const PositionTerms> terms, const std::shared_ptr<const Norms>& norms);
    void showTerms(); ///< At the sliders' values; cheap enough for every step.
    void showRotary();
    void clear(const QString& message);

    QueryChooser* m_query;
    QBoxLayout* m_below = nullptr; // m_state and the widgets after it
    QLabel* m_state;
    QPushButton* m_layer0;
    QWidget* m_body;
    PicturePanel* m_prior;   // T^p
    PicturePanel* m_pairs;   // T^pp
    PicturePanel* m_pattern; // softmax of T^pp + T^p
    FigureRow* m_figure;
    TermMap* m_map;
    PrefixTable* m_prefixes;
    RotaryTerms* m_rotary; // for rotary positions, in place of all others
    Job m_normsJob, m_termsJob;
    std::shared_ptr<const Norms> m_norms;         // for the circuits they were read from; null until then
    std::shared_ptr<const PositionTerms> m_terms; // for the selected head; null until computed
    bool m_isFirstLook = false;                   // m_terms use a sample of tokens
    int m_wantedQuery = -1;                       // from a session, until there is a model
};

} // namespace headwise::ui
