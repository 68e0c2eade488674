#pragma once

#include "core/base/result.h"

#include <QByteArray>
#include <QString>

#include <vector>

namespace headwise::ui {

/// One picture of an animation.
struct SvgFrame {
    QByteArray svg; ///< As renderFigure() makes it.
    QString name;   ///< "step 512", its tooltip in a browser.
};

/// Joins figures into one SVG that a browser plays over and over, without scripts: half a second for each, two for the last.
///
/// A viewer that plays no animations shows the last one, which also gives size, title and metadata. Ids are made unique.
/// Errors: InvalidArgument without frames, or if one is no SVG.
Result<QByteArray> animatedSvg(const std::vector<SvgFrame>& frames);

} // namespace headwise::ui
