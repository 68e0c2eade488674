#pragma once

#include "core/model/load_report.h"
#include "ui/pages/parts/page.h"

class QGridLayout;
class QLabel;
class QPushButton;

namespace headwise::ui {

class FillButton;

/// The architecture card: the model, its origin, the processing of its weights, all warnings; the tensors that loading
/// used and ignored, the config against the tensors, and the effect of the norms.
class CardPage : public Page {
    Q_OBJECT

public:
    explicit CardPage(Workspace* workspace, QWidget* parent = nullptr);

private:
    void refresh();
    void addRow(QGridLayout* rows, const QString& name, const QString& value);
    void addRow(QGridLayout* rows, const QString& name, QWidget* field);
    void addSizes(const ModelCard& card);
    void showReport();
    void showNorms(const std::vector<NormFactors>& norms);

    QLabel* m_title;
    QGridLayout* m_rows;
    QLabel* m_notes;
    QGridLayout* m_report;
    QGridLayout* m_norms;
    QLabel* m_processing;
    QLabel* m_warnings;
    FillButton* m_fill;
    QPushButton* m_complete;                       ///< Shown if a field of the config is unknown.
    std::shared_ptr<const ModelWeights> m_weights; // weights whose report is shown
    Job m_normsJob;
};

} // namespace headwise::ui
