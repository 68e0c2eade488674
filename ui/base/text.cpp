#include "ui/base/text.h"

#include "core/runs/estimate.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/window_words.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr QChar minus = u'\u2212';
constexpr QChar thinSpace = u'\u2009';
constexpr int digits = 3;

QString withRealMinus(QString digitsText)
{
    return digitsText.replace(u'-', minus);
}

// to_chars prints the fewest digits that read back as the same value of this type.
template <typename Float>
QString shortest(Float value)
{
    std::array<char, 32> buffer{};
    const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return QString::fromLatin1(buffer.data(), end - buffer.data());
}

} // namespace

QString tr(const char* words)
{
    return QCoreApplication::translate("Text", words);
}

QString text(std::string_view utf8)
{
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

QString text(const Error& error)
{
    QStringList lines = text(error.message).split(u'\n'); // quoted file content cannot reorder the lines
    for (QString& line : lines)
        line = windowWords(text(shownSpecialToken(line.toStdString())));
    return lines.join(u'\n');
}

QString text(HeadId head)
{
    return QStringLiteral("L%1H%2").arg(head.layer).arg(head.head);
}

QString number(double value)
{
    if (std::isnan(value))
        return QStringLiteral("NaN");
    if (std::isinf(value))
        return value > 0 ? QStringLiteral("∞") : minus + QStringLiteral("∞");
    if (value == 0)
        return QStringLiteral("0");
    // Takes the exponent after rounding: 9.996 has two digits before the point once it is shown as 10.0.
    const QString scientific = QString::number(value, 'e', digits - 1);
    const int exponent = scientific.mid(scientific.indexOf(u'e') + 1).toInt();
    if (exponent < -4 || exponent > 5)
        return withRealMinus(scientific.left(scientific.indexOf(u'e')) + u'e' + QString::number(exponent));
    return withRealMinus(QString::number(value, 'f', std::max(0, digits - 1 - exponent)));
}

QString signedNumber(double value)
{
    return value > 0 ? u'+' + number(value) : number(value);
}

QString exactNumber(float value)
{
    return shortest(value);
}

QString exactNumber(double value)
{
    return shortest(value);
}

QString percent(double fraction)
{
    return QStringLiteral("%1 %").arg(number(100 * fraction));
}

QString count(qint64 value)
{
    QString result = QString::number(value);
    for (qsizetype at = result.size() - 3; at > (value < 0 ? 1 : 0); at -= 3)
        result.insert(at, thinSpace);
    return withRealMinus(result);
}

QString duration(std::chrono::milliseconds time)
{
    return text(durationText(std::chrono::duration<double>(time).count()));
}

} // namespace headwise::ui
