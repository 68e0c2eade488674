#pragma once

#include "core/model/head_id.h"
#include "ui/base/job.h"
#include "ui/figures/figure_export.h"

#include <QObject>
#include <QTimer>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <vector>

namespace headwise::ui {

class Page;
class RecordedFigure;
class Workspace;

/// Exports the same picture for many heads, one file each, without changing the window.
///
/// Each head gets a workspace of its own, which shares models and results, and an invisible page. Painting happens here,
/// one head per turn of the event loop, into a recording. A Job renders, compresses and writes it; it has the progress
/// and the cancel button.
class FigureBatch : public QObject {
    Q_OBJECT

public:
    struct Order {
        std::vector<HeadId> heads;
        QString
            /// Title of the existing picture, with the selected head's name in it. Used to find the others.
            title;
        QString folder; ///< Files are named by their titles.
        FigureSettings settings;
        /// Makes a page for the given workspace with the same setup as the page of the original picture.
        std::function<Page*(Workspace*)> makePage;
    };

    explicit FigureBatch(const Workspace* workspace, QObject* parent = nullptr);
    ~FigureBatch() override;

    void start(const Order& order); ///< Cancels a running order.
    Job* job() { return &m_job; }

    /// Tells whether a picture with this title is about the selected head, so that other heads have one too.
    static bool isOfHead(const QString& title, HeadId head);
    /// Turns the title into a file name without an ending.
    static QString fileNameOf(const QString& title);
    /// Estimates the time for one file: laying out a page and compressing its pixels.
    static std::chrono::milliseconds timeOfOne(const FigureSettings& settings);

signals:
    /// \param failures one sentence per missing file
    void finished(int written, const QString& folder, const QStringList& failures);

private:
    /// A finished sheet, or the error.
    struct Sheet {
        QString fileName;
        Result<std::shared_ptr<const RecordedFigure>> figure;
    };
    struct Written {
        int count = 0;
        QStringList failures;
    };

    static Result<Written> write(std::vector<std::shared_future<Sheet>>& sheets,
                                 const FigureSettings& settings, std::atomic<std::size_t>& done,
                                 const Task& task);
    void prepareNext(); ///< Makes workspace and page for the next head.
    void look();        ///< Checks whether its picture is ready.
    void hand(Result<std::shared_ptr<const RecordedFigure>> figure);
    void clear();

    const Workspace* m_workspace;
    Order m_order;
    HeadId m_selected; // at the start of the batch
    std::vector<std::promise<Sheet>> m_sheets;
    std::size_t m_next = 0;
    std::shared_ptr<std::atomic<std::size_t>> m_done; // sheets that are finished
    std::unique_ptr<Workspace> m_snapshot;
    std::unique_ptr<Page> m_page; // Refers to m_snapshot, so it is destroyed first.
    int m_waited = 0;             // turns of m_timer
    QTimer m_timer;
    Job m_job;
};

} // namespace headwise::ui
