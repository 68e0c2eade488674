#pragma once

#include "ui/heatmaps/heatmap_view.h"

#include <QCoreApplication>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <ctime>
#include <vector>

namespace headwise::test {

/// Processor time of the calling thread in seconds; other load on the machine does not count.
inline double threadSeconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Turns the wheel by one notch or drags by a few pixels, as a user would: into the picture, across it, and out again.
inline void moveOn(ui::HeatmapView& view, int frame)
{
    const QPointF at(0.4 * view.width(), 0.45 * view.height());
    if (frame % 3 == 0) {
        const int notches = frame / 40 % 2 == 0 ? 120 : -120;
        QWheelEvent wheel(at, view.mapToGlobal(at), {}, {0, notches}, Qt::NoButton, {}, Qt::NoScrollPhase,
                          false);
        QCoreApplication::sendEvent(&view, &wheel);
        return;
    }
    const QPointF to = at + QPointF(frame % 2 == 0 ? 37 : -31, 23);
    const auto send = [&](QEvent::Type type, const QPointF& position, Qt::MouseButton button) {
        QMouseEvent mouse(type, position, view.mapToGlobal(position), button, Qt::LeftButton, {});
        QCoreApplication::sendEvent(&view, &mouse);
    };
    send(QEvent::MouseButtonPress, at, Qt::LeftButton);
    send(QEvent::MouseMove, to, Qt::NoButton);
    send(QEvent::MouseButtonRelease, to, Qt::LeftButton);
}

/// Returns the 95th percentile.
inline double p95(std::vector<double> seconds)
{
    const auto place = static_cast<std::ptrdiff_t>(0.95 * static_cast<double>(seconds.size() - 1));
    std::nth_element(seconds.begin(), seconds.begin() + place, seconds.end());
    return seconds[static_cast<std::size_t>(place)];
}

/// 95th percentile of the window thread's processor time per frame, in seconds, while the visible `view` is panned and
/// zoomed: input, results from other threads, and painting.
inline double frameTimeP95(ui::HeatmapView& view, int frames)
{
    std::vector<double> seconds;
    for (int frame = 0; frame < frames; ++frame) {
        const double start = threadSeconds();
        moveOn(view, frame);
        QCoreApplication::processEvents();
        view.repaint();
        seconds.push_back(threadSeconds() - start);
    }
    return p95(std::move(seconds));
}

} // namespace headwise::test
