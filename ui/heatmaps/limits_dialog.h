#pragma once

#include <QDialog>

#include <optional>
#include <utility>

class QLabel;
class QLineEdit;

namespace headwise::ui {

/// Asks for the exact limits of a colour scale.
class LimitsDialog : public QDialog {
    Q_OBJECT

public:
    LimitsDialog(float low, float high, QWidget* parent);

    /// The typed limits; nothing unless they are two numbers with the smaller first.
    std::optional<std::pair<float, float>> limits() const;

    void accept() override; ///< Shows what is wrong instead of closing, if something is.

signals:
    void limitsChosen(float low, float high);

private:
    QLineEdit* m_low;
    QLineEdit* m_high;
    QLabel* m_problem;
};

} // namespace headwise::ui
