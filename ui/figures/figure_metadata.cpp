#include "ui/figures/figure_metadata.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QXmlStreamReader>
#include <QtEndian>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr qint64 largestFigure = 1LL << 30;    // bytes
constexpr qsizetype largestAttachment = 65536; // bytes, compressed

Provenance linesOf(const QByteArray& json)
{
    Provenance lines;
    const QJsonObject object = QJsonDocument::fromJson(json).object();
    for (auto entry = object.begin(); entry != object.end(); ++entry)
        lines.append({entry.key(), entry.value().toString()});
    return lines;
}

/// Reads the text chunks that pngOf() writes.
Provenance pngLines(const QByteArray& png)
{
    constexpr qsizetype signature = 8, head = 8, sum = 4;
    Provenance lines;
    for (qsizetype at = signature; at + head + sum <= png.size();) {
        const qsizetype length = qFromBigEndian<quint32>(png.constData() + at);
        const QByteArray type = png.mid(at + 4, 4), content = png.mid(at + head, length);
        at += head + length + sum;
        const qsizetype end = content.indexOf('\0');
        if (end < 0)
            continue;
        const QString name = QString::fromLatin1(content.left(end));
        if (type == "tEXt")
            lines.append({name, QString::fromLatin1(content.mid(end + 1))});
        else if (type == "iTXt" && content.mid(end, 5) == QByteArray(5, '\0'))
            lines.append({name, QString::fromUtf8(content.mid(end + 5))});
    }
    return lines;
}

Provenance svgLines(const QByteArray& svg)
{
    QXmlStreamReader reader(svg);
    while (!reader.atEnd())
        if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == u"metadata")
            return linesOf(reader.readElementText().toUtf8());
    return {};
}

/// Finds the attached JSON among the streams, as it is or deflated.
Provenance pdfLines(const QByteArray& pdf)
{
    const QByteArray begin = "\nstream\n", end = "\nendstream";
    for (qsizetype at = pdf.indexOf(begin); at >= 0; at = pdf.indexOf(begin, at + 1)) {
        const qsizetype from = at + begin.size(), to = pdf.indexOf(end, from);
        if (to < 0)
            break;
        if (to - from > largestAttachment)
            continue;
        const QByteArray bytes = pdf.mid(from, to - from);
        QByteArray sized(4, '\0'); // qUncompress() takes a first guess of the size before the data.
        qToBigEndian<quint32>(static_cast<quint32>(4 * bytes.size()), sized.data());
        const bool isZlib = bytes.startsWith('\x78');
        Provenance lines = linesOf(isZlib ? qUncompress(sized + bytes) : bytes);
        if (!lines.isEmpty())
            return lines;
    }
    return {};
}

} // namespace

Result<Provenance> figureMetadata(const QString& fileName)
{
    QFile file(fileName);
    if (!file.open(QIODevice::ReadOnly))
        return Error{file.exists() ? ErrorCode::Io : ErrorCode::NotFound,
                     QStringLiteral("The figure '%1' cannot be read: %2.")
                         .arg(fileName, file.errorString())
                         .toStdString()};
    const QByteArray bytes = file.read(largestFigure);
    const Provenance lines = bytes.startsWith("\x89PNG") ? pngLines(bytes)
        : bytes.startsWith("%PDF-")                      ? pdfLines(bytes)
                                                         : svgLines(bytes);
    const bool isOurs = std::ranges::any_of(
        lines, [](const auto& line) { return line.first == QLatin1StringView(figureSettingsKey); });
    if (!isOurs)
        return Error{
            ErrorCode::InvalidArgument,
            QStringLiteral(
                "'%1' has no metadata to make it again; only a PNG, SVG or PDF that Headwise exported does.")
                .arg(fileName)
                .toStdString()};
    return lines;
}

} // namespace headwise::ui
