#pragma once

#include "ui/pages/compare/compare_sides.h"
#include "ui/pages/parts/page.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace headwise::ui {

class ComparedModel;
class ComparePictures;
class CompareTables;
class LineChart;

/// The selected head beside the reference, which is another head or the same one of a newer model: one circuit as two pictures
/// of one scale and zoom, as one with a divider, their difference or ratio, the tokens that enter and leave the top of a row,
/// both spectra, principal angles, and how alike the two are.
///
/// While Shift is held the reference stands in the selected head's place; D shows the difference.
class ComparePage : public Page {
    Q_OBJECT

public:
    explicit ComparePage(Workspace* workspace, QWidget* parent = nullptr);

    QJsonObject viewState() const override;
    void setViewState(const QJsonObject& state) override;
    QList<FigureSource*> figures() override;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    /// The two sides to compare, or why there are none.
    struct Asked {
        std::optional<CompareSides> sides;
        QString message;
    };
    void createLayout();
    void createControls();
    QWidget* chartTabs();
    void connectSignals();
    void connectCharts();
    void recompute() override;
    Asked asked() const;
    Asked askedOfNewer() const;
    void showAgainst(); ///< Fills the list of models to compare with.
    void compareTables(const CompareSides& sides);
    void clear(const QString& message); ///< Says why there is nothing.
    void showAnswer(const CompareAnswer& answer, const CompareSides& sides);
    void showNumbers(const HeadPair& pair);
    void showCharts(const HeadPair& pair);
    QString readOut(int row, int column) const;
    QString entryName(int index) const;
    QString modelNames() const;
    bool isOfNewer() const; ///< The same head of the newer model is the reference.
    bool isTokenCircuit() const { return isFull(kind()); }
    CircuitKind kind() const;

    ComparedModel* m_newer; // the workspace's
    QComboBox* m_circuit;
    QComboBox* m_against;
    QLineEdit* m_text;
    QComboBox* m_way;
    QLabel* m_numbers;
    QLabel* m_message;
    QWidget* m_body;
    ComparePictures* m_pictures;
    QLabel* m_tableTitle;
    CompareTables* m_tables;
    LineChart* m_spectra;
    LineChart* m_angles;
    std::vector<int> m_tokens; // rows and columns of full circuits
    QString m_shown, m_shownReference;
    Job m_job, m_tableJob;
};

} // namespace headwise::ui
