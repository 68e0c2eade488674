#include "ui/figures/figure_export_formats.h"

#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>

#include <array>

// Names of formats, and a figure's settings as one line of JSON.

namespace headwise::ui {

namespace {

struct FormatName {
    FigureFormat format;
    QLatin1StringView name;
};
constexpr std::array formatNames{FormatName{FigureFormat::Png, QLatin1StringView("png")},
                                 FormatName{FigureFormat::Svg, QLatin1StringView("svg")},
                                 FormatName{FigureFormat::Pdf, QLatin1StringView("pdf")},
                                 FormatName{FigureFormat::Csv, QLatin1StringView("csv")},
                                 FormatName{FigureFormat::Tsv, QLatin1StringView("tsv")},
                                 FormatName{FigureFormat::Npy, QLatin1StringView("npy")},
                                 FormatName{FigureFormat::Latex, QLatin1StringView("tex")},
                                 FormatName{FigureFormat::Markdown, QLatin1StringView("md")}};

} // namespace

bool isData(FigureFormat format)
{
    return format != FigureFormat::Png && format != FigureFormat::Svg && format != FigureFormat::Pdf;
}

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
        QStringLiteral(
            "The figure '%1' has the ending '%2'; png, svg, pdf, csv, tsv, npy, tex and md can be written.")
            .arg(fileName, suffix)
            .toStdString()};
}

QSizeF sizeInPoints(const FigureSettings& settings)
{
    return QSizeF(settings.width, settings.height) * (pointsPerInch / millimetresPerInch);
}

QString text(const FigureSettings& settings)
{
    const FigureStyle& style = settings.style;
    const QJsonObject object{
        {QStringLiteral("format"), suffixOf(settings.format)},
        {QStringLiteral("width"), settings.width},
        {QStringLiteral("height"), settings.height},
        {QStringLiteral("unit"),
         settings.unit == LengthUnit::Inches ? QStringLiteral("in") : QStringLiteral("mm")},
        {QStringLiteral("dpi"), settings.dpi},
        {QStringLiteral("transparent"), settings.background == FigureBackground::Transparent},
        {QStringLiteral("dataBeside"), settings.dataBeside},
        {QStringLiteral("provenanceInData"), settings.provenanceInData},
        {QStringLiteral("fontFamily"), style.fontFamily},
        {QStringLiteral("fontSize"), style.fontSize},
        {QStringLiteral("lineWidth"), style.lineWidth},
        {QStringLiteral("title"), style.title},
        {QStringLiteral("colorBar"), style.colorBar},
        {QStringLiteral("axes"), style.axes}};
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

bool isFigureSettings(const QString& line)
{
    const QJsonObject object = QJsonDocument::fromJson(line.toUtf8()).object();
    return object[QLatin1StringView("width")].isDouble() && object[QLatin1StringView("format")].isString();
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
    if (object[QLatin1StringView("unit")].toString() == QLatin1StringView("in"))
        settings.unit = LengthUnit::Inches;
    settings.dpi = object[QLatin1StringView("dpi")].toInt(settings.dpi);
    if (object[QLatin1StringView("transparent")].toBool())
        settings.background = FigureBackground::Transparent;
    settings.dataBeside = object[QLatin1StringView("dataBeside")].toBool(settings.dataBeside);
    settings.provenanceInData =
        object[QLatin1StringView("provenanceInData")].toBool(settings.provenanceInData);
    FigureStyle& style = settings.style;
    style.fontFamily = object[QLatin1StringView("fontFamily")].toString();
    style.fontSize = object[QLatin1StringView("fontSize")].toDouble(style.fontSize);
    style.lineWidth = object[QLatin1StringView("lineWidth")].toDouble(style.lineWidth);
    style.title = object[QLatin1StringView("title")].toBool(style.title);
    style.colorBar = object[QLatin1StringView("colorBar")].toBool(style.colorBar);
    style.axes = object[QLatin1StringView("axes")].toBool(style.axes);
    return settings;
}

} // namespace headwise::ui
