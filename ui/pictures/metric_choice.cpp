#include "ui/pictures/metric_choice.h"

#include "ui/base/text.h"
#include "ui/document/head_metrics.h"
#include "ui/widgets/narrow_choice.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>

namespace headwise::ui {

MetricChoice::MetricChoice(Picture::Kind kind, QWidget* parent)
    : QWidget(parent)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    if (kind == Picture::Kind::HeadPlane)
        m_axes = {add(layout, tr("x axis")), add(layout, tr("y axis"))};
    m_color = add(layout, tr("Colour"));
    layout->addStretch();
}

ViewFields MetricChoice::choices()
{
    ViewFields fields;
    if (!m_axes.empty())
        fields.addChoice("x", m_axes.front()).addChoice("y", m_axes.back());
    return fields.addChoice("color", m_color);
}

QComboBox* MetricChoice::add(QHBoxLayout* layout, const QString& name)
{
    constexpr int characters = 4; // at least: three stand beside each other in a narrow window
    auto* box = new NarrowChoice(characters, this);
    box->setAccessibleName(name);
    box->setToolTip(name);
    layout->addWidget(box, 1);
    connect(box, &QComboBox::currentIndexChanged, this, &MetricChoice::changed);
    return box;
}

void MetricChoice::offer(QComboBox* box, const std::vector<const ResultArray*>& metrics, const QString& own)
{
    const QVariant before = box->currentData();
    const QSignalBlocker quiet(box);
    box->clear();
    box->addItem(QStringLiteral("%1: %2").arg(box->accessibleName(), own), QString());
    for (const ResultArray* metric : metrics)
        box->addItem(QStringLiteral("%1: %2").arg(box->accessibleName(), metricTitle(*metric)),
                     text(metric->path));
    box->setCurrentIndex(std::max(0, box->findData(before)));
}

PictureData MetricChoice::applied(PictureData shown, const ModelCard& card)
{
    if (shown.arrays.size() < std::max<std::size_t>(1, m_axes.size()))
        return shown;
    const std::size_t color = std::max<std::size_t>(1, m_axes.size()); // its place among the arrays
    const std::vector<const ResultArray*> metrics = headMetrics(*shown.results, card);
    for (std::size_t i = 0; i < m_axes.size(); ++i)
        offer(m_axes[i], metrics, metricTitle(*shown.arrays[i]));
    offer(m_color, metrics,
          shown.arrays.size() > color ? metricTitle(*shown.arrays[color])
              : m_axes.empty()        ? tr("layer")
                                      : tr("none"));
    const auto chosen = [&](const QComboBox* box) {
        return shown.results->find(box->currentData().toString().toStdString());
    };
    for (std::size_t i = 0; i < m_axes.size(); ++i)
        if (const ResultArray* metric = chosen(m_axes[i])) {
            shown.arrays[i] = metric;
            (i == 0 ? shown.picture.logX : shown.picture.logY) = false;
        }
    if (const ResultArray* metric = chosen(m_color)) {
        shown.arrays.resize(color);
        shown.arrays.push_back(metric);
    }
    return shown;
}

} // namespace headwise::ui
