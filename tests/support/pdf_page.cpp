#include "tests/support/pdf_page.h"

#include <QHash>
#include <QList>
#include <QStringList>
#include <QTransform>

#include <algorithm>
#include <array>
#include <cmath>

namespace headwise::test {
namespace {

/// The words of PDF's syntax: numbers, names, operators, <hex>, (text) and brackets.
class PdfWords {
public:
    explicit PdfWords(const QByteArray& text)
        : m_text(text)
    {
    }

    /// Returns the next word; empty at the end.
    QByteArray next()
    {
        while (m_at < m_text.size() && isSpace(m_text[m_at]))
            ++m_at;
        if (m_at >= m_text.size())
            return {};
        const qsizetype begin = m_at;
        const char first = m_text[m_at++];
        const bool isDouble = m_at < m_text.size() && m_text[m_at] == first;
        if ((first == '<' || first == '>') && isDouble)
            ++m_at;
        else if (first == '<')
            skipPast('>');
        else if (first == '(')
            skipPast(')'); // QPdfWriter shows no text in parentheses
        else if (first != '[' && first != ']' && first != '>')
            while (m_at < m_text.size() && !isSpace(m_text[m_at]) && !isBracket(m_text[m_at])
                   && m_text[m_at] != '/')
                ++m_at;
        return m_text.mid(begin, m_at - begin);
    }

private:
    static bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\0'; }
    static bool isBracket(char c) { return c == '[' || c == ']' || c == '<' || c == '>' || c == '('; }
    void skipPast(char end)
    {
        const qsizetype found = m_text.indexOf(end, m_at);
        m_at = found < 0 ? m_text.size() : found + 1;
    }

    const QByteArray& m_text;
    qsizetype m_at = 0;
};

/// The number behind a key, such as the id behind "/Contents "; -1 without the key.
int numberAfter(const QByteArray& object, const QByteArray& key)
{
    const qsizetype at = object.indexOf(key);
    if (at < 0)
        return -1;
    QByteArray rest = object.mid(at + key.size(), 12);
    rest.replace('\n', ' ');
    return rest.left(rest.indexOf(' ')).toInt();
}

/// The objects of a file, found by its table of places.
class PdfObjects {
public:
    explicit PdfObjects(const QByteArray& pdf)
        : m_pdf(pdf)
    {
        const qsizetype last = pdf.lastIndexOf("startxref\n");
        const qsizetype table = last < 0 ? 0 : pdf.mid(last + 10, 12).split('\n').first().toLongLong();
        if (!pdf.mid(table).startsWith("xref\n"))
            return;
        for (const QByteArray& line : pdf.mid(table, last - table).split('\n'))
            if (line.size() >= 18 && (line[17] == 'n' || line[17] == 'f'))
                m_places << line.left(10).toLongLong();
    }

    int count() const { return static_cast<int>(m_places.size()); }
    /// Returns the object without its stream.
    QByteArray object(int id) const
    {
        const QByteArray head = QByteArray::number(id) + " 0 obj\n";
        const qsizetype at = m_places.value(id, -1);
        if (id <= 0 || at < 0 || m_pdf.mid(at, head.size()) != head)
            return {};
        const qsizetype end = m_pdf.indexOf("endobj", at), stream = m_pdf.indexOf("stream\n", at);
        return m_pdf.mid(at, (stream < 0 ? end : std::min(end, stream)) - at);
    }
    QByteArray stream(int id) const
    {
        const QByteArray head = object(id);
        const qsizetype begin = m_places.value(id, 0) + head.size() + 7; // behind "stream\n"
        const int number = numberAfter(head, "/Length ");
        const bool isElsewhere = head.contains("/Length " + QByteArray::number(number) + " 0 R");
        const int size = isElsewhere ? numberAfter(object(number), "obj\n") : number;
        const QByteArray bytes = m_pdf.mid(begin, std::max(0, size));
        const QByteArray guess("\0\x10\0\0", 4); // qUncompress() wants a length before them.
        return head.contains("/FlateDecode") ? qUncompress(guess + bytes) : bytes;
    }

private:
    const QByteArray& m_pdf;
    QList<qsizetype> m_places; // by id
};

/// Characters and widths of a font's glyphs.
struct PdfFont {
    QHash<int, QString> characters;
    QHash<int, double> widths; // thousandths of the size
    double otherWidth = 1000;

