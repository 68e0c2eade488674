#pragma once

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <functional>

namespace headwise::test {

/// Copies a folder with one model.safetensors and lets `change` modify the bytes of one tensor of the copy.
/// \returns false if a file could not be copied or written, or there is no such tensor
inline bool copyPatched(const QString& from, const QString& to, const QString& tensor,
                        const std::function<void(QByteArray&)>& change)
{
    const QDir folder(from);
    for (const QString& name : folder.entryList(QDir::Files))
        if (!QFile::copy(folder.filePath(name), to + u'/' + name))
            return false;
    QFile file(to + QStringLiteral("/model.safetensors"));
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
    if (!file.open(QIODevice::ReadWrite))
        return false;
    quint64 length = 0;
    file.read(reinterpret_cast<char*>(&length), sizeof length);
    const QJsonObject header = QJsonDocument::fromJson(file.read(static_cast<qint64>(length))).object();
    const auto offsets = header[tensor].toObject()[QStringLiteral("data_offsets")].toArray();
    const qint64 first = offsets[0].toInteger(), size = offsets[1].toInteger() - first;
    if (size <= 0)
        return false;
    const qint64 at = 8 + static_cast<qint64>(length) + first;
    file.seek(at);
    QByteArray bytes = file.read(size);
    change(bytes);
    file.seek(at);
    return bytes.size() == size && file.write(bytes) == size;
}

} // namespace headwise::test
