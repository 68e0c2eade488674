#include "ui/pages/compare/adapter_strength.h"

#include "ui/document/compared_model.h"
#include "ui/document/workspace.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QSignalBlocker>
#include <QSlider>

#include <cmath>

namespace headwise::ui {

namespace {

constexpr int strengthSteps = 100;

} // namespace

AdapterStrength::AdapterStrength(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_newer(ComparedModel::of(workspace))
    , m_slider(new QSlider(Qt::Horizontal, this))
    , m_value(new QLabel(this))
{
    auto* title = new QLabel(tr("Adapter strength"), this);
    title->setBuddy(m_slider);
    m_slider->setRange(0, strengthSteps);
    m_slider->setPageStep(strengthSteps / 10);
    m_slider->setFixedWidth(120);
    m_slider->setAccessibleName(title->text());
    m_slider->setToolTip(
        tr("0 is the base, 1 the adapted model; the models are compared again when the slider rests"));
    m_value->setMinimumWidth(m_value->fontMetrics().horizontalAdvance(QStringLiteral("0.00")));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(title);
    layout->addWidget(m_slider);
    layout->addWidget(m_value);
    m_pause.setSingleShot(true);
    m_pause.setInterval(300);
    connect(m_slider, &QSlider::valueChanged, this, [this] {
        showValue();
        m_pause.start();
    });
    connect(&m_pause, &QTimer::timeout, this,
            [this] { m_newer->setAdapterStrength(m_slider->value() / double(strengthSteps)); });
    connect(m_newer, &ComparedModel::changed, this, &AdapterStrength::follow);
    // Also after a comparison that was cancelled or failed; its answer, if any, comes first.
    connect(m_newer->comparisonJob(), &Job::finished, this, &AdapterStrength::follow, Qt::QueuedConnection);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, this, &AdapterStrength::follow);
    follow();
}

void AdapterStrength::follow()
{
    if (m_pause.isActive() || m_newer->comparisonJob()->isRunning())
        return; // The slider is ahead of the results.
    const auto strength = m_newer->adapterStrength();
    setVisible(strength.has_value());
    if (!strength)
        return;
    const QSignalBlocker blocker(m_slider);
    m_slider->setValue(static_cast<int>(std::lround(*strength * strengthSteps)));
    showValue();
}

void AdapterStrength::showValue()
{
    m_value->setText(QLocale::c().toString(m_slider->value() / double(strengthSteps), 'f', 2));
}

} // namespace headwise::ui
