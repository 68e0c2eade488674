#include "ui/figure_export.h"

#include "ui/text.h"
#include "ui/theme.h"

#include <QBuffer>
#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QImage>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMimeData>
#include <QPainter>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSaveFile>
#include <QSvgGenerator>

#include <array>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double pointsPerInch = 72;
constexpr double millimetresPerInch = 25.4;
constexpr double mostPixels = 400e6; // 1.6 GB; a poster at 600 dpi is more than anybody prints

QString creator()
{
    return QStringLiteral("Headwise " HEADWISE_VERSION);
}

QSizeF sizeInPoints(const FigureSettings& settings)
{
    return QSizeF(settings.width, settings.height) * (pointsPerInch / millimetresPerInch);
}

/// "model: demo; head: L1H2", for places that hold one line.
QString provenanceLine(const FigureSource& source)
{
    QStringList parts;
    for (const auto& [name, value] : source.provenance())
        parts << name + QStringLiteral(": ") + value;
    return parts.join(QStringLiteral("; "));
}

QByteArray provenanceJson(const FigureSource& source)
{
    QJsonObject object{{QStringLiteral("creator"), creator()},
                       {QStringLiteral("title"), source.figureTitle()}};
    for (const auto& [name, value] : source.provenance())
        object[name] = value;
    return QJsonDocument(object).toJson();
}

Result<Done> check(const FigureSettings& settings)
{
    const bool finite = std::isfinite(settings.width) && std::isfinite(settings.height);
    if (!finite || settings.width < 10 || settings.height < 10 || settings.width > 5000
        || settings.height > 5000)
        return Error{
            ErrorCode::InvalidArgument,
            QStringLiteral("A figure of %1 × %2 mm cannot be drawn; each side must be 10 to 5000 mm.")
                .arg(settings.width)
                .arg(settings.height)
                .toStdString()};
    const double perMillimetre = settings.dpi / millimetresPerInch;
    const double pixels = settings.width * settings.height * perMillimetre * perMillimetre;
    if (settings.dpi < 18 || (settings.format == FigureFormat::Png && pixels > mostPixels))
        return Error{
            ErrorCode::InvalidArgument,
            QStringLiteral("A figure of %1 × %2 mm at %3 dpi has %4 million pixels; choose a resolution of "
                           "at least 18 dpi with at most 400 million pixels.")
                .arg(settings.width)
                .arg(settings.height)
                .arg(settings.dpi)
                .arg(pixels / 1e6, 0, 'f', 0)
                .toStdString()};
    return Done{};
}

void paint(const FigureSource& source, QPainter& painter, const FigureSettings& settings)
{
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(QRectF(QPointF(), sizeInPoints(settings)), Qt::white);
    source.paintFigure(painter, sizeInPoints(settings), settings.style);
}

QByteArray pngOf(const FigureSource& source, const FigureSettings& settings)
{
    QImage image = figureImage(source, settings, settings.dpi);
    if (image.isNull())
        return {};
    image.setText(QStringLiteral("Title"), source.figureTitle());
    image.setText(QStringLiteral("Software"), creator());
    for (const auto& [name, value] : source.provenance())
        image.setText(name, value);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    image.save(&buffer, "PNG");
    return bytes;
}

// QSvgGenerator rounds the page to whole points and knows neither pixelated pictures nor metadata.
QByteArray mended(const QByteArray& svg, const FigureSource& source, const FigureSettings& settings)
{
    QString text = QString::fromUtf8(svg);
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
    // A reader without our font still gets the right kind.
    static const QRegularExpression mono(QStringLiteral("font-family=\"([^\"]*Mono[^\"]*)\""));
    static const QRegularExpression other(QStringLiteral("font-family=\"((?:(?!Mono)[^\"])*)\""));
    text.replace(other, QStringLiteral("font-family=\"\\1, sans-serif\""));
    text.replace(mono, QStringLiteral("font-family=\"\\1, monospace\""));
    const QString metadata = QString::fromUtf8(provenanceJson(source)).toHtmlEscaped();
    text.replace(QStringLiteral("<defs>"), QStringLiteral("<metadata>%1</metadata>\n<defs>").arg(metadata));
    return text.toUtf8();
}

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
    generator.setTitle(source.figureTitle().toHtmlEscaped());
    generator.setDescription((creator() + QStringLiteral("; ") + provenanceLine(source)).toHtmlEscaped());
    QPainter painter(&generator);
    paint(source, painter, settings);
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
    writer.setTitle(source.figureTitle());
    writer.setCreator(creator() + QStringLiteral("; ") + provenanceLine(source));
    writer.addFileAttachment(QStringLiteral("provenance.json"), provenanceJson(source),
                             QStringLiteral("application/json"));
    QPainter painter(&writer);
    paint(source, painter, settings);
    painter.end();
    return bytes;
}

