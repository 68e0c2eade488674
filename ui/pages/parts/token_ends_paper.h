#pragma once

#include "ui/figures/figure_recording.h"

#include <functional>

class QPaintDevice;

namespace headwise::ui {

class TokenTableModel;

/// Paints both ends of a row or column of a full circuit side by side, as many tokens as fit.
void paintTokenEnds(QPainter& painter, const QRectF& area, const TokenTableModel& top,
                    const TokenTableModel& bottom, const FigureStyle& style);

/// Returns how many tokens of each end fit below its heading.
int tokenRowsOn(double height, const FigureStyle& style, const QPaintDevice* device);

/// Writes their numbers, with a header.
void writeTokenEnds(const TokenTableModel& top, const TokenTableModel& bottom,
                    const std::function<void(const QStringList&)>& writeRow);

} // namespace headwise::ui
