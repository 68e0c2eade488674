#pragma once

#include <QPushButton>

namespace headwise::ui {

class Workspace;

/// Offers to find the model's files that a page of a session lacks. Visible only while the page has nothing to show
/// without them.
class LocateButton : public QPushButton {
    Q_OBJECT

public:
    using WhyNot = QString (*)(const Workspace&);

    /// \param whyNot explains why the page has nothing to show; empty: it has
    LocateButton(const Workspace* workspace, WhyNot whyNot, QWidget* parent = nullptr);

private:
    void updateState();

    const Workspace* m_workspace;
    WhyNot m_whyNot;
};

} // namespace headwise::ui
