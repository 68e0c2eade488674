#pragma once

#include "core/base/task.h"
#include "ui/figures/figure_export.h"

#include <QPaintDevice>

#include <memory>
#include <optional>

class QPaintEngine;

namespace headwise::ui {

/// Writes the header and then each row of a figure's numbers.
using DataRows = std::function<void(const std::function<void(const QStringList&)>& writeRow)>;

/// A figure with possibly too many numbers to write on the window's thread.
class DetachableRows : public FigureSource {
public:
    virtual DataRows detachedRows() const = 0; ///< Returns a writer of the current numbers, for any thread.
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override
    {
        detachedRows()(writeRow);
    }
};

/// A figure whose numbers can only be read on the window's thread, a few at a time.
class RowsInTurns {
public:
    virtual ~RowsInTurns() = default;
    virtual int dataRowCount() const = 0;
    virtual QStringList dataRow(int row) const = 0; ///< −1: the header.
    /// Increases whenever rows that were read may have changed.
    virtual int dataRevision() const = 0;
};

/// Recorded painting that can be replayed elsewhere. Lengths are in points, with the font metrics of the paper's device.
///
/// Unlike QPicture it keeps images as they are, without compressing each to a PNG.
class PaintRecording : public QPaintDevice {
public:
    /// \param pixelsPerPoint  for a pixel picture; none for a format that keeps lines and text
    PaintRecording(const QSizeF& points, std::optional<double> pixelsPerPoint);
    ~PaintRecording() override;

    std::optional<double> pixelsPerPoint() const { return m_pixelsPerPoint; }
    /// Paints everything, on any thread, but on one at a time; stops when `task` is cancelled. The painter keeps its last
    /// state.
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

/// A snapshot of a figure, independent of its view and of the window's thread.
class RecordedFigure : public FigureSource {
public:
    /// Must run on the window's thread; takes a few milliseconds at any size and resolution.
    /// \param rows Later: rows of RowsInTurns follow with setRows().
    enum class Rows { Now, Later };
    RecordedFigure(const FigureSource& source, const FigureSettings& settings, Rows rows = Rows::Now);

    bool lacksRows() const { return m_lacksRows; }
    void setRows(std::vector<QStringList> rows); ///< The header first.

    /// Reports the progress of painting to `task`, which can cancel it. The task must outlive this figure.
    void setTask(const Task* task) { m_task = task; }

    /// `size` and `style` must be those of the settings it was recorded with.
    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;
    std::optional<FigureArray> figureArray() const override { return m_array; }

private:
    std::unique_ptr<PaintRecording> m_picture; // Null if only the numbers are needed.
    DataRows m_rows;                           // Null if only the picture is needed.
    std::optional<FigureArray> m_array;
    bool m_lacksRows = false;
    const Task* m_task = nullptr;
};

} // namespace headwise::ui
