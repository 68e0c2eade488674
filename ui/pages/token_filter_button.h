#pragma once

#include "core/analysis/token_filter.h"
#include "ui/job.h"

#include <QToolButton>

#include <memory>
#include <vector>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QSpinBox;

namespace headwise::ui {

class Workspace;

/// A button that opens the choice of which tokens are looked at, and says how many are left out.
class TokenFilterButton : public QToolButton {
    Q_OBJECT

public:
    using LeftOut = std::shared_ptr<const std::vector<bool>>;

    explicit TokenFilterButton(Workspace* workspace, QWidget* parent = nullptr);

    TokenFilter filter() const;
    void setFilter(const TokenFilter& filter);
    /// true: left out, ids without a token among them; null while nothing is filtered.
    const LeftOut& leftOut() const { return m_leftOut; }

signals:
    void leftOutChanged();

private:
    QWidget* makeForm();
    void limitToModel();
    void followCounts(); ///< Those of the text that the workspace knows of.
    void apply();
    void say(int count);

    Workspace* m_workspace;
    QSpinBox* m_firstId;
    QSpinBox* m_lastId;
    QDoubleSpinBox* m_lowestNorm;
    QDoubleSpinBox* m_highestNorm;
    QDoubleSpinBox* m_lowestCount;
    QComboBox* m_script;
    QComboBox* m_space;
    QCheckBox* m_noSpecials;
    QCheckBox* m_trained;
    LeftOut m_leftOut;
    std::shared_ptr<const TokenCounts> m_counts; // null: unknown
    Job m_job;
};

} // namespace headwise::ui
