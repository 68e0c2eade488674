#include "ui/figures/figure_writer.h"

#include "ui/base/text.h"
#include "ui/figures/animated_svg.h"
#include "ui/figures/figure_export_formats.h"
#include "ui/figures/figure_recording.h"

#include <QClipboard>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>
#include <QPointer>
#include <QTimer>

#include <atomic>
#include <chrono>
#include <future>

namespace headwise::ui {

namespace {

constexpr int figureWriterTurn = 8; // ms of the window's thread per turn of reading rows
constexpr auto look = std::chrono::milliseconds(20);
constexpr int paintedPart = 500; // per mille of the work; the rest is compressing and writing

using Recording = std::shared_ptr<RecordedFigure>;

/// Rows handed from the window's thread to a job.
struct ComingRows {
    std::promise<Result<std::vector<QStringList>>> promise;
    std::shared_future<Result<std::vector<QStringList>>> future = promise.get_future().share();
    std::atomic<int> permille = 0;
    std::atomic<bool> unwanted = false; // The job was cancelled.
};

/// Reads the rows of a table, one part per turn of the event loop, and then deletes itself.
class RowReader : public QObject {
public:
    RowReader(const FigureSource& source, std::shared_ptr<ComingRows> coming, QObject* parent)
        : QObject(parent)
        , m_view(const_cast<QObject*>(dynamic_cast<const QObject*>(&source)))
        , m_source(dynamic_cast<const RowsInTurns*>(&source))
        , m_revision(m_source->dataRevision())
        , m_coming(std::move(coming))
    {
        connect(&m_timer, &QTimer::timeout, this, &RowReader::readOn);
        m_timer.start(0);
    }

private:
    void readOn()
    {
        if (m_coming->unwanted) {
            m_timer.stop();
            return deleteLater();
        }
        if (!m_view || m_source->dataRevision() != m_revision)
            return end(
                Error{ErrorCode::InvalidArgument, "The table changed during the export; export it again."});
        QElapsedTimer clock;
        clock.start();
        const int all = m_source->dataRowCount();
        while (static_cast<int>(m_rows.size()) <= all && !clock.hasExpired(figureWriterTurn))
            m_rows.push_back(m_source->dataRow(static_cast<int>(m_rows.size()) - 1));
        m_coming->permille = static_cast<int>(1000 * m_rows.size() / static_cast<std::size_t>(all + 1));
        if (static_cast<int>(m_rows.size()) > all)
            end(std::move(m_rows));
    }

    void end(Result<std::vector<QStringList>> rows)
    {
        m_timer.stop();
        m_coming->promise.set_value(std::move(rows));
        deleteLater();
    }

    QPointer<QObject> m_view;
    const RowsInTurns* m_source; // valid as long as m_view exists
    int m_revision;
    std::shared_ptr<ComingRows> m_coming;
    std::vector<QStringList> m_rows;
    QTimer m_timer;
};

/// Returns null if the recording already has all rows.
std::shared_ptr<ComingRows> readRows(const FigureSource& source, const RecordedFigure& recording,
                                     QObject* parent)
{
    if (!recording.lacksRows())
        return nullptr;
    auto coming = std::make_shared<ComingRows>();
    new RowReader(source, coming, parent);
    return coming;
}

Result<Done> waitFor(const std::shared_ptr<ComingRows>& coming, RecordedFigure& recording, const Task& task)
{
    if (!coming)
        return Done{};
    while (coming->future.wait_for(look) != std::future_status::ready) {
        if (task.cancelled()) {
            coming->unwanted = true;
            return stopped();
        }
        task.report(coming->permille * paintedPart / 1000, 1000, "reading");
    }
    const Result<std::vector<QStringList>>& rows = coming->future.get();
    if (!rows)
        return rows.error();
    recording.setRows(*rows);
    return Done{};
}

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
            figure.picture = QImage(); // compressed by now
    }
    if (task.cancelled())
        return stopped();
    return writeFigure(figure, fileName);
}

Result<Done> writeFrames(const FigureWriter::Frames& frames, const QString& fileName,
                         const FigureSettings& settings, const Task& task)
{
    std::vector<SvgFrame> svgs;
    for (const auto& [figure, name] : frames) {
        if (task.cancelled())
            return stopped();
        task.report(static_cast<int>(svgs.size()), static_cast<int>(frames.size()), "frames");
        const Result<RenderedFigure> painted = renderFigure(*figure, settings);
        if (!painted)
            return painted.error();
        svgs.push_back({painted->bytes, name});
    }
    const Result<QByteArray> joined = animatedSvg(svgs);
    if (!joined)
        return joined.error();
    RenderedFigure animation;
    animation.bytes = *joined;
    return writeFigure(animation, fileName);
}

