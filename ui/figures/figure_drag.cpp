#include "ui/figures/figure_drag.h"

#include "core/base/log.h"
#include "ui/figures/figure_export_formats.h"

#include <QDateTime>
#include <QDir>
#include <QDrag>
#include <QPixmap>
#include <QUrl>

#include <array>
#include <utility>

namespace headwise::ui {

namespace {

constexpr std::array draggedFormats{FigureFormat::Png, FigureFormat::Svg, FigureFormat::Csv};
constexpr int keptDays = 1; // long enough for every program that was given a file

FigureSettings draggedAs(FigureSettings settings, FigureFormat format)
{
    settings.format = format;
    settings.dataBeside = false;
    return settings;
}

void sweep(const QDir& where)
{
    const QDateTime oldest = QDateTime::currentDateTime().addDays(-keptDays);
    for (const QFileInfo& left : where.entryInfoList({QStringLiteral("headwise-drag-*")},
                                                     QDir::Dirs | QDir::NoSymLinks | QDir::NoDotAndDotDot))
        if (left.lastModified() < oldest && left.isWritable())
            QDir(left.filePath()).removeRecursively();
}

} // namespace

DragFolder::DragFolder(QString where)
    : m_where(std::move(where))
{
}

QString DragFolder::path()
{
    if (m_folder && QDir(m_folder->path()).exists())
        return m_folder->path();
    sweep(QDir(m_where));
    m_folder =
        std::make_unique<QTemporaryDir>(QDir(m_where).filePath(QStringLiteral("headwise-drag-XXXXXX")));
    return m_folder->isValid() ? m_folder->path() : QString();
}

FigureMime::FigureMime(const FigureSource& source, const FigureSettings& settings, QString name,
                       std::shared_ptr<DragFolder> folder)
    : m_settings(settings)
    , m_name(std::move(name))
    , m_folder(std::move(folder))
{
    if (m_name.isEmpty())
        m_name = QStringLiteral("figure");
    for (const FigureFormat format : draggedFormats)
        m_recordings[format] = std::make_unique<RecordedFigure>(source, draggedAs(settings, format));
}

QStringList FigureMime::formats() const
{
    return {QStringLiteral("image/png"), QStringLiteral("image/svg+xml"), QStringLiteral("text/csv"),
            QStringLiteral("text/plain"), QStringLiteral("text/uri-list")};
}

QVariant FigureMime::retrieveData(const QString& type, QMetaType /*preferred*/) const
{
    if (type == QLatin1String("image/png"))
        return bytes(FigureFormat::Png);
    if (type == QLatin1String("image/svg+xml"))
        return bytes(FigureFormat::Svg);
    if (type == QLatin1String("text/csv"))
        return bytes(FigureFormat::Csv);
    if (type == QLatin1String("text/plain")) {
        const Result<QString> rows = dataText(*m_recordings.at(FigureFormat::Csv), FigureFormat::Tsv);
        return rows ? QVariant(*rows) : QVariant();
    }
    if (type == QLatin1String("text/uri-list"))
        return files();
    return {};
}

QByteArray FigureMime::bytes(FigureFormat format) const
{
    if (const auto rendered = m_rendered.find(format); rendered != m_rendered.end())
        return rendered->second;
    const Result<RenderedFigure> figure =
        renderFigure(*m_recordings.at(format), draggedAs(m_settings, format));
    if (!figure) {
        logWarning("cannot drag the figure: " + figure.error().message);
        return {};
    }
    return m_rendered[format] =
               figure->picture.isNull() ? figure->bytes : pngOf(figure->picture, figure->texts);
}

QVariantList FigureMime::files() const
{
    QVariantList urls;
    const QString folder = m_folder->path();
    for (const FigureFormat format : draggedFormats) {
        RenderedFigure figure;
        figure.bytes = bytes(format);
        const QString file = QStringLiteral("%1/%2.%3").arg(folder, m_name, suffixOf(format));
        if (!folder.isEmpty() && !figure.bytes.isEmpty() && writeFigure(figure, file))
            urls << QUrl::fromLocalFile(file);
    }
    return urls;
}

void dragFigure(const FigureSource& source, const FigureSettings& settings, const QString& name,
                const std::shared_ptr<DragFolder>& folder, QObject* from)
{
    constexpr double dpi = 36;    // of the picture under the pointer
    auto* drag = new QDrag(from); // It deletes itself.
    drag->setPixmap(QPixmap::fromImage(figureImage(source, settings, dpi)));
    drag->setMimeData(new FigureMime(source, settings, name, folder));
    drag->exec(Qt::CopyAction);
}

} // namespace headwise::ui
