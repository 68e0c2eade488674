#pragma once

#include "tests/support/journey.h"
#include "tests/support/loaded.h"
#include "ui/text.h"
#include "ui/views/heatmap_view.h"

#include <QScrollArea>
#include <QStatusBar>
#include <QTableView>
#include <QWheelEvent>

#include <cmath>

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

/// What is shown has three digits.
inline bool reads(double shown, double expected)
{
    const bool same = std::abs(shown - expected) <= 0.006 * std::abs(expected);
    if (!same)
        qWarning("the screen says %g, core %g", shown, expected);
    return same;
}

inline QString cell(const QAbstractItemView* table, int row, int column)
{
    return table->model()->index(row, column).data().toString();
}

inline double numberIn(const QAbstractItemView* table, int row, int column)
{
    return numberAfter(cell(table, row, column), {});
}

inline int columnOf(const QAbstractItemView* table, const QString& title)
{
    for (int column = 0; column < table->model()->columnCount(); ++column)
        if (table->model()->headerData(column, Qt::Horizontal).toString() == title)
            return column;
    return -1;
}

inline void clickRow(QTableView* table, int row)
{
    const QModelIndex index = table->model()->index(row, 0);
    table->scrollTo(index);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(index).center());
}

inline QPoint placeOf(const ui::HeatmapView* view, int row, int column)
{
    return view->cellRect(row, column).center().toPoint();
}

/// What the status bar says of the cell under the mouse.
inline QString readOut(Journey& journey, ui::HeatmapView* view, int row, int column)
{
    QCoreApplication::processEvents(); // a new matrix may still be on its way to its place
    QTest::mouseMove(view, placeOf(view, row, column));
    QCoreApplication::processEvents();
    QString words;
    for (const QLabel* label : journey.window()->statusBar()->findChildren<QLabel*>())
        if (label->isVisible())
            words += label->text();
    return words;
}

/// Turns the wheel over a page until all of `widget` is in view.
inline void turnWheelTo(Journey& journey, QWidget* widget)
{
    QWidget* at = widget;
    while (at && !qobject_cast<QScrollArea*>(at))
        at = at->parentWidget();
    QVERIFY2(at, "nothing to scroll");
    QWidget* page = static_cast<QScrollArea*>(at)->viewport();
    const auto isSeen = [&] { return widget->visibleRegion().boundingRect() == widget->rect(); };
    const QPoint step(0, -120);
    for (int i = 0; i < 200 && !isSeen(); ++i) {
        const QPointF place = page->rect().center();
        QWheelEvent turn(place, page->mapToGlobal(place), {}, step, Qt::NoButton, Qt::NoModifier,
                         Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(page, &turn);
        QCoreApplication::processEvents();
    }
    journey.waitFor(isSeen, widget->accessibleName());
}

} // namespace headwise::test
