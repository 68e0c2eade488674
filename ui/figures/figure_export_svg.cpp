#include "ui/figures/figure_export_formats.h"

#include <QBuffer>
#include <QFontInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>

#include <algorithm>
#include <vector>

// Vector formats: SVG and PDF.

namespace headwise::ui {

namespace {

/// Adds fallbacks, so that a reader without our font gets a similar one that has the tokens' scripts.
QString withFallbacks(const QString& asked)
{
    // Names such as "Sans Serif" are meaningful on this machine only.
    const QString family = QFontInfo(QFont(asked)).family();
    const auto has = [&family](const char* part) { return family.contains(QLatin1StringView(part)); };
    if (has("Mono") || has("Courier"))
        return family
            + QStringLiteral(
                   ", 'Noto Sans Mono', 'DejaVu Sans Mono', 'Noto Sans CJK SC', 'Noto Sans', monospace");
    if (!has("Sans") && (has("Serif") || has("Times") || has("Roman")))
        return family + QStringLiteral(", 'Noto Serif', 'Times New Roman', serif");
    return family + QStringLiteral(", 'Noto Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif");
}

QString withFontLists(const QString& svg)
{
    static const QRegularExpression family(QStringLiteral("font-family=\"([^\"]*)\""));
    QString result;
    qsizetype copied = 0;
    for (auto found = family.globalMatch(svg); found.hasNext();) {
        const QRegularExpressionMatch match = found.next();
        result += QStringView(svg).mid(copied, match.capturedStart(1) - copied);
        result += withFallbacks(match.captured(1));
        copied = match.capturedEnd(1);
    }
    result += QStringView(svg).mid(copied);
    return result;
}

// Corrects Qt's SVG: QSvgGenerator rounds the page to whole points and supports neither pixelated pictures nor metadata.
QByteArray mended(const QByteArray& svg, const FigureSource& source, const FigureSettings& settings)
{
    QString text = withFontLists(QString::fromUtf8(svg));
    const QSizeF points = sizeInPoints(settings);
    static const QRegularExpression page(
        QStringLiteral("<svg width=\"[^\"]*\" height=\"[^\"]*\"\\s+viewBox=\"[^\"]*\""));
    text.replace(page,
                 QStringLiteral("<svg width=\"%1mm\" height=\"%2mm\" viewBox=\"0 0 %3 %4\"")
                     .arg(settings.width)
                     .arg(settings.height)
                     .arg(points.width())
                     .arg(points.height()));
    text.replace(QStringLiteral("<image "), QStringLiteral("<image style=\"image-rendering:pixelated\" "));
    const QString metadata = QString::fromUtf8(provenanceJson(source, settings)).toHtmlEscaped();
    if (const qsizetype defs = text.indexOf(QStringLiteral("<defs>")); defs >= 0)
        text.insert(defs, QStringLiteral("<metadata>%1</metadata>\n").arg(metadata));
    return text.toUtf8();
}

/// Forbids readers of a PDF to blur its pictures, on which Qt is silent, and moves the offsets of its table of objects.
QByteArray withoutInterpolation(const QByteArray& pdf)
{
    const QByteArray picture = "/Subtype /Image\n", addition = "/Interpolate false\n";
    const qsizetype table = pdf.lastIndexOf("\nxref\n") + 1;
    const qsizetype end = pdf.lastIndexOf("startxref\n");
    if (table == 0 || end < table)
        return pdf;
    QByteArray result;
    std::vector<qsizetype> places; // of the additions
    qsizetype copied = 0;
    for (qsizetype at = pdf.indexOf(picture); at >= 0 && at < table; at = pdf.indexOf(picture, copied)) {
        places.push_back(at + picture.size());
        result += pdf.mid(copied, places.back() - copied) + addition;
        copied = places.back();
    }
    if (places.empty())
        return pdf;
    const auto moved = [&](qsizetype offset) {
        return offset + addition.size() * std::ranges::count_if(places, [offset](qsizetype place) {
                            return place <= offset;
                        });
    };
    result += pdf.mid(copied, table - copied);
    for (const QByteArray& line : pdf.mid(table, end - table).split('\n')) {
        bool isOffset = false;
        const qsizetype offset = line.left(10).toLongLong(&isOffset);
        result += isOffset && line.contains(" n")
            ? QByteArray::number(moved(offset)).rightJustified(10, '0') + line.mid(10)
            : line;
        result += '\n';
    }
    result.chop(1); // The last line is empty.
    return result + "startxref\n" + QByteArray::number(moved(table)) + "\n%%EOF\n";
}

} // namespace

QByteArray svgOf(const FigureSource& source, const FigureSettings& settings)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(static_cast<int>(pointsPerInch));
    const QSizeF points = sizeInPoints(settings);
    generator.setSize(points.toSize());
    generator.setViewBox(QRectF(QPointF(), points));
    generator.setTitle(figureTitleOf(source, settings.style).toHtmlEscaped());
    generator.setDescription(
        (figureCreator() + QStringLiteral("; ") + provenanceLine(source)).toHtmlEscaped());
    QPainter painter(&generator);
    paintPage(source, painter, settings);
    painter.end();
    return mended(bytes, source, settings);
}

QByteArray pdfOf(const FigureSource& source, const FigureSettings& settings)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setPageSize(QPageSize(QSizeF(settings.width, settings.height), QPageSize::Millimeter));
    writer.setPageMargins({});
    writer.setResolution(static_cast<int>(pointsPerInch));
    writer.setTitle(figureTitleOf(source, settings.style));
    writer.setCreator(figureCreator() + QStringLiteral("; ") + provenanceLine(source));
    writer.addFileAttachment(QStringLiteral("provenance.json"), provenanceJson(source, settings),
                             QStringLiteral("application/json"));
    QPainter painter(&writer);
    paintPage(source, painter, settings);
    painter.end();
    return withoutInterpolation(bytes);
}

} // namespace headwise::ui
