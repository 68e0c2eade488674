#pragma once

#include "core/analysis/inputs/token_filter.h"

#include <QToolButton>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QSpinBox;

namespace headwise::ui {

class Workspace;

/// A button that opens the token filter and shows how many tokens are left out.
class TokenFilterButton : public QToolButton {
    Q_OBJECT

public:
    /// A Notice is placed beside numbers that depend on the filter, and is visible only while tokens are left out.
    enum class Role { Choice, Notice };
    explicit TokenFilterButton(Workspace* workspace, Role role, QWidget* parent = nullptr);

    void setFilter(const TokenFilter& filter);

private:
    QWidget* makeForm();
    void limitToModel();
    void followCounts();        ///< Follows the token counts in the workspace's inputs.
    TokenFilter filter() const; ///< The filter in the fields.
    void apply();
    void showFilter();

    Workspace* m_workspace;
    Role m_role;
    QSpinBox* m_firstId;
    QSpinBox* m_lastId;
    QDoubleSpinBox* m_lowestNorm;
    QDoubleSpinBox* m_highestNorm;
    QDoubleSpinBox* m_lowestCount;
    QComboBox* m_script;
    QComboBox* m_space;
    QCheckBox* m_noSpecials;
    QCheckBox* m_trained;
};

} // namespace headwise::ui
