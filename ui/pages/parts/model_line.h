#pragma once

#include <QString>

namespace headwise::ui {

class Workspace;

/// Describes the model on one line: "12 × 12 heads, d 768, LayerNorm, learned positions, tied embeddings, 498 MB"; for a
/// session without model files, what the session says.
QString modelLine(const Workspace& workspace);

/// Formats "498 MB".
QString modelDataSize(double bytes);

} // namespace headwise::ui
