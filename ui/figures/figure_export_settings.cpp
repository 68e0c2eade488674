#include "ui/figures/figure_export_formats.h"

#include "ui/base/json_fields.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <array>
#include <limits>
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

// Beside those for enumerations below, which would hide them.
using ui::fieldJson;
using ui::readField;

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

constexpr QLatin1StringView editsKey("edits");

/// Calls `visit` with each text of the edits and its JSON name.
template <typename Edits, typename Visit>
void forEachWord(Edits& edits, Visit visit)
{
    visit("title", edits.title);
    visit("caption", edits.caption);
    visit("valueTitle", edits.valueTitle);
}

QJsonObject editsJson(const FigureEdits& edits)
{
    QJsonObject object{{QStringLiteral("selection"), edits.selection}};
    forEachWord(edits, [&](const char* name, const std::string& value) {
        object[QLatin1StringView(name)] = fieldJson(value);
    });
    QJsonArray series, labels;
    for (const FigureSeriesChoice& one : edits.series)
        series.append(
            QJsonObject{{QStringLiteral("name"), fieldJson(one.name)}, {QStringLiteral("shown"), one.shown}});
    for (const std::string& label : edits.labels)
        labels.append(fieldJson(label));
    object[QStringLiteral("series")] = series;
    object[QStringLiteral("labels")] = labels;
    return object;
}

FigureEdits editsOf(const QJsonObject& object)
{
    FigureEdits edits;
    readField(object[QLatin1StringView("selection")], edits.selection);
    forEachWord(edits, [&](const char* name, std::string& value) {
        readField(object[QLatin1StringView(name)], value);
    });
    const QJsonArray series = object[QLatin1StringView("series")].toArray();
    for (const QJsonValue one : series)
        edits.series.push_back({one[QLatin1StringView("name")].toString().toStdString(),
                                one[QLatin1StringView("shown")].toBool(true)});
    const QJsonArray labels = object[QLatin1StringView("labels")].toArray();
    for (const QJsonValue label : labels)
        edits.labels.push_back(label.toString().toStdString());
    return edits;
}

QJsonObject objectOf(const QString& line)
{
    return QJsonDocument::fromJson(line.toUtf8()).object();
}

/// Tells whether readField() takes `json` as it is.
template <typename Value>
bool isReadable(const QJsonValue& json, const Value& /*value*/)
{
    if constexpr (std::is_enum_v<Value>)
        return std::ranges::find(namesOf(Value{}), json.toString().toStdString()) != namesOf(Value{}).end();
    else if constexpr (std::is_same_v<Value, std::string>)
        return json.isString();
    else if constexpr (std::is_same_v<Value, bool>)
        return json.isBool();
    else if constexpr (std::is_same_v<Value, int>)
        return json.toInt(std::numeric_limits<int>::min()) != std::numeric_limits<int>::min();
    else
        return json.isDouble();
}

struct NamedRange {
    const char* name;
    FigureRange range;
};
constexpr std::array ranges{NamedRange{"width", figureSide}, NamedRange{"height", figureSide},
                            NamedRange{"dpi", figureDpi}, NamedRange{"fontSize", figureFontSize},
                            NamedRange{"lineWidth", figureLineWidth}};

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

QJsonObject figureSettingsJson(const FigureSettings& settings)
{
    QJsonObject object;
    forEachField(settings, [&](const char* name, const auto& value) {
        object[QLatin1StringView(name)] = fieldJson(value);
    });
    if (settings.style.edits != FigureEdits{})
        object[editsKey] = editsJson(settings.style.edits);
    return object;
}

FigureSettings figureSettingsOf(const QJsonObject& object)
{
    FigureSettings settings;
    forEachField(settings, [&object](const char* name, auto& value) {
        readField(object[QLatin1StringView(name)], value);
    });
    settings.style.edits = editsOf(object[editsKey].toObject());
    return settings;
}

Result<Done> checkFigureSettings(const QJsonObject& object)
{
    const auto wrong = [](const QString& sentence) {
        return Error{ErrorCode::Corrupt, sentence.toStdString()};
    };
    QStringList known, unreadable;
    FigureSettings defaults;
    forEachField(defaults, [&](const char* name, const auto& value) {
        const QLatin1StringView key(name);
        known << key;
        if (object.contains(key) && !isReadable(object[key], value))
            unreadable << key;
    });
    for (const QString& key : object.keys())
        if (!known.contains(key))
            return wrong(QStringLiteral("there is no setting '%1'").arg(key));
    if (!unreadable.isEmpty())
        return wrong(QStringLiteral("the value of '%1' cannot be used").arg(unreadable.first()));
    for (const auto& [name, range] : ranges) {
        const QJsonValue value = object[QLatin1StringView(name)];
        if (value.isDouble() && !range.contains(value.toDouble()))
            return wrong(QStringLiteral("'%1' is %2, but must be %3 to %4")
                             .arg(QLatin1StringView(name))
                             .arg(value.toDouble())
                             .arg(range.low)
                             .arg(range.high));
    }
    for (const char* needed : {"width", "height"})
        if (!object.contains(QLatin1StringView(needed)))
            return wrong(QStringLiteral("'%1' is missing").arg(QLatin1StringView(needed)));
    return Done{};
}

QString text(const FigureSettings& settings)
{
    return QString::fromUtf8(QJsonDocument(figureSettingsJson(settings)).toJson(QJsonDocument::Compact));
}

bool isFigureSettings(const QString& line)
{
    const QJsonObject object = objectOf(line);
    return object[QLatin1StringView("width")].isDouble() && object[QLatin1StringView("format")].isString();
}

FigureSettings parseFigureSettings(const QString& line)
{
    return figureSettingsOf(objectOf(line));
}

FigureSettings withoutEdits(FigureSettings settings)
{
    settings.style.edits = {};
    return settings;
}

} // namespace headwise::ui
