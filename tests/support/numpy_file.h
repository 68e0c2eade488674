#pragma once

#include <QByteArray>
#include <QList>
#include <QRegularExpression>
#include <QString>

#include <cstring>
#include <optional>
#include <vector>

namespace headwise::test {

/// A NumPy file, parsed by the format's description, without code shared with the writer.
struct NumpyFile {
    QString type;
    QList<qint64> shape;
    QByteArray data;

    template <typename T>
    std::vector<T> numbers() const
    {
        std::vector<T> out(static_cast<std::size_t>(data.size()) / sizeof(T));
        if (!out.empty())
            std::memcpy(out.data(), data.constData(), out.size() * sizeof(T));
        return out;
    }
};

/// Returns nothing if a byte violates the format: magic, version 1.0, a header of one line that ends where the data
/// begin, at a multiple of 64, its keys in order, C order, a Python tuple.
inline std::optional<NumpyFile> readNumpyFile(const QByteArray& bytes)
{
    if (!bytes.startsWith(QByteArray::fromHex("934e554d50590100")) || bytes.size() < 10)
        return std::nullopt;
    const int length = static_cast<unsigned char>(bytes[8]) | static_cast<unsigned char>(bytes[9]) << 8;
    const int start = 10 + length;
    if (start % 64 != 0 || bytes.size() < start || bytes[start - 1] != '\n')
        return std::nullopt;
    static const QRegularExpression line(QString::fromLatin1(
        R"(^\{'descr': '([<|][a-z][0-9]+)', 'fortran_order': False, 'shape': \((|\d+,|\d+(?:, \d+)+)\), \} *\n$)"));
    const auto match = line.match(QString::fromLatin1(bytes.mid(10, length)));
    if (!match.hasMatch())
        return std::nullopt;
    NumpyFile file{match.captured(1), {}, bytes.mid(start)};
    for (const QString& size : match.captured(2).split(u',', Qt::SkipEmptyParts))
        file.shape << size.trimmed().toLongLong();
    return file;
}

} // namespace headwise::test
