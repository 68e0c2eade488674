#include "ui/pages/position/position_page.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/charts/chart_cursor.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/workspace_state.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractScrollArea>
#include <QLabel>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTemporaryDir>

#include <algorithm>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

/// One offset Δ for the slider, the box, the mark on the kernel and the table of keys.
class RotaryOffsetTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<PositionPage>;
    QTemporaryDir m_folder;
    std::filesystem::path m_model;

    static LineChart* kernel(Opened& opened)
    {
        auto* chart = opened.find<LineChart>(QStringLiteral("Mean score by offset"));
        [&] { QTRY_VERIFY(!chart->series().empty()); }();
        return chart;
    }

    static QPoint placeOf(const LineChart* chart, int offset)
    {
        const ChartSeries& line = chart->series()[0];
        return {qRound(chart->positionOf(line.points[offset]).x()), chart->height() / 2};
    }

    static bool says(Opened& opened, const QString& words)
    {
        const auto labels = opened.page.findChildren<QLabel*>();
        return std::ranges::any_of(labels,
                                   [&](const QLabel* label) { return label->text().contains(words); });
    }

    /// Whether everything that shows Δ shows this one.
    static void isEverywhere(Opened& opened, int offset)
    {
        QCOMPARE(opened.workspace.selection()->rotaryOffset(), offset);
        QCOMPARE(opened.find<QSlider>(QStringLiteral("Offset of the key"))->value(), offset);
        QCOMPARE(opened.find<QSpinBox>(QStringLiteral("Offset of the key as a number"))->value(), offset);
        QCOMPARE(kernel(opened)->findChild<ChartCursor*>()->place(), std::optional<double>(offset));
        QTRY_VERIFY(says(opened, QStringLiteral("at the offset Δ = %1").arg(offset)));
    }

private slots:
    void initTestCase()
    {
        m_model = std::filesystem::path(m_folder.path().toStdString()) / "rotary";
        writeToyModel(m_model, rotaryOptions());
    }

    void everyControlSetsTheSameOffset()
    {
        Opened opened(m_model);
        LineChart* chart = kernel(opened);
        QWidget* canvas = chart->findChild<QAbstractScrollArea*>()->viewport();
        isEverywhere(opened, 0);
        QTest::mouseClick(canvas, Qt::LeftButton, {}, placeOf(chart, 5));
        isEverywhere(opened, 5);
        QTest::keyClick(opened.find<QSlider>(QStringLiteral("Offset of the key")), Qt::Key_Right);
        isEverywhere(opened, 6);
        opened.find<QSpinBox>(QStringLiteral("Offset of the key as a number"))->setValue(9);
        isEverywhere(opened, 9);
        const QRectF range = chart->range();
        QTest::mousePress(canvas, Qt::LeftButton, {}, placeOf(chart, 9)); // drags the mark, not the chart
        QTest::mouseMove(canvas, placeOf(chart, 11));
        isEverywhere(opened, 11);
        QTest::mouseRelease(canvas, Qt::LeftButton, {}, placeOf(chart, 12));
        isEverywhere(opened, 12);
        QCOMPARE(chart->range(), range);
    }

    void theSessionKeepsTheOffset()
    {
        Opened opened(m_model);
        opened.workspace.selection()->setRotaryOffset(7);
        Opened other(m_model);
        restoreQuestion(other.workspace, questionState(opened.workspace));
        isEverywhere(other, 7);
    }

    void learnedPositionsHaveNoMark()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QVERIFY(!kernel(opened)->findChild<ChartCursor*>()->place());
    }

    void frequenciesAreNamedByTheirWavelengths()
    {
        Opened opened(m_model);
        auto* chart = opened.find<LineChart>(QStringLiteral("Energy by frequency"));
        QTRY_VERIFY(!chart->series().empty());
        QVERIFY(chart->look().xTitle.contains(QStringLiteral("positions per turn")));
        QCOMPARE(chart->look().xLabels, QStringList({QStringLiteral("0 (6.28)"), QStringLiteral("1 (628)")}));
        QSignalSpy readOut(&opened.page, &Page::readOutChanged);
        emit chart->pointHovered(chart->series()[0].name, 1, chart->series()[0].points[1]);
        QVERIFY(readOut.last().first().toString().contains(QStringLiteral("m = 1 (628)")));
    }
};

HEADWISE_TEST(RotaryOffsetTest)
#include "rotary_offset_test.moc"
