#pragma once

#include "core/tokenizer/tokenizer.h"

#include "tests/support/matchers.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>

#include <map>

// The tokenizers of tests/data, their reference, and small files of single tests.

namespace headwise::test {

using Ids = std::vector<int>;
using SpecialTokens = Tokenizer::SpecialTokens;

/// reference.json; tests/data/tokenizers/README.md names its source.
inline const QJsonObject& reference()
{
    static const QJsonObject object = [] {
        QFile file(QString::fromStdString(testData("tokenizers/reference.json").string()));
        return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object()
                                              : QJsonObject();
    }();
    return object;
}

inline QString referenceText(qsizetype index)
{
    const QJsonArray text = reference()["texts"].toArray()[index].toArray();
    return text[0].toString().repeated(text[1].toInt());
}

inline Ids idsOf(const QJsonValue& array)
{
    Ids ids;
    for (const QJsonValue& id : array.toArray())
        ids.push_back(id.toInt());
    return ids;
}

inline const Tokenizer& opened(const QString& name)
{
    static std::map<QString, Tokenizer> tokenizers;
    const auto known = tokenizers.find(name);
    if (known != tokenizers.end())
        return known->second;
    const std::string file = reference()["tokenizers"][name]["file"].toString().toStdString();
    Result<Tokenizer> tokenizer = Tokenizer::open(testData("tokenizers/" + file));
    if (!tokenizer)
        qFatal("%s", printed(tokenizer.error()).constData());
    return tokenizers.emplace(name, std::move(tokenizer).value()).first->second;
}

/// Opens a tokenizer.json from a folder that is then deleted.
inline Result<Tokenizer> openedFrom(const QByteArray& json, const QByteArray& config = {})
{
    QTemporaryDir folder;
    const auto write = [&folder](const char* name, const QByteArray& content) {
        QFile file(folder.filePath(name));
        if (file.open(QIODevice::WriteOnly))
            file.write(content);
    };
    write("tokenizer.json", json);
    if (!config.isEmpty())
        write("tokenizer_config.json", config);
    return Tokenizer::open(folder.path().toStdString());
}

/// a, b, c, ab and abc, with parts of the file replaced.
inline QByteArray smallFile(const char* model = R"("merges": ["a b", "ab c"])", const char* rest = "")
{
    return QByteArray(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, )")
        + model + "}" + rest + "}";
}

} // namespace headwise::test
