#pragma once

#include "core/analysis/catalogue.h"

#include <QString>

#include <chrono>

namespace headwise::ui {

// Estimates shown before anything that takes over two seconds begins.

/// "about 8 s"; empty where it takes less than two.
QString estimateText(std::chrono::milliseconds time);
/// "about 8 s, 300 MB"
QString estimateText(const AnalysisCost& cost);
/// "Composition · about 8 s, 300 MB", or the title alone.
QString withEstimate(const QString& title, const AnalysisCost& cost);

} // namespace headwise::ui
