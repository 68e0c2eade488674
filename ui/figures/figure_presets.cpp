#include "ui/figures/figure_presets.h"

#include "core/files/file_write.h"
#include "core/files/json.h"
#include "ui/base/text.h"
#include "ui/figures/figure_export_formats.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {

constexpr double sameSide = 0.06; // mm; differences that the dialog's boxes round away
constexpr std::size_t largestPresetFile = 1U << 20;
constexpr qsizetype longestPresetName = 80;
constexpr QLatin1StringView schemaKey("schema"), schema("headwise-figure-presets-1"), presetsKey("presets"),
    nameKey("name"), settingsKey("settings"), ownKey("own"), lastKey("last"), currentKey("current");

const FigurePreset* standardPreset(const QString& name)
{
    const auto found = std::ranges::find(figurePresets, name.toStdString(), &FigurePreset::name);
    return found == figurePresets.end() ? nullptr : &*found;
}

bool isSameSize(const FigureSettings& settings, double width, double height)
{
    return std::abs(settings.width - width) < sameSide && std::abs(settings.height - height) < sameSide;
}

Error invalid(const QString& sentence)
{
    return {ErrorCode::InvalidArgument, sentence.toStdString()};
}

/// Checks a name for one of the user's presets.
Result<Done> checkName(const QString& name)
{
    const QString bare = name.trimmed();
    if (bare.isEmpty() || bare.size() > longestPresetName)
        return invalid(QStringLiteral("A preset's name needs 1 to %1 characters.").arg(longestPresetName));
    const auto isLike = [&bare](const FigurePreset& preset) {
        return bare.compare(text(preset.name), Qt::CaseInsensitive) == 0
            || bare.compare(QLatin1StringView(preset.title), Qt::CaseInsensitive) == 0;
    };
    if (std::ranges::any_of(figurePresets, isLike)
        || bare.compare(QLatin1StringView(FigurePresets::custom), Qt::CaseInsensitive) == 0)
        return invalid(
            QStringLiteral("'%1' is a standard preset and stays as it is; choose another name.").arg(bare));
    return Done{};
}

QJsonArray jsonOfOwn(const std::vector<OwnFigurePreset>& presets)
{
    QJsonArray array;
    for (const OwnFigurePreset& preset : presets)
        array.append(QJsonObject{{nameKey, preset.name}, {settingsKey, figureSettingsJson(preset.settings)}});
    return array;
}

/// Returns an error if an object has other names than those.
Result<Done> checkKeys(const QJsonObject& object, const QStringList& names)
{
    for (const QString& key : object.keys())
        if (!names.contains(key))
            return invalid(QStringLiteral("there is no entry '%1'").arg(key));
    for (const QString& name : names)
        if (!object.contains(name))
            return invalid(QStringLiteral("'%1' is missing").arg(name));
    return Done{};
}

/// Errors: the fault, as part of a sentence.
Result<OwnFigurePreset> presetOfFile(const QJsonValue& value)
{
    if (!value.isObject())
        return invalid(QStringLiteral("it must be an object with a name and settings"));
    const QJsonObject object = value.toObject();
    if (const Result<Done> checked = checkKeys(object, {nameKey, settingsKey}); !checked)
        return checked.error();
    const QString name = object[nameKey].toString().trimmed();
    if (const Result<Done> checked = checkName(name); !checked)
        return invalid(QStringLiteral("its name '%1' cannot be used").arg(name));
    if (!object[settingsKey].isObject())
        return invalid(QStringLiteral("its settings must be an object"));
    const QJsonObject settings = object[settingsKey].toObject();
    if (const Result<Done> checked = checkFigureSettings(settings); !checked)
        return checked.error();
    return OwnFigurePreset{name, figureSettingsOf(settings)};
}

Result<std::vector<OwnFigurePreset>> presetsOfFile(const QJsonObject& object)
{
    if (object[schemaKey].toString() != schema)
        return invalid(QStringLiteral("its schema is not '%1'").arg(schema));
    if (const Result<Done> checked = checkKeys(object, {schemaKey, presetsKey}); !checked)
        return checked.error();
    if (!object[presetsKey].isArray())
        return invalid(QStringLiteral("'presets' must be a list"));
    std::vector<OwnFigurePreset> presets;
    const QJsonArray array = object[presetsKey].toArray();
    for (const QJsonValue value : array) {
        const Result<OwnFigurePreset> preset = presetOfFile(value);
        if (!preset)
            return invalid(QStringLiteral("preset %1: %2")
                               .arg(presets.size() + 1)
                               .arg(QString::fromStdString(preset.error().message)));
        if (std::ranges::find(presets, preset->name, &OwnFigurePreset::name) != presets.end())
            return invalid(QStringLiteral("two presets are called '%1'").arg(preset->name));
        presets.push_back(*preset);
    }
    return presets;
}

} // namespace

QStringList FigurePresets::names() const
{
    QStringList names;
    for (const FigurePreset& preset : figurePresets)
        names << text(preset.name);
    for (const OwnFigurePreset& preset : m_own)
        names << preset.name;
    return names;
}

bool FigurePresets::isOwn(const QString& name) const
{
    return std::ranges::find(m_own, name, &OwnFigurePreset::name) != m_own.end();
}

QString FigurePresets::titleOf(const QString& name)
{
    const FigurePreset* preset = standardPreset(name);
    return preset ? QCoreApplication::translate("ExportDialog", preset->title) : name;
}

