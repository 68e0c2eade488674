#pragma once

#include "tests/support/window_driver.h"
#include "ui/base/job.h"

#include <QTabWidget>

#include <functional>

namespace headwise::test {

inline bool hasNoJob()
{
    return QTest::qWaitFor([] { return ui::JobBoard::instance().running().isEmpty(); }, patience);
}

/// Calls `look` on every page and each of its tabs, once everything on it is there.
inline void visitAllPages(WindowDriver& driver, const std::function<void(const QString& name)>& look)
{
    for (int page = 0; page < driver.tabs()->count(); ++page) {
        driver.tabs()->setCurrentIndex(page);
        QVERIFY(hasNoJob());
        look(driver.tabs()->tabText(page));
        for (auto* parts : driver.page()->findChildren<QTabWidget*>())
            for (int part = 0; parts->isVisible() && part < parts->count(); ++part) {
                parts->setCurrentIndex(part);
                QVERIFY(hasNoJob());
                look(driver.tabs()->tabText(page) + u' ' + parts->tabText(part));
            }
    }
}

} // namespace headwise::test
