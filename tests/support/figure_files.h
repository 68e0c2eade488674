#pragma once

#include <QSet>
#include <QStringList>
#include <QXmlStreamReader>

#include <set>

// Reads exported SVGs back; pdf_page.h reads PDFs.

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

} // namespace headwise::test