    PdfFont() = default;
    PdfFont(const PdfObjects& objects, int id)
    {
        const QByteArray font = objects.object(id);
        readCharacters(objects.stream(numberAfter(font, "/ToUnicode ")));
        readWidths(objects.object(numberAfter(font, "/DescendantFonts [")));
    }

private:
    /// Reads "<first> <last> [<character> …]" or "<first> <last> <character>" of each range.
    void readCharacters(const QByteArray& map)
    {
        PdfWords words(map);
        for (QByteArray word = words.next(); !word.isEmpty(); word = words.next()) {
            if (word != "beginbfrange")
                continue;
            for (word = words.next(); word.startsWith('<'); word = words.next()) {
                int glyph = word.mid(1, 4).toInt(nullptr, 16);
                words.next(); // the last one
                word = words.next();
                if (word != "[")
                    characters[glyph] = utf16(word);
                else
                    for (word = words.next(); word.startsWith('<'); word = words.next())
                        characters[glyph++] = utf16(word);
            }
        }
    }
    static QString utf16(const QByteArray& hex)
    {
        QString text;
        for (qsizetype i = 1; i + 4 < hex.size(); i += 4)
            text += QChar(static_cast<char16_t>(hex.mid(i, 4).toUInt(nullptr, 16)));
        return text;
    }
    /// Reads "first [width …]" and "first last width".
    void readWidths(const QByteArray& font)
    {
        if (const int all = numberAfter(font, "/DW "); all >= 0)
            otherWidth = all;
        const qsizetype at = font.indexOf("/W [");
        if (at < 0)
            return;
        const QByteArray list = font.mid(at + 4);
        PdfWords words(list);
        QList<int> plain;
        for (QByteArray word = words.next(); !word.isEmpty() && word != "]"; word = words.next()) {
            if (word == "[") {
                int glyph = plain.isEmpty() ? 0 : plain.last();
                for (word = words.next(); !word.isEmpty() && word != "]"; word = words.next())
                    widths[glyph++] = word.toDouble();
                plain.clear();
            } else if (plain << word.toInt(); plain.size() == 3) {
                for (int glyph = plain[0]; glyph <= plain[1]; ++glyph)
                    widths[glyph] = plain[2];
                plain.clear();
            }
        }
    }
};

/// Follows the operators of a page and collects its runs of text.
class PdfTexts {
public:
    PdfTexts(const PdfObjects& objects, const QByteArray& resources, PdfPage& page)
        : m_objects(objects)
        , m_resources(resources)
        , m_page(page)
    {
    }

    void follow(const QByteArray& content)
    {
        PdfWords words(content);
        for (QByteArray word = words.next(); !word.isEmpty(); word = words.next()) {
            if (QByteArrayView("+-.0123456789/<>([]").contains(word[0])) {
                m_operands << word;
                continue;
            }
            followState(word);
            followText(word);
            m_operands.clear();
        }
    }

private:
    static constexpr std::array<const char*, 7> unreadOperators{"TJ", "TD", "T*", "Tz", "Ts", "'", "\""};

    struct State {
        QTransform matrix;
        QByteArray font;
        double size = 0;
    };

