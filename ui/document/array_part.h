#pragma once

#include "core/analysis/catalogue.h"
#include "core/base/matrix.h"
#include "core/results/array_cut.h"
#include "core/results/suggested_picture.h"
#include "ui/document/picture_context.h"

#include <QString>

#include <functional>
#include <optional>
#include <vector>

namespace headwise::ui {

/// The array cut at the selected head or its layer, or at the pair of the reference and the selected head. Empty if it
/// says nothing about them: every number of a list is NaN, every token −1.
std::optional<ArrayPart> cutAtHeads(const ResultArray& array, const PictureContext& context);
/// Parts that stand side by side, in this order: beside lists of a layer, its numbers of every layer are cut there too.
std::vector<std::optional<ArrayPart>> cutSideBySide(const std::vector<const ResultArray*>& arrays,
                                                    const PictureContext& context);

/// A number of a part; NaN for a count of −1, which was not computed.
double measuredAt(const ArrayPart& part, std::size_t index);
/// [rows, columns] of a part of two dimensions; one dimension is one row.
Eigen::MatrixXf matrixOf(const ArrayPart& part);

bool isTokenIds(const ResultArray& array); ///< Integers that name tokens.

/// The names along one dimension of a part: tokens, or its array's attribute "labels"; empty where there are none.
std::function<QString(int)> namesAlong(const ArrayPart& part, std::size_t dimension,
                                       const PictureContext& context);
/// The tokens along that dimension; empty where it does not count tokens.
std::function<int(int)> tokensAlong(const ArrayPart& part, std::size_t dimension,
                                    const PictureContext& context);

/// "null 0.0361 ± 0.002 from 16 draws" of those arrays that have one, with their titles where there are several.
QString nullText(const std::vector<const ResultArray*>& arrays);

/// Returns whether `analysis` makes an array.
bool belongsTo(const ResultArray& array, const Analysis& analysis);
/// Returns whether the results contain those of `analysis`.
bool isComputed(const Analysis& analysis, const ResultSet& results);
/// Returns whether the computation left out everything that `picture` could show of the selected head.
bool isOfMissingHead(const Picture& picture, const PictureContext& context);
/// Pictures on the page of an analysis: its own, or those that its arrays' axes suggest.
std::vector<Picture> picturesOf(const Analysis& analysis, const ResultSet& results, const ModelCard& card);

} // namespace headwise::ui
