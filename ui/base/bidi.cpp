#include "ui/base/bidi.h"

#include <QStringList>

#include <algorithm>

namespace headwise::ui {

namespace {

bool isFromRightToLeft(const QString& word)
{
    const QList<uint> letters = word.toUcs4();
    return std::any_of(letters.begin(), letters.end(), [](uint letter) {
        const QChar::Direction direction = QChar::direction(letter);
        return direction == QChar::DirR || direction == QChar::DirAL;
    });
}

} // namespace

QString isolated(const QString& words)
{
    constexpr QChar begin(0x2068), end(0x2069);
    QStringList parts = words.split(u' '); // a space cannot be in a token; tokens show it as ␣
    for (QString& part : parts)
        if (isFromRightToLeft(part))
            part = begin + part + end;
    return parts.join(u' ');
}

} // namespace headwise::ui
