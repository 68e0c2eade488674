#pragma once

class QString;

namespace headwise::ui {

/// Sets the first family of tokenFont(); empty: the default. Its fallbacks stay.
void setTokenFontFamily(const QString& family);

} // namespace headwise::ui
