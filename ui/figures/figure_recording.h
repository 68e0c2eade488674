#pragma once

#include "core/base/task.h"
#include "ui/figures/figure_export.h"

#include <QPaintDevice>

#include <memory>
#include <optional>

class QPaintEngine;

namespace headwise::ui {

/// Writes the header, then each row of the numbers of a figure.
using DataRows = std::function<void(const std::function<void(const QStringList&)>& writeRow)>;

/// A figure whose numbers may be too many to be written out where the window waits.
class DetachableRows {
public:
    virtual ~DetachableRows() = default;
    virtual DataRows detachedRows() const = 0; ///< Writer of the numbers as they are now, for any thread.
};

/// A figure whose numbers can be read on the window's thread only: a few at a time, where they are many.
class RowsInTurns {
public:
    virtual ~RowsInTurns() = default;
    virtual int dataRowCount() const = 0;
    virtual QStringList dataRow(int row) const = 0; ///< −1: the header.
    /// Counts up whenever rows read before may be others now.
    virtual int dataRevision() const = 0;
};

/// Recorded painting that can be replayed elsewhere: a device measured in points, with the metrics of the paper's device.
///
/// Unlike QPicture it keeps images as they are, without packing each into a PNG.
class PaintRecording : public QPaintDevice {
public:
    /// \param pixelsPerPoint  of a picture of pixels; none: of one that keeps lines and text
    PaintRecording(const QSizeF& points, std::optional<double> pixelsPerPoint);
    ~PaintRecording() override;

    std::optional<double> pixelsPerPoint() const { return m_pixelsPerPoint; }
    /// Paints all of it, on any thread, on one at a time; stops in the middle when `task` is cancelled. Leaves the painter as
    /// the last of it was painted.
    void replay(QPainter& painter, const Task& task) const;

    QPaintEngine* paintEngine() const override;

protected:
    int metric(PaintDeviceMetric metric) const override;

private:
    class Engine;
    QSizeF m_points;
    std::optional<double> m_pixelsPerPoint;
    std::unique_ptr<Engine> m_engine;
};

/// A figure as it was when it was recorded. Independent of its view and of the window's thread.
class RecordedFigure : public FigureSource {
public:
    /// On the window's thread; takes a few milliseconds, whatever the size and the resolution.
    /// \param rows Later: those of RowsInTurns come with setRows().
    enum class Rows { Now, Later };
    RecordedFigure(const FigureSource& source, const FigureSettings& settings, Rows rows = Rows::Now);

    bool lacksRows() const { return m_lacksRows; }
    void setRows(std::vector<QStringList> rows); ///< The header first.

    /// Reports the progress of painting to `task`, which can cancel it. The task must outlive this figure.
    void setTask(const Task* task) { m_task = task; }

    /// `size` and `style` are those of the settings it was recorded with.
    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;
    std::optional<FigureArray> figureArray() const override { return m_array; }

private:
    std::unique_ptr<PaintRecording> m_picture; // Null where the numbers are all.
    DataRows m_rows;                           // Null where the picture is all.
    std::optional<FigureArray> m_array;
    bool m_lacksRows = false;
    const Task* m_task = nullptr;
};

} // namespace headwise::ui
