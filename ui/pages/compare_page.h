#pragma once

#include "core/analysis/comparison/head_pair.h"
#include "ui/pages/page.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace headwise::ui {

class ComparePictures;
class CompareTables;
class LineChart;

/// The selected head beside the reference: one circuit as two pictures of one scale and zoom, or their difference, the tokens
/// that enter and leave the top of a row, both spectra, and how alike the two are.
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
    struct Answer;
    void createLayout();
    void connectSignals();
    void recompute() override;
    void compareTables();
    void clear(const QString& message); ///< Says why there is nothing.
    void showAnswer(const Answer& answer);
    void showNumbers(const HeadPair& pair);
    QString readOut(int row, int column) const;
    QString entryName(int index) const;
    bool isTokenCircuit() const { return isFull(kind()); }
    CircuitKind kind() const;

    QComboBox* m_circuit;
    QLineEdit* m_text;
    QToolButton* m_difference;
    QLabel* m_numbers;
    QLabel* m_message;
    QWidget* m_body;
    ComparePictures* m_pictures;
    QLabel* m_tableTitle;
    CompareTables* m_tables;
    LineChart* m_spectra;
    std::vector<int> m_tokens; // rows and columns of full circuits
    HeadId m_shown, m_shownReference;
    Job m_job, m_tableJob;
};

} // namespace headwise::ui