struct Copied {
    QImage picture;
    QByteArray svg;
    QString numbers = {};
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
                         Naming naming, const std::function<void(const QString&)>& then)
{
    if (const Result<Done> checked = checkFigure(settings); !checked)
        return emit failed(text(checked.error()));
    const auto recording = std::make_shared<RecordedFigure>(source, settings, RecordedFigure::Rows::Later);
    enqueue([this, recording, rows = readRows(source, *recording, this), fileName, settings, naming, then] {
        const QString file = naming == Naming::NextFree ? nextFreeFileName(fileName) : fileName;
        m_job.start(
            tr("Export of %1").arg(QFileInfo(file).fileName()),
            [recording, rows, file, settings](const Task& task) -> Result<Done> {
                if (const Result<Done> read = waitFor(rows, *recording, task); !read)
                    return read;
                return writeOn(*recording, file, settings, task);
            },
            [this, file, then](const Result<Done>& done) {
                if (!done)
                    return emit failed(text(done.error()));
                if (then)
                    then(file);
                emit written(file);
            });
    });
}

void FigureWriter::writeAnimation(const Frames& frames, const QString& fileName,
                                  const FigureSettings& settings,
                                  const std::function<void(const QString&)>& then)
{
    enqueue([this, frames, fileName, settings, then] {
        m_job.start(
            tr("Export of %1").arg(QFileInfo(fileName).fileName()),
            [frames, fileName, settings](const Task& task) {
                return writeFrames(frames, fileName, settings, task);
            },
            [this, fileName, then](const Result<Done>& done) {
                if (!done)
                    return emit failed(text(done.error()));
                then(fileName);
                emit written(fileName);
            });
    });
}

void FigureWriter::copy(const FigureSource& source, const FigureSettings& settings, Numbers numbers)
{
    copyOf(source, settings, numbers)();
}

std::function<void()> FigureWriter::copyOf(const FigureSource& source, const FigureSettings& settings,
                                           Numbers numbers)
{
    if (const Result<Done> checked = checkFigure(inFormat(settings, FigureFormat::Png)); !checked)
        return [this, message = text(checked.error())] { emit failed(message); };
    FigureSettings picture = settings;
    picture.dataBeside = false;
    std::shared_ptr<RecordedFigure> data;
    if (numbers == Numbers::Beside)
        data = std::make_shared<RecordedFigure>(source, inFormat(picture, FigureFormat::Tsv),
                                                RecordedFigure::Rows::Later);
    auto start = [this, settings, title = source.figureTitle(),
                  pixels = std::make_shared<RecordedFigure>(source, inFormat(picture, FigureFormat::Png)),
                  lines = std::make_shared<RecordedFigure>(source, inFormat(picture, FigureFormat::Svg)),
                  data, rows = data ? readRows(source, *data, this) : nullptr] {
        m_job.start(
            tr("Copy of %1").arg(title),
            [pixels, lines, settings, data, rows](const Task& task) -> Result<Copied> {
                Result<Copied> both = paintBoth(*pixels, *lines, settings, task);
                if (!both || !data)
                    return both;
                if (const Result<Done> read = waitFor(rows, *data, task); !read)
                    return read.error();
                const Result<QString> words = dataText(*data, FigureFormat::Tsv);
                if (!words)
                    return words.error();
                return Copied{both->picture, both->svg, *words};
            },
            [this, title](const Result<Copied>& figure) {
                if (!figure)
                    return emit failed(text(figure.error()));
                auto* taken = new QMimeData; // The clipboard owns it.
                taken->setImageData(figure->picture);
                taken->setData(QStringLiteral("image/svg+xml"), figure->svg);
                if (!figure->numbers.isEmpty())
                    taken->setText(figure->numbers);
                QGuiApplication::clipboard()->setMimeData(taken);
                emit copied(title);
            });
    };
    return [this, start] { enqueue(start); };
}

void FigureWriter::copyData(const FigureSource& source, FigureFormat format)
{
    const FigureSettings settings{.format = format};
    const auto recording = std::make_shared<RecordedFigure>(source, settings, RecordedFigure::Rows::Later);
    enqueue(
        [this, format, title = source.figureTitle(), recording, rows = readRows(source, *recording, this)] {
            m_job.start(
                tr("Copy of the numbers of %1").arg(title),
                [recording, rows, format](const Task& task) -> Result<QString> {
                    if (const Result<Done> read = waitFor(rows, *recording, task); !read)
                        return read.error();
                    return dataText(*recording, format);
                },
                [this, title](const Result<QString>& words) {
                    if (!words)
                        return emit failed(text(words.error()));
                    QGuiApplication::clipboard()->setText(*words);
                    emit copied(tr("the numbers of %1").arg(title));
                });
        });
}

} // namespace headwise::ui
