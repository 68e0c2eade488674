#pragma once

#include "core/base/matrix.h"
#include "core/model/head_id.h"
#include "core/results/result_set.h"
#include "core/session/session.h"

#include <QString>

#include <vector>

namespace headwise::ui {

/// Every array that has one number per head: what the grid can be coloured by. Its axes tell: in a model with as many
/// layers as heads, a table of pairs of layers has the same shape.
std::vector<const ResultArray*> headMetrics(const ResultSet& results, const ModelCard& card);

double metricAt(const ResultArray& metric, HeadId head); ///< NaN outside.
Eigen::MatrixXf metricGrid(const ResultArray& metric);   ///< [layer, head]
QString metricTitle(const ResultArray& metric);          ///< "Copying", "‖OV‖ Frobenius norm"

/// (value − null)/deviation; NaN where the null is not known.
double zScore(const ResultArray& metric, double value);

/// The row of a [layer, head, n] array that belongs to `head`; empty if the array is missing or of another shape.
std::vector<double> headSeries(const ResultArray* array, HeadId head);

} // namespace headwise::ui
