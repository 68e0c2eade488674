#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QPushButton;

namespace headwise::ui {

class FillButton;

/// The head of an analysis: its title, formula, citation and cost, whether its results are current, and its Run button.
class AnalysisHead : public Page {
    Q_OBJECT

public:
    explicit AnalysisHead(Workspace* workspace, QWidget* parent = nullptr);

    /// \param lacksHead true if the results do not cover the selected head
    void show(const Analysis& analysis, bool lacksHead);
    QString emptyText() const { return m_emptyText; } ///< Why the analysis shown has no pictures.

signals:
    void runWanted();

private:
    void createLayout();
    bool isComputedNow() const;
    bool isStale() const;             ///< True if the results have other inputs than the form.
    bool isOtherwiseFiltered() const; ///< True if the results have another token filter than the current one.
    QString staleText() const;        ///< Empty if the results match the form.
    QString missingText() const;      ///< Why the selected head has no pictures.
    QString costText() const;
    QString metricText() const; ///< The metric of the results; empty if they measure no lengths.
    void showVerified();

    const Analysis* m_analysis;
    QLabel* m_title;
    QLabel* m_formula;
    QLabel* m_citation;
    QLabel* m_cost;
    QLabel* m_state;
    QPushButton* m_run;
    QPushButton* m_verify;
    QLabel* m_verified; // the answer, beside its button
    FillButton* m_fill;
    QString m_emptyText;
};

} // namespace headwise::ui
