#include "ui/heatmaps/limits_dialog.h"

#include "ui/base/text.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include <cmath>

namespace headwise::ui {

namespace {

QLineEdit* numberField(float value, const QString& name, QWidget* parent)
{
    auto* field = new QLineEdit(exactNumber(value), parent);
    field->setAccessibleName(name);
    return field;
}

/// Also accepts the minus sign (−) of displayed numbers.
std::optional<float> numberIn(const QLineEdit& field)
{
    bool isNumber = false;
    const float value = field.text().trimmed().replace(QChar(0x2212), u'-').toFloat(&isNumber);
    return isNumber && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

} // namespace

LimitsDialog::LimitsDialog(float low, float high, QWidget* parent)
    : QDialog(parent)
    , m_low(numberField(low, tr("Lower limit"), this))
    , m_high(numberField(high, tr("Upper limit"), this))
    , m_problem(new QLabel(this))
{
    setWindowTitle(tr("Colour limits"));
    auto* layout = new QFormLayout(this);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setHorizontalSpacing(12);
    layout->setVerticalSpacing(8);
    layout->addRow(tr("&Upper limit"), m_high); // in the order of a vertical bar
    layout->addRow(tr("&Lower limit"), m_low);
    m_problem->setWordWrap(true);
    m_problem->hide();
    layout->addRow(m_problem);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    buttons->addButton(tr("&Set limits"), QDialogButtonBox::AcceptRole)->setDefault(true);
    layout->addRow(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &LimitsDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &LimitsDialog::reject);
    m_high->selectAll();
    m_high->setFocus();
}

std::optional<std::pair<float, float>> LimitsDialog::limits() const
{
    const auto low = numberIn(*m_low), high = numberIn(*m_high);
    return low && high && *low < *high ? std::optional(std::pair(*low, *high)) : std::nullopt;
}

void LimitsDialog::accept()
{
    if (const auto typed = limits()) {
        emit limitsChosen(typed->first, typed->second);
        return QDialog::accept();
    }
    m_problem->setText(numberIn(*m_low) && numberIn(*m_high)
                           ? tr("The lower limit must be smaller than the upper one.")
                           : tr("Both limits must be numbers, such as -0.25 or 1e-3."));
    m_problem->show();
}

} // namespace headwise::ui
