#include "core/tokenizer/sentencepiece.h"

#include "core/files/little_endian.h"
#include "core/files/utf8.h"
#include "core/tokenizer/piece_vocabulary.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace headwise {
namespace {

using SentencepiecePiece = PieceVocabulary::Piece;
using SentencepieceKind = PieceVocabulary::Kind;

/// One field of a protobuf message.
struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;     ///< A varint, or the bits of a fixed-size number.
    std::string_view bytes = {}; ///< Content of a length-delimited field.
    bool isBytes = false;

    bool flag() const { return value != 0; }
    int integer() const { return static_cast<int>(static_cast<std::int64_t>(value)); }
};

/// Reads the fields of a message one after another. Source: protobuf.dev, "Encoding".
class Message {
public:
    explicit Message(std::string_view bytes)
        : m_in(std::as_bytes(std::span(bytes)))
    {
    }

    /// Returns nothing at the end, or if the message is damaged.
    std::optional<Field> next();
    bool isSound() const { return m_isSound; }

private:
    std::optional<std::uint64_t> varint();

    LittleEndianReader m_in;
    bool m_isSound = true;
};

std::optional<std::uint64_t> Message::varint()
{
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const auto byte = m_in.next<std::uint8_t>();
        if (!byte)
            return std::nullopt;
        value |= static_cast<std::uint64_t>(*byte & 0x7F) << shift;
        if (*byte < 0x80)
            return value;
    }
    return std::nullopt;
}

std::optional<Field> Message::next()
{
    if (m_in.remaining() == 0 || !m_isSound)
        return std::nullopt;
    Field field;
    std::optional<std::uint64_t> value;
    const auto key = varint();
    const std::uint64_t wire = key ? *key & 7 : 7;
    if (wire == 0)
        value = varint();
    else if (wire == 1)
        value = m_in.next<std::uint64_t>();
    else if (wire == 5)
        value = m_in.next<std::uint32_t>();
    else if (wire == 2) {
        const auto length = varint();
        const auto bytes = length ? m_in.text(*length) : std::nullopt;
        if (bytes) {
            field.bytes = *bytes;
            field.isBytes = true;
            value = 0;
        }
    }
    m_isSound = value.has_value() && *key >> 3 != 0;
    if (!m_isSound)
        return std::nullopt;
    field.number = *key >> 3;
    field.value = *value;
    return field;
}

class SentencepieceReader {
public:
    Result<PieceVocabulary> read(std::string_view content, const SpecialTokenChoice& choice);

private:
    bool readPiece(std::string_view bytes);
    bool readTrainer(std::string_view bytes);
    bool readNormalizer(std::string_view bytes);
    std::optional<int> piece(int id) const
    {
        return id >= 0 && id < static_cast<int>(m_vocabulary.pieces.size()) ? std::optional(id)
                                                                            : std::nullopt;
    }

    PieceVocabulary m_vocabulary = {.isUnigram = true, .removeExtraWhitespaces = true};
    int m_modelType = 1; // 1: unigram
    int m_bos = 1;
    int m_eos = 2;
    bool m_spaceIsSuffix = false;

public:
    bool canEncode() const { return (m_modelType == 1 || m_modelType == 2) && !m_spaceIsSuffix; }
};

bool SentencepieceReader::readPiece(std::string_view bytes)
{
    SentencepiecePiece piece;
    Message message(bytes);
    while (const auto field = message.next()) {
        if (field->number == 1)
            piece.text = field->bytes;
        else if (field->number == 2)
            piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
        else if (field->number == 3 && field->value >= 1 && field->value <= 6)
            piece.kind = static_cast<SentencepieceKind>(field->value);
    }
    if (piece.text.empty() || !std::isfinite(piece.score) || firstInvalidUtf8(piece.text)
        || m_vocabulary.pieces.size() >= static_cast<std::size_t>(tokenIdLimit))
        return false;
    m_vocabulary.pieces.push_back(std::move(piece));
    return message.isSound();
}

bool SentencepieceReader::readTrainer(std::string_view bytes)
{
    Message message(bytes);
    while (const auto field = message.next()) {
        switch (field->number) {
        case 3: m_modelType = field->integer(); break;
        case 24: m_spaceIsSuffix = field->flag(); break;
        case 35: m_vocabulary.byteFallback = field->flag(); break;
        case 41: m_bos = field->integer(); break;
        case 42: m_eos = field->integer(); break;
        default: break;
        }
    }
    return message.isSound();
}

