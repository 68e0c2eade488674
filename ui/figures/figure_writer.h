#pragma once

#include "ui/base/job.h"
#include "ui/figures/figure_export.h"

#include <QObject>

#include <deque>
#include <memory>

namespace headwise::ui {

class RecordedFigure;

/// Exports figures without blocking the window: they are recorded on its thread, then painted, compressed and written by
/// a job.
///
/// Exports run one after another, in order. A cancelled one leaves no file.
class FigureWriter : public QObject {
    Q_OBJECT

public:
    enum class Naming { AsGiven, NextFree }; ///< NextFree: nextFreeFileName() when its turn comes.

    explicit FigureWriter(QObject* parent = nullptr);

    /// \param then  called with the file's name once it is written
    void write(const FigureSource& source, const QString& fileName, const FigureSettings& settings,
               Naming naming = Naming::AsGiven, const std::function<void(const QString&)>& then = {});
    /// Figures as they were, each with the name of its frame.
    using Frames = std::vector<std::pair<std::shared_ptr<RecordedFigure>, QString>>;
    /// Writes figures that were recorded with these settings as one animated SVG. \param then  as in write()
    void writeAnimation(const Frames& frames, const QString& fileName, const FigureSettings& settings,
                        const std::function<void(const QString&)>& then);
    enum class Numbers { LeftOut, Beside };
    /// Returns a command that copies the picture and its SVG to the clipboard, and optionally its numbers as text: as they
    /// are now, whenever it is called. It must not outlive the writer.
    std::function<void()> copyOf(const FigureSource& source, const FigureSettings& settings,
                                 Numbers numbers = Numbers::LeftOut);
    /// Copies at once.
    void copy(const FigureSource& source, const FigureSettings& settings, Numbers numbers = Numbers::LeftOut);
    /// Copies the numbers as text to the clipboard. `format` is a text format: Csv, Tsv, Latex, Markdown.
    void copyData(const FigureSource& source, FigureFormat format);

    Job* job() { return &m_job; } ///< For its progress and its cancel button.

signals:
    void written(const QString& file);
    void copied(const QString& title);
    void failed(const QString& message);

private:
    void enqueue(std::function<void()> start);
    void startNext();

    std::deque<std::function<void()>> m_waiting;
    Job m_job;
};

} // namespace headwise::ui
