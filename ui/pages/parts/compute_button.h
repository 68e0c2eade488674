#pragma once

#include "core/analysis/catalogue.h"

#include <QPushButton>

namespace headwise::ui {

class Workspace;

/// Offers to compute the results that a page lacks. Visible only while they are missing, can be computed and are not
/// being computed.
class ComputeButton : public QPushButton {
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
