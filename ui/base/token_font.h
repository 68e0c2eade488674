#pragma once

class QString;

namespace headwise::ui {

/// The family that tokenFont() begins with from now on; empty: as delivered. Its fallbacks stay.
void setTokenFontFamily(const QString& family);

} // namespace headwise::ui
