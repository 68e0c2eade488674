#pragma once

#include "tests/support/journey_tables.h"

#include <QScrollArea>
#include <QStatusBar>
#include <QWheelEvent>

// What a person does with tables, heatmaps and charts, and reads off them.

namespace headwise::test {

/// What the status bar says of what is under the mouse at `place`.
inline QString readOutAt(Journey& journey, QWidget* view, const QPoint& place)
{
    QCoreApplication::processEvents();    // new contents may still be on their way
    QTest::mouseMove(view, QPoint(1, 1)); // it may have stood there over what was in the view's place
    QTest::mouseMove(view, place);
    QCoreApplication::processEvents();
    QString words;
    for (const QLabel* label : journey.window()->statusBar()->findChildren<QLabel*>())
        if (label->isVisible())
            words += label->text();
    return words;
}

inline QString readOut(Journey& journey, ui::HeatmapView* view, int row, int column)
{
    QCoreApplication::processEvents(); // a new matrix may still be on its way to its place
    return readOutAt(journey, view, placeOf(view, row, column));
}

/// Turns the wheel over the page until all of `view` is in sight.
inline void wheelTo(Journey& journey, QWidget* view)
{
    QScrollArea* area = nullptr;
    for (QWidget* above = view; above && !area; above = above->parentWidget())
        area = qobject_cast<QScrollArea*>(above);
    QVERIFY2(area, "nothing here scrolls");
    QWidget* page = area->viewport();
    const auto isInSight = [&] {
        const QRect place(view->mapTo(page, QPoint()), view->size());
        return page->rect().contains(place) && view->isVisible();
    };
    const auto turn = [&] {
        const bool isBelow = view->mapTo(page, view->rect().bottomRight()).y() > page->rect().bottom();
        QWheelEvent wheel(QPointF(1, 1), page->mapToGlobal(QPointF(1, 1)), {}, {0, isBelow ? -120 : 120}, {},
                          {}, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(page, &wheel);
        return isInSight();
    };
    journey.waitFor([&] { return isInSight() || turn(); }, QStringLiteral("what is further down the page"));
    QCoreApplication::processEvents(); // it is drawn when it is seen
}

} // namespace headwise::test
