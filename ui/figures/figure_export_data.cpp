#include "ui/figures/figure_export_formats.h"

#include "core/files/delimited.h"
#include "core/files/table_formats.h"
#include "core/results/table_file.h"
#include "ui/base/text.h"
#include "ui/figures/figure_metadata.h"

#include <QJsonDocument>
#include <QJsonObject>

// The numbers of a figure in table formats, with their provenance.

namespace headwise::ui {

namespace {

constexpr qsizetype mostTypesetCells = 100'000; // a hundred pages

QString valueOf(const FigureSource& source, std::initializer_list<QLatin1StringView> names)
{
    for (const QLatin1StringView wanted : names)
        for (const auto& [name, value] : source.provenance())
            if (name == wanted && !value.isEmpty())
                return value;
    return {};
}

QByteArray delimited(const FigureSource& source, const FigureSettings& settings, Delimiter delimiter)
{
    QByteArray bytes;
    if (settings.provenanceInData) {
        const QByteArray end = delimiter == Delimiter::Comma ? "\r\n" : "\n";
        bytes += "# creator: " + figureCreator().toUtf8() + end + "# figure: " + source.figureTitle().toUtf8()
            + end;
        for (const auto& [name, value] : source.provenance())
            bytes += "# " + name.toUtf8() + ": " + QString(value).replace(u'\n', u' ').toUtf8() + end;
    }
    source.forEachDataRow([&](const QStringList& row) {
        std::vector<std::string> fields;
        fields.reserve(static_cast<std::size_t>(row.size()));
        for (const QString& field : row)
            fields.push_back(field.toStdString());
        bytes += delimitedLine(fields, delimiter);
    });
    return bytes;
}

/// Errors: InvalidArgument above `mostCells`.
Result<Table> tableOf(const FigureSource& source, qsizetype mostCells)
{
    Table table;
    qsizetype cells = 0;
    source.forEachDataRow([&](const QStringList& row) {
        cells += row.size();
        if (cells > mostCells)
            return;
        std::vector<std::string> texts;
        for (const QString& cell : row)
            texts.push_back(cell.toStdString());
        if (table.columns.empty())
            table.columns = std::move(texts);
        else
            table.rows.push_back(std::move(texts));
    });
    if (cells > mostCells)
        return Error{
            ErrorCode::InvalidArgument,
            QStringLiteral(
                "'%1' has %2 numbers, too many for a typeset table. Write it as CSV, TSV or NPY, or zoom in to the part you need.")
                .arg(source.figureTitle())
                .arg(cells)
                .toStdString()};
    return table;
}

QByteArray bytes(const std::string& text)
{
    return QByteArray::fromStdString(text);
}

Result<QByteArray> npyOf(const FigureSource& source)
{
    if (const std::optional<FigureArray> array = source.figureArray())
        return bytes(npyBytes(array->shape, array->values));
    const Result<Table> table = tableOf(source, std::numeric_limits<qsizetype>::max());
    return table ? Result<QByteArray>(bytes(npyText(*table))) : table.error();
}

Result<QByteArray> typesetOf(const FigureSource& source, const FigureSettings& settings)
{
    const Result<Table> table = tableOf(source, mostTypesetCells);
    if (!table)
        return table.error();
    const QString caption = figureCaption(source, settings.style).replace(u'\n', u' ');
    return bytes(settings.format == FigureFormat::Latex ? latexText(*table, caption.toStdString())
                                                        : markdownText(*table));
}

} // namespace

QString figureCreator()
{
    return QStringLiteral("Headwise " HEADWISE_VERSION);
}

QString provenanceLine(const FigureSource& source)
{
    QStringList parts;
    for (const auto& [name, value] : source.provenance())
        if (name != QLatin1StringView(figureDescriptionKey)) // Its JSON stands in the metadata.
            parts << name + QStringLiteral(": ") + value;
    return parts.join(QStringLiteral("; "));
}

QByteArray provenanceJson(const FigureSource& source, const FigureSettings& settings)
{
    QJsonObject object{{QStringLiteral("creator"), figureCreator()},
                       {QStringLiteral("title"), source.figureTitle()},
                       {QLatin1StringView(figureSettingsKey), text(settings)}};
    for (const auto& [name, value] : source.provenance())
        object[name] = value;
    return QJsonDocument(object).toJson();
}

QString figureCaption(const FigureSource& source, const FigureStyle& style)
{
    if (!style.edits.caption.empty())
        return text(style.edits.caption);
    const auto is = [](const char* name) { return QLatin1StringView(name); };
    QString caption = figureTitleOf(source, style);
    const QString head = valueOf(source, {is("head")});
    if (!head.isEmpty() && !caption.contains(head))
        caption = caption.isEmpty() ? head : QStringLiteral("%1: %2").arg(head, caption);
    if (const QString model = valueOf(source, {is("model")}); !model.isEmpty() && !caption.contains(model))
        caption += (caption.isEmpty() ? QString() : QStringLiteral(", ")) + model;
    QStringList facts;
    if (const QString weights = valueOf(source, {is("processing"), is("weights")}); !weights.isEmpty())
        facts << (weights == is("raw") ? QStringLiteral("raw weights") : weights);
    if (const QString embedding = valueOf(source, {is("embedding")}); !embedding.isEmpty())
        facts << QStringLiteral("%1 embedding").arg(embedding);
    if (const QString baseline = valueOf(source, {is("baseline")}); !baseline.isEmpty())
        facts << baseline;
    if (const QString tokens = valueOf(source, {is("tokens"), is("filter")}); !tokens.isEmpty())
        facts << QStringLiteral("tokens %1").arg(tokens);
    if (const QString view = valueOf(source, {is("view")}); !view.isEmpty())
        facts << QStringLiteral("view %1").arg(view);
    if (const QString hash = valueOf(source, {is("sha256")}); !hash.isEmpty())
        facts << QStringLiteral("file with SHA-256 %1…").arg(hash.left(12));
    facts << figureCreator();
    facts.first()[0] = facts.first()[0].toUpper();
    if (!source.colorWords().isEmpty())
        caption += QStringLiteral(". ") + source.colorWords().chopped(1);
    return QStringLiteral("%1. %2.").arg(caption, facts.join(QStringLiteral("; ")));
}

Result<QByteArray> dataOf(const FigureSource& source, const FigureSettings& settings)
{
    switch (settings.format) {
    case FigureFormat::Tsv: return delimited(source, settings, Delimiter::Tab);
    case FigureFormat::Npy: return npyOf(source);
    case FigureFormat::Latex:
    case FigureFormat::Markdown: return typesetOf(source, settings);
    default: return delimited(source, settings, Delimiter::Comma);
    }
}

} // namespace headwise::ui
