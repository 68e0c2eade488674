#pragma once

#include "ui/document/workspace.h"

#include <QPushButton>

#include <vector>

namespace headwise::ui {

/// Asks for the config fields that a page depends on; shown while the open model's files do not state one of them.
class CompleteButton : public QPushButton {
    Q_OBJECT

public:
    CompleteButton(const Workspace* workspace, std::vector<ConfigField> needed, QWidget* parent = nullptr);

private:
    void updateState();

    const Workspace* m_workspace;
    std::vector<ConfigField> m_needed;
};

} // namespace headwise::ui
