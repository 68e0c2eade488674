#include "ui/document/relation_store.h"

#include "core/analysis/inputs/relation_file.h"
#include "core/base/log.h"

#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QSaveFile>
#include <QStandardPaths>

namespace headwise::ui {

namespace {

QDir folder()
{
    return {QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + QStringLiteral("/relations")};
}

} // namespace

std::vector<Relation> savedRelations()
{
    std::vector<Relation> all;
    const QDir saved = folder();
    for (const QString& name : saved.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
        const auto read = readRelations(saved.filePath(name).toStdString());
        if (read)
            all.insert(all.end(), read->begin(), read->end());
        else
            logWarning(read.error().message);
    }
    return all;
}

Result<Done> saveRelation(const Relation& relation)
{
    const QDir saved = folder();
    QString name = QString::fromStdString(relation.name);
    name.replace(QRegularExpression(QStringLiteral("[^\\w-]+")), QStringLiteral("-"));
    const QString path = saved.filePath(name + QStringLiteral(".json"));
    QJsonArray pairs;
    for (const auto& [source, target] : relation.pairs)
        pairs.append(QJsonArray{QString::fromStdString(source), QString::fromStdString(target)});
    const QJsonObject object{{QStringLiteral("name"), QString::fromStdString(relation.name)},
                             {QStringLiteral("pairs"), pairs}};
    QSaveFile file(path);
    const QByteArray written = QJsonDocument(object).toJson(QJsonDocument::Compact);
    if (!saved.mkpath(QStringLiteral(".")) || !file.open(QIODevice::WriteOnly)
        || file.write(written) != written.size() || !file.commit())
        return Error{
            ErrorCode::Io,
            QStringLiteral(
                "The relation could not be saved as '%1': %2. Check that its folder can be written to.")
                .arg(path, file.errorString())
                .toStdString()};
    return Done{};
}

bool isRelationFile(const QString& file)
{
    return file.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive)
        || (file.endsWith(QLatin1String(".json"), Qt::CaseInsensitive)
            && !file.endsWith(QLatin1String("config.json")) && !file.endsWith(QLatin1String("tokenizer.json"))
            && !file.endsWith(QLatin1String("index.json")));
}

} // namespace headwise::ui