// RFC 4180: quoted where a separator, a quote or a line end is inside, lines end with CRLF.
QByteArray tableOf(const FigureSource& source, const FigureSettings& settings, QChar separator)
{
    QByteArray bytes;
    if (settings.provenanceInData) {
        bytes += "# creator: " + creator().toUtf8() + "\r\n";
        for (const auto& [name, value] : source.provenance())
            bytes += "# " + name.toUtf8() + ": " + QString(value).replace(u'\n', u' ').toUtf8() + "\r\n";
    }
    source.forEachDataRow([&](const QStringList& row) {
        for (qsizetype i = 0; i < row.size(); ++i) {
            QString cell = row[i];
            const bool quoted = cell.contains(separator) || cell.contains(u'"') || cell.contains(u'\n')
                || cell.contains(u'\r');
            if (quoted)
                cell = u'"' + cell.replace(QStringLiteral("\""), QStringLiteral("\"\"")) + u'"';
            bytes += (i > 0 ? separator + cell : cell).toUtf8();
        }
        bytes += "\r\n";
    });
    return bytes;
}

QByteArray bytesOf(const FigureSource& source, const FigureSettings& settings)
{
    switch (settings.format) {
    case FigureFormat::Png: return pngOf(source, settings);
    case FigureFormat::Svg: return svgOf(source, settings);
    case FigureFormat::Pdf: return pdfOf(source, settings);
    case FigureFormat::Csv: return tableOf(source, settings, u',');
    case FigureFormat::Tsv: return tableOf(source, settings, u'\t');
    }
    return {};
}

Result<Done> write(const QString& fileName, const QByteArray& bytes)
{
    QSaveFile file(fileName);
    // commit() alone does not notice that the last, buffered bytes found no room.
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.flush()
        || !file.commit())
        return Error{ErrorCode::Io,
                     QStringLiteral("The figure '%1' could not be written: %2.")
                         .arg(fileName, file.errorString())
                         .toStdString()};
    return Done{};
}

struct FormatName {
    FigureFormat format;
    QLatin1StringView name;
};
constexpr std::array formatNames{FormatName{FigureFormat::Png, QLatin1StringView("png")},
                                 FormatName{FigureFormat::Svg, QLatin1StringView("svg")},
                                 FormatName{FigureFormat::Pdf, QLatin1StringView("pdf")},
                                 FormatName{FigureFormat::Csv, QLatin1StringView("csv")},
                                 FormatName{FigureFormat::Tsv, QLatin1StringView("tsv")}};

} // namespace

QString suffixOf(FigureFormat format)
{
    for (const FormatName& row : formatNames)
        if (row.format == format)
            return row.name;
    return {};
}

Result<FigureFormat> figureFormatOf(const QString& fileName)
{
    const QString suffix = QFileInfo(fileName).suffix().toLower();
    for (const FormatName& row : formatNames)
        if (row.name == suffix)
            return row.format;
    return Error{
        ErrorCode::InvalidArgument,
        QStringLiteral("The figure '%1' has the ending '%2'; png, svg, pdf, csv and tsv can be written.")
            .arg(fileName, suffix)
            .toStdString()};
}

