#include "ui/figures/figure_recording.h"

#include "ui/figures/figure_export_formats.h"

#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>

#include <cmath>
#include <limits>
#include <vector>

namespace headwise::ui {

namespace {

using Command = std::function<void(QPainter&, const QTransform& base)>;

/// Returns an equal font that shares no data with the window's, because fonts load glyphs lazily and are not thread-safe.
QFont unshared(QFont font)
{
    const bool kerning = font.kerning();
    font.setKerning(!kerning); // detaches
    font.setKerning(kerning);
    return font;
}

} // namespace

/// Records the calls that SVG's paint engine gets: shapes, images and runs of text, and the state before each.
class PaintRecording::Engine : public QPaintEngine {
public:
    Engine()
        : QPaintEngine(AllFeatures)
    {
    }

    bool begin(QPaintDevice* /*device*/) override { return true; }
    bool end() override { return true; }
    Type type() const override { return User; }

    void updateState(const QPaintEngineState& now) override
    {
        const DirtyFlags dirty = now.state();
        if (dirty & DirtyTransform)
            add([transform = now.transform()](QPainter& painter, const QTransform& base) {
                painter.setTransform(transform * base);
            });
        if (dirty & DirtyPen)
            add([pen = now.pen()](QPainter& painter, const QTransform&) { painter.setPen(pen); });
        if (dirty & DirtyBrush)
            add([brush = now.brush()](QPainter& painter, const QTransform&) { painter.setBrush(brush); });
        if (dirty & DirtyBrushOrigin)
            add([origin = now.brushOrigin()](QPainter& painter, const QTransform&) {
                painter.setBrushOrigin(origin);
            });
        if (dirty & DirtyFont)
            add([font = unshared(now.font())](QPainter& painter, const QTransform&) {
                painter.setFont(font);
            });
        if (dirty & DirtyOpacity)
            add([opacity = now.opacity()](QPainter& painter, const QTransform&) {
                painter.setOpacity(opacity);
            });
        if (dirty & DirtyHints)
            add([hints = now.renderHints()](QPainter& painter, const QTransform&) {
                painter.setRenderHints(painter.renderHints() & ~hints, false);
                painter.setRenderHints(hints);
            });
        if (dirty & DirtyCompositionMode)
            add([mode = now.compositionMode()](QPainter& painter, const QTransform&) {
                painter.setCompositionMode(mode);
            });
        updateClip(now);
    }

    void drawPath(const QPainterPath& path) override
    {
        add([path](QPainter& painter, const QTransform&) { painter.drawPath(path); });
    }

    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override
    {
        add([polygon = QPolygonF(QList<QPointF>(points, points + count)), mode](QPainter& painter,
                                                                                const QTransform&) {
            switch (mode) {
            case PolylineMode: return painter.drawPolyline(polygon);
            case ConvexMode: return painter.drawConvexPolygon(polygon);
            case WindingMode: return painter.drawPolygon(polygon, Qt::WindingFill);
            case OddEvenMode: return painter.drawPolygon(polygon, Qt::OddEvenFill);
            }
        });
    }

    void drawRects(const QRectF* rects, int count) override
    {
        add([all = QList<QRectF>(rects, rects + count)](QPainter& painter, const QTransform&) {
            painter.drawRects(all);
        });
    }

    void drawLines(const QLineF* lines, int count) override
    {
        add([all = QList<QLineF>(lines, lines + count)](QPainter& painter, const QTransform&) {
            painter.drawLines(all);
        });
    }

    void drawEllipse(const QRectF& rect) override
    {
        add([rect](QPainter& painter, const QTransform&) { painter.drawEllipse(rect); });
    }

    void drawImage(const QRectF& target, const QImage& image, const QRectF& source,
                   Qt::ImageConversionFlags flags) override
    {
        add([target, image, source, flags](QPainter& painter, const QTransform&) {
            painter.drawImage(target, image, source, flags);
        });
    }

    void drawPixmap(const QRectF& target, const QPixmap& pixmap, const QRectF& source) override
    {
        // Pixmaps may only be used on the window's thread.
        drawImage(target, pixmap.toImage(), source, Qt::AutoColor);
    }

    void drawTextItem(const QPointF& position, const QTextItem& item) override
    {
        if (item.text().isEmpty())
            // Glyphs without characters are drawn as a path.
            return QPaintEngine::drawTextItem(position, item);
        add([position, text = item.text()](QPainter& painter, const QTransform&) {
            painter.drawText(position, text);
        });
    }

