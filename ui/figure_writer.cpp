#include "ui/figure_writer.h"

#include "ui/figure_export_formats.h"
#include "ui/figure_recording.h"
#include "ui/text.h"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>

namespace headwise::ui {

namespace {

constexpr int paintedPart = 500; // per mille of the work; the rest is packing and writing

using Recording = std::shared_ptr<RecordedFigure>;

Result<RenderedFigure> paint(RecordedFigure& figure, const FigureSettings& settings, const Task& task)
{
    Task painting = task;
    painting.onProgress = [&task](int done, int all, std::string_view /*step*/) {
        task.report(all > 0 ? done * paintedPart / all : 0, 1000, "painting");
    };
    figure.setTask(&painting);
    Result<RenderedFigure> rendered = renderFigure(figure, settings);
    figure.setTask(nullptr);
    if (task.cancelled())
        return stopped();
    task.report(paintedPart, 1000, "packing");
    return rendered;
}

Result<Done> writeOn(RecordedFigure& recording, const QString& fileName, const FigureSettings& settings,
                     const Task& task)
{
    const Result<RenderedFigure> painted = paint(recording, settings, task);
    if (!painted)
        return painted.error();
    RenderedFigure figure = *painted;
    if (!figure.picture.isNull()) {
        figure.bytes = pngOf(figure.picture, figure.texts);
        if (!figure.bytes.isEmpty())
            figure.picture = QImage(); // packed now
    }
    if (task.cancelled())
        return stopped();
    return writeFigure(figure, fileName);
}

struct Copied {
    QImage picture;
    QByteArray svg;
};

Result<Copied> paintBoth(RecordedFigure& pixels, RecordedFigure& lines, const FigureSettings& settings,
                         const Task& task)
{
    FigureSettings each = settings;
    each.dataBeside = false;
    each.format = FigureFormat::Png;
    const Result<RenderedFigure> picture = paint(pixels, each, task);
    if (!picture)
        return picture.error();
    each.format = FigureFormat::Svg;
    const Result<RenderedFigure> svg = paint(lines, each, task);
    if (!svg)
        return svg.error();
    return Copied{picture->picture, svg->bytes};
}

FigureSettings inFormat(FigureSettings settings, FigureFormat format)
{
    settings.format = format;
    return settings;
}

} // namespace

FigureWriter::FigureWriter(QObject* parent)
    : QObject(parent)
{
    connect(&m_job, &Job::finished, this, &FigureWriter::startNext, Qt::QueuedConnection);
}

void FigureWriter::enqueue(std::function<void()> start)
{
    m_waiting.push_back(std::move(start));
    startNext();
}

void FigureWriter::startNext()
{
    if (m_job.isRunning() || m_waiting.empty())
        return;
    const auto start = std::move(m_waiting.front());
    m_waiting.pop_front();
    start();
}

void FigureWriter::write(const FigureSource& source, const QString& fileName, const FigureSettings& settings,
                         Naming naming)
{
    if (const Result<Done> checked = checkFigure(settings); !checked)
        return emit failed(text(checked.error()));
    enqueue(
        [this, recording = std::make_shared<RecordedFigure>(source, settings), fileName, settings, naming] {
            const QString file = naming == Naming::NextFree ? nextFreeFileName(fileName) : fileName;
            m_job.start(
                tr("Export of %1").arg(QFileInfo(file).fileName()),
                [recording, file, settings](const Task& task) {
                    return writeOn(*recording, file, settings, task);
                },
                [this, file](const Result<Done>& done) {
                    if (done)
                        emit written(file);
                    else
                        emit failed(text(done.error()));
                });
        });
}

void FigureWriter::copy(const FigureSource& source, const FigureSettings& settings)
{
    if (const Result<Done> checked = checkFigure(inFormat(settings, FigureFormat::Png)); !checked)
        return emit failed(text(checked.error()));
    FigureSettings picture = settings;
    picture.dataBeside = false;
    enqueue([this, settings, title = source.figureTitle(),
             pixels = std::make_shared<RecordedFigure>(source, inFormat(picture, FigureFormat::Png)),
             lines = std::make_shared<RecordedFigure>(source, inFormat(picture, FigureFormat::Svg))] {
        m_job.start(
            tr("Copy of %1").arg(title),
            [pixels, lines, settings](const Task& task) {
                return paintBoth(*pixels, *lines, settings, task);
            },
            [this, title](const Result<Copied>& figure) {
                if (!figure)
                    return emit failed(text(figure.error()));
                auto* data = new QMimeData; // The clipboard owns it.
                data->setImageData(figure->picture);
                data->setData(QStringLiteral("image/svg+xml"), figure->svg);
                QGuiApplication::clipboard()->setMimeData(data);
                emit copied(title);
            });
    });
}

void FigureWriter::copyData(const FigureSource& source, FigureFormat format)
{
    const FigureSettings settings{.format = format};
    enqueue([this, format, title = source.figureTitle(),
             recording = std::make_shared<RecordedFigure>(source, settings)] {
        m_job.start(
            tr("Copy of the numbers of %1").arg(title),
            [recording, format](const Task& /*task*/) { return dataText(*recording, format); },
            [this, title](const Result<QString>& rows) {
                if (!rows)
                    return emit failed(text(rows.error()));
                QGuiApplication::clipboard()->setText(*rows);
                emit copied(tr("the numbers of %1").arg(title));
            });
    });
}

} // namespace headwise::ui