    double operand(qsizetype i) const { return m_operands.value(i).toDouble(); }
    QTransform matrix() const
    {
        return {operand(0), operand(1), operand(2), operand(3), operand(4), operand(5)};
    }
    void followState(const QByteArray& name)
    {
        if (name == "q")
            m_stack.push_back(m_state);
        else if (name == "Q" && !m_stack.empty()) {
            m_state = m_stack.back();
            m_stack.pop_back();
        } else if (name == "cm")
            m_state.matrix = matrix() * m_state.matrix;
        else if (name == "Tf") {
            m_state.font = m_operands.value(0);
            m_state.size = operand(1);
        }
    }
    void followText(const QByteArray& name)
    {
        if (name == "BT") {
            m_line = m_glyph = {};
            m_run = {};
        } else if (name == "Tm")
            m_line = m_glyph = matrix();
        else if (name == "Td")
            m_line = m_glyph = QTransform::fromTranslate(operand(0), operand(1)) * m_line;
        else if (name == "Tj")
            show(m_operands.value(0));
        else if (name == "ET" && !m_run.text.isEmpty())
            m_page.texts.push_back(m_run);
        else if (m_page.unread.isEmpty()
                 && std::ranges::any_of(unreadOperators, [&name](const char* one) { return name == one; }))
            m_page.unread = name;
    }
    void show(const QByteArray& hex)
    {
        const PdfFont& font = fontNamed(m_state.font);
        for (qsizetype i = 1; i + 4 < hex.size(); i += 4) {
            const int glyph = hex.mid(i, 4).toInt(nullptr, 16);
            const double width = font.widths.value(glyph, font.otherWidth) / 1000 * m_state.size;
            add(font.characters.value(glyph, QString(QChar::ReplacementCharacter)), width);
            m_glyph = QTransform::fromTranslate(width, 0) * m_glyph;
        }
    }
    void add(const QString& character, double width)
    {
        constexpr double capitals = 0.73, descenders = 0.22; // of the size
        const double height = m_page.size.height();
        const QTransform printed = m_glyph * m_state.matrix * QTransform(1, 0, 0, -1, 0, height);
        if (m_run.text.isEmpty())
            m_run.begin = printed.map(QPointF(0, 0));
        m_run.end = printed.map(QPointF(width, 0));
        m_run.text += character == u"\t" ? QStringLiteral(" ") : character; // Qt takes the space for a tab
        // Upright to the baseline: letters that are made to slant are no larger.
        m_run.size =
            m_state.size * std::abs(printed.determinant()) / std::hypot(printed.m11(), printed.m12());
        m_run.box |= printed.mapRect(
            QRectF(0, -descenders * m_state.size, width, (capitals + descenders) * m_state.size));
    }
    const PdfFont& fontNamed(const QByteArray& name)
    {
        if (!m_fonts.contains(name))
            m_fonts.insert(name, PdfFont(m_objects, numberAfter(m_resources, name + ' ')));
        return m_fonts[name];
    }

    const PdfObjects& m_objects;
    const QByteArray m_resources;
    PdfPage& m_page;
    QHash<QByteArray, PdfFont> m_fonts;
    QList<QByteArray> m_operands;
    State m_state;
    std::vector<State> m_stack;
    QTransform m_line, m_glyph; // of BT … ET
    PdfText m_run;
};

} // namespace

PdfPage readPdfPage(const QByteArray& pdf)
{
    const PdfObjects objects(pdf);
    PdfPage page;
    for (int id = 1; id < objects.count(); ++id) {
        const QByteArray object = objects.object(id);
        if (!object.contains("/Type /Page\n"))
            continue;
        const qsizetype box = object.indexOf("/MediaBox [");
        const QList<QByteArray> sides = object.mid(box + 11, object.indexOf(']', box) - box - 11).split(' ');
        page.size = {sides.value(2).toDouble(), sides.value(3).toDouble()};
        PdfTexts texts(objects, objects.object(numberAfter(object, "/Resources ")), page);
        texts.follow(objects.stream(numberAfter(object, "/Contents ")));
        break;
    }
    return page;
}

QString textOf(const QByteArray& pdf)
{
    QStringList runs;
    for (const PdfText& text : readPdfPage(pdf).texts)
        runs << text.text;
    return runs.join(u'\n');
}

} // namespace headwise::test
