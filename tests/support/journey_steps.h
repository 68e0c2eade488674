#pragma once

#include "tests/support/journey_tables.h"
#include "tests/support/loaded.h"
#include "ui/base/text.h"

#include <QScrollArea>
#include <QStatusBar>
#include <QWheelEvent>

#include <algorithm>

// Steps shared by several journeys, and core's results for their models.

namespace headwise::test {

/// Drops a model on the window and waits for its first numbers.
inline void openModel(Journey& journey, const std::filesystem::path& folder)
{
    journey.drop(journey.window(), {ui::text(folder.string())});
    journey.waitFor([&] { return journey.shows(QStringLiteral("‖OV‖")); }, QStringLiteral("the norms"));
}

/// Opens a model of which everything is computed: the small one computes it, the large one's session has it, as after a night.
/// The walk begins when all of it is there.
inline void openComputed(Journey& journey, JourneyModel model)
{
    openModel(journey, model == JourneyModel::Demo ? folderOf(model) : largeSession());
    journey.waitForRest();
}

/// Opens a model for a walk that waits for its numbers itself: the small one computes them meanwhile.
inline void openModelOrSession(Journey& journey, JourneyModel model)
{
    if (model == JourneyModel::Demo)
        openModel(journey, folderOf(model));
    else
        openComputed(journey, model);
}

inline Circuits circuitsIn(const std::filesystem::path& folder)
{
    return Circuits(std::make_shared<const ProcessedWeights>(processed(loaded(folder))));
}

inline Tokenizer tokenizerIn(const std::filesystem::path& folder)
{
    const auto read = Tokenizer::open(folder / "tokenizer.json");
    if (!read)
        qFatal("%s", printed(read.error()).constData());
    return *read;
}

inline std::shared_ptr<const TokenSide> tokensOf(const Circuits& circuits)
{
    const auto side = tokenSide(circuits, Embedding::Raw, Task{}, Precision::F32, TokenParts::MatricesAlone);
    if (!side)
        qFatal("%s", printed(side.error()).constData());
    return *side;
}

inline Matrix<double> dense(const FactoredMatrix<double>& circuit)
{
    return circuit.left() * circuit.right();
}

/// Returns the text of the status bar.
inline QString statusText(Journey& journey)
{
    QString words;
    for (const QLabel* label : journey.window()->statusBar()->findChildren<QLabel*>())
        if (label->isVisible())
            words += label->text();
    return words;
}

/// Returns the read-out under the mouse.
inline QString readOutAt(Journey& journey, QWidget* view, const QPoint& place)
{
    // The innermost part of a view gets the mouse, which may already be there, over another widget.
    QWidget* part = view->childAt(place);
    QTest::mouseMove(part ? part : view, QPoint(1, 1));
    QTest::mouseMove(part ? part : view, part ? part->mapFrom(view, place) : place);
    QCoreApplication::processEvents();
    return statusText(journey);
}

/// The same for a cell.
inline QString readOut(Journey& journey, ui::HeatmapView* view, int row, int column)
{
    // A new matrix may still be computed: its cells have their positions after painting and layout.
    journey.waitForRest();
    QPoint place;
    int same = 0;
    const auto isStill = [&] {
        (void)view->grab();
        same = place == placeOf(view, row, column) ? same + 1 : 0;
        place = placeOf(view, row, column);
        return same == 3;
    };
    journey.waitFor(isStill, QStringLiteral("a picture that stands still"));
    return readOutAt(journey, view, place);
}

/// Returns the scroll area around a widget; null if there is none.
inline QWidget* pageAround(QWidget* part)
{
    while (part && !qobject_cast<QScrollArea*>(part))
        part = part->parentWidget();
    return part ? static_cast<QScrollArea*>(part)->viewport() : nullptr;
}

/// Turns the wheel by one notch. \param down in eighths of a degree: −120 or 120
inline void turnWheel(QWidget* page, int down)
{
    const QPointF place = page->rect().center();
    QWheelEvent turn(place, page->mapToGlobal(place), {}, {0, down}, Qt::NoButton, Qt::NoModifier,
                     Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(page, &turn);
}

/// Turns the wheel over the page until all of `view` is visible.
inline void wheelTo(Journey& journey, QWidget* view)
{
    QWidget* page = pageAround(view);
    QVERIFY2(page, "nothing here scrolls");
    const auto isInSight = [&] {
        return view->isVisible() && page->rect().contains(QRect(view->mapTo(page, QPoint()), view->size()));
    };
    journey.waitFor(
        [&] {
            if (isInSight())
                return true;
            turnWheel(page,
                      view->mapTo(page, view->rect().bottomRight()).y() > page->rect().bottom() ? -120 : 120);
            return isInSight();
        },
        QStringLiteral("what is further down the page"));
    QCoreApplication::processEvents(); // drawn when it becomes visible
}

/// A turn of the wheel as fine as a touchpad's: half as many pixels.
inline constexpr int fineTurn = 24;

/// The same for the widget with that name, further down the page around `start`; widgets out of view may not be drawn
/// yet.
template <typename Widget>
Widget* wheelTo(Journey& journey, QWidget* start, const QString& name)
{
    QWidget* page = pageAround(start);
    Widget* found = nullptr;
    const auto isSeen = [&] {
        for (Widget* one : journey.window()->findChildren<Widget*>())
            if (one->isVisible() && one->accessibleName() == name)
                found = one;
        // All of it, or as much as fits, less than one such turn moves.
        const int seen = found ? found->visibleRegion().boundingRect().height() : 0;
        if (found && seen >= std::min(found->height(), page->height() - fineTurn))
            return true;
        turnWheel(page, -fineTurn);
        return false;
    };
    if (page)
        journey.waitFor(isSeen, name);
    return found;
}

} // namespace headwise::test
