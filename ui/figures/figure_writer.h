#pragma once

#include "ui/base/job.h"
#include "ui/figures/figure_export.h"

#include <QObject>

#include <deque>

namespace headwise::ui {

/// Takes figures away without stopping the window: they are recorded here, painted, packed and written by a job.
///
/// One after another, in the order they were asked for. What is cancelled leaves no file.
class FigureWriter : public QObject {
    Q_OBJECT

public:
    enum class Naming { AsGiven, NextFree }; ///< NextFree: nextFreeFileName() when its turn comes.

    explicit FigureWriter(QObject* parent = nullptr);

    void write(const FigureSource& source, const QString& fileName, const FigureSettings& settings,
               Naming naming = Naming::AsGiven);
    enum class Numbers { LeftOut, Beside };
    /// The picture and its SVG onto the clipboard, and if wanted its numbers, as text.
    void copy(const FigureSource& source, const FigureSettings& settings, Numbers numbers = Numbers::LeftOut);
    /// The numbers as text onto the clipboard. `format` is one of text: Csv, Tsv, Latex, Markdown.
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
