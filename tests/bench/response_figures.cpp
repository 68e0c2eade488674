#include "tests/bench/response_figures.h"

#include "tests/bench/window_figures.h"

#include "app/window/window.h"
#include "tests/support/frame_times.h"
#include "ui/widgets/token_edit.h"

#include <QApplication>
#include <QKeyEvent>
#include <QProcess>
#include <QStandardItemModel>
#include <QTimer>
#include <QWidget>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace headwise::bench {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Ends the process after the first paint event, which draws a whole window.
class FirstPaint : public QObject {
public:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::Paint && !m_seen) {
            m_seen = true;
            QTimer::singleShot(0, [] { std::_Exit(0); });
        }
        return QObject::eventFilter(watched, event);
    }

private:
    bool m_seen = false;
};

bool watchesForPaint = false;

void watchForPaint()
{
    if (watchesForPaint)
        QCoreApplication::instance()->installEventFilter(new FirstPaint); // Lives as long as the process.
}
Q_COREAPP_STARTUP_FUNCTION(watchForPaint)

double start()
{
    const auto begin = Clock::now();
    if (QProcess::execute(QCoreApplication::applicationFilePath(), {QStringLiteral("--start")}) != 0) {
        std::fputs("the window did not start\n", stderr);
        std::exit(4);
    }
    return since(begin);
}

/// 95th percentile of the time for a move of the mouse with its painting.
double hover()
{
    ui::HeatmapView view;
    view.resize(1280, 800);
    view.setMatrix(std::make_shared<const Eigen::MatrixXf>(Eigen::MatrixXf::Random(768, 768)));
    view.show();
    QCoreApplication::processEvents();
    std::vector<double> seconds;
    for (int i = 0; i < 200; ++i) {
        const QPointF at(100 + 5 * i, 100 + 3 * i);
        QMouseEvent mouse(QEvent::MouseMove, at, view.mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
        const double before = test::threadSeconds();
        QCoreApplication::sendEvent(&view, &mouse);
        view.repaint();
        seconds.push_back(test::threadSeconds() - before);
    }
    return test::p95(std::move(seconds));
}

/// Longest time from a key of a word until its tokens are shown.
double search()
{
    const auto tokenizer = Tokenizer::open(HEADWISE_TEST_DATA "/tokenizers/gpt2/tokenizer.json");
    if (!tokenizer) {
        std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
        std::exit(4);
    }
    ui::TokenEdit edit;
    edit.setTokenizer(std::make_shared<const Tokenizer>(*tokenizer));
    edit.show();
    const auto* found = edit.findChild<QStandardItemModel*>();
    double slowest = 0;
    for (const QChar letter : QStringLiteral("king")) {
        bool isThere = false;
        QObject guard;
        QObject::connect(found, &QAbstractItemModel::rowsInserted, &guard, [&isThere] { isThere = true; });
        const auto begin = Clock::now();
        QKeyEvent key(QEvent::KeyPress, letter.toUpper().unicode(), {}, QString(letter));
        QCoreApplication::sendEvent(&edit, &key);
        while (!isThere)
            QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
        slowest = std::max(slowest, since(begin));
    }
    return slowest;
}

} // namespace

std::vector<Figure> responseFigures(const Limits& limits)
{
    const std::string formula = "1280 · 800 · 4 bytes / bandwidth (the window's pixels once)";
    const double floor = 1280.0 * 800 * 4 / limits.bandwidth;
    return {
        {"window: start of the program to the first paint", formula, floor, 12000, 0.7, {}, start},
        {"window: the mouse on a 768² matrix, p95", formula, floor, 300, 0.016, {}, hover},
        {"window: tokens found for a key",
         "V · 8 bytes / bandwidth (the vocabulary's text once)",
         50257.0 * 8 / limits.bandwidth,
         20000,
         0.1,
         {},
         search},
    };
}

int startWindow()
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    watchesForPaint = true;
    int argc = 1;
    char name[] = "headwise";
    char* argv[] = {name, nullptr};
    app::WindowRequest request;
    request.fresh = true;
    return app::runWindow(argc, argv, request);
}

} // namespace headwise::bench
