#include "ui/base/json_fields.h"
#include "ui/figures/figure_export_formats.h"

#include <QJsonDocument>
#include <QJsonObject>

#include <array>
#include <type_traits>

// Names of formats, and a figure's settings as one line of JSON.

namespace headwise::ui {

namespace {

constexpr std::array<std::string_view, 2> unitNames{"mm", "in"}; // in the order of LengthUnit

constexpr const auto& namesOf(FigureFormat /*format*/)
{
    return figureEndings;
}

constexpr const auto& namesOf(LengthUnit /*unit*/)
{
    return unitNames;
}

template <typename Enum>
requires std::is_enum_v<Enum> QJsonValue fieldJson(Enum value)
{
    return QString::fromUtf8(namesOf(value)[static_cast<std::size_t>(value)]);
}

template <typename Enum>
requires std::is_enum_v<Enum>
void readField(const QJsonValue& json, Enum& value)
{
    const auto& names = namesOf(value);
    const auto found = std::ranges::find(names, json.toString().toStdString());
    if (found != names.end())
        value = static_cast<Enum>(found - names.begin());
}

/// Calls `visit` with each field's JSON name and the field.
template <typename Settings, typename Visit>
void forEachField(Settings& settings, Visit visit)
{
    visit("format", settings.format);
    visit("width", settings.width);
    visit("height", settings.height);
    visit("unit", settings.unit);
    visit("dpi", settings.dpi);
    visit("transparent", settings.transparent);
    visit("dataBeside", settings.dataBeside);
    visit("provenanceInData", settings.provenanceInData);
    visit("fontFamily", settings.style.fontFamily);
    visit("fontSize", settings.style.fontSize);
    visit("lineWidth", settings.style.lineWidth);
    visit("title", settings.style.title);
    visit("colorBar", settings.style.colorBar);
    visit("axes", settings.style.axes);
}

QJsonObject objectOf(const QString& line)
{
    return QJsonDocument::fromJson(line.toUtf8()).object();
}

} // namespace

QString suffixOf(FigureFormat format)
{
    return fieldJson(format).toString();
}

Result<FigureFormat> figureFormatOf(const QString& fileName)
{
    return headwise::figureFormatOf(fileName.toStdString());
}

QSizeF sizeInPoints(const FigureSettings& settings)
{
    return QSizeF(settings.width, settings.height) * (pointsPerInch / millimetresPerInch);
}

QSizeF paintedSize(const FigureSettings& settings)
{
    return sizeInPoints(settings) - QSizeF(2 * pageMargin, 2 * pageMargin);
}

QString text(const FigureSettings& settings)
{
    QJsonObject object;
    forEachField(settings, [&](const char* name, const auto& value) {
        object[QLatin1StringView(name)] = fieldJson(value);
    });
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

bool isFigureSettings(const QString& line)
{
    const QJsonObject object = objectOf(line);
    return object[QLatin1StringView("width")].isDouble() && object[QLatin1StringView("format")].isString();
}

FigureSettings parseFigureSettings(const QString& line)
{
    FigureSettings settings;
    forEachField(settings, [object = objectOf(line)](const char* name, auto& value) {
        readField(object[QLatin1StringView(name)], value);
    });
    return settings;
}

} // namespace headwise::ui
