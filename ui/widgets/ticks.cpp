#include "ui/widgets/ticks.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::ui {

namespace {
constexpr int mostTicks = 20; // however long an axis is
}

std::vector<double> roundTicks(double low, double high, int atMost)
{
    if (!(low < high) || atMost < 1 || !std::isfinite(high - low))
        return {};
    atMost = std::min(atMost, mostTicks);
    const double raw = (high - low) / atMost;
    const double decade = std::pow(10, std::floor(std::log10(raw)));
    const auto distance = [&](double step) { // in steps, from the first tick to the last
        return std::floor(high / step + 1e-9) - std::ceil(low / step - 1e-9);
    };
    double step = decade, finer = decade;
    for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
        finer = std::exchange(step, factor * decade);
        if (distance(step) < atMost)
            break;
    }
    // A single tick does not show the step: prefer one tick too many.
    if (distance(step) < 1 && distance(finer) <= atMost && atMost > 2)
        step = finer;
    std::vector<double> ticks;
    // Counted, not summed, so that zero is exactly zero.
    const double last = std::floor(high / step + 1e-9);
    for (double i = std::ceil(low / step - 1e-9); i <= last && ticks.size() <= mostTicks; ++i)
        ticks.push_back(i * step);
    return ticks;
}

std::vector<double> decadeTicks(double low, double high, int atMost)
{
    if (!(0 < low && low < high) || atMost < 1)
        return {};
    const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
    const int step = std::max(1, (last - first + atMost) / atMost);
    std::vector<double> ticks;
    for (int exponent = first; exponent <= last; exponent += step)
        ticks.push_back(std::pow(10, exponent));
    return ticks;
}

QString tickText(double value, double spacing)
{
    const double size = std::max(std::abs(value), spacing);
    QString shown;
    if (value == 0) {
        shown = QStringLiteral("0");
    } else if (size >= 1e5 || size < 1e-3) {
        const auto decade = [](double x) { return static_cast<int>(std::floor(std::log10(x) + 1e-9)); };
        const int digits = std::isfinite(value) && std::isfinite(spacing) && spacing > 0
            ? decade(std::abs(value)) - decade(spacing) + 1
            : 0;
        shown = QString::number(value, 'g', std::clamp(digits, 3, 12)); // neighbours differ
        shown.replace(QStringLiteral("e+0"), QStringLiteral("e"))
            .replace(QStringLiteral("e-0"), QStringLiteral("e-"));
        shown.replace(QStringLiteral("e+"), QStringLiteral("e"));
    } else {
        const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(spacing) + 1e-9)), 0, 8);
        shown = QString::number(value, 'f', decimals);
    }
    return shown.replace(u'-', u'\u2212');
}

QString decadeText(double value)
{
    const int exponent = static_cast<int>(std::lround(std::log10(value)));
    if (exponent >= -2 && exponent <= 3)
        return QString::number(value, 'f', std::max(0, -exponent));
    QString digits = QString::number(std::abs(exponent));
    const QString superscripts = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    for (QChar& digit : digits)
        digit = superscripts[digit.digitValue()];
    return QStringLiteral("10") + (exponent < 0 ? QStringLiteral("⁻") : QString()) + digits;
}

} // namespace headwise::ui
