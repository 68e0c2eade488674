#pragma once

#include <QHash>
#include <QRegularExpression>
#include <QSet>
#include <QStringList>
#include <QXmlStreamReader>

#include <set>

// Reads exported figures back.

namespace headwise::test {

/// The elements of an SVG.
struct Svg {
    QStringList texts; // of <text>
    QStringList families;
    QList<QXmlStreamAttributes> images, rects;
    std::set<double> strokes;
};

inline Svg readSvg(const QByteArray& bytes)
{
    Svg svg;
    QXmlStreamReader reader(bytes);
    QXmlStreamAttributes group; // current pen
    while (!reader.atEnd()) {
        if (reader.readNext() != QXmlStreamReader::StartElement)
            continue;
        const QXmlStreamAttributes attributes = reader.attributes();
        if (reader.name() == u"g")
            group = attributes;
        static const QSet<QString> shapes{QStringLiteral("path"),    QStringLiteral("polyline"),
                                          QStringLiteral("rect"),    QStringLiteral("circle"),
                                          QStringLiteral("ellipse"), QStringLiteral("line")};
        if (shapes.contains(reader.name().toString()) && group.value(QStringLiteral("stroke")) != u"none")
            svg.strokes.insert(group.value(QStringLiteral("stroke-width")).toDouble());
        if (reader.name() == u"image")
            svg.images << attributes;
        else if (reader.name() == u"rect")
            svg.rects << attributes;
        else if (reader.name() == u"text") {
            svg.families << attributes.value(QStringLiteral("font-family")).toString();
            svg.texts << reader.readElementText().trimmed();
        }
    }
    return reader.hasError() ? Svg{} : svg;
}

/// The content of every stream of a PDF, unpacked.
inline QList<QByteArray> streamsOf(const QByteArray& pdf)
{
    QList<QByteArray> streams;
    qsizetype at = 0;
    while ((at = pdf.indexOf(">>\nstream\n", at)) >= 0) {
        const qsizetype begin = at + 10;
        const qsizetype end = pdf.indexOf("endstream", begin);
        if (end < 0)
            break;
        QByteArray packed = pdf.mid(begin, end - begin);
        const QByteArray length("\0\x10\0\0", 4); // qUncompress() wants a guess before it.
        const QByteArray plain = packed.startsWith("\x78") ? qUncompress(length + packed) : packed;
        streams << plain;
        at = end + 9;
    }
    return streams;
}

/// Returns all text of a PDF through the maps from its glyphs to Unicode, font by font.
inline QString textOf(const QByteArray& pdf)
{
    QString text;
    const QList<QByteArray> streams = streamsOf(pdf);
    static const QRegularExpression range(
        QStringLiteral("<([0-9A-Fa-f]{4})> <([0-9A-Fa-f]{4})> \\[([^\\]]*)\\]"));
    static const QRegularExpression hex(QStringLiteral("<([0-9A-Fa-f]+)>"));
    for (const QByteArray& map : streams) {
        if (!map.contains("beginbfrange"))
            continue;
        QHash<QString, QString> unicode;
        for (auto found = range.globalMatch(QString::fromLatin1(map)); found.hasNext();) {
            const QRegularExpressionMatch match = found.next();
            int glyph = match.captured(1).toInt(nullptr, 16);
            for (auto each = hex.globalMatch(match.captured(3)); each.hasNext(); ++glyph)
                unicode[QStringLiteral("%1").arg(glyph, 4, 16, QLatin1Char('0'))] =
                    QChar(static_cast<char16_t>(each.next().captured(1).left(4).toUInt(nullptr, 16)));
        }
        for (const QByteArray& page : streams) {
            if (!page.contains(" Tf"))
                continue;
            for (auto found = hex.globalMatch(QString::fromLatin1(page)); found.hasNext();) {
                const QString codes = found.next().captured(1).toLower();
                for (qsizetype i = 0; i + 4 <= codes.size(); i += 4)
                    text += unicode.value(codes.mid(i, 4));
            }
        }
        text += u'\n';
    }
    return text;
}

} // namespace headwise::test
