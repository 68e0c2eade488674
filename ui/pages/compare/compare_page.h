#pragma once

#include "ui/pages/compare/compare_sides.h"
#include "ui/pages/parts/page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSplitter;

namespace headwise::ui {

class ComparedModel;
class ComparePictures;
class ComparedTokens;
class EmptyPlace;
class HeadPairCharts;

/// The selected head beside the reference: another head, or the same one in a newer model. Shows one circuit as two
/// linked pictures, as one picture with a divider, or as difference or ratio; the tokens that enter and leave the top of
/// a row; both spectra; principal angles; and similarity measures.
///
/// While Shift is held the reference replaces the selected head; D shows the difference.
class ComparePage : public Page {
    Q_OBJECT

public:
    explicit ComparePage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    /// The two sides to compare, or the reason why there are none.
    struct Asked {
        std::optional<CompareSides> sides;
        QString message;
    };
    void createLayout();
    void createControls();
    void connectSignals();
    void recompute() override;
    Asked asked() const;
    Asked askedOfNewer() const;
    void showAgainst(); ///< Fills the list of models to compare with.
    void compareTokens(const CompareSides& sides);
    void clear(const QString& message); ///< Shows why there is nothing to compare.
    void showAnswer(const CompareAnswer& answer, const CompareSides& sides);
    void showNumbers(const HeadPair& pair);
    QString readOut(int row, int column) const;
    QString entryName(int index) const;
    QString modelNames() const;
    bool isOfNewer() const; ///< True if the reference is the same head in the newer model.
    bool isTokenCircuit() const { return isFull(kind()); }
    CircuitKind kind() const;

    ComparedModel* m_newer; // owned by the workspace
    QComboBox* m_circuit;
    QComboBox* m_against;
    QLineEdit* m_text;
    QComboBox* m_way;
    QLabel* m_numbers;
    EmptyPlace* m_empty;
    QWidget* m_body;
    ComparePictures* m_pictures;
    QSplitter* m_bottom; ///< The token tables and the charts: beside each other, or in a narrow page below.
    ComparedTokens* m_tokenTables;
    HeadPairCharts* m_charts;
    std::vector<int> m_tokens; // rows and columns of full circuits
    QString m_shown, m_shownReference;
    Job m_job;
};

} // namespace headwise::ui
