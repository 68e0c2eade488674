#include "ui/figures/animated_svg.h"

#include <QXmlStreamReader>
#include <QXmlStreamWriter>

namespace headwise::ui {

namespace {

constexpr double secondsOfFrame = 0.5, secondsOfLastFrame = 2;

enum class SvgPart { Description, Picture };

bool isDescription(QStringView element)
{
    return element == u"title" || element == u"desc" || element == u"metadata";
}

/// Writes the attributes of an element, with the prefix in front of ids and of references to them.
void copyAttributes(const QXmlStreamReader& reader, QXmlStreamWriter& writer, const QString& prefix)
{
    const QXmlStreamAttributes attributes = reader.attributes();
    for (const QXmlStreamAttribute& attribute : attributes) {
        const QString name = attribute.qualifiedName().toString();
        QString value = attribute.value().toString();
        if (name == u"id")
            value.prepend(prefix);
        else if ((name == u"href" || name == u"xlink:href") && value.startsWith(u'#'))
            value.insert(1, prefix);
        else
            value.replace(QStringLiteral("url(#"), QStringLiteral("url(#") + prefix);
        writer.writeAttribute(name, value);
    }
}

/// Copies the element at which the reader stands, with everything in it.
void copyElement(QXmlStreamReader& reader, QXmlStreamWriter& writer, const QString& prefix)
{
    int depth = 0;
    do {
        if (reader.isStartElement()) {
            ++depth;
            writer.writeStartElement(reader.qualifiedName().toString());
            copyAttributes(reader, writer, prefix);
        } else if (reader.isEndElement()) {
            --depth;
            writer.writeEndElement();
        } else if (reader.isCharacters()) {
            writer.writeCharacters(reader.text().toString());
        }
        if (depth > 0)
            reader.readNext();
    } while (depth > 0 && !reader.hasError());
}

/// Copies either part of a document. The reader stands at its root.
void copyPart(QXmlStreamReader& reader, QXmlStreamWriter& writer, SvgPart part, const QString& prefix)
{
    while (reader.readNextStartElement())
        if (isDescription(reader.qualifiedName()) == (part == SvgPart::Description))
            copyElement(reader, writer, prefix);
        else
            reader.skipCurrentElement();
}

/// Shows the group that is being written from `begin` to `end`, shares of the whole duration.
void writeTimes(QXmlStreamWriter& writer, double begin, double end, double duration)
{
    QStringList values, times;
    const auto add = [&](double time, const char* value) {
        times << QString::number(time, 'f', 6);
        values << QLatin1String(value);
    };
    if (begin > 0)
        add(0, "hidden");
    add(begin, "visible");
    if (end < 1)
        add(end, "hidden");
    writer.writeEmptyElement(QStringLiteral("animate"));
    writer.writeAttribute(QStringLiteral("attributeName"), QStringLiteral("visibility"));
    writer.writeAttribute(QStringLiteral("calcMode"), QStringLiteral("discrete"));
    writer.writeAttribute(QStringLiteral("values"), values.join(u';'));
    writer.writeAttribute(QStringLiteral("keyTimes"), times.join(u';'));
    writer.writeAttribute(QStringLiteral("dur"), QString::number(duration) + u's');
    writer.writeAttribute(QStringLiteral("repeatCount"), QStringLiteral("indefinite"));
}

/// Stands at the root of a document. \return false if it is no SVG
bool enterSvg(QXmlStreamReader& reader)
{
    reader.setNamespaceProcessing(false); // names stay as they are
    return reader.readNextStartElement() && reader.qualifiedName() == u"svg";
}

} // namespace

Result<QByteArray> animatedSvg(const std::vector<SvgFrame>& frames)
{
    const Error broken{ErrorCode::InvalidArgument, "An animation needs SVG pictures, at least one."};
    if (frames.empty())
        return broken;
    QByteArray bytes;
    QXmlStreamWriter writer(&bytes);
    writer.writeStartDocument();
    QXmlStreamReader last(frames.back().svg);
    if (!enterSvg(last))
        return broken;
    writer.writeStartElement(QStringLiteral("svg"));
    copyAttributes(last, writer, {});
    copyPart(last, writer, SvgPart::Description, {});
    const auto count = static_cast<double>(frames.size());
    const double duration = (count - 1) * secondsOfFrame + secondsOfLastFrame;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        QXmlStreamReader reader(frames[i].svg);
        if (!enterSvg(reader))
            return broken;
        const bool isLast = i + 1 == frames.size();
        const QString id = QStringLiteral("frame%1").arg(i + 1);
        writer.writeStartElement(QStringLiteral("g"));
        writer.writeAttribute(QStringLiteral("id"), id);
        writer.writeAttribute(QStringLiteral("visibility"),
                              isLast ? QStringLiteral("visible") : QStringLiteral("hidden"));
        writer.writeTextElement(QStringLiteral("title"), frames[i].name);
        if (frames.size() > 1)
            writeTimes(writer, static_cast<double>(i) * secondsOfFrame / duration,
                       isLast ? 1 : static_cast<double>(i + 1) * secondsOfFrame / duration, duration);
        copyPart(reader, writer, SvgPart::Picture, id + u'-');
        if (reader.hasError())
            return broken;
        writer.writeEndElement();
    }
    writer.writeEndDocument();
    return bytes;
}

} // namespace headwise::ui
