#include "ui/document/estimate.h"

#include "core/runs/estimate.h"
#include "ui/base/text.h"

#include <QLocale>

#include <algorithm>
#include <cstdint>

namespace headwise::ui {

namespace {

constexpr double longest = 1e12; // s; a longer time is no answer either

} // namespace

QString estimateText(std::chrono::milliseconds time)
{
    return time < std::chrono::seconds(2) ? QString() : tr("about %1").arg(duration(time));
}

QString estimateText(const AnalysisCost& cost)
{
    const QString time = estimateText(std::chrono::milliseconds(
        static_cast<std::int64_t>(1000 * std::min(estimatedSeconds(cost.work(), coresOf(0)), longest))));
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