QImage figureImage(const FigureSource& source, const FigureSettings& settings, int dpi)
{
    const QSizeF pixels = QSizeF(settings.width, settings.height) * (dpi / millimetresPerInch);
    QImage image(pixels.toSize().expandedTo({1, 1}), QImage::Format_RGB32);
    if (image.isNull())
        return {};
    image.fill(Qt::white);
    // One unit is a point for every device, so fonts are measured at 72 dpi and the painter does the scaling.
    const auto perMetre = [](double perInch) {
        return static_cast<int>(std::lround(perInch / millimetresPerInch * 1000));
    };
    image.setDotsPerMeterX(perMetre(pointsPerInch));
    image.setDotsPerMeterY(perMetre(pointsPerInch));
    QPainter painter(&image);
    painter.scale(dpi / pointsPerInch, dpi / pointsPerInch);
    paint(source, painter, settings);
    painter.end();
    image.setDotsPerMeterX(perMetre(dpi));
    image.setDotsPerMeterY(perMetre(dpi));
    return image;
}

Result<Done> exportFigure(const FigureSource& source, const QString& fileName, const FigureSettings& settings)
{
    const Result<Done> checked = check(settings);
    if (!checked)
        return checked;
    const QByteArray bytes = bytesOf(source, settings);
    if (bytes.isEmpty())
        return Error{
            ErrorCode::OutOfMemory,
            QStringLiteral("There is not enough memory for the figure '%1'; a lower resolution needs less.")
                .arg(fileName)
                .toStdString()};
    const Result<Done> written = write(fileName, bytes);
    const bool isTable = settings.format == FigureFormat::Csv || settings.format == FigureFormat::Tsv;
    if (!written || !settings.dataBeside || isTable)
        return written;
    const QFileInfo info(fileName);
    FigureSettings data = settings;
    data.format = FigureFormat::Csv;
    return write(info.path() + u'/' + info.completeBaseName() + QStringLiteral(".csv"),
                 bytesOf(source, data));
}

void copyFigure(const FigureSource& source, const FigureSettings& settings)
{
    auto* data = new QMimeData; // The clipboard owns it.
    data->setImageData(figureImage(source, settings, settings.dpi));
    data->setData(QStringLiteral("image/svg+xml"), svgOf(source, settings));
    QGuiApplication::clipboard()->setMimeData(data);
}

QString text(const FigureSettings& settings)
{
    const FigureStyle& style = settings.style;
    const QJsonObject object{{QStringLiteral("format"), suffixOf(settings.format)},
                             {QStringLiteral("width"), settings.width},
                             {QStringLiteral("height"), settings.height},
                             {QStringLiteral("dpi"), settings.dpi},
                             {QStringLiteral("dataBeside"), settings.dataBeside},
                             {QStringLiteral("provenanceInData"), settings.provenanceInData},
                             {QStringLiteral("fontFamily"), style.fontFamily},
                             {QStringLiteral("fontSize"), style.fontSize},
                             {QStringLiteral("lineWidth"), style.lineWidth},
                             {QStringLiteral("title"), style.title},
                             {QStringLiteral("colorBar"), style.colorBar}};
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

FigureSettings parseFigureSettings(const QString& line)
{
    FigureSettings settings;
    const QJsonObject object = QJsonDocument::fromJson(line.toUtf8()).object();
    for (const FormatName& row : formatNames)
        if (object[QLatin1StringView("format")].toString() == row.name)
            settings.format = row.format;
    settings.width = object[QLatin1StringView("width")].toDouble(settings.width);
    settings.height = object[QLatin1StringView("height")].toDouble(settings.height);
    settings.dpi = object[QLatin1StringView("dpi")].toInt(settings.dpi);
    settings.dataBeside = object[QLatin1StringView("dataBeside")].toBool(settings.dataBeside);
    settings.provenanceInData =
        object[QLatin1StringView("provenanceInData")].toBool(settings.provenanceInData);
    FigureStyle& style = settings.style;
    style.fontFamily = object[QLatin1StringView("fontFamily")].toString();
    style.fontSize = object[QLatin1StringView("fontSize")].toDouble(style.fontSize);
    style.lineWidth = object[QLatin1StringView("lineWidth")].toDouble(style.lineWidth);
    style.title = object[QLatin1StringView("title")].toBool(style.title);
    style.colorBar = object[QLatin1StringView("colorBar")].toBool(style.colorBar);
    return settings;
}

} // namespace headwise::ui
