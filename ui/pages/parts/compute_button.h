#pragma once

#include "core/analysis/catalogue.h"
#include "ui/pages/parts/fill_button.h"

namespace headwise::ui {

/// Offers to compute the results that a page lacks, or to find the model's files that they need. Visible only while they
/// are missing, can be computed and are not being computed.
class ComputeButton : public FillButton {
    Q_OBJECT

public:
    /// \param id  of an analysis that needs no inputs
    ComputeButton(Workspace* workspace, std::string_view id, QWidget* parent = nullptr);

private:
    void updateState();

    Workspace* m_workspace;
    const Analysis* m_analysis;
};

} // namespace headwise::ui