QString FigurePresets::nameFor(const FigureSettings& settings, const QString& wanted) const
{
    const auto fits = [&](const QString& name) {
        if (const FigurePreset* standard = standardPreset(name))
            return isSameSize(settings, standard->width, standard->height);
        const auto own = std::ranges::find(m_own, name, &OwnFigurePreset::name);
        return own != m_own.end() && isSameSize(settings, own->settings.width, own->settings.height);
    };
    if (fits(wanted))
        return wanted;
    const QStringList all = names();
    const auto found = std::ranges::find_if(all, fits);
    return found == all.end() ? QString(QLatin1StringView(custom)) : *found;
}

FigureSettings FigurePresets::settingsOf(const QString& name, const FigureSettings& now) const
{
    FigureSettings settings = now;
    if (const auto last = m_last.find(name); last != m_last.end()) {
        settings = *last;
    } else if (const FigurePreset* standard = standardPreset(name)) {
        settings.width = standard->width;
        settings.height = standard->height;
        settings.style.fontSize = standard->fontSize;
    } else if (const auto own = std::ranges::find(m_own, name, &OwnFigurePreset::name); own != m_own.end()) {
        settings = own->settings;
    }
    settings.style.edits = now.style.edits; // of the figure
    return settings;
}

void FigurePresets::remember(const QString& name, const FigureSettings& settings)
{
    m_current = name;
    if (has(name))
        m_last[name] = withoutEdits(settings);
}

Result<Done> FigurePresets::save(const QString& name, const FigureSettings& settings)
{
    if (const Result<Done> checked = checkName(name); !checked)
        return checked;
    const QString bare = name.trimmed();
    const auto found = std::ranges::find(m_own, bare, &OwnFigurePreset::name);
    if (found == m_own.end())
        m_own.push_back({bare, withoutEdits(settings)});
    else
        found->settings = withoutEdits(settings);
    m_last.remove(bare);
    return Done{};
}

Result<Done> FigurePresets::rename(const QString& name, const QString& newName)
{
    if (const Result<Done> checked = checkName(newName); !checked)
        return checked;
    const QString bare = newName.trimmed();
    if (bare == name)
        return Done{};
    if (isOwn(bare))
        return invalid(QStringLiteral("There is a preset '%1' already; choose another name.").arg(bare));
    const auto found = std::ranges::find(m_own, name, &OwnFigurePreset::name);
    if (found == m_own.end())
        return invalid(QStringLiteral("There is no preset '%1' of your own.").arg(name));
    found->name = bare;
    if (m_last.contains(name))
        m_last[bare] = m_last.take(name);
    if (m_current == name)
        m_current = bare;
    return Done{};
}

void FigurePresets::remove(const QString& name)
{
    std::erase_if(m_own, [&name](const OwnFigurePreset& preset) { return preset.name == name; });
    if (!standardPreset(name))
        m_last.remove(name);
}

QString text(const FigurePresets& presets)
{
    QJsonObject last;
    for (auto entry = presets.last().begin(); entry != presets.last().end(); ++entry)
        last[entry.key()] = figureSettingsJson(entry.value());
    const QJsonObject object{
        {ownKey, jsonOfOwn(presets.own())}, {lastKey, last}, {currentKey, presets.current()}};
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

FigurePresets parseFigurePresets(const QString& line)
{
    FigurePresets presets;
    const QJsonObject object = QJsonDocument::fromJson(line.toUtf8()).object();
    const QJsonArray own = object[ownKey].toArray();
    for (const QJsonValue value : own)
        if (const Result<OwnFigurePreset> preset = presetOfFile(value))
            static_cast<void>(presets.save(preset->name, preset->settings));
    const QJsonObject last = object[lastKey].toObject();
    for (auto entry = last.begin(); entry != last.end(); ++entry)
        if (checkFigureSettings(entry.value().toObject()))
            presets.remember(entry.key(), figureSettingsOf(entry.value().toObject()));
    presets.choose(object[currentKey].toString());
    return presets;
}

Result<Done> writePresetFile(const QString& fileName, const std::vector<OwnFigurePreset>& presets)
{
    const QJsonObject object{{schemaKey, QString(schema)}, {presetsKey, jsonOfOwn(presets)}};
    const QByteArray bytes = QJsonDocument(object).toJson();
    return replaceFile(fileName.toStdString(), std::span(bytes.constData(), std::size_t(bytes.size())));
}

Result<std::vector<OwnFigurePreset>> readPresetFile(const QString& fileName)
{
    const Result<std::string> content = readTextFile(fileName.toStdString(), largestPresetFile);
    if (!content)
        return content.error();
    // Refuses a name that occurs twice, of which QJsonDocument takes the last.
    const auto checked = parseJson(*content, QFileInfo(fileName).fileName().toStdString());
    if (!checked)
        return checked.error();
    Result<std::vector<OwnFigurePreset>> presets =
        presetsOfFile(QJsonDocument::fromJson(QByteArray::fromStdString(*content)).object());
    if (!presets)
        return Error{ErrorCode::Corrupt,
                     QStringLiteral("'%1' is not a usable file of figure presets: %2.")
                         .arg(fileName, QString::fromStdString(presets.error().message))
                         .toStdString()};
    return presets;
}

} // namespace headwise::ui
