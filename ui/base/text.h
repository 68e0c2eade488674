#pragma once

#include "core/base/result.h"
#include "core/model/head_id.h"

#include <QString>

#include <chrono>
#include <string_view>

namespace headwise::ui {

// Formats core's values for the screen. Nothing else does.

/// Translates words outside a QObject, which has its own `tr`.
QString tr(const char* words);

QString text(std::string_view utf8);
QString text(const Error& error); ///< For the window: see windowWords().
QString text(HeadId head);        ///< "L10H7"

/// Formats three significant digits with a real minus sign: "4.31", "−0.0720", "1.20e−5", "0", "NaN".
QString number(double value);
/// As number(), with a plus sign for positive values: "+4.31".
QString signedNumber(double value);
/// Writes every digit of the value, in the C locale, for copying and for files.
QString exactNumber(float value);
QString exactNumber(double value);

/// Formats a fraction as "12.3 %".
QString percent(double fraction);
/// Formats "50 257", with thin spaces between thousands.
QString count(qint64 value);
/// "3 s", "2 min", "1 h 5 min"
QString duration(std::chrono::milliseconds time);

} // namespace headwise::ui
