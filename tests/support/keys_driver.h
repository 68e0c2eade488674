#pragma once

#include "tests/support/window_driver.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QAbstractScrollArea>
#include <QDockWidget>
#include <QPlainTextEdit>

namespace headwise::test {

/// A window with the demo that takes keys, and its panes.
struct KeysDriver : WindowDriver {
    KeysDriver()
    {
        activate();
        openDemo();
        heads = window.findChild<QDockWidget*>(QStringLiteral("heads"));
        grid = heads->findChild<ui::HeatmapView*>();
        note = window.findChild<QPlainTextEdit*>(QStringLiteral("note"));
    }

    void show(const QString& title)
    {
        for (int i = 0; i < tabs()->count(); ++i)
            if (tabs()->tabText(i) == title)
                tabs()->setCurrentIndex(i);
    }

    template <typename View>
    View* shown()
    {
        for (auto* view : page()->findChildren<View*>())
            if (view->isVisible())
                return view;
        return nullptr;
    }

    /// Into the canvas, which takes the mouse.
    static void clickInto(ui::LineChart* chart)
    {
        QWidget* canvas = chart->findChild<QAbstractScrollArea*>()->viewport();
        QTest::mouseClick(canvas, Qt::LeftButton, {}, canvas->rect().center());
    }

    QDockWidget* heads = nullptr;
    ui::HeatmapView* grid = nullptr;
    QPlainTextEdit* note = nullptr;
};

} // namespace headwise::test
