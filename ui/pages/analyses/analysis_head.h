#pragma once

#include "ui/pages/parts/page.h"

class QLabel;
class QPushButton;
class QToolButton;

namespace headwise::ui {

class FillButton;

/// The head of an analysis: its title, its Run button, and the answer of its verification. Formula and source stand
/// behind a button.
class AnalysisHead : public Page {
    Q_OBJECT

public:
    explicit AnalysisHead(Workspace* workspace, QWidget* parent = nullptr);

    /// \param lacksHead true if the results do not cover the selected head
    void show(const Analysis& analysis, bool lacksHead);
    /// The cost, and whether the results are current. The head does not place it: it may scroll with the pictures.
    QWidget* details() { return m_details; }
    QString emptyText() const { return m_emptyText; } ///< Why the analysis shown has no pictures.

signals:
    void runWanted();

private:
    void createLayout();
    void createDetails();
    void explain();
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
    QWidget* m_details;
    QLabel* m_cost;
    QLabel* m_state;
    QPushButton* m_run;
    QPushButton* m_verify;
    QLabel* m_verified; // the answer, beside its button
    FillButton* m_fill;
    QToolButton* m_explain;
    QString m_emptyText;
};

} // namespace headwise::ui
