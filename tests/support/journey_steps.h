#pragma once

#include "tests/support/journey_tables.h"
#include "tests/support/loaded.h"
#include "ui/text.h"

#include <QScrollArea>
#include <QStatusBar>
#include <QWheelEvent>

// Steps that several journeys take, and what core says of their models.

namespace headwise::test {

/// Drops a model on the window; until its first numbers are there.
inline void openModel(Journey& journey, const std::filesystem::path& folder)
{
    journey.drop(journey.window(), {ui::text(folder.string())});
    journey.waitFor([&] { return journey.shows(QStringLiteral("‖OV‖")); }, QStringLiteral("the norms"));
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

/// What the status bar says.
inline QString statusText(Journey& journey)
{
    QString words;
    for (const QLabel* label : journey.window()->statusBar()->findChildren<QLabel*>())
        if (label->isVisible())
            words += label->text();
    return words;
}

/// The same of what is under the mouse.
inline QString readOutAt(Journey& journey, QWidget* view, const QPoint& place)
{
    // The innermost part of a view takes the mouse, which may have stood there over what was in its place.
    QWidget* part = view->childAt(place);
    QTest::mouseMove(part ? part : view, QPoint(1, 1));
    QTest::mouseMove(part ? part : view, part ? part->mapFrom(view, place) : place);
    QCoreApplication::processEvents();
    return statusText(journey);
}

/// The same of a cell.
inline QString readOut(Journey& journey, ui::HeatmapView* view, int row, int column)
{
    QCoreApplication::processEvents(); // a new matrix may still be on its way to its place
    return readOutAt(journey, view, placeOf(view, row, column));
}

/// Turns the wheel over the page around `start` until all of the widget of that name is in view: what is not, may not be
/// drawn yet.
template <typename Widget>
Widget* wheelTo(Journey& journey, QWidget* start, const QString& name)
{
    while (start && !qobject_cast<QScrollArea*>(start))
        start = start->parentWidget();
    auto* page = start ? static_cast<QScrollArea*>(start)->viewport() : nullptr;
    Widget* found = nullptr;
    const auto isSeen = [&] {
        for (Widget* one : journey.window()->findChildren<Widget*>())
            if (one->isVisible() && one->accessibleName() == name)
                found = one;
        if (found && found->visibleRegion().boundingRect() == found->rect())
            return true;
        const QPointF place = page->rect().center();
        QWheelEvent turn(place, page->mapToGlobal(place), {}, {0, -120}, Qt::NoButton, Qt::NoModifier,
                         Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(page, &turn);
        return false;
    };
    if (page)
        journey.waitFor(isSeen, name);
    return found;
}

} // namespace headwise::test
