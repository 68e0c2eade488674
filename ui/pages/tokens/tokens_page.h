#pragma once

#include "ui/pages/parts/page.h"

#include <QTimer>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QSplitter;

namespace headwise::ui {

class TokenEdit;
class LargestEntriesPanel;
class OffsetBox;
class TokenEffectPanel;
class TokenFilterButton;
class TokensPanel;

/// The card of one token: every head by its effect on the token, and the tables of the selected head.
class TokensPage : public Page {
    Q_OBJECT

public:
    explicit TokensPage(Workspace* workspace, QWidget* parent = nullptr);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void createColumns();
    void createFilter();
    void connectSignals();
    void applyChoice();

    QComboBox* m_circuit;
    QComboBox* m_side;
    QCheckBox* m_biases;
    QCheckBox* m_scale;
    OffsetBox* m_offset;
    TokenEdit* m_edit;
    QLineEdit* m_filter;
    QTimer m_filterPause;
    QLabel* m_problem;
    QCheckBox* m_ids;
    TokenFilterButton* m_tokens;
    TokensPanel* m_panel;
    LargestEntriesPanel* m_largest;
    TokenEffectPanel* m_effect;
    QSplitter* m_columns; // below each other on a narrow page
};

} // namespace headwise::ui
