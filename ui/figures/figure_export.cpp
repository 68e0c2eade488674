#include "ui/figures/figure_export.h"

#include "core/files/file_write.h"
#include "ui/figures/figure_export_formats.h"
#include "ui/figures/figure_metadata.h"

#include <QFileInfo>
#include <QImage>
#include <QPainter>

#include <cmath>

namespace headwise::ui {

namespace {

constexpr double mostPixels = 400e6; // 1.6 GB, larger than any printed poster at 600 dpi

Result<Done> write(const QString& fileName, const QByteArray& bytes)
{
    return replaceFile(fileName.toStdString(), std::span(bytes.constData(), std::size_t(bytes.size())));
}

Error tooLarge()
{
    return {ErrorCode::OutOfMemory,
            "There is not enough memory for this figure; a smaller size or a lower resolution needs less."};
}

Result<QByteArray> bytesOf(const FigureSource& source, const FigureSettings& settings)
{
    switch (settings.format) {
    case FigureFormat::Svg: return svgOf(source, settings);
    case FigureFormat::Pdf: return pdfOf(source, settings);
    default: return dataOf(source, settings);
    }
}

} // namespace

Result<Done> checkFigure(const FigureSettings& settings)
{
    if (!figureSide.contains(settings.width) || !figureSide.contains(settings.height))
        return Error{
            ErrorCode::InvalidArgument,
            QStringLiteral("A figure of %1 × %2 mm cannot be drawn; each side must be 10 to 5000 mm.")
                .arg(settings.width)
                .arg(settings.height)
                .toStdString()};
    const double perMillimetre = settings.dpi / millimetresPerInch;
    const double pixels = settings.width * settings.height * perMillimetre * perMillimetre;
    if (settings.dpi < figureDpi.low || (settings.format == FigureFormat::Png && pixels > mostPixels))
        return Error{
            ErrorCode::InvalidArgument,
            QStringLiteral(
                "A figure of %1 × %2 mm at %3 dpi has %4 million pixels; choose a resolution of at least 18 dpi with at most 400 million pixels.")
                .arg(settings.width)
                .arg(settings.height)
                .arg(settings.dpi)
                .arg(pixels / 1e6, 0, 'f', 0)
                .toStdString()};
    return Done{};
}

void paintPage(const FigureSource& source, QPainter& painter, const FigureSettings& settings)
{
    painter.setRenderHint(QPainter::Antialiasing);
    if (!settings.transparent)
        painter.fillRect(QRectF(QPointF(), sizeInPoints(settings)), Qt::white);
    painter.translate(pageMargin, pageMargin);
    source.paintFigure(painter, paintedSize(settings), settings.style);
}

QImage figureImage(const FigureSource& source, const FigureSettings& settings, double dpi)
{
    const QSizeF pixels = QSizeF(settings.width, settings.height) * (dpi / millimetresPerInch);
    const bool opaque = !settings.transparent;
    QImage image(pixels.toSize().expandedTo({1, 1}),
                 opaque ? QImage::Format_RGB32 : QImage::Format_ARGB32_Premultiplied);
    if (image.isNull())
        return {};
    image.fill(opaque ? Qt::white : Qt::transparent);
    // One unit is a point on every device, so fonts are measured at 72 dpi and the painter scales.
    const auto perMetre = [](double perInch) {
        return static_cast<int>(std::lround(perInch / millimetresPerInch * 1000));
    };
    image.setDotsPerMeterX(perMetre(pointsPerInch));
    image.setDotsPerMeterY(perMetre(pointsPerInch));
    QPainter painter(&image);
    painter.scale(dpi / pointsPerInch, dpi / pointsPerInch);
    paintPage(source, painter, settings);
    painter.end();
    image.setDotsPerMeterX(perMetre(dpi));
    image.setDotsPerMeterY(perMetre(dpi));
    return image;
}

Result<RenderedFigure> renderFigure(const FigureSource& source, const FigureSettings& settings)
{
    if (const Result<Done> checked = checkFigure(settings); !checked)
        return checked.error();
    RenderedFigure figure;
    if (settings.format == FigureFormat::Png) {
        figure.picture = figureImage(source, settings, settings.dpi);
        if (figure.picture.isNull())
            return tooLarge();
        figure.texts = {{QStringLiteral("Title"), figureTitleOf(source, settings.style)},
                        {QStringLiteral("Software"), figureCreator()},
                        {QStringLiteral("Description"), figureCaption(source, settings.style)}};
        figure.texts += source.provenance();
        figure.texts.append({QLatin1StringView(figureSettingsKey), text(settings)});
    } else {
        const Result<QByteArray> bytes = bytesOf(source, settings);
        if (!bytes)
            return bytes.error();
        figure.bytes = *bytes;
        if (figure.bytes.isEmpty())
            return tooLarge();
    }
    if (!settings.dataBeside || isData(settings.format))
        return figure;
    FigureSettings beside = settings;
    beside.format = FigureFormat::Csv;
    const Result<QByteArray> data = dataOf(source, beside);
    if (!data)
        return data.error();
    figure.data = *data;
    return figure;
}

Result<Done> writeFigure(const RenderedFigure& figure, const QString& fileName)
{
    const QByteArray bytes = figure.picture.isNull() ? figure.bytes : pngOf(figure.picture, figure.texts);
    if (bytes.isEmpty())
        return tooLarge();
    if (const Result<Done> written = write(fileName, bytes); !written || !figure.data)
        return written;
    const QFileInfo info(fileName);
    return write(info.path() + u'/' + info.completeBaseName() + QStringLiteral(".csv"), *figure.data);
}

Result<Done> exportFigure(const FigureSource& source, const QString& fileName, const FigureSettings& settings)
{
    const Result<RenderedFigure> figure = renderFigure(source, settings);
    return figure ? writeFigure(*figure, fileName) : figure.error();
}

QString nextFreeFileName(const QString& fileName)
{
    const QFileInfo info(fileName);
    QString candidate = fileName;
    for (int i = 2; QFileInfo::exists(candidate); ++i)
        candidate =
            QStringLiteral("%1/%2-%3.%4").arg(info.path(), info.completeBaseName()).arg(i).arg(info.suffix());
    return candidate;
}

Result<QString> dataText(const FigureSource& source, FigureFormat format)
{
    FigureSettings settings;
    settings.format = format;
    const Result<QByteArray> data = dataOf(source, settings);
    if (!data)
        return data.error();
    QString rows = QString::fromUtf8(*data);
    if (format == FigureFormat::Tsv || format == FigureFormat::Csv)
        rows.replace(QStringLiteral("\r\n"), QStringLiteral("\n"));
    return rows;
}

} // namespace headwise::ui
