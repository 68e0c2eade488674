#pragma once

#include <QDialog>

#include <optional>
#include <utility>

class QLabel;
class QLineEdit;

namespace headwise::ui {

/// Asks for the two limits of a colour scale, which are typed exactly.
class LimitsDialog : public QDialog {
    Q_OBJECT

public:
    LimitsDialog(float low, float high, QWidget* parent);

    /// What is typed; nothing where it is not two numbers of which the first is the smaller.
    std::optional<std::pair<float, float>> limits() const;

    void accept() override; ///< Says what is wrong instead, where it is.

signals:
    void limitsChosen(float low, float high);

private:
    QLineEdit* m_low;
    QLineEdit* m_high;
    QLabel* m_problem;
};

} // namespace headwise::ui
