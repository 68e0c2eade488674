#include "tests/reliability/check.h"

#include "core/base/memory.h"
#include "tests/support/window_driver.h"
#include "ui/document/workspace.h"

#include <QPixmapCache>
#include <QThread>

#include <fstream>
#include <functional>
#include <malloc.h>
#include <unistd.h>

namespace headwise::reliability {

namespace {

constexpr double mostGrowth = 1e6; // bytes of the heap
/// Bytes in memory after a model was closed, on top of an empty window: pages of libraries that were not touched before, OpenBLAS'
/// buffers. What a model leaves behind shows in the heap's growth.
constexpr double mostHeld = 60e6;

/// Returns the bytes in use on the heap, without those that the allocator caches.
double heldBytes()
{
    const struct mallinfo2 info = mallinfo2();
    return double(info.uordblks) + double(info.hblkhd);
}

/// Returns the resident bytes of the process, including the allocator's cache.
double residentBytes()
{
    long pages = 0, resident = 0;
    if (std::ifstream statm("/proc/self/statm"); !(statm >> pages >> resident))
        return 0;
    return double(resident) * double(sysconf(_SC_PAGESIZE));
}

/// Deletes pending objects and Qt's cache of icons, which has its own limit.
void settle()
{
    QPixmapCache::clear();
    for (int i = 0; i < 3; ++i) {
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        QCoreApplication::processEvents();
    }
}

std::string megabytes(double bytes)
{
    return QString::number(bytes / 1e6, 'f', 2).toStdString() + " MB";
}

/// Runs `step` until everything that is created once exists, then `count` more times.
bool grows(const std::string& what, int count, const std::function<void(int)>& step)
{
    for (int i = 0; i < std::min(count, 40); ++i)
        step(i);
    settle();
    const double before = heldBytes(), residentBefore = residentBytes();
    for (int i = 0; i < count; ++i)
        step(i);
    settle();
    const double growth = heldBytes() - before;
    return report(growth < mostGrowth, what, count,
                  "the heap grows by " + megabytes(growth) + ", at most 1 MB; what is resident by "
                      + megabytes(residentBytes() - residentBefore));
}

} // namespace

bool checkSoak(int count)
{
    limitMemoryPools();
    test::WindowDriver driver;
    const auto closes = [&] {
        driver.trigger(QStringLiteral("Close"));
        QTRY_VERIFY_WITH_TIMEOUT(!driver.workspace().model()->isOpen(), 20000);
    };
    settle();
    const double residentEmpty = residentBytes();
    driver.openDemo();
    const int heads = driver.workspace().model()->circuits()->config().nHeads;
    const int layers = driver.workspace().model()->circuits()->config().nLayers;
    bool isGood = grows("switches of the head", count * 10, [&](int i) {
        driver.workspace().selection()->setHead({i / heads % layers, i % heads});
        settle();
    });
    closes();
    isGood = grows("openings and closings", count,
                   [&](int) {
                       driver.openDemo();
                       closes();
                   })
        && isGood;
    settle();
    double held = residentBytes() - residentEmpty;
    for (int i = 0; i < 100 && held > mostHeld; ++i) { // it is freed on another thread
        QThread::msleep(20);
        held = residentBytes() - residentEmpty;
    }
    return report(held < mostHeld, "held after the last closing", 1,
                  megabytes(held) + ", at most " + megabytes(mostHeld))
        && isGood;
}

} // namespace headwise::reliability
