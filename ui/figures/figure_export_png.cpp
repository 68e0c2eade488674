#include "ui/figures/figure_export_formats.h"

#include <QBuffer>
#include <QtEndian>

#include <algorithm>
#include <array>

// PNG with uncompressed provenance, which every tool can read; Qt compresses texts longer than 40 characters.

namespace headwise::ui {

namespace {

constexpr qsizetype headerLength = 8 + 25; // signature and IHDR, after which texts may follow
constexpr qsizetype longestKeyword = 79;

constexpr std::array<quint32, 256> crcTable = [] {
    std::array<quint32, 256> table{};
    for (quint32 i = 0; i < 256; ++i) {
        quint32 c = i;
        for (int bit = 0; bit < 8; ++bit)
            c = (c & 1) != 0 ? 0xEDB88320U ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    return table;
}();

QByteArray bigEndian(quint32 value)
{
    QByteArray bytes(4, '\0');
    qToBigEndian(value, bytes.data());
    return bytes;
}

/// Source: PNG specification, second edition, 5.3 and annex D.
QByteArray chunk(const QByteArray& type, const QByteArray& content)
{
    quint32 crc = 0xFFFFFFFFU;
    for (const char c : type + content)
        crc = crcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ crc >> 8;
    return bigEndian(static_cast<quint32>(content.size())) + type + content + bigEndian(~crc);
}

QByteArray textChunk(const QString& keyword, const QString& text)
{
    const QByteArray name = keyword.left(longestKeyword).toLatin1();
    const bool isLatin = std::ranges::all_of(text, [](QChar c) { return c.unicode() < 256; });
    if (isLatin)
        return chunk("tEXt", name + '\0' + text.toLatin1());
    // Not compressed (two zeros), no language, no translated keyword.
    return chunk("iTXt", name + QByteArray(5, '\0') + text.toUtf8());
}

} // namespace

QByteArray pngOf(const QImage& image, const Provenance& texts)
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    if (!image.save(&buffer, "PNG") || bytes.size() < headerLength)
        return {};
    QByteArray chunks;
    for (const auto& [name, value] : texts)
        chunks += textChunk(name, value);
    return bytes.insert(headerLength, chunks);
}

} // namespace headwise::ui