    const std::vector<Command>& commands() const { return m_commands; }

private:
    // The base class converts its integer overloads to these.
    using QPaintEngine::drawEllipse;
    using QPaintEngine::drawLines;
    using QPaintEngine::drawPolygon;
    using QPaintEngine::drawRects;

    void add(Command command) { m_commands.push_back(std::move(command)); }

    void updateClip(const QPaintEngineState& now)
    {
        const DirtyFlags dirty = now.state();
        if (dirty & DirtyClipRegion)
            add([region = now.clipRegion(), operation = now.clipOperation()](QPainter& painter,
                                                                             const QTransform&) {
                QPainterPath path;
                path.addRegion(region);
                painter.setClipPath(path, operation);
            });
        if (dirty & DirtyClipPath)
            add([path = now.clipPath(), operation = now.clipOperation()](
                    QPainter& painter, const QTransform&) { painter.setClipPath(path, operation); });
        if (dirty & DirtyClipEnabled)
            add([enabled = now.isClipEnabled()](QPainter& painter, const QTransform&) {
                painter.setClipping(enabled);
            });
    }

    std::vector<Command> m_commands;
};

PaintRecording::PaintRecording(const QSizeF& points, std::optional<double> pixelsPerPoint)
    : m_points(points)
    , m_pixelsPerPoint(pixelsPerPoint)
    , m_engine(std::make_unique<Engine>())
{
}

PaintRecording::~PaintRecording() = default;

QPaintEngine* PaintRecording::paintEngine() const
{
    return m_engine.get();
}

int PaintRecording::metric(PaintDeviceMetric metric) const
{
    switch (metric) {
    case PdmWidth: return static_cast<int>(std::ceil(m_points.width()));
    case PdmHeight: return static_cast<int>(std::ceil(m_points.height()));
    case PdmDpiX:
    case PdmDpiY:
    case PdmPhysicalDpiX:
    case PdmPhysicalDpiY: return static_cast<int>(pointsPerInch);
    case PdmWidthMM: return static_cast<int>(m_points.width() / pointsPerInch * millimetresPerInch);
    case PdmHeightMM: return static_cast<int>(m_points.height() / pointsPerInch * millimetresPerInch);
    case PdmDevicePixelRatio: return 1;
    case PdmDepth: return 32;
    case PdmNumColors: return std::numeric_limits<int>::max();
    default: return QPaintDevice::metric(metric);
    }
}

void PaintRecording::replay(QPainter& painter, const Task& task) const
{
    const std::vector<Command>& commands = m_engine->commands();
    const int all = static_cast<int>(commands.size());
    const QTransform base = painter.transform();
    for (int i = 0; i < all && !task.cancelled(); ++i) {
        commands[static_cast<std::size_t>(i)](painter, base);
        if (i % 64 == 0)
            task.report(i, all, {});
    }
}

RecordedFigure::RecordedFigure(const FigureSource& source, const FigureSettings& settings, Rows when)
{
    setFigureTitle(source.figureTitle());
    setProvenance(source.provenance());
    setColorWords(source.colorWords());
    if (settings.format == FigureFormat::Npy)
        m_array = source.figureArray();
    if (!isData(settings.format)) {
        const bool isPixels = settings.format == FigureFormat::Png;
        m_picture = std::make_unique<PaintRecording>(
            paintedSize(settings), isPixels ? std::optional(settings.dpi / pointsPerInch) : std::nullopt);
        QPainter painter(m_picture.get());
        painter.setRenderHint(QPainter::Antialiasing);
        source.paintFigure(painter, paintedSize(settings), settings.style);
    }
    if (m_array || (m_picture && !settings.dataBeside))
        return;
    if (const auto* many = dynamic_cast<const DetachableRows*>(&source)) {
        m_rows = many->detachedRows();
        return;
    }
    m_lacksRows = when == Rows::Later && dynamic_cast<const RowsInTurns*>(&source);
    if (m_lacksRows)
        return;
    std::vector<QStringList> rows;
    source.forEachDataRow([&rows](const QStringList& row) { rows.push_back(row); });
    setRows(std::move(rows));
}

void RecordedFigure::setRows(std::vector<QStringList> rows)
{
    m_lacksRows = false;
    m_rows = [rows = std::move(rows)](const std::function<void(const QStringList&)>& writeRow) {
        for (const QStringList& row : rows)
            writeRow(row);
    };
}

void RecordedFigure::paintFigure(QPainter& painter, const QSizeF& /*size*/,
                                 const FigureStyle& /*style*/) const
{
    if (m_picture)
        m_picture->replay(painter, m_task ? *m_task : Task{});
}

void RecordedFigure::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    if (m_rows)
        m_rows(writeRow);
}

} // namespace headwise::ui
