#pragma once

#include "core/analysis/catalogue.h"

#include <QPushButton>

namespace headwise::ui {

class Workspace;

/// Offers to compute what a page lacks; there only while it is lacking, can be computed and nobody is at it.
class ComputeButton : public QPushButton {
    Q_OBJECT

public:
    /// \param id  of an analysis of the catalogue that needs no inputs
    ComputeButton(Workspace* workspace, std::string_view id, QWidget* parent = nullptr);

private:
    void updateState();

    Workspace* m_workspace;
    const Analysis* m_analysis;
};

} // namespace headwise::ui
