#pragma once

#include <QString>

namespace headwise::ui {

class Workspace;

/// The model in a line: "12 × 12 heads, d 768, LayerNorm, learned positions, tied embeddings, 498 MB"; of a session without
/// its model's files what its card says.
QString modelLine(const Workspace& workspace);

/// "498 MB".
QString modelDataSize(double bytes);

} // namespace headwise::ui
