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

/// The same picture of many heads, one file each, while the window stays as it is.
///
/// Each head gets a workspace of its own, sharing what was read and computed, and a page nobody sees. It paints here, a head
/// per turn of the event loop, into a recording; a Job sets, packs and writes it, has the progress and the cancel button.
class FigureBatch : public QObject {
    Q_OBJECT

public:
    struct Order {
        std::vector<HeadId> heads;
        QString
            title; ///< Title of the existing picture, with the selected head's name in it; used to find the others.
        QString folder; ///< Files are named after their titles.
        FigureSettings settings;
        /// A page like the one that has the picture, set up like it, about the workspace it is given.
        std::function<Page*(Workspace*)> makePage;
    };

    explicit FigureBatch(const Workspace* workspace, QObject* parent = nullptr);
    ~FigureBatch() override;

    void start(const Order& order); ///< In place of one that still runs.
    Job* job() { return &m_job; }

    /// Whether a picture with this title is about the selected head, so that the other heads have one too.
    static bool isOfHead(const QString& title, HeadId head);
    /// The title as a name of a file, without ending.
    static QString fileNameOf(const QString& title);
    /// Roughly: a page that is laid out, and so many pixels to compress.
    static std::chrono::milliseconds timeOfOne(const FigureSettings& settings);

signals:
    /// \param failures one sentence per file that is not there
    void finished(int written, const QString& folder, const QStringList& failures);

private:
    /// A sheet on its way to the disk, or why there is none.
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
    void prepareNext(); ///< Workspace and page of the next head.
    void look();        ///< Whether its picture is there.
    void hand(Result<std::shared_ptr<const RecordedFigure>> figure);
    void clear();

    const Workspace* m_workspace;
    Order m_order;
    HeadId m_selected; // when the batch began
    std::vector<std::promise<Sheet>> m_sheets;
    std::size_t m_next = 0;
    std::shared_ptr<std::atomic<std::size_t>> m_done; // sheets that are off the table
    std::unique_ptr<Workspace> m_snapshot;
    std::unique_ptr<Page> m_page; // About m_snapshot, so it goes first.
    int m_waited = 0;             // turns of m_timer
    QTimer m_timer;
    Job m_job;
};

} // namespace headwise::ui
