#pragma once

#include "core/base/result.h"
#include "core/model/head_id.h"

#include <QString>

#include <chrono>
#include <string_view>

namespace headwise::ui {

// The one place that decides how core's values read on the screen.

/// Translates words outside a QObject, which has its own `tr`.
QString tr(const char* words);

QString text(std::string_view utf8);
QString text(const Error& error);
QString text(HeadId head); ///< "L10H7"

/// Three significant digits with a real minus sign: "4.31", "−0.0720", "1.20e−5", "0", "NaN".
QString number(double value);
/// number() with the sign also of positive values: "+4.31".
QString signedNumber(double value);
/// Every digit the value has, in the C locale: what is copied and written to files.
QString exactNumber(float value);
QString exactNumber(double value);

/// "12.3 %", of a fraction.
QString percent(double fraction);
/// "50 257": thin spaces between thousands.
QString count(qint64 value);
/// "3 s", "2 min", "1 h 5 min"
QString duration(std::chrono::milliseconds time);

} // namespace headwise::ui