bool SentencepieceReader::readNormalizer(std::string_view bytes)
{
    Message message(bytes);
    while (const auto field = message.next()) {
        switch (field->number) {
        case 2: m_vocabulary.characterMap = field->bytes; break;
        case 3: m_vocabulary.addDummyPrefix = field->flag(); break;
        case 4: m_vocabulary.removeExtraWhitespaces = field->flag(); break;
        case 5: m_vocabulary.escapeWhitespaces = field->flag(); break;
        default: break;
        }
    }
    return message.isSound();
}

Result<PieceVocabulary> SentencepieceReader::read(std::string_view content, const SpecialTokenChoice& choice)
{
    Message message(content);
    bool isSound = true;
    while (const auto field = message.next()) {
        if (field->number == 1)
            isSound = isSound && field->isBytes && readPiece(field->bytes);
        else if (field->number == 2)
            isSound = isSound && readTrainer(field->bytes);
        else if (field->number == 3)
            isSound = isSound && readNormalizer(field->bytes);
    }
    if (!isSound || !message.isSound() || m_vocabulary.pieces.empty())
        return Error{ErrorCode::Corrupt,
                     "is not a valid SentencePiece model (piece " + std::to_string(m_vocabulary.pieces.size())
                         + " or the data after it is damaged)"};
    m_vocabulary.isUnigram = m_modelType != 2;
    if (choice.addBos.value_or(!m_vocabulary.isUnigram))
        m_vocabulary.idBefore = piece(m_bos);
    if (choice.addEos.value_or(false))
        m_vocabulary.idAfter = piece(m_eos);
    return std::move(m_vocabulary);
}

std::string withMarks(std::string_view text)
{
    std::string marked;
    for (const char c : text)
        marked.append(c == ' ' ? std::string_view("▁") : std::string_view(&c, 1));
    return marked;
}

} // namespace

bool isSentencePiece(std::string_view file)
{
    Message message(file);
    const auto first = message.next();
    return first && first->number == 1 && first->isBytes && first->bytes.starts_with('\x0A');
}

Result<TokenizerFile> readSentencePiece(std::string_view content, const std::filesystem::path& path,
                                        const SpecialTokenChoice& choice)
{
    SentencepieceReader reader;
    Result<PieceVocabulary> vocabulary = reader.read(content, choice);
    if (!vocabulary)
        return Error{vocabulary.error().code,
                     "'" + path.string() + "' " + vocabulary.error().message + "; download it again."};
    TokenizerFile file = tokenizerFileOf(std::move(vocabulary).value(), path);
    if (!reader.canEncode())
        file.cannotEncode = "'" + path.string()
            + "' is a SentencePiece model of words, of characters or with spaces after words; its tokens can be shown, but text cannot be encoded: give token ids instead.";
    return file;
}

bool isLlama2cTokenizer(std::string_view file)
{
    LittleEndianReader in(std::as_bytes(std::span(file)));
    const auto longest = in.next<std::uint32_t>();
    int count = 0;
    while (longest && in.remaining() > 0) {
        const auto score = in.next<float>();
        const auto length = in.next<std::uint32_t>();
        if (!score || !length || *length > *longest || !in.take(*length))
            return false;
        ++count;
    }
    return count > 259; // three tokens and the bytes come first
}

Result<TokenizerFile> readLlama2cTokenizer(std::string_view content, const std::filesystem::path& path)
{
    const auto corrupt = [&](const std::string& what) {
        return Error{ErrorCode::Corrupt,
                     "'" + path.string() + "' is not a llama2.c tokenizer: " + what + "."};
    };
    if (!isLlama2cTokenizer(content))
        return corrupt("its tokens do not end where it ends");
    PieceVocabulary vocabulary{.byteFallback = true, .idBefore = 1};
    LittleEndianReader in(std::as_bytes(std::span(content)), 4);
    while (in.remaining() > 0) {
        const std::size_t id = vocabulary.pieces.size();
        const float score = *in.next<float>(); // the lengths are already checked
        std::string text = withMarks(*in.text(*in.next<std::uint32_t>()));
        SentencepieceKind kind = SentencepieceKind::Normal;
        if (id == 0)
            kind = SentencepieceKind::Unknown;
        else if (id <= 2)
            kind = SentencepieceKind::Control;
        else if (id < 259)
            kind = SentencepieceKind::Byte;
        if (kind == SentencepieceKind::Control) // the exporter puts line ends around it
            text = id == 1 ? "<s>" : "</s>";
        if (!std::isfinite(score) || firstInvalidUtf8(text))
            return corrupt("token " + std::to_string(id) + " is not UTF-8 or has no score");
        vocabulary.pieces.push_back({std::move(text), score, kind});
    }
    return tokenizerFileOf(std::move(vocabulary), path);
}

} // namespace headwise
