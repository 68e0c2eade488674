#include "tests/bench/window_figures.h"

#include "tests/bench/frame_figures.h"
#include "tests/bench/response_figures.h"
#include "tests/support/frame_times.h"

#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "ui/base/job.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/page.h"

#include <QApplication>
#include <QStandardPaths>
#include <QTimer>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace headwise::bench {

namespace {

using ui::HeatmapView;

/// Starts Qt once, without a screen.
void startQt()
{
    static int argc = 1;
    static char name[] = "headwise_bench";
    static char* argv[] = {name, nullptr};
    if (QCoreApplication::instance())
        return;
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QStandardPaths::setTestModeEnabled(true);
    QCoreApplication::setOrganizationName(QStringLiteral("headwise-bench"));
    new QApplication(argc, argv); // Lives as long as the process.
    ui::applyTheme(*qApp, ui::ThemeMode::Light);
}

/// Waits with sleeps between events, because polling would take a core from the jobs.
template <typename Condition>
void waitFor(Condition holds)
{
    QTimer wake; // jobs that end without an event to this thread
    wake.start(std::chrono::milliseconds(5));
    while (!holds())
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

class Window {
public:
    app::MainWindow window;

    Window()
    {
        window.resize(1280, 800);
        // A fresh model opens on its findings; the matrix is measured.
        QObject::connect(window.workspace()->model(), &ui::OpenModel::opened, &window,
                         [this] { window.showPage(QStringLiteral("matrix")); });
        window.show();
    }
    ~Window()
    {
        window.close();
        ui::waitForJobs(std::chrono::minutes(1));
    }

    ui::Workspace& workspace() { return *window.workspace(); }
    QWidget* page() { return window.findChild<app::PageTabs*>()->currentWidget(); }
    HeatmapView* heatmap() { return page()->findChild<HeatmapView*>(); }

    void openToFirstHeatmap(const std::filesystem::path& folder)
    {
        window.openPath(QString::fromStdString(folder.string()));
        waitFor([&] { return workspace().model()->isOpen() && heatmap() && heatmap()->matrix(); });
        (void)heatmap()->grab();
    }

    void waitForAnalyses()
    {
        waitFor([&] {
            return workspace().model()->results()->find("composition/k")
                && !workspace().runs()->job()->isRunning()
                && !workspace().model()->tokenReader()->job()->isRunning();
        });
    }

    /// Selects another head and waits until its matrix is painted.
    void switchOnMatrix()
    {
        const HeatmapView::Matrix before = heatmap()->matrix();
        nextHead();
        waitFor([&] { return heatmap()->matrix() != before; });
        (void)window.grab();
    }

    /// Selects another head and waits until its tables, spectrum and eigenvalues are painted.
    void switchOnOverview()
    {
        const auto models = page()->findChildren<ui::TokenTableModel*>();
        qsizetype renewed = 0;
        QObject guard;
        for (const ui::TokenTableModel* model : models)
            QObject::connect(model, &QAbstractItemModel::modelReset, &guard, [&renewed] { ++renewed; });
        nextHead();
        waitFor([&] { return renewed >= models.size(); });
        (void)window.grab();
    }

    /// 95th percentile of switches on the overview, to heads seen or not seen with this token.
    double switchP95(bool seen)
    {
        constexpr int heads = 12; // until nextHead() returns to the first
        window.showPage(QStringLiteral("overview"));
        workspace().selection()->setToken(workspace().selection()->token() + 1);
        for (int i = 0; i < (seen ? heads : 1); ++i)
            switchOnOverview();
        std::vector<double> seconds;
        for (int i = 0; i < heads - 1; ++i) {
            const auto start = std::chrono::steady_clock::now();
            switchOnOverview();
            seconds.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
        return test::p95(std::move(seconds));
    }

private:
    void nextHead()
    {
        const HeadId head = workspace().selection()->head();
        workspace().selection()->setHead({(head.layer + 5) % 12, (head.head + 1) % 12});
    }
};

Window& openWindow(const std::filesystem::path& folder)
{
    static Window* window = [&] {
        auto* made = new Window;
        made->openToFirstHeatmap(folder);
        made->waitForAnalyses();
        return made;
    }();
    return *window;
}

} // namespace

bool windowIsBuilt()
{
    return true;
}

std::vector<Figure> windowFigures(const Subject& subject, const Limits& limits)
{
    startQt();
    const auto folder = subject.folder;
    const ModelConfig& config = subject.weights->config();
    const double V = config.dVocabOut, d = config.dModel, r = config.dHead;
    std::vector<Figure> figures{
        {"window: open to the first heatmap",
         "V d 4 bytes / bandwidth (one pass over W_U)",
         V * d * 4 / limits.bandwidth,
         50,
         1,
         {},
         [=] {
             const auto start = std::chrono::steady_clock::now();
             Window window; // whose closing, with all that it had begun to compute, is not counted
             window.openToFirstHeatmap(folder);
             return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
         }},
        {"window: head switch on the matrix", "2 d² r flop / dgemm", 2 * d * d * r / limits.dgemm, 80,
         subject.promised(0.1, 0.2),
         [=] {
             Window& window = openWindow(folder);
             window.window.showPage(QStringLiteral("matrix"));
             window.switchOnMatrix();
         }},
        {"window: head switch on the overview", "2 · 2 V d 4 bytes / bandwidth (a row of QK and of OV)",
         4 * V * d * 4 / limits.bandwidth, 10, subject.promised(0.1, 0.2),
         [=] {
             Window& window = openWindow(folder);
             window.window.showPage(QStringLiteral("overview"));
             window.switchOnOverview();
         }},
    };
    for (const bool seen : {false, true})
        figures.push_back(
            {seen ? "window: switch to a head seen before, p95" : "window: switch to a new head, p95",
             "2 · 2 V d 4 bytes / bandwidth (a row of QK and of OV)",
             4 * V * d * 4 / limits.bandwidth,
             12,
             subject.promised(seen ? 0.05 : 0.15, 0.2),
             {},
             [=] { return openWindow(folder).switchP95(seen); }});
    std::ranges::move(frameFigures(limits), std::back_inserter(figures));
    std::ranges::move(responseFigures(limits), std::back_inserter(figures));
    return figures;
}

void endWindowJobs()
{
    ui::waitForJobs(std::chrono::minutes(1));
}

int useWindow(const std::filesystem::path& folder)
{
    startQt();
    Window window;
    window.openToFirstHeatmap(folder);
    window.waitForAnalyses();
    auto* tabs = window.window.findChild<app::PageTabs*>();
    for (int i = 0; i < tabs->count(); ++i) {
        tabs->setCurrentIndex(i);
        for (int head = 0; head < 3; ++head) {
            window.workspace().selection()->setHead({head * 4, head});
            QCoreApplication::processEvents(QEventLoop::AllEvents, 200);
            (void)window.window.grab();
        }
    }
    return 0;
}

} // namespace headwise::bench
