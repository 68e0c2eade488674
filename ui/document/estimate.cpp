#include "ui/document/estimate.h"

#include "ui/base/text.h"

#include <QLocale>

namespace headwise::ui {

QString estimateText(std::chrono::milliseconds time)
{
    return time < std::chrono::seconds(2) ? QString() : tr("about %1").arg(duration(time));
}

QString estimateText(const AnalysisCost& cost)
{
    const QString time = estimateText(estimatedTime(cost.flops));
    if (time.isEmpty())
        return time;
    return tr("%1, %2").arg(
        time, QLocale().formattedDataSize(static_cast<qint64>(cost.bytes), 0, QLocale::DataSizeSIFormat));
}

QString withEstimate(const QString& title, const AnalysisCost& cost)
{
    const QString estimate = estimateText(cost);
    return estimate.isEmpty() ? title : tr("%1 · %2").arg(title, estimate);
}

} // namespace headwise::ui
